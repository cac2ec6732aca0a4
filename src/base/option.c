/* option: parsing, checking and printing of option values by their table row. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "option.h"
#include "number.h"
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { RANGE_SIZE = 300, KEY_LIMIT = 64, NEAR = 3 };

const struct option *option_find(const struct option *table, const char *key)
{
    for (const struct option *row = table; row->key; row++)
        if (strcmp(row->key, key) == 0)
            return row;
    return NULL;
}

void option_defaults(const struct option *table, void *options)
{
    for (const struct option *row = table; row->key; row++) {
        dqs_error error = {DQS_OK, ""};
        dqs_status status = option_set(row, options, row->standard, &error);
        if (status != DQS_OK)
            fprintf(stderr, "dqs: wrong default in an option table: %s\n", error.message);
        assert(status == DQS_OK);
    }
}

/* Finds word number `index` of "relu gelu mish"; its length, 0 beyond the last. */
static size_t choice_at(const char *choices, int index, const char **word)
{
    const char *c = choices;
    for (;; index--) {
        c += strspn(c, " ");
        size_t length = strcspn(c, " ");
        *word = c;
        if (index == 0 || length == 0)
            return length;
        c += length;
    }
}

static int choice_find(const char *choices, const char *value)
{
    const char *word;
    size_t length;
    for (int i = 0; (length = choice_at(choices, i, &word)) > 0; i++)
        if (strlen(value) == length && memcmp(word, value, length) == 0)
            return i;
    return -1;
}

static int bool_find(const char *value)
{
    static const char *const words[] = {"false", "true", "off", "on", "0", "1", "no", "yes"};
    for (int i = 0; i < 8; i++)
        if (strcasecmp(value, words[i]) == 0)
            return i % 2;
    return -1;
}

static dqs_status refuse(const struct option *row, const char *value, const char *problem, dqs_error *error)
{
    char range[RANGE_SIZE];
    option_range(row, range, sizeof range);
    return fail(error, DQS_E_OPTION, "%s: '%.60s'%s %s; allowed: %s", row->key, value,
                strlen(value) > 60 ? "..." : "", problem, range);
}

dqs_status option_set(const struct option *row, void *options, const char *value, dqs_error *error)
{
    void *field = (char *)options + row->offset;
    switch (row->type) {
    case OPTION_INT: {
        long whole;
        if (!number_read_long(value, &whole))
            return refuse(row, value, "is not a whole number", error);
        if (!((double)whole >= row->low && (double)whole <= row->high))
            return refuse(row, value, "is out of range", error);
        *(long *)field = whole;
        return DQS_OK;
    }
    case OPTION_REAL: {
        double real;
        if (!number_read(value, &real))
            return refuse(row, value, "is not a number", error);
        if (!(real >= row->low && real <= row->high)) /* so written, not-a-number is refused too */
            return refuse(row, value, "is out of range", error);
        *(double *)field = real;
        return DQS_OK;
    }
    case OPTION_BOOL: {
        int truth = bool_find(value);
        if (truth < 0)
            return refuse(row, value, "is neither true nor false", error);
        *(bool *)field = truth == 1;
        return DQS_OK;
    }
    case OPTION_CHOICE: {
        int index = choice_find(row->choices, value);
        if (index < 0)
            return refuse(row, value, "is not one of the choices", error);
        *(int *)field = index;
        return DQS_OK;
    }
    case OPTION_TEXT:
        if (strlen(value) >= OPTION_TEXT_SIZE)
            return refuse(row, value, "is too long", error);
        memset(field, 0, OPTION_TEXT_SIZE); /* equal options have equal bytes */
        memcpy(field, value, strlen(value));
        return DQS_OK;
    }
    assert(!"an option type without a case");
    return fail(error, DQS_E_OPTION, "%s: has an unknown type", row->key);
}

