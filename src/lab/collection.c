/* collection: the walk over folders and the reading of one run. What belongs together is collection_group.c's
 * business. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* lstat, strdup */
#endif
#include "collection.h"
#include "collection_group.h"
#include "config.h"
#include "file.h"
#include "number.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_LIMIT 16
#define PATH_LIMIT 1000
#define CONFIG_LIMIT (1 << 20)  /* bytes; config_scan has the same limit */
#define TABLE_LIMIT (256 << 20) /* bytes */
#define BUDGET_SLACK 0.02

/* ---------------------------------------------------------------- folders */

struct names {
    char **list;
    int count, capacity;
};

static void names_add(struct names *names, const char *text)
{
    if (names->count == names->capacity) {
        names->capacity = names->capacity ? 2 * names->capacity : 32;
        names->list = realloc(names->list, sizeof *names->list * (size_t)names->capacity);
    }
    char *copy = names->list ? strdup(text) : NULL;
    if (!copy) { /* as the arena does */
        fprintf(stderr, "dqs: out of memory for the names of runs\n");
        abort();
    }
    names->list[names->count++] = copy;
}

static void names_free(struct names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_config(const char *folder)
{
    char path[PATH_LIMIT + 20];
    struct stat about;
    snprintf(path, sizeof path, "%s/config.yaml", folder);
    return lstat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

static bool is_real_folder(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static dqs_status list_folder(struct names *names, const char *folder, dqs_error *error)
{
    DIR *stream = opendir(folder);
    if (!stream)
        return fail(error, DQS_E_IO, "%s: cannot look into the folder: %s; check the path", folder,
                    strerror(errno));
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_name[0] != '.')
            names_add(names, entry->d_name);
    closedir(stream);
    if (names->count > 1)
        qsort(names->list, (size_t)names->count, sizeof *names->list, compare_names);
    return DQS_OK;
}

struct walk {
    struct names runs;
    collection_warning *warn;
    void *user;
    int left_out;
};

static void walk_warn(struct walk *walk, const char *line)
{
    walk->left_out++;
    if (walk->warn)
        walk->warn(walk->user, line);
}

static void walk_into(struct walk *walk, const char *folder, int depth);

static dqs_status walk_below(struct walk *walk, const char *folder, int depth, dqs_error *error)
{
    struct names names = {0};
    dqs_status status = list_folder(&names, folder, error);
    for (int i = 0; status == DQS_OK && i < names.count; i++) {
        char path[PATH_LIMIT + 300];
        snprintf(path, sizeof path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                 names.list[i]);
        if (is_real_folder(path))
            walk_into(walk, path, depth + 1);
    }
    names_free(&names);
    return status;
}

static void walk_into(struct walk *walk, const char *folder, int depth)
{
    dqs_error error = {0};
    if (strlen(folder) >= PATH_LIMIT || depth > DEPTH_LIMIT)
        fail(&error, DQS_E_USAGE, "%.80s...: too deep a folder; passed over", folder);
    else if (has_config(folder))
        names_add(&walk->runs, folder);
    else
        walk_below(walk, folder, depth, &error);
    if (error.status != DQS_OK)
        walk_warn(walk, error.message);
}

/* What the user named must be there; what is found below it may be odd. */
static dqs_status walk_start(struct walk *walk, const char *named, dqs_error *error)
{
    char folder[PATH_LIMIT];
    if (!named[0] || strlen(named) >= PATH_LIMIT)
        return fail(error, DQS_E_USAGE, "%.80s: not the path of a folder", named);
    while (named[0] == '.' && named[1] == '/' && named[2] && named[2] != '/') /* ./runs/ is runs */
        named += 2;
    snprintf(folder, sizeof folder, "%s", named);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
        folder[n - 1] = 0;
    if (has_config(folder)) {
        names_add(&walk->runs, folder);
        return DQS_OK;
    }
    return walk_below(walk, folder, 0, error);
}

/* ---------------------------------------------------------------- one run */

/* A pipe would be waited for, a device never end. *there tells a missing file from a good one. */
static dqs_status check_regular(const char *folder, const char *file, long limit, bool *there,
                                dqs_error *error)
{
    char path[PATH_LIMIT + 40];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    *there = stat(path, &about) == 0;
    if (!*there && errno != ENOENT)
        return fail(error, DQS_E_IO, "%s: cannot read: %s", path, strerror(errno));
    if (*there && !S_ISREG(about.st_mode))
        return fail(error, DQS_E_FORMAT, "%s: not a regular file", path);
    if (*there && about.st_size > limit)
        return fail(error, DQS_E_FORMAT, "%s: %lld bytes are too many for such a file", path,
                    (long long)about.st_size);
    return DQS_OK;
}

struct pairs {
    struct arena *arena;
    struct collection_option *list;
    int count, capacity;
    const char *odd; /* the first key whose value is not plain text */
};

static const char *keep_text(struct arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(arena_take(arena, size), text, size);
}

static void take_pair(void *user, const char *key, const char *value)
{
    struct pairs *pairs = user;
    if (pairs->count == pairs->capacity) {
        int capacity = pairs->capacity ? 2 * pairs->capacity : 128;
        struct collection_option *larger = arena_new(pairs->arena, struct collection_option, capacity);
        if (pairs->count)
            memcpy(larger, pairs->list, sizeof *larger * (size_t)pairs->count);
        pairs->list = larger;
        pairs->capacity = capacity;
    }
    if (!pairs->odd && !config_is_text(key))
        pairs->odd = "a key";
    else if (!pairs->odd && !config_is_text(value))
        pairs->odd = keep_text(pairs->arena, key);
    pairs->list[pairs->count++] =
        (struct collection_option){keep_text(pairs->arena, key), keep_text(pairs->arena, value)};
}

const char *collection_option(const struct collection_run *run, const char *key)
{
    for (int i = 0; i < run->n_options; i++)
        if (strcmp(run->options[i].key, key) == 0)
            return run->options[i].value;
    return NULL;
}

static const char *text_option(const struct collection_run *run, const char *key)
{
    const char *value = collection_option(run, key);
    return value ? value : "";
}

static dqs_status name_run(struct collection_run *run, struct arena *arena, const char *path,
                           dqs_error *error)
{
    run->env = text_option(run, "env");
    run->algo = text_option(run, "algo");
    run->preset = text_option(run, "preset");
    if (!run->env[0] || !run->algo[0])
        return fail(error, DQS_E_FORMAT, "%s: does not say which %s", path, run->env[0] ? "algo" : "env");
    if (!number_read_long(text_option(run, "seed"), &run->seed) ||
        !number_read_long(text_option(run, "steps"), &run->planned))
        return fail(error, DQS_E_FORMAT, "%s: has no whole numbers as seed and steps", path);
    const char *more = text_option(run, "env_options");
    size_t size = strlen(run->env) + strlen(more) + 2;
    char *task = arena_new(arena, char, size);
    snprintf(task, size, "%s%s%s", run->env, more[0] ? " " : "", more);
    run->task = task;
    return DQS_OK;
}

static dqs_status read_options(struct collection_run *run, struct arena *arena, dqs_error *error)
{
    char path[PATH_LIMIT + 40];
    char *text;
    size_t size;
    bool there;
    TRY(check_regular(run->path, "config.yaml", CONFIG_LIMIT, &there, error));
    snprintf(path, sizeof path, "%s/config.yaml", run->path);
    TRY(file_read(path, &text, &size, error));
    struct pairs pairs = {.arena = arena};
    dqs_status status = config_scan(text, size, path, take_pair, &pairs, error);
    free(text);
    TRY(status);
    if (pairs.odd)
        return fail(error, DQS_E_FORMAT, "%s: %s is not plain text", path, pairs.odd);
    run->options = pairs.list;
    run->n_options = pairs.count;
    return name_run(run, arena, path, error);
}

static double last_step(const double *step, int rows)
{
    double last = 0;
    for (int i = 0; step && i < rows; i++)
        if (step[i] > last && step[i] < 9e15)
            last = step[i];
    return last;
}

static dqs_status read_evaluations(struct collection_run *run, struct arena *arena, dqs_error *error)
{
    bool there;
    struct plot_table *t = &run->evaluations;
    TRY(check_regular(run->path, "evaluations.csv", TABLE_LIMIT, &there, error));
    TRY(plot_table_read(t, arena, run->path, "evaluations.csv", error));
    if (t->columns > 0 && (!plot_column(t, "step") || !plot_column(t, "mean_reward")))
        return fail(error, DQS_E_FORMAT, "%s/evaluations.csv: has no column %s", run->path,
                    plot_column(t, "step") ? "mean_reward" : "step");
    run->reached = (long)last_step(plot_column(t, "step"), t->rows);
    return DQS_OK;
}

/* Only two columns are kept: the table is the largest file read, and most of it is for other eyes. */
static dqs_status read_times(struct collection_run *run, struct arena *arena, dqs_error *error)
{
    bool there;
    struct plot_table t;
    struct arena scratch = {0};
    TRY(check_regular(run->path, "progress.csv", TABLE_LIMIT, &there, error));
    dqs_status status = plot_table_read(&t, &scratch, run->path, "progress.csv", error);
    const double *step = status == DQS_OK ? plot_column(&t, "time/total_timesteps") : NULL;
    const double *elapsed = step ? plot_column(&t, "time/time_elapsed") : NULL;
    if (elapsed && t.rows > 0) {
        double *steps = arena_new(arena, double, t.rows), *seconds = arena_new(arena, double, t.rows);
        int n = 0;
        for (int i = 0; i < t.rows; i++)
            if (isfinite(step[i]) && isfinite(elapsed[i]) && step[i] >= 0 && elapsed[i] >= 0 &&
                (n == 0 || step[i] > steps[n - 1])) {
                steps[n] = step[i];
                seconds[n++] = elapsed[i];
            }
        run->n_times = n;
        run->time_step = steps;
        run->time_seconds = seconds;
    }
    long trained = status == DQS_OK ? (long)last_step(step, t.rows) : 0;
    run->reached = trained > run->reached ? trained : run->reached;
    arena_free(&scratch);
    return status;
}

static dqs_status read_run(struct collection_run *run, struct arena *arena, const char *folder,
                           dqs_error *error)
{
    *run = (struct collection_run){.path = keep_text(arena, folder)};
    TRY(read_options(run, arena, error));
    TRY(read_evaluations(run, arena, error));
    TRY(read_times(run, arena, error));
    TRY(check_regular(folder, "DONE", TABLE_LIMIT, &run->done, error));
    if (run->done && run->evaluations.rows == 0)
        return fail(error, DQS_E_FORMAT, "%s: is finished, but its evaluations.csv is missing or empty",
                    folder);
    return DQS_OK;
}

static void read_runs(struct collection *collection, struct walk *walk)
{
    collection->runs = arena_new(&collection->arena, struct collection_run, walk->runs.count);
    for (int i = 0; i < walk->runs.count; i++) {
        dqs_error error = {0};
        struct collection_run *run = &collection->runs[collection->n_runs];
        if (read_run(run, &collection->arena, walk->runs.list[i], &error) == DQS_OK) {
            collection->n_runs++;
        } else {
            char line[sizeof error.message + 40];
            snprintf(line, sizeof line, "%s; the run is left out", error.message);
            walk_warn(walk, line);
        }
    }
}

/* ---------------------------------------------------------------- all of it */

/* A folder that was named twice, or lies in another that was named too, is read once. */
static void names_unique(struct names *names)
{
    int kept = 0;
    for (int i = 0; i < names->count; i++)
        if (kept > 0 && strcmp(names->list[kept - 1], names->list[i]) == 0)
            free(names->list[i]);
        else
            names->list[kept++] = names->list[i];
    names->count = kept;
}

static dqs_status no_runs(const char *folder, int left_out, dqs_error *error)
{
    if (left_out)
        return fail(error, DQS_E_FORMAT, "%s: no run below it can be read", folder);
    return fail(error, DQS_E_IO,
                "%s: no run below it, no folder has a config.yaml; try the folder that `dqs train` or `dqs "
                "sweep` printed",
                folder);
}

dqs_status collection_read(struct collection *collection, const char *const *folders, int n,
                           collection_warning *warn, void *user, dqs_error *error)
{
    *collection = (struct collection){0};
    struct walk walk = {.warn = warn, .user = user};
    dqs_status status = DQS_OK;
    for (int i = 0; i < n && status == DQS_OK; i++)
        status = walk_start(&walk, folders[i], error);
    if (status == DQS_OK && walk.runs.count > 0) {
        qsort(walk.runs.list, (size_t)walk.runs.count, sizeof *walk.runs.list, compare_names);
        names_unique(&walk.runs);
        read_runs(collection, &walk);
    }
    names_free(&walk.runs);
    TRY(status);
    collection->left_out = walk.left_out;
    if (collection->n_runs == 0)
        return no_runs(n > 0 ? folders[0] : "(no folder)", walk.left_out, error);
    collection_group(collection, warn, user);
    return DQS_OK;
}

void collection_free(struct collection *collection)
{
    arena_free(&collection->arena);
}

/* ---------------------------------------------------------------- questions */

/* A run that stops by its updates was evaluated where no evaluation was due: at its end, that is. */
static bool stopped_by_updates(const struct collection_run *run)
{
    const char *limit = collection_option(run, "stop_updates"), *text = collection_option(run, "eval_every");
    const double *step = plot_column(&run->evaluations, "step");
    long updates, every;
    if (!limit || !number_read_long(limit, &updates) || updates <= 0 || !text ||
        !number_read_long(text, &every) || every <= 0 || !step)
        return false;
    double last = last_step(step, run->evaluations.rows);
    return fmod(last, (double)every) >= (double)collection_stride(run);
}

bool collection_finished(const struct collection_run *run)
{
    return run->done || run->reached >= run->planned || stopped_by_updates(run);
}

long collection_stride(const struct collection_run *run)
{
    const char *const keys[] = {"n_envs", "action_repeat"};
    long stride = 1;
    for (int i = 0; i < 2; i++) {
        const char *text = collection_option(run, keys[i]);
        long value;
        if (text && number_read_long(text, &value) && value > 1 && value <= LONG_MAX / stride)
            stride *= value;
    }
    return stride;
}

int collection_row(const struct collection_run *run, long budget)
{
    const struct plot_table *t = &run->evaluations;
    const double *step = plot_column(t, "step"), *mean = plot_column(t, "mean_reward");
    double beyond = (double)budget + (double)collection_stride(run);
    int best = -1;
    for (int i = 0; step && mean && i < t->rows; i++)
        if (isfinite(mean[i]) && step[i] < beyond && step[i] >= (1 - BUDGET_SLACK) * (double)budget &&
            (best < 0 || step[i] >= step[best]))
            best = i;
    return best;
}

double collection_score(const struct collection_run *run, long budget)
{
    int row = collection_row(run, budget);
    return row < 0 ? NAN : plot_column(&run->evaluations, "mean_reward")[row];
}

double collection_seconds(const struct collection_run *run, long budget)
{
    const double *step = run->time_step, *seconds = run->time_seconds;
    double at = (double)budget, before_step = 0, before = 0;
    int n = run->n_times;
    for (int i = 0; i < n; i++) {
        if (step[i] >= at)
            return before + (seconds[i] - before) * (at - before_step) / (step[i] - before_step);
        before_step = step[i];
        before = seconds[i];
    }
    /* The last row may be a little short of the budget, as the last evaluation may. */
    return n > 0 && before_step >= (1 - BUDGET_SLACK) * at ? before : NAN;
}
