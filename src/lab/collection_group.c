/* collection_group: task x method x seeds. A method is an algorithm with a preset and with the options that
 * are not at the preset's value for the task. */
#include "collection_group.h"
#include "config.h"
#include "env.h"
#include "number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options that leave a run the same experiment, and those told elsewhere: in the task's name or by the
 * seed. */
static const char *const aside[] = {
    "env",          "algo",    "preset",  "env_options", "seed",           "steps",
    "stop_updates", "threads", "kernels", "eval_every",  "log_every",      "eval_episodes",
    "eval_seed",    "name",    "out",     "max_minutes", "final_episodes", "checkpoint_every"};

static bool is_aside(const char *key)
{
    if (strncmp(key, "recorded_", 9) == 0 || strncmp(key, "diag_", 5) == 0)
        return true;
    for (size_t i = 0; i < sizeof aside / sizeof *aside; i++)
        if (strcmp(key, aside[i]) == 0)
            return true;
    return false;
}

static bool same_family(const struct collection_run *a, const struct collection_run *b)
{
    return strcmp(a->algo, b->algo) == 0 && strcmp(a->preset, b->preset) == 0;
}

/* ---------------------------------------------------------------- options that tell runs apart */

/* The preset's own values for the task of a run. Only tasks of the table are asked: a path found in a file is
 * not opened. */
static struct config *preset_of(const struct collection_run *run)
{
    struct config *config = NULL;
    const char *env = env_find(run->env) ? run->env : NULL;
    if (config_create(&config, run->algo, env, NULL) == DQS_OK &&
        (!run->preset[0] || config_preset(config, run->preset, NULL) == DQS_OK))
        return config;
    config_free(config);
    return NULL;
}

static bool same_value(const char *a, const char *b)
{
    double x, y;
    return strcmp(a, b) == 0 || (number_read(a, &x) && number_read(b, &y) && x == y);
}

/* The keys to look at within one family (an algorithm with a preset), by name. */
struct family {
    const struct collection_run *first;
    const char **keys;
    int n_keys, capacity;
};

static void family_add(struct family *family, struct arena *arena, const char *key)
{
    int at = 0;
    while (at < family->n_keys && strcmp(family->keys[at], key) < 0)
        at++;
    if (at < family->n_keys && strcmp(family->keys[at], key) == 0)
        return;
    if (family->n_keys == family->capacity) {
        int capacity = family->capacity ? 2 * family->capacity : 16;
        const char **larger = arena_new(arena, const char *, capacity);
        if (family->n_keys)
            memcpy(larger, family->keys, sizeof *larger * (size_t)family->n_keys);
        family->keys = larger;
        family->capacity = capacity;
    }
    memmove(family->keys + at + 1, family->keys + at, sizeof *family->keys * (size_t)(family->n_keys - at));
    family->keys[at] = key;
    family->n_keys++;
}

/* Configurations of one version list their keys in the same order: then the first look finds it. */
static const char *value_near(const struct collection_run *run, int index, const char *key)
{
    if (index < run->n_options && strcmp(run->options[index].key, key) == 0)
        return run->options[index].value;
    return collection_option(run, key);
}

/* A key that only one of them has may be an option of a later version: whether that matters is seen below. */
static void family_compare(struct family *family, struct arena *arena, const struct collection_run *a,
                           const struct collection_run *b)
{
    for (int i = 0; i < a->n_options; i++) {
        const char *key = a->options[i].key, *other = value_near(b, i, key);
        if ((!other || strcmp(a->options[i].value, other) != 0) && !is_aside(key))
            family_add(family, arena, key);
    }
}

/* One run alone says too when it is not its preset. If it records most options, it is older than those that
 * it does not, and had these as if there were no presets. */
static void family_depart(struct family *family, struct arena *arena, const struct collection_run *run)
{
    struct config *config = preset_of(run);
    const struct option *row;
    void *unused;
    int recorded = 0;
    for (int i = 0; config && (row = config_row(config, &config->standard, i, &unused)); i++)
        recorded += collection_option(run, row->key) != NULL;
    for (int i = 0; config && (row = config_row(config, &config->standard, i, &unused)); i++) {
        const char *own = collection_option(run, row->key), *usual = config_get(config, row->key);
        if (!own && 2 * recorded > config->rows)
            own = row->standard;
        if (own && usual && !same_value(own, usual) && !is_aside(row->key))
            family_add(family, arena, row->key);
    }
    config_free(config);
}

