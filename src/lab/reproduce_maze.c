/* The maze: which methods keep both goals, and both ways to the top left one. The paper's words, per method,
 * are rules about the shares of a run's episodes; a rule is kept by a run or not, and the verdict goes by the
 * runs. */
#include "figure.h"
#include "maze_walks.h"
#include "number.h"
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REACHED 0.05 /* of the episodes: fewer are strays */
#define SKEWED 0.2   /* the smaller share of the episodes that enter a goal */
#define DIPO_STEPS 100

struct shares { /* of the episodes of a run */
    double top_left, bottom_right, by_top, by_left;
    int goals, paths;
    double smaller; /* goal's share of those that entered one */
    long step;
};

typedef bool keeps(const struct shares *s);

static bool both_goals_and_ways(const struct shares *s)
{
    return s->goals == 2 && s->paths == 2;
}

static bool one_goal(const struct shares *s)
{
    return s->goals == 1;
}

static bool one_goal_both_ways(const struct shares *s)
{
    return s->goals == 1 && s->paths == 2;
}

static bool skewed_goals(const struct shares *s)
{
    return s->goals == 2 && s->smaller < SKEWED;
}

static const struct claim {
    const char *algo, *said, *rule;
    keeps *keeps;
} claims[] = {
    {"dqs", "reaches both goals, the top left one by both paths", "2 goals and 2 ways", both_goals_and_ways},
    {"sac", "can only reach one of the goals", "1 goal", one_goal},
    {"qsm", "can only reach one of the goals", "1 goal", one_goal},
    {"dacer", "discovers the second goal, heavily skewed towards one", "2 goals, one with less than 20 %",
     skewed_goals},
    {"dipo", "one goal, by distinct paths", "1 goal by 2 ways", one_goal_both_ways},
    {0},
};

/* ---------------------------------------------------------------- data */

static void count_shares(struct shares *s)
{
    s->goals = (s->top_left >= REACHED) + (s->bottom_right >= REACHED);
    s->paths = (s->by_top >= REACHED) + (s->by_left >= REACHED);
    s->smaller = fmin(s->top_left, s->bottom_right) / (s->top_left + s->bottom_right);
}

static struct shares shares_of(const struct walks *w)
{
    double n = w->n;
    struct shares s = {.by_top = w->counts[WALK_BY_TOP] / n,
                       .by_left = w->counts[WALK_BY_LEFT] / n,
                       .bottom_right = w->counts[WALK_BOTTOM_RIGHT] / n};
    s.top_left = s.by_top + s.by_left + w->counts[WALK_TOP_LEFT] / n;
    count_shares(&s);
    return s;
}

/* The numbers of the last evaluation, for runs of which no trace was kept. */
static bool shares_told(const struct collection_run *run, struct shares *s)
{
    const struct plot_table *t = &run->evaluations;
    const double *episodes = plot_column(t, "episodes"), *step = plot_column(t, "step");
    const struct {
        const char *column;
        double *share;
    } told[] = {{"goal_top_left", &s->top_left},
                {"goal_bottom_right", &s->bottom_right},
                {"path_top", &s->by_top},
                {"path_left", &s->by_left}};
    int last = t->rows - 1;
    if (last < 0 || !episodes || !(episodes[last] > 0) || !(step[last] >= 0 && step[last] < 9e15))
        return false;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        const double *count = plot_column(t, told[i].column);
        if (!count || !(count[last] >= 0 && count[last] <= episodes[last]))
            return false;
        *told[i].share = count[last] / episodes[last];
    }
    s->step = (long)step[last];
    count_shares(s);
    return true;
}

/* False if there is nothing (yet), or a trace of another task: then with a warning. A damaged one is told of
 * too; the last evaluation stands in for it. */
static bool take(struct reproduction *r, const struct collection_run *run, const struct maze_layout *layout,
                 struct shares *shares)
{
    struct plot_data data = {0};
    struct walks walks;
    bool there = walks_of_run(&walks, &data, &data.arena, run->path, layout, r->warn, r->user);
    if (there) {
        *shares = shares_of(&walks);
        if (!number_read_long(data.step, &shares->step))
            shares->step = 0;
    }
    plot_data_free(&data);
    return there || (data.trace.episodes == 0 && shares_told(run, shares));
}

/* ---------------------------------------------------------------- words */

