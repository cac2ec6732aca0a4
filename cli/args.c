/* args: see args.h. An own parser instead of getopt_long, whose complaints name no neighbour. */
#include "args.h"
#include "cmd.h"
#include "number.h"
#include "terminal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int smallest(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edit distance of words up to 40 letters; longer ones are never near. */
static int edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    int n = (int)strlen(a), m = (int)strlen(b);
    int row[LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[m];
}

void args_offer(struct args_nearest *nearest, const char *candidate)
{
    int limit = (int)strlen(nearest->word) / 2;
    int distance = edit_distance(nearest->word, candidate);
    if (distance > 3 || distance > limit)
        return;
    if (!nearest->best || distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

bool args_long(const char *flag, const char *text, long low, long high, long *out)
{
    if (!number_read_long(text, out) || *out < low || *out > high) {
        complain(EXIT_USAGE, "%s: '%s' is not a whole number in %ld .. %ld", flag, text, low, high);
        return false;
    }
    return true;
}

static const struct args_flag *flag_find(const struct args_spec *spec, const char *word, size_t length)
{
    for (const struct args_flag *flag = spec->flags; flag->name; flag++)
        if (strlen(flag->name) == length && !strncmp(flag->name, word, length))
            return flag;
    return NULL;
}

/* Is `--batch-size` an option of some algorithm? Then the way to write it is --set batch_size=. */
static bool setting_exists(const char *flag, char *key, size_t size)
{
    dqs_config *config = NULL;
    const char *algo;
    bool found = false;
    snprintf(key, size, "%s", flag + 2);
    key[strcspn(key, "=")] = 0;
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    for (int i = 0; !found && (algo = dqs_algo_name(i, NULL)); i++) {
        if (dqs_config_create(&config, algo, NULL, NULL) != DQS_OK)
            continue;
        found = dqs_config_get(config, key) != NULL;
        dqs_config_free(config);
    }
    return found;
}

static int unknown_flag(const struct args_spec *spec, const char *word, size_t length)
{
    char flag[64], key[64];
    snprintf(flag, sizeof flag, "%.*s", (int)(length < 60 ? length : 60), word);
    if (spec->settings && length > 2 && setting_exists(flag, key, sizeof key))
        return complain(EXIT_USAGE, "%s: unknown option %s; it is a setting: --set %s=VALUE", spec->verb,
                        flag, key);
    struct args_nearest nearest = {.word = flag};
    for (const struct args_flag *known = spec->flags; known->name; known++)
        args_offer(&nearest, known->name);
    args_offer(&nearest, "--help");
    if (nearest.best)
        return complain(EXIT_USAGE, "%s: unknown option %s; did you mean %s?", spec->verb, flag,
                        nearest.best);
    return complain(EXIT_USAGE, "%s: unknown option %s; try dqs %s --help", spec->verb, flag, spec->verb);
}

static void list_add(struct args_list *list, const char *item)
{
    const char **items = realloc(list->items, sizeof *items * (size_t)(list->count + 1));
    if (!items)
        abort();
    list->items = items;
    list->items[list->count++] = item;
}

/* Takes the flag at argv[*i], and the word after it if that is its value. */
static int take_flag(const struct args_spec *spec, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    size_t length = strcspn(word, "=");
    const struct args_flag *flag = flag_find(spec, word, length);
    if (!flag)
        return unknown_flag(spec, word, length);
    if (flag->on) {
        if (word[length])
            return complain(EXIT_USAGE, "%s: %s takes no value", spec->verb, flag->name);
        *flag->on = true;
        return -1;
    }
    const char *value = word[length] ? word + length + 1 : NULL, *next = *i + 1 < argc ? argv[*i + 1] : "--";
    bool is_value =
        flag->otherwise ? *next && !next[strspn(next, "0123456789,")] : strncmp(next, "--", 2) != 0;
    if (!value && is_value)
        value = argv[++*i];
    else if (!value)
        value = flag->otherwise;
    if (!value || !*value)
        return complain(EXIT_USAGE, "%s: %s needs a value: %s %s", spec->verb, flag->name, flag->name,
                        flag->value);
    if (flag->list)
        list_add(flag->list, value);
    else
        *flag->text = value;
    return -1;
}

static void print_help(const struct args_spec *spec)
{
    const char *bold = terminal_style(stdout, STYLE_BOLD), *plain = terminal_style(stdout, STYLE_PLAIN);
    printf("%susage:%s dqs %s %s\n\n%s\n", bold, plain, spec->verb, spec->usage, spec->about);
    printf("\n%soptions:%s\n", bold, plain);
    for (const struct args_flag *flag = spec->flags; flag->name; flag++) {
        char left[40];
        const char *value = flag->value ? flag->value : "";
        snprintf(left, sizeof left, "%s%s%s", flag->name, *value ? " " : "", value);
        printf("  %-20s %s\n", left, flag->doc);
    }
    printf("  %-20s %s\n", "--help", "this text");
    if (spec->examples)
        printf("\n%sexamples:%s\n%s", bold, plain, spec->examples);
}

int args_parse(const struct args_spec *spec, int argc, char **argv, const char **words, int *count)
{
    bool only_words = false;
    int n = 0;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_help(spec);
            return EXIT_OK;
        } else if (!strcmp(argv[i], "--")) {
            break;
        }
    for (int i = 1; i < argc; i++) {
        if (!only_words && !strcmp(argv[i], "--")) {
            only_words = true;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
            int code = take_flag(spec, argc, argv, &i);
            if (code >= 0)
                return code;
        } else if (n == spec->most) {
            return complain(EXIT_USAGE, "%s: unexpected '%s'; usage: dqs %s %s", spec->verb, argv[i],
                            spec->verb, spec->usage);
        } else {
            words[n++] = argv[i];
        }
    }
    if (n < spec->least)
        return complain(EXIT_USAGE, "%s: missing %.*s; usage: dqs %s %s", spec->verb,
                        (int)strcspn(spec->usage, " ."), spec->usage, spec->verb, spec->usage);
    if (count)
        *count = n;
    return -1;
}

void args_again(char *text, size_t size, int argc, char **argv)
{
    char word[1200];
    size_t used = 0;
    for (int i = 0; i < argc && used < size; i++) {
        format_shell_word(word, sizeof word, argv[i]);
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", word);
    }
}

void args_list_free(struct args_list *list)
{
    free(list->items);
    list->items = NULL;
    list->count = 0;
}

char *args_list_join(const struct args_list *list)
{
    size_t size = 1;
    for (int i = 0; i < list->count; i++)
        size += strlen(list->items[i]) + 1;
    char *text = calloc(1, size), *at = text;
    for (int i = 0; text && i < list->count; i++)
        at += snprintf(at, size - (size_t)(at - text), "%s%s", i > 0 ? " " : "", list->items[i]);
    return text;
}