static void find_keys(struct family *family, struct collection *c)
{
    for (int i = 0; i < c->n_runs; i++) {
        if (!same_family(&c->runs[i], family->first))
            continue;
        family_depart(family, &c->arena, &c->runs[i]);
        for (int k = 0; k < i; k++)
            if (same_family(&c->runs[k], family->first) && strcmp(c->runs[i].task, c->runs[k].task) == 0) {
                family_compare(family, &c->arena, &c->runs[i], &c->runs[k]);
                family_compare(family, &c->arena, &c->runs[k], &c->runs[i]);
            }
    }
}

/* ---------------------------------------------------------------- methods */

/* What an option is without any preset: what it was, too, before there was such an option. */
static const char *standard_of(const struct config *config, const char *key)
{
    void *unused;
    const struct option *row;
    for (int i = 0; config && (row = config_row(config, &config->standard, i, &unused)); i++)
        if (strcmp(row->key, key) == 0)
            return row->standard;
    return NULL;
}

/* The options in which a run departs from its preset: these name its method. */
static int take_departures(struct collection_option *out, const struct family *family,
                           const struct collection_run *run)
{
    int n = 0;
    struct config *config = family->n_keys ? preset_of(run) : NULL;
    for (int i = 0; i < family->n_keys; i++) {
        const char *key = family->keys[i], *value = collection_option(run, key);
        const char *usual = config ? config_get(config, key) : NULL;
        value = value ? value : standard_of(config, key); /* a literal of the table */
        if (value && !(usual && same_value(value, usual)))
            out[n++] = (struct collection_option){key, value};
    }
    config_free(config);
    return n;
}

static bool same_method(const struct collection_method *a, const struct collection_method *b)
{
    if (strcmp(a->algo, b->algo) != 0 || strcmp(a->preset, b->preset) != 0 || a->n_options != b->n_options)
        return false;
    for (int i = 0; i < a->n_options; i++)
        if (strcmp(a->options[i].key, b->options[i].key) != 0 ||
            !same_value(a->options[i].value, b->options[i].value))
            return false;
    return true;
}

static void add_method(struct collection *c, const struct family *family, struct collection_run *run)
{
    struct collection_option *options =
        family->n_keys ? arena_new(&c->arena, struct collection_option, family->n_keys) : NULL;
    struct collection_method method = {.algo = run->algo, .preset = run->preset, .options = options};
    method.n_options = take_departures(options, family, run);
    int m = 0;
    while (m < c->n_methods && !same_method(&c->methods[m], &method))
        m++;
    if (m == c->n_methods) {
        method.number = m;
        c->methods[c->n_methods++] = method;
    }
    run->method_index = m;
}

static int rank_of_algo(const char *algo)
{
    const char *name;
    int i = 0;
    for (; (name = dqs_algo_name(i, NULL)); i++)
        if (strcmp(name, algo) == 0)
            break;
    return i;
}

static int compare_values(const char *a, const char *b)
{
    double x, y;
    if (number_read(a, &x) && number_read(b, &y) && x != y)
        return x < y ? -1 : 1;
    return strcmp(a, b);
}

static int compare_methods(const void *left, const void *right)
{
    const struct collection_method *a = left, *b = right;
    int order = rank_of_algo(a->algo) - rank_of_algo(b->algo);
    if (order == 0)
        order = strcmp(a->algo, b->algo);
    if (order == 0)
        order = (strcmp(a->preset, "default") != 0) - (strcmp(b->preset, "default") != 0);
    if (order == 0)
        order = strcmp(a->preset, b->preset);
    for (int i = 0; order == 0 && i < a->n_options && i < b->n_options; i++) {
        order = strcmp(a->options[i].key, b->options[i].key);
        if (order == 0)
            order = compare_values(a->options[i].value, b->options[i].value);
    }
    return order ? order : a->n_options - b->n_options;
}

static bool several_presets(const struct collection *c, const char *algo)
{
    const char *preset = NULL;
    for (int m = 0; m < c->n_methods; m++) {
        if (strcmp(c->methods[m].algo, algo) != 0)
            continue;
        if (preset && strcmp(c->methods[m].preset, preset) != 0)
            return true;
        preset = c->methods[m].preset;
    }
    return false;
}

static void label_method(const struct collection *c, struct arena *arena, struct collection_method *method)
{
    size_t size = strlen(method->algo) + strlen(method->preset) + 2;
    for (int i = 0; i < method->n_options; i++)
        size += strlen(method->options[i].key) + strlen(method->options[i].value) + 2;
    char *label = arena_new(arena, char, size);
    bool preset = method->preset_in_label = method->preset[0] && several_presets(c, method->algo);
    int used = snprintf(label, size, "%s%s%s", method->algo, preset ? " " : "", preset ? method->preset : "");
    for (int i = 0; i < method->n_options; i++)
        used += snprintf(label + used, size - (size_t)used, " %s=%s", method->options[i].key,
                         method->options[i].value);
    method->label = label;
}

