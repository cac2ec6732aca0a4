/* args: the words after a verb. A verb lists its flags once; parsing, --help and "did you mean" derive from
 * that list. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

struct args_list { /* a flag that may be given many times */
    const char **items;
    int count;
};

struct args_flag {                  /* exactly one of text, on, list is not NULL */
    const char *name, *value, *doc; /* "--seed", "S", one line */
    const char **text;
    bool *on;
    struct args_list *list;
    const char
        *otherwise; /* the value of a text flag that is given none: then only digits and commas are one */
};

struct args_spec {
    const char *verb, *usage, *about, *examples;
    const struct args_flag *flags; /* ends with name NULL */
    int least, most;               /* words that are not flags */
    bool settings; /* the verb takes --set: an unknown flag may be an option of the algorithm */
};

/* Fills the flags' targets and `words` (room for `most`). Returns a negative number to go on, otherwise the
 * exit code: help was printed, or a complaint. */
int args_parse(const struct args_spec *spec, int argc, char **argv, const char **words, int *count);
/* The same words, quoted for a shell. */
void args_again(char *text, size_t size, int argc, char **argv);
void args_list_free(struct args_list *list);
char *args_list_join(const struct args_list *list); /* "a=1 b=2", malloc'd; "" for none; NULL: no memory */

/* A whole number in low .. high, "20000", "2e4" or "20k"; complains and returns false otherwise. */
bool args_long(const char *flag, const char *text, long low, long high, long *out);

/* The candidate nearest to a mistyped word, or NULL: start with best NULL and offer candidates one by one. */
struct args_nearest {
    const char *word, *best;
    int distance;
};
void args_offer(struct args_nearest *nearest, const char *candidate);

#endif
