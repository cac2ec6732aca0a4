/* fuzz_config: any bytes as a YAML configuration. What is accepted must survive being written and read again;
 * what is refused must be refused with one line. */
#define _GNU_SOURCE /* memmem */
#include "config.h"
#include <stdlib.h>
#include <string.h>

static void demand(bool kept)
{
    if (!kept)
        abort();
}

/* A plug-in path in the text would be opened: not what is tested here. */
static bool names_a_path(const uint8_t *data, size_t size)
{
    return memchr(data, '/', size) || memmem(data, size, ".so", 3);
}

static void demand_round_trip(const struct config *config)
{
    struct config *again = NULL;
    char *text = config_write(config, NULL);
    demand(text != NULL);
    demand(config_from_yaml(&again, text, strlen(text), "again", NULL, NULL, false, NULL) == DQS_OK);
    char *text_again = config_write(again, NULL);
    demand(strcmp(text, text_again) == 0);
    free(text_again);
    free(text);
    config_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config *config = NULL;
    dqs_error error = {.status = DQS_OK};
    if (names_a_path(data, size))
        return 0;
    demand(config_create(&config, NULL, "pendulum", &error) == DQS_OK);
    if (config_read(config, (const char *)data, size, "fuzz", &error) == DQS_OK)
        demand_round_trip(config);
    else
        demand(error.status != DQS_OK && error.message[0] && !strchr(error.message, '\n'));
    config_free(config);

    /* The recorded configuration of a run folder goes another way in. */
    config = NULL;
    if (config_from_yaml(&config, (const char *)data, size, "fuzz", NULL, NULL, false, &error) == DQS_OK)
        demand_round_trip(config);
    config_free(config);
    return 0;
}