static void put_head(struct reproduction *r, const char *task)
{
    static const char *const head[] = {"Method",       "Preset",     "Seed",        "Steps", "Top left",
                                       "Bottom right", "By the top", "By the left", "Goals", "Ways"};
    document_table(&r->document, 10, 2,
                   "%s: per cent of the evaluation episodes that enter each goal first, and those that come "
                   "to the top left "
                   "one by either way; a goal or way counts from 5 %% on; %s.",
                   task, r->presets);
    for (int k = 0; k < 10; k++)
        document_cell(&r->document, 0, "%s", head[k]);
}

static void put_row(struct reproduction *r, const struct collection_run *run, const struct shares *s)
{
    struct document *d = &r->document;
    char name[128];
    const double percent[] = {s->top_left, s->bottom_right, s->by_top, s->by_left};
    figure_name(name, sizeof name, &r->collection->methods[run->method_index]);
    document_cell(d, 0, "%s", name);
    document_cell(d, 0, "%s", run->preset);
    document_cell(d, 0, "%ld", run->seed);
    document_cell(d, 0, "%ld", s->step);
    for (int k = 0; k < 4; k++)
        document_cell(d, 0, "%.0f", 100 * percent[k]);
    document_cell(d, 0, "%d", s->goals);
    document_cell(d, 0, "%d", s->paths);
}

/* DIPO's chain may be shorter than its own; whoever made it so says so. */
static void note_steps(struct reproduction *r, const struct collection_run *run)
{
    long steps;
    const char *text = collection_option(run, "diffusion_steps");
    if (strcmp(run->algo, "dipo") == 0 && text && number_read_long(text, &steps) && steps != DIPO_STEPS &&
        !strstr(r->note, "DIPO")) {
        size_t used = strlen(r->note);
        snprintf(r->note + used, sizeof r->note - used, "%sDIPO with %ld diffusion steps instead of its %d",
                 used ? "; " : "", steps, DIPO_STEPS);
    }
}

static void judge(struct reproduction *r, const char *task, const struct collection_method *method,
                  const struct shares *shares, int n)
{
    const struct claim *claim = claims;
    double *kept = arena_new(&r->arena, double, n + 1);
    bool enough = n > 0;
    while (claim->algo && strcmp(claim->algo, method->algo) != 0)
        claim++;
    if (!claim->algo)
        return;
    struct reproduce_verdict *v = reproduce_add(r, task, method);
    v->measure = "share of the runs that keep the rule";
    v->said = claim->said;
    v->bound = reproduce_keep(r, "%s, in most runs", claim->rule);
    for (int i = 0; i < n; i++) {
        kept[i] = claim->keeps(&shares[i]);
        enough = enough && shares[i].step >= reproduce_least(r, task);
    }
    struct stats_interval interval = stats_mean_interval(kept, n, STATS_REPETITIONS);
    reproduce_claim(v, &interval, 0.5, 0.5, n);
    if (n > 0 && !enough)
        reproduce_say(v, "no verdict: too few steps", n);
}

static void judge_task(struct reproduction *r, int task)
{
    const char *name = r->collection->tasks[r->view.tasks[task]];
    const struct maze_layout *layout = maze_layout_find(name);
    int first = r->n_verdicts;
    if (!layout)
        return;
    if (strcmp(name, r->item->full_task) != 0) {
        size_t used = strlen(r->note);
        snprintf(r->note + used, sizeof r->note - used,
                 "%s%s, a smaller maze in which both goals pay, instead of the paper's", used ? "; " : "",
                 name);
    }
    put_head(r, name);
    struct shares **all = arena_new(&r->arena, struct shares *, r->view.n_methods);
    int *counts = arena_new(&r->arena, int, r->view.n_methods);
    for (int m = 0; m < r->view.n_methods; m++) {
        const struct collection_cell *cell =
            collection_cell(r->collection, r->view.tasks[task], r->view.methods[m]);
        all[m] = arena_new(&r->arena, struct shares, cell->count + 1);
        for (int i = 0; i < cell->count; i++)
            if (take(r, cell->runs[i], layout, &all[m][counts[m]])) {
                put_row(r, cell->runs[i], &all[m][counts[m]++]);
                note_steps(r, cell->runs[i]);
            }
    }
    for (int m = 0; m < r->view.n_methods; m++)
        judge(r, name, &r->collection->methods[r->view.methods[m]], all[m], counts[m]);
    reproduce_put_claims(r, first);
}

dqs_status reproduce_maze(struct reproduction *r, dqs_error *error)
{
    (void)error;
    for (int t = 0; t < r->view.n_tasks; t++)
        judge_task(r, t);
    return DQS_OK;
}
