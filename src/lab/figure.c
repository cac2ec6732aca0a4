/* Which tasks and methods a figure takes, how they are named and look, and the walk over the figures. */
#include "figure.h"
#include "file.h"
#include "number.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- names with commas */
/* Cuts the next name of *list into `name`; false at the end. Blanks around it do not count. */
static bool next_name(const char **list, char *name, size_t size)
{
    while (**list == ',' || **list == ' ')
        ++*list;
    size_t n = strcspn(*list, ",");
    const char *start = *list;
    *list += n;
    while (n > 0 && start[n - 1] == ' ')
        n--;
    snprintf(name, size, "%.*s", (int)n, start);
    return n > 0;
}

static bool is_task(const struct collection *c, int index, const char *name)
{
    const char *task = c->tasks[index];
    size_t n = strlen(name); /* the task is the environment, then perhaps a blank and its options */
    return strncmp(task, name, n) == 0 && (task[n] == 0 || task[n] == ' ');
}

static bool is_method(const struct collection *c, int index, const char *name)
{
    const struct collection_method *m = &c->methods[index];
    return strcmp(m->label, name) == 0 || strcmp(m->algo, name) == 0;
}

struct chooser {
    const struct collection *c;
    const char *flag;
    int count; /* there are */
    bool (*is)(const struct collection *c, int index, const char *name);
    const char *(*label)(const struct collection *c, int index);
};

static const char *task_label(const struct collection *c, int index)
{
    return c->tasks[index];
}

static const char *method_label(const struct collection *c, int index)
{
    return c->methods[index].label;
}

static dqs_status unknown(const struct chooser *chooser, const char *name, dqs_error *error)
{
    char there[160] = "";
    for (int i = 0, n = 0; i < chooser->count && n < (int)sizeof there - 1; i++)
        n += snprintf(there + n, sizeof there - (size_t)n, "%s%s", i ? ", " : "",
                      chooser->label(chooser->c, i));
    return fail(error, DQS_E_USAGE, "%s: no run with '%.60s' is there; there are: %s", chooser->flag, name,
                there);
}

static dqs_status choose(const struct chooser *chooser, const char *list, int *chosen, int *n,
                         dqs_error *error)
{
    char name[128];
    *n = 0;
    if (!list) {
        for (; *n < chooser->count; ++*n)
            chosen[*n] = *n;
        return DQS_OK;
    }
    while (next_name(&list, name, sizeof name)) {
        bool found = false;
        for (int i = 0; i < chooser->count; i++) {
            bool taken = !chooser->is(chooser->c, i, name);
            found = found || !taken;
            for (int k = 0; k < *n; k++)
                taken = taken || chosen[k] == i;
            if (!taken)
                chosen[(*n)++] = i;
        }
        if (!found)
            return unknown(chooser, name, error);
    }
    return *n > 0 ? DQS_OK : fail(error, DQS_E_USAGE, "%s: names nothing", chooser->flag);
}

static dqs_status check_seeds(const struct collection *c, const char *list, dqs_error *error)
{
    char name[32];
    long seed;
    while (list && next_name(&list, name, sizeof name)) {
        if (!number_read_long(name, &seed))
            return fail(error, DQS_E_USAGE, "--seeds: '%s' is not a whole number", name);
        bool there = false;
        for (int i = 0; i < c->n_runs; i++)
            there = there || c->runs[i].seed == seed;
        if (!there)
            return fail(error, DQS_E_USAGE, "--seeds: no run with seed %ld is there; the first has %ld", seed,
                        c->runs[0].seed);
    }
    return DQS_OK;
}

bool figure_takes_seed(const struct figure_view *view, long seed)
{
    const char *list = view->choice.seeds;
    char name[32];
    long one;
    if (!list)
        return true;
    while (next_name(&list, name, sizeof name))
        if (number_read_long(name, &one) && one == seed)
            return true;
    return false;
}

/* ---------------------------------------------------------------- looks */
static int rank_of(const char *algo)
{
    const char *name;
    int i = 0;
    for (; (name = dqs_algo_name(i, NULL)); i++)
        if (strcmp(name, algo) == 0)
            return i;
    return -1;
}

/* How many methods before this one are of its algorithm. */
static int variant_of(const struct collection *c, int method)
{
    int before = 0;
    for (int i = 0; i < method; i++)
        before += strcmp(c->methods[i].algo, c->methods[method].algo) == 0;
    return before;
}

