/* option: one row per option; command line, config file, --help, recorded config and docs derive from it. */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include "status.h"
#include <stdbool.h>

enum option_type { OPTION_INT, OPTION_REAL, OPTION_BOOL, OPTION_CHOICE, OPTION_TEXT };

#define OPTION_TEXT_SIZE 256

struct option {
    const char *key;
    enum option_type type;
    size_t
        offset; /* into the options struct: long, double, bool, int (index into choices), char[OPTION_TEXT_SIZE] */
    const char *standard; /* default, as text */
    double low, high;     /* closed range of numbers */
    const char *choices;  /* "relu gelu mish" for OPTION_CHOICE */
    const char *doc;      /* one line */
    const char *source;   /* where the default comes from: "paper, Table 3", "measured", ... */
};

/* Rows are written with these, after `#define OPTIONS struct dqs_options`: */
#define OPTION_ROW_INT(field, standard, low, high, doc, source)                              \
    {                                                                                        \
#field, OPTION_INT, offsetof(OPTIONS, field), standard, low, high, NULL, doc, source \
    }
#define OPTION_ROW_REAL(field, standard, low, high, doc, source)                              \
    {                                                                                         \
#field, OPTION_REAL, offsetof(OPTIONS, field), standard, low, high, NULL, doc, source \
    }
#define OPTION_ROW_BOOL(field, standard, doc, source)                                    \
    {                                                                                    \
#field, OPTION_BOOL, offsetof(OPTIONS, field), standard, 0, 1, NULL, doc, source \
    }
#define OPTION_ROW_CHOICE(field, standard, choices, doc, source)                              \
    {                                                                                         \
#field, OPTION_CHOICE, offsetof(OPTIONS, field), standard, 0, 0, choices, doc, source \
    }
#define OPTION_ROW_TEXT(field, standard, doc, source)                                    \
    {                                                                                    \
#field, OPTION_TEXT, offsetof(OPTIONS, field), standard, 0, 0, NULL, doc, source \
    }
/* A table ends with a row whose key is NULL. */

/* A named set of values, for one environment, a family of them ("control") or (env NULL) for all: "gamma=0
 * temperature=fixed". Later rows win, and the more particular ones over the others. */
struct option_preset {
    const char *preset, *env, *settings;
};

const struct option *option_find(const struct option *table, const char *key);
void option_defaults(const struct option *table, void *options);
/* Parses and range-checks; the message names the key, the value, and what is allowed. */
dqs_status option_set(const struct option *row, void *options, const char *value, dqs_error *error);
/* The value as text that option_set reads back to the same bits. */
void option_get(const struct option *row, const void *options, char *text, int size);
const char *option_type_name(enum option_type type);
/* "1 .. 100000", "relu | gelu | mish", "true | false" */
void option_range(const struct option *row, char *text, int size);
/* The known key nearest to a mistyped one (edit distance at most 3), or NULL. */
const char *option_nearest(const struct option *table, const char *key);

#endif