static void sort_methods(struct collection *c)
{
    int *place = arena_new(&c->arena, int, c->n_methods);
    qsort(c->methods, (size_t)c->n_methods, sizeof *c->methods, compare_methods);
    for (int m = 0; m < c->n_methods; m++) {
        place[c->methods[m].number] = m;
        c->methods[m].number = m;
        label_method(c, &c->arena, &c->methods[m]);
    }
    for (int i = 0; i < c->n_runs; i++)
        c->runs[i].method_index = place[c->runs[i].method_index];
}

static void find_methods(struct collection *c)
{
    c->methods = arena_new(&c->arena, struct collection_method, c->n_runs);
    for (int i = 0; i < c->n_runs; i++) {
        bool met = false; /* the family, with an earlier run */
        for (int k = 0; k < i && !met; k++)
            met = same_family(&c->runs[k], &c->runs[i]);
        if (met)
            continue;
        struct family family = {.first = &c->runs[i]};
        find_keys(&family, c);
        for (int k = i; k < c->n_runs; k++)
            if (same_family(&c->runs[k], family.first))
                add_method(c, &family, &c->runs[k]);
    }
    sort_methods(c);
}

/* ---------------------------------------------------------------- tasks and cells */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_tasks(struct collection *c)
{
    c->tasks = arena_new(&c->arena, const char *, c->n_runs);
    for (int i = 0; i < c->n_runs; i++) {
        bool met = false;
        for (int t = 0; t < c->n_tasks && !met; t++)
            met = strcmp(c->tasks[t], c->runs[i].task) == 0;
        if (!met)
            c->tasks[c->n_tasks++] = c->runs[i].task;
    }
    qsort(c->tasks, (size_t)c->n_tasks, sizeof *c->tasks, compare_texts);
    for (int i = 0; i < c->n_runs; i++)
        while (strcmp(c->tasks[c->runs[i].task_index], c->runs[i].task) != 0)
            c->runs[i].task_index++;
}

/* Same task, method and seed: the same experiment, which must not count twice. */
static bool is_double(const struct collection_run *a, const struct collection_run *b)
{
    return a->task_index == b->task_index && a->method_index == b->method_index && a->seed == b->seed;
}

static void drop_doubles(struct collection *c, collection_warning *warn, void *user)
{
    int kept = 0;
    for (int i = 0; i < c->n_runs; i++) {
        int k = 0;
        while (k < kept && !is_double(&c->runs[k], &c->runs[i]))
            k++;
        if (k == kept) {
            c->runs[kept++] = c->runs[i];
            continue;
        }
        struct collection_run *old = &c->runs[k], *new = &c->runs[i];
        bool further = new->reached > old->reached;
        char line[2200];
        snprintf(line, sizeof line, "%s: the same task, method and seed as %s; the run is left out",
                 (further ? old : new)->path, (further ? new : old)->path);
        if (further)
            *old = *new;
        c->left_out++;
        if (warn)
            warn(user, line);
    }
    c->n_runs = kept;
}

static int compare_seeds(const void *a, const void *b)
{
    const struct collection_run *x = *(const struct collection_run *const *)a,
                                *y = *(const struct collection_run *const *)b;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

static void fill_cells(struct collection *c)
{
    int n = c->n_tasks * c->n_methods;
    const struct collection_run **room = arena_new(&c->arena, const struct collection_run *, c->n_runs);
    c->cells = arena_new(&c->arena, struct collection_cell, n);
    for (int i = 0; i < c->n_runs; i++)
        c->cells[c->runs[i].task_index * c->n_methods + c->runs[i].method_index].count++;
    for (int k = 0; k < n; k++) {
        c->cells[k].runs = room;
        room += c->cells[k].count;
        c->cells[k].count = 0;
    }
    for (int i = 0; i < c->n_runs; i++) {
        struct collection_cell *cell =
            &c->cells[c->runs[i].task_index * c->n_methods + c->runs[i].method_index];
        cell->runs[cell->count++] = &c->runs[i];
    }
    for (int k = 0; k < n; k++)
        if (c->cells[k].count > 1)
            qsort(c->cells[k].runs, (size_t)c->cells[k].count, sizeof *c->cells[k].runs, compare_seeds);
}

void collection_group(struct collection *collection, collection_warning *warn, void *user)
{
    find_tasks(collection);
    find_methods(collection);
    drop_doubles(collection, warn, user);
    fill_cells(collection);
}

const struct collection_cell *collection_cell(const struct collection *collection, int task, int method)
{
    return &collection->cells[task * collection->n_methods + method];
}