void option_get(const struct option *row, const void *options, char *text, int size)
{
    const void *field = (const char *)options + row->offset;
    char number[NUMBER_TEXT_SIZE];
    const char *word;
    switch (row->type) {
    case OPTION_INT:
        snprintf(text, (size_t)size, "%ld", *(const long *)field);
        break;
    case OPTION_REAL:
        number_write(number, *(const double *)field);
        snprintf(text, (size_t)size, "%s", number);
        break;
    case OPTION_BOOL:
        snprintf(text, (size_t)size, "%s", *(const bool *)field ? "true" : "false");
        break;
    case OPTION_CHOICE: {
        size_t length = choice_at(row->choices, *(const int *)field, &word);
        assert(length > 0);
        snprintf(text, (size_t)size, "%.*s", (int)length, word);
        break;
    }
    case OPTION_TEXT:
        snprintf(text, (size_t)size, "%s", (const char *)field);
        break;
    }
}

const char *option_type_name(enum option_type type)
{
    static const char *const names[] = {[OPTION_INT] = "integer",
                                        [OPTION_REAL] = "real",
                                        [OPTION_BOOL] = "boolean",
                                        [OPTION_CHOICE] = "choice",
                                        [OPTION_TEXT] = "text"};
    assert((size_t)type < sizeof names / sizeof *names);
    return names[type];
}

static void choices_join(const char *choices, char *text, size_t size)
{
    const char *word;
    size_t length, used = 0;
    text[0] = 0;
    for (int i = 0; used < size && (length = choice_at(choices, i, &word)) > 0; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", i ? " | " : "", (int)length, word);
}

void option_range(const struct option *row, char *text, int size)
{
    char low[NUMBER_TEXT_SIZE], high[NUMBER_TEXT_SIZE];
    switch (row->type) {
    case OPTION_INT:
    case OPTION_REAL:
        number_write(low, row->low);
        number_write(high, row->high);
        snprintf(text, (size_t)size, "%s .. %s", low, high);
        break;
    case OPTION_BOOL:
        snprintf(text, (size_t)size, "true | false");
        break;
    case OPTION_CHOICE:
        choices_join(row->choices, text, (size_t)size);
        break;
    case OPTION_TEXT:
        snprintf(text, (size_t)size, "text of at most %d bytes", OPTION_TEXT_SIZE - 1);
        break;
    }
}

/* What a mistyped key is compared by: a wrong case or '-' for '_' is no difference. */
static int letter(char c)
{
    return c == '-' ? '_' : tolower((unsigned char)c);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, where a swap of two neighbours counts one. */
static int edit_distance(const char *a, int na, const char *b, int nb)
{
    int rows[3][KEY_LIMIT + 1], *before = rows[0], *above = rows[1], *here = rows[2];
    for (int j = 0; j <= nb; j++)
        above[j] = j;
    for (int i = 1; i <= na; i++) {
        here[0] = i;
        for (int j = 1; j <= nb; j++) {
            int change = above[j - 1] + (letter(a[i - 1]) != letter(b[j - 1]));
            here[j] = least(change, 1 + least(above[j], here[j - 1]));
            if (i > 1 && j > 1 && letter(a[i - 1]) == letter(b[j - 2]) &&
                letter(a[i - 2]) == letter(b[j - 1]))
                here[j] = least(here[j], before[j - 2] + 1);
        }
        int *spare = before;
        before = above;
        above = here;
        here = spare;
    }
    return above[nb];
}

const char *option_nearest(const struct option *table, const char *key)
{
    const char *nearest = NULL;
    int least_distance = NEAR + 1;
    size_t n = strlen(key);
    for (const struct option *row = table; row->key; row++) {
        size_t m = strlen(row->key);
        if (n > KEY_LIMIT || m > KEY_LIMIT)
            continue;
        int distance = edit_distance(key, (int)n, row->key, (int)m);
        /* A key that keeps no letter is no suggestion: all short keys are within three of each other. */
        if (distance < least_distance && distance < (int)(n > m ? n : m)) {
            least_distance = distance;
            nearest = row->key;
        }
    }
    return nearest;
}
