/* fuzz_options: "key=value" through the option table. Whatever is accepted must come back, as text, to the
 * same bits; whatever is refused must be refused with one line that names the key. */
#include "option.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample_options {
    long count;
    double rate;
    bool flag;
    int shape;
    char label[OPTION_TEXT_SIZE];
};

#define OPTIONS struct sample_options
static const struct option sample_table[] = {
    OPTION_ROW_INT(count, "3", -10, 1e15, "a whole number", "here"),
    OPTION_ROW_REAL(rate, "0.5", -1e300, 1e300, "a number", "here"),
    OPTION_ROW_BOOL(flag, "true", "yes or no", "here"),
    OPTION_ROW_CHOICE(shape, "round", "round square flat", "one of three", "here"),
    OPTION_ROW_TEXT(label, "", "any words", "here"),
    {.key = NULL},
};
#undef OPTIONS

/* Aborting is how a fuzz target says that a promise is broken. */
static void demand(bool kept)
{
    if (!kept)
        abort();
}

static void demand_round_trip(const struct option *row, const struct sample_options *options)
{
    struct sample_options again;
    char text[2 * OPTION_TEXT_SIZE];
    memset(&again, 0, sizeof again); /* padding is compared too */
    option_defaults(sample_table, &again);
    option_get(row, options, text, sizeof text);
    demand(option_set(row, &again, text, NULL) == DQS_OK);
    demand(memcmp(&again, options, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sample_options options;
    dqs_error error = {.status = DQS_OK};
    char range[300];
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    char *value = strchr(text, '=');
    if (value)
        *value++ = 0;

    memset(&options, 0, sizeof options);
    option_defaults(sample_table, &options);
    const struct option *row = option_find(sample_table, text);
    if (!row) {
        const char *near = option_nearest(sample_table, text);
        demand(!near || option_find(sample_table, near));
    } else if (value) {
        if (option_set(row, &options, value, &error) == DQS_OK) {
            demand_round_trip(row, &options);
        } else {
            demand(error.status != DQS_OK && strstr(error.message, row->key) && !strchr(error.message, '\n'));
        }
        option_range(row, range, sizeof range);
    }
    free(text);
    return 0;
}
