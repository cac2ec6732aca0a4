/* sweep_plan: from a grid to runs. A cell is a task, an algorithm and one value of every option; each cell
 * has a run per seed. Whatever can be refused is refused here, before any run is started. */
#include "config.h"
#include "env.h"
#include "file.h"
#include "number.h"
#include "run.h"
#include "sweep.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_LIMIT 100000
#define PATH_LIMIT 900 /* leaves room for the names of files */

struct cell {
    const char *task, *env_name, *algo, *preset;
    const char *variant; /* "default", "paper-T=0.1" */
    long steps;
    int n_settings;
    struct sweep_setting *settings;
};

struct builder {
    struct sweep_plan *plan;
    const struct sweep_spec *spec;
    struct cell *cells;
    int n_cells, seeds;
};

static const char *keep(struct arena *arena, const char *text)
{
    return strcpy(arena_take(arena, strlen(text) + 1), text);
}

/* The place in the file, if there is one, before what went wrong. */
static dqs_status at(const struct builder *b, const struct sweep_axis *axis, dqs_status status,
                     const dqs_error *inner, dqs_error *error)
{
    if (axis && axis->line > 0)
        return fail(error, status, "%.200s:%d: %s", b->spec->label, axis->line, inner->message);
    return fail(error, status, "%.200s: %s", b->spec->label, inner->message);
}

/* ---------------------------------------------------------------- which axes a task and an algorithm have */

static bool is_grid_key(const char *key)
{
    return !strcmp(key, "tasks") || !strcmp(key, "algos") || !strcmp(key, "seeds");
}

/* General axes, then those of sections; of two for one key the later counts, in the place of the first. */
static int choose_axes(const struct builder *b, const struct sweep_axis **chosen, const char *task,
                       const char *algo)
{
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < b->spec->n_axes; i++) {
            const struct sweep_axis *axis = &b->spec->axes[i];
            bool fits = axis->section && (!strcmp(axis->section, task) || !strcmp(axis->section, algo));
            if (pass == 0 ? axis->section != NULL : !fits)
                continue;
            if (is_grid_key(axis->key))
                continue;
            int place = 0;
            while (place < n && strcmp(chosen[place]->key, axis->key))
                place++;
            chosen[place] = axis;
            n += place == n;
        }
    return n;
}

