/* The learning curves: does DQS learn faster than all others where the paper says so? A curve counts by its
 * mean height (the area under it over its width), which a method that is early at a high return has and one
 * that comes late has not. */
#include "paper_steps.h"
#include "published.h"
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HORIZON 250000.0
#define DASH "\u2013"

/* "On five out of the eight tasks DQS reaches higher reward much faster than competing methods." */
static const char *const faster[] = {"cheetah-run", "finger-spin", "fish-swim", "reacher-hard", "walker-run"};

struct heights { /* of a method on a task */
    int n;
    double *values, mean;
};

/* The last evaluation within the horizon, in steps of the paper; 0: none. */
static double reached(const struct collection_run *run)
{
    const double *step = plot_column(&run->evaluations, "step"),
                 *mean = plot_column(&run->evaluations, "mean_reward");
    double ratio = paper_steps_ratio(run), last = 0;
    for (int i = 0; step && mean && i < run->evaluations.rows; i++)
        if (isfinite(mean[i]) && step[i] / ratio <= 1.001 * HORIZON)
            last = fmax(last, step[i] / ratio);
    return last;
}

/* Trapezoids up to `end`; of several evaluations at one step the last, which is the largest. */
static double height_of(const struct collection_run *run, double end)
{
    const double *step = plot_column(&run->evaluations, "step"),
                 *mean = plot_column(&run->evaluations, "mean_reward");
    double ratio = paper_steps_ratio(run), sum = 0, width = 0, x = NAN, y = NAN;
    for (int i = 0; step && mean && i < run->evaluations.rows; i++) {
        double at = step[i] / ratio;
        bool repeated = i + 1 < run->evaluations.rows && step[i + 1] == step[i] && isfinite(mean[i + 1]);
        if (!isfinite(mean[i]) || at > 1.001 * end || repeated)
            continue;
        if (isfinite(x) && at > x) {
            sum += 0.5 * (mean[i] + y) * (at - x);
            width += at - x;
        }
        x = at;
        y = mean[i];
    }
    return width > 0 ? sum / width : y;
}

/* How far every run of the task has come. */
static double common_end(const struct reproduction *r, int task)
{
    double end = HORIZON;
    for (int m = 0; m < r->view.n_methods; m++) {
        const struct collection_cell *cell =
            collection_cell(r->collection, r->view.tasks[task], r->view.methods[m]);
        for (int i = 0; i < cell->count; i++)
            end = fmin(end, reached(cell->runs[i]));
    }
    return end;
}

static struct heights take(struct reproduction *r, int task, int method, double end)
{
    const struct collection_cell *cell =
        collection_cell(r->collection, r->view.tasks[task], r->view.methods[method]);
    struct heights h = {0, arena_new(&r->arena, double, cell->count + 1), NAN};
    for (int i = 0; i < cell->count; i++) {
        double height = height_of(cell->runs[i], end);
        if (isfinite(height))
            h.values[h.n++] = height;
    }
    h.mean = h.n ? stats_mean(h.values, h.n) : NAN;
    return h;
}

static bool is_claimed(const char *task)
{
    for (size_t i = 0; i < sizeof faster / sizeof *faster; i++)
        if (strcmp(faster[i], task) == 0)
            return true;
    return false;
}

static const char *name_of(struct reproduction *r, int method)
{
    char name[128];
    figure_name(name, sizeof name, &r->collection->methods[r->view.methods[method]]);
    return reproduce_keep(r, "%s", name);
}

static void judge_task(struct reproduction *r, int task, const struct heights *all, double end)
{
    const char *name = r->collection->tasks[r->view.tasks[task]];
    int ours = -1, rival = -1;
    for (int m = 0; m < r->view.n_methods; m++) {
        bool dqs = strcmp(r->collection->methods[r->view.methods[m]].algo, "dqs") == 0;
        if (all[m].n == 0)
            continue;
        if (dqs && (ours < 0 || all[m].mean > all[ours].mean))
            ours = m;
        if (!dqs && (rival < 0 || all[m].mean > all[rival].mean))
            rival = m;
    }
    struct reproduce_verdict *v =
        reproduce_add(r, name, ours < 0 ? NULL : &r->collection->methods[r->view.methods[ours]]);
    bool claimed = is_claimed(name);
    v->measure = "lead of the curve's mean height";
    v->said = claimed ? "reaches higher reward much faster than the others" : "";
    v->bound = rival < 0 ? "above every other curve"
                         : reproduce_keep(r, "curve above %s's, the best other, to %s steps",
                                          name_of(r, rival), reproduce_steps(r, lround(end)));
    if (ours < 0 || rival < 0)
        return;
    int seeds = all[ours].n < all[rival].n ? all[ours].n : all[rival].n;
    struct stats_interval interval =
        stats_lead_interval(all[ours].values, all[ours].n, all[rival].values, all[rival].n);
    reproduce_claim(v, &interval, 0, 0, seeds);
    if (end < (double)reproduce_least(r, name))
        reproduce_say(v, "no verdict: too few steps", seeds);
    else if (!claimed)
        reproduce_say(v, "no claim", seeds);
}

dqs_status reproduce_curves(struct reproduction *r, dqs_error *error)
{
    struct document *d = &r->document;
    int methods = r->view.n_methods;
    (void)error;
    struct heights *all = arena_new(&r->arena, struct heights, r->view.n_tasks * methods);
    double *ends = arena_new(&r->arena, double, r->view.n_tasks);
    document_table(
        d, 2 + methods, 1,
        "Mean height of the learning curves (area under the curve over its width), up to the steps that all "
        "runs of the task have made, at most 250k; means over seeds, in parentheses their number; %s.",
        r->presets);
    document_cell(d, 0, "Task");
    document_cell(d, 0, "Steps");
    for (int m = 0; m < methods; m++)
        document_cell(d, 0, "%s", name_of(r, m));
    for (int t = 0; t < r->view.n_tasks; t++) {
        ends[t] = common_end(r, t);
        document_cell(d, 0, "%s", r->collection->tasks[r->view.tasks[t]]);
        document_cell(d, 0, "%.0f", ends[t]);
        for (int m = 0; m < methods; m++) {
            struct heights *h = &all[t * methods + m];
            *h = take(r, t, m, ends[t]);
            if (h->n > 0)
                document_cell(d, 0, "%.1f (%d)", h->mean, h->n);
            else
                document_cell(d, 0, DASH);
        }
    }
    for (int t = 0; t < r->view.n_tasks; t++)
        judge_task(r, t, all + t * methods, ends[t]);
    reproduce_put_claims(r, 0);
    reproduce_tell_ppo(r);
    return DQS_OK;
}