/* The first method of an algorithm has the algorithm's own look, in whatever company; the others have its
 * colour with other dashes and marks, or, where all are of one algorithm, colours of their own. */
static void give_looks(struct figure_view *view, struct arena *arena)
{
    const struct collection *c = view->collection;
    int n = c->n_methods, firsts = 0;
    int *look = arena_new(arena, int, n);
    bool *used = arena_new(arena, bool, CHART_LOOKS *(n + 1) + n);
    for (int i = 0; i < n; i++)
        firsts += variant_of(c, i) == 0;
    for (int i = 0; i < n; i++) {
        int rank = rank_of(c->methods[i].algo), variant = variant_of(c, i);
        bool own = rank >= 0 && rank < CHART_LOOKS && (variant == 0 || firsts > 1);
        look[i] = own ? rank + CHART_LOOKS * variant : -1;
        if (own)
            used[look[i]] = true;
    }
    for (int i = 0, free = 0; i < n; i++) {
        while (look[i] < 0 && used[free])
            free++;
        if (look[i] < 0)
            look[i] = free++;
    }
    view->looks = arena_new(arena, struct chart_look, n);
    for (int i = 0; i < n; i++)
        view->looks[i] = chart_look(look[i]);
}

dqs_status figure_view(struct figure_view *view, struct arena *arena, const struct collection *collection,
                       const struct figure_choice *choice, dqs_error *error)
{
    const struct chooser by_task = {collection, "--tasks", collection->n_tasks, is_task, task_label},
                         by_method = {collection, "--algos", collection->n_methods, is_method, method_label};
    *view = (struct figure_view){.collection = collection, .choice = *choice};
    view->tasks = arena_new(arena, int, collection->n_tasks);
    view->methods = arena_new(arena, int, collection->n_methods);
    TRY(choose(&by_task, choice->tasks, view->tasks, &view->n_tasks, error));
    TRY(choose(&by_method, choice->algos, view->methods, &view->n_methods, error));
    TRY(check_seeds(collection, choice->seeds, error));
    give_looks(view, arena);
    return DQS_OK;
}

/* ---------------------------------------------------------------- words */
void figure_name(char *text, int size, const struct collection_method *method)
{
    snprintf(text, (size_t)size, "%s", method->label);
    for (; *text && *text != ' '; text++)
        *text = (char)toupper((unsigned char)*text);
}

void figure_presets(char *text, int size, const struct figure_view *view)
{
    const struct collection *c = view->collection;
    int n = 0, used = 0;
    char names[160] = "";
    for (int i = 0; i < view->n_methods; i++) {
        const char *preset = c->methods[view->methods[i]].preset;
        bool seen = !preset[0];
        for (int k = 0; k < i; k++)
            seen = seen || strcmp(c->methods[view->methods[k]].preset, preset) == 0;
        if (seen || used >= (int)sizeof names)
            continue;
        used += snprintf(names + used, sizeof names - (size_t)used, "%s%s", n ? ", " : "", preset);
        n++;
    }
    snprintf(text, (size_t)size, "%s%s", n == 0 ? "" : n == 1 ? "preset " : "presets ", names);
}

/* ---------------------------------------------------------------- all of them */
static dqs_status draw_figures(const struct collection *collection, const struct figure_choice *choice,
                               const struct figure_context *context, dqs_error *error)
{
    static dqs_status (*const figures[])(const struct figure_view *, const struct figure_context *,
                                         dqs_error *) = {figure_curves, figure_mazes, figure_gmm};
    struct figure_view view;
    TRY(figure_view(&view, context->arena, collection, choice, error));
    TRY(file_make_folders(context->target->folder, error));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        TRY(figures[i](&view, context, error));
    if (context->target->report->count == 0)
        return fail(error, DQS_E_IO,
                    "%s: nothing to draw yet, none of its runs has an evaluation; try again later",
                    collection->runs[0].path);
    return DQS_OK;
}

dqs_status figure_all(const char *const *folders, int n, const struct figure_choice *choice,
                      const char *out_dir, struct plot_report *report, collection_warning *warn, void *user,
                      dqs_error *error)
{
    struct collection collection;
    struct arena arena = {0};
    struct plot_target target = {out_dir, report};
    const struct figure_context context = {&arena, &target, warn, user};
    report->count = 0;
    dqs_status status = collection_read(&collection, folders, n, warn, user, error);
    if (status == DQS_OK)
        status = draw_figures(&collection, choice, &context, error);
    collection_free(&collection);
    arena_free(&arena);
    return status;
}