static dqs_status check_sections(const struct builder *b, const struct sweep_axis *tasks,
                                 const struct sweep_axis *algos, dqs_error *error)
{
    for (int i = 0; i < b->spec->n_axes; i++) {
        const struct sweep_axis *axis = &b->spec->axes[i];
        bool known = !axis->section;
        for (int k = 0; !known && k < tasks->count; k++)
            known = !strcmp(axis->section, tasks->values[k]);
        for (int k = 0; !known && k < algos->count; k++)
            known = !strcmp(axis->section, algos->values[k]);
        known = known || env_find(axis->section) ||
                algo_find(axis->section); /* a part of the sweep leaves it out */
        if (!known)
            return fail(error, DQS_E_FORMAT,
                        "%.200s:%d: the section %.60s is neither a task nor an algorithm", b->spec->label,
                        axis->line, axis->section);
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- cells */

/* Folder names that every shell and file system takes as they are. */
static void append_clean(char *name, size_t size, const char *text)
{
    size_t used = strlen(name);
    for (; *text && used + 1 < size; text++)
        name[used++] = isalnum((unsigned char)*text) || strchr("._+-=,", *text) ? *text : '_';
    name[used] = 0;
}

static dqs_status configure(const struct builder *b, struct config *config, const struct sweep_axis **axes,
                            const int *choice, int n, dqs_error *error)
{
    dqs_error inner = {0};
    for (int i = 0; i < n; i++) {
        dqs_status status = config_set(config, axes[i]->key, axes[i]->values[choice[i]], &inner);
        if (status != DQS_OK) {
            dqs_error told = {0};
            fail(&told, status, "%.400s (%.40s)", inner.message, config->algo->name);
            return at(b, axes[i], status, &told, error);
        }
    }
    return DQS_OK;
}

static void name_cell(struct builder *b, struct cell *cell, const struct sweep_axis **axes, const int *choice,
                      int n)
{
    char name[512] = "";
    append_clean(name, sizeof name, cell->preset);
    for (int i = 0; i < n; i++)
        if (axes[i]->count > 1 && strcmp(axes[i]->key, "preset")) {
            append_clean(name, sizeof name, "-");
            append_clean(name, sizeof name, axes[i]->key);
            append_clean(name, sizeof name, "=");
            append_clean(name, sizeof name, axes[i]->values[choice[i]]);
        }
    cell->variant = keep(&b->plan->arena, name);
}

static void add_cell(struct builder *b, const struct config *config, const struct sweep_axis **axes,
                     const int *choice, int n)
{
    struct arena *arena = &b->plan->arena;
    struct cell *cell = &b->cells[b->n_cells++];
    *cell = (struct cell){.algo = config->algo->name,
                          .preset = keep(arena, config->preset),
                          .env_name = keep(arena, config->env->name),
                          .steps = config->value.run.steps};
    cell->settings = arena_new(arena, struct sweep_setting, n ? n : 1);
    for (int i = 0; i < n; i++)
        if (strcmp(axes[i]->key, "preset"))
            cell->settings[cell->n_settings++] =
                (struct sweep_setting){keep(arena, axes[i]->key), keep(arena, axes[i]->values[choice[i]])};
    name_cell(b, cell, axes, choice, n);
}

/* All combinations of the axes' values, the last axis fastest. */
static dqs_status cross(struct builder *b, const char *task, const char *algo,
                        const struct sweep_axis *task_axis, dqs_error *error)
{
    const struct sweep_axis **axes =
        arena_new(&b->plan->arena, const struct sweep_axis *, b->spec->n_axes + 1);
    int n = choose_axes(b, axes, task, algo), *choice = arena_new(&b->plan->arena, int, n + 1);
    const char *kept = keep(&b->plan->arena, task);
    double runs = b->seeds;
    for (int i = 0; i < n; i++)
        runs *= axes[i]->count;
    if (runs + (double)b->n_cells * b->seeds > RUNS_LIMIT)
        return fail(error, DQS_E_FORMAT, "%.200s: more than %d runs; cut it into several sweeps",
                    b->spec->label, RUNS_LIMIT);
    for (bool more = true; more;) {
        struct config *config;
        dqs_error inner = {0};
        dqs_status status = config_create(&config, algo, task, &inner);
        if (status != DQS_OK)
            return at(b, task_axis, status, &inner, error);
        status = configure(b, config, axes, choice, n, error);
        if (status == DQS_OK)
            add_cell(b, config, axes, choice, n);
        config_free(config);
        TRY(status);
        b->cells[b->n_cells - 1].task = kept;
        int i = n - 1;
        while (i >= 0 && ++choice[i] == axes[i]->count)
            choice[i--] = 0;
        more = i >= 0;
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- runs */

static dqs_status add_run(struct builder *b, const struct cell *cell, long seed, dqs_error *error)
{
    struct sweep_plan *plan = b->plan;
    char name[PATH_LIMIT] = "", tail[32], *folder;
    append_clean(name, sizeof name, cell->env_name);
    size_t used = strlen(name);
    snprintf(name + used, sizeof name - used, "/%s/%s-s%ld", cell->algo, cell->variant, seed);
    snprintf(tail, sizeof tail, "-s%ld", seed);
    used = strlen(name);
    size_t above = strlen(plan->out), total = above + 1 + used;
    if (total >= PATH_LIMIT || used < strlen(tail) || strcmp(name + used - strlen(tail), tail))
        return fail(error, DQS_E_FORMAT, "%.200s: the folder names become too long; let fewer options vary",
                    b->spec->label);
    folder = arena_take(&plan->arena, total + 1);
    memcpy(folder, plan->out, above);
    folder[above] = '/';
    memcpy(folder + above + 1, name, used + 1);
    plan->runs[plan->count++] = (struct sweep_run){.task = cell->task,
                                                   .algo = cell->algo,
                                                   .preset = cell->preset,
                                                   .name = folder + above + 1,
                                                   .folder = folder,
                                                   .seed = seed,
                                                   .steps = cell->steps,
                                                   .n_settings = cell->n_settings,
                                                   .settings = cell->settings};
    return DQS_OK;
}

static int by_folder(const void *a, const void *b)
{
    return strcmp((*(const struct sweep_run *const *)a)->folder,
                  (*(const struct sweep_run *const *)b)->folder);
}

static dqs_status check_folders(const struct builder *b, dqs_error *error)
{
    struct sweep_plan *plan = b->plan;
    const struct sweep_run **sorted = arena_new(&plan->arena, const struct sweep_run *, plan->count);
    for (int i = 0; i < plan->count; i++)
        sorted[i] = &plan->runs[i];
    qsort(sorted, (size_t)plan->count, sizeof *sorted, by_folder);
    for (int i = 1; i < plan->count; i++)
        if (!strcmp(sorted[i]->folder, sorted[i - 1]->folder))
            return fail(error, DQS_E_FORMAT,
                        "%.200s: two runs would share the folder %.200s; change one of their values",
                        b->spec->label, sorted[i]->folder);
    return DQS_OK;
}

static dqs_status add_runs(struct builder *b, const struct sweep_axis *seeds, dqs_error *error)
{
    static const char *const first = "0";
    const char *const *values = seeds ? seeds->values : &first;
    int n = b->seeds;
    b->plan->cells = b->n_cells;
    b->plan->runs = arena_new(&b->plan->arena, struct sweep_run, b->n_cells * n);
    for (int i = 0; i < n; i++) {
        long seed;
        if (!number_read_long(values[i], &seed) || seed < 0)
            return fail(error, DQS_E_FORMAT, "%.200s:%d: seeds: '%.60s' is not a whole number from 0",
                        b->spec->label, seeds->line, values[i]);
        for (int k = 0; k < b->n_cells; k++)
            TRY(add_run(b, &b->cells[k], seed, error));
    }
    return check_folders(b, error);
}

/* ---------------------------------------------------------------- against what is there */

static dqs_status run_config(struct config **config, const struct sweep_run *run, dqs_error *error)
{
    char seed[32];
    TRY(config_create(config, run->algo, run->task, error));
    dqs_status status = config_preset(*config, run->preset, error);
    for (int i = 0; status == DQS_OK && i < run->n_settings; i++)
        status = config_set(*config, run->settings[i].key, run->settings[i].value, error);
    snprintf(seed, sizeof seed, "%ld", run->seed);
    if (status == DQS_OK)
        status = config_set(*config, "seed", seed, error);
    if (status == DQS_OK)
        status = config_complete(*config, error);
    if (status != DQS_OK) {
        config_free(*config);
        *config = NULL;
    }
    return status;
}

/* What does not change the results, or (steps) may be more than it was. */
static bool may_differ(const struct option *row, const char *was, const char *is)
{
    static const char *const keys[] = {"threads", "name", "out", "max_minutes", "checkpoint_every"};
    long before, now;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(row->key, keys[i]))
            return true;
    return !strcmp(row->key, "steps") && number_read_long(was, &before) && number_read_long(is, &now) &&
           before < now;
}

static dqs_status compare(const struct sweep_run *run, const struct config *planned,
                          const struct config *found, dqs_error *error)
{
    char was[OPTION_TEXT_SIZE], is[OPTION_TEXT_SIZE];
    for (int i = 0; i < planned->rows; i++) {
        void *a, *b;
        const struct option *row = config_row(planned, &planned->value, i, &a);
        config_row(found, &found->value, i, &b);
        option_get(row, a, is, sizeof is);
        option_get(row, b, was, sizeof was);
        if (strcmp(is, was) && !may_differ(row, was, is))
            return fail(
                error, DQS_E_MISMATCH,
                "%.200s: was made with %s=%.60s, the sweep says %.60s; move it away, or choose another `out`",
                run->folder, row->key, was, is);
    }
    return DQS_OK;
}

static dqs_status check_existing(const struct sweep_run *run, dqs_error *error)
{
    char path[1024], *text;
    size_t size;
    struct config *planned = NULL, *found = NULL;
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", run->folder);
    if (!file_exists(path)) /* nothing that would be gone on with */
        return DQS_OK;
    snprintf(path, sizeof path, "%s/config.yaml", run->folder);
    TRY(file_read(path, &text, &size, error));
    dqs_status status = config_from_yaml(&found, text, size, path, NULL, NULL, true, error);
    free(text);
    if (status == DQS_OK)
        status = run_config(&planned, run, error);
    if (status == DQS_OK && (planned->algo != found->algo || strcmp(planned->env->name, found->env->name) ||
                             strcmp(planned->preset, found->preset)))
        status = fail(error, DQS_E_MISMATCH,
                      "%.200s: holds %s on %s, preset %s; move it away, or choose another `out`", run->folder,
                      found->algo->name, found->env->name, found->preset);
    if (status == DQS_OK)
        status = compare(run, planned, found, error);
    config_free(planned);
    config_free(found);
    return status;
}

/* ---------------------------------------------------------------- the whole */

static dqs_status make(struct builder *b, dqs_error *error)
{
    static const char *standard[] = {"dqs"};
    const struct sweep_axis only_dqs = {.key = "algos", .count = 1, .values = standard};
    const struct sweep_axis *tasks = sweep_axis(b->spec, "tasks"), *algos = sweep_axis(b->spec, "algos");
    if (!tasks)
        return fail(error, DQS_E_FORMAT, "%.200s: has no `tasks:`; `dqs envs` lists them", b->spec->label);
    algos = algos ? algos : &only_dqs;
    TRY(check_sections(b, tasks, algos, error));
    /* Room for as many as there may be is address space, not memory. */
    b->seeds = sweep_axis(b->spec, "seeds") ? sweep_axis(b->spec, "seeds")->count : 1;
    b->cells = calloc(RUNS_LIMIT, sizeof *b->cells);
    if (!b->cells)
        return fail(error, DQS_E_MEMORY, "%.200s: out of memory", b->spec->label);
    for (int t = 0; t < tasks->count; t++)
        for (int a = 0; a < algos->count; a++) {
            const struct algo *known;
            dqs_error inner = {0};
            dqs_status status = config_find_algo(&known, algos->values[a], &inner);
            if (status != DQS_OK)
                return at(b, algos, status, &inner, error);
            TRY(cross(b, tasks->values[t], algos->values[a], tasks, error));
        }
    TRY(add_runs(b, sweep_axis(b->spec, "seeds"), error));
    for (int i = 0; i < b->plan->count; i++)
        TRY(check_existing(&b->plan->runs[i], error));
    return DQS_OK;
}

dqs_status sweep_plan(struct sweep_plan *plan, const struct sweep_spec *spec, dqs_error *error)
{
    struct builder b = {.plan = plan, .spec = spec};
    *plan = (struct sweep_plan){0};
    char *out = arena_take(&plan->arena, strlen(spec->out) + 1);
    plan->out = strcpy(out, spec->out);
    for (size_t n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
        out[n - 1] = 0;
    dqs_status status = make(&b, error);
    free(b.cells);
    if (status != DQS_OK)
        sweep_plan_free(plan);
    return status;
}

dqs_status sweep_check(const struct sweep_plan *plan, dqs_error *error)
{
    dqs_error inner = {0};
    char path[1024];
    for (int i = 0; i < plan->cells; i++) {
        const struct sweep_run *run = &plan->runs[i];
        struct config *config;
        snprintf(path, sizeof path, "%s/checkpoint.safetensors", run->folder);
        if (file_exists(path)) /* it was built before */
            continue;
        TRY(run_config(&config, run, error));
        dqs_status status = run_check(config, &inner);
        config_free(config);
        if (status != DQS_OK)
            return fail(error, status, "%.150s: %.300s", run->name, inner.message);
    }
    return DQS_OK;
}

void sweep_plan_free(struct sweep_plan *plan)
{
    arena_free(&plan->arena);
    *plan = (struct sweep_plan){0};
}
