/* env_options: reads "key=value,key=value" for the built-in tasks. */
#include "env_options.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Copies text[0..length) without the blanks at its ends. False if it does not fit. */
static bool copy_trimmed(char *out, size_t size, const char *text, size_t length)
{
    while (length > 0 && isspace((unsigned char)text[0]))
        text++, length--;
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    if (length >= size)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

static dqs_status unknown_key(const char *task, const struct option *table, const char *key, dqs_error *error)
{
    char known[256] = "";
    const char *near = option_nearest(table, key);
    if (near)
        return fail(error, DQS_E_OPTION, "%s: there is no option '%s'; did you mean '%s'?", task, key, near);
    for (const struct option *row = table; row->key; row++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", row->key);
    }
    return fail(error, DQS_E_OPTION, "%s: there is no option '%s'; its options are %s", task, key, known);
}

static dqs_status set_one(const char *task, const struct option *table, void *options, const char *pair,
                          size_t length, dqs_error *error)
{
    char key[64], value[OPTION_TEXT_SIZE];
    const char *equals = memchr(pair, '=', length);
    if (!equals)
        return fail(error, DQS_E_OPTION, "%s: option '%.*s' has no value; write key=value,key=value", task,
                    length < 64 ? (int)length : 64, pair);
    size_t key_length = (size_t)(equals - pair);
    if (!copy_trimmed(key, sizeof key, pair, key_length) ||
        !copy_trimmed(value, sizeof value, equals + 1, length - key_length - 1))
        return fail(error, DQS_E_OPTION, "%s: option text is too long; write key=value,key=value", task);
    const struct option *row = option_find(table, key);
    if (!row)
        return unknown_key(task, table, key, error);
    dqs_error inner = {0};
    dqs_status status = option_set(row, options, value, &inner);
    if (status != DQS_OK)
        return fail(error, status, "%s: %.400s", task, inner.message);
    return DQS_OK;
}

dqs_status env_options_parse(const char *task, const struct option *table, void *options, const char *text,
                             dqs_error *error)
{
    if (!text)
        return DQS_OK;
    while (*text) {
        size_t length = strcspn(text, ",");
        bool blank = strspn(text, " \t") >= length;
        if (!blank && !table)
            return fail(error, DQS_E_OPTION, "%s: takes no options, but got '%.60s'; leave them out", task,
                        text);
        if (!blank)
            TRY(set_one(task, table, options, text, length, error));
        text += length;
        text += *text == ',';
    }
    return DQS_OK;
}
