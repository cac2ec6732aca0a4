/* fuzz_sweep: any bytes as the file of a sweep. What is accepted must survive being written and read again;
 * what is refused must be refused with one line. */
#include "sweep.h"
#include <stdlib.h>
#include <string.h>

static void demand(bool kept)
{
    if (!kept)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sweep_spec spec, again;
    dqs_error error = {.status = DQS_OK};
    if (sweep_read(&spec, (const char *)data, size, "fuzz.yaml", &error) != DQS_OK) {
        demand(error.status != DQS_OK && error.message[0] && !strchr(error.message, '\n'));
        return 0;
    }
    char *text = sweep_write(&spec);
    demand(text != NULL);
    demand(sweep_read(&again, text, strlen(text), "again.yaml", &error) == DQS_OK);
    char *text_again = sweep_write(&again);
    demand(!strcmp(text, text_again));
    free(text_again);
    free(text);
    sweep_free(&again);
    /* Values from a command line go another way in. */
    char *words = calloc(size + 1, 1);
    demand(words != NULL);
    memcpy(words, data, size);
    (void)sweep_set(&spec, "K", words, &error);
    free(words);
    sweep_free(&spec);
    return 0;
}
