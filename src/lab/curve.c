/* curve: see curve.h. */
#include "curve.h"
#include "paper_steps.h"
#include "stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 2000

struct seed_curve {
    const struct collection_run *run;
    int n;
    double *x, *y; /* steps, return */
};

/* ---------------------------------------------------------------- one seed */
/* A running mean over the evaluations about each: as many on either side as are wanted and there. */
static void smooth(struct seed_curve *s, int width, double *copy)
{
    memcpy(copy, s->y, sizeof *copy * (size_t)s->n);
    for (int i = 0; i < s->n && width > 1; i++) {
        int reach = (width - 1) / 2;
        reach = reach < i ? reach : i;
        reach = reach < s->n - 1 - i ? reach : s->n - 1 - i;
        double sum = 0;
        for (int k = i - reach; k <= i + reach; k++)
            sum += copy[k];
        s->y[i] = sum / (2 * reach + 1);
    }
}

/* Evaluations in the order of steps; of those at the same step the last counts, which is the largest. */
static struct seed_curve take_seed(struct arena *arena, const struct collection_run *run,
                                   const struct curve_rule *rule)
{
    const struct plot_table *t = &run->evaluations;
    const double *step = plot_column(t, "step"), *mean = plot_column(t, "mean_reward");
    struct seed_curve s = {run, 0, arena_new(arena, double, t->rows), arena_new(arena, double, t->rows)};
    double unit = rule->paper_steps && !rule->hours ? paper_steps_ratio(run) : 1;
    for (int i = 0; step && mean && i < t->rows; i++) {
        if (!isfinite(mean[i]) || !(step[i] >= 0 && step[i] < 9e15))
            continue;
        double x = step[i] / unit;
        if (s.n > 0 && x < s.x[s.n - 1])
            continue;
        if (rule->hours && isnan(collection_seconds(run, (long)step[i])))
            continue;
        s.n -= s.n > 0 && x == s.x[s.n - 1];
        s.x[s.n] = x;
        s.y[s.n++] = mean[i];
    }
    smooth(&s, rule->smooth, arena_new(arena, double, s.n));
    return s;
}

/* Between evaluations a straight line; not-a-number before the first and after the last. */
static double seed_at(const struct seed_curve *s, double x)
{
    if (s->n == 0 || x < s->x[0] || x > s->x[s->n - 1])
        return NAN;
    int low = 0, high = s->n - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(s->x[middle] <= x ? &low : &high) = middle;
    }
    if (x == s->x[low] || low == high)
        return s->y[low];
    double u = (x - s->x[low]) / (s->x[high] - s->x[low]);
    return u == 1 ? s->y[high] : (1 - u) * s->y[low] + u * s->y[high];
}

/* ---------------------------------------------------------------- all seeds */
static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int join_steps(double *x, const struct seed_curve *seeds, int n_seeds)
{
    int n = 0, kept = 0;
    for (int k = 0; k < n_seeds; k++)
        for (int i = 0; i < seeds[k].n; i++)
            x[n++] = seeds[k].x[i];
    if (n > 1)
        qsort(x, (size_t)n, sizeof *x, compare_doubles);
    for (int i = 0; i < n; i++)
        if (kept == 0 || x[i] > x[kept - 1])
            x[kept++] = x[i];
    return kept;
}

static void measure(struct curve *v, int i, const double *y, int n, enum curve_band band)
{
    double sum = 0;
    struct chart_range range = chart_range_of(y, n);
    for (int k = 0; k < n; k++)
        sum += y[k];
    v->mean[i] = n > 0 ? sum / n : NAN;
    v->whole[i] = n == v->seeds ? v->mean[i] : NAN;
    v->low[i] = v->high[i] = NAN;
    if (n < v->seeds || n < 2 || band == CURVE_NO_BAND)
        return;
    if (band == CURVE_CI) { /* the same resamples at every x: the band does not shake */
        struct stats_interval interval = stats_mean_interval(y, n, RESAMPLES);
        range = (struct chart_range){interval.low, interval.high};
    }
    v->low[i] = range.low;
    v->high[i] = range.high;
}

/* Seeds meet at the same step, not at the same hour: there x is their mean time, and the slow ones have no
 * tail of their own. */
static double *hours_of(struct arena *arena, const struct curve *v, const struct seed_curve *seeds)
{
    double *x = arena_new(arena, double, v->n);
    for (int i = 0; i < v->n; i++) {
        double sum = 0;
        int n = 0;
        for (int k = 0; k < v->seeds; k++) {
            double seconds = collection_seconds(seeds[k].run, (long)v->step[i]);
            bool there = isfinite(seed_at(&seeds[k], v->step[i])) && isfinite(seconds);
            sum += there ? seconds / 3600 : 0;
            n += there;
        }
        x[i] = n > 0 ? sum / n : NAN;
        if (i > 0 && x[i] < x[i - 1])
            x[i] = x[i - 1]; /* a slow seed has dropped out of the mean */
    }
    return x;
}

struct curve curve_take(struct arena *arena, const struct collection_run *const *runs, int n_runs,
                        const struct curve_rule *rule)
{
    struct curve v = {0};
    struct seed_curve *seeds = arena_new(arena, struct seed_curve, n_runs);
    double *y = arena_new(arena, double, n_runs);
    int points = 0;
    for (int k = 0; k < n_runs; k++) {
        seeds[v.seeds] = take_seed(arena, runs[k], rule);
        points += seeds[v.seeds].n;
        v.seeds += seeds[v.seeds].n > 0;
    }
    v.step = v.x = arena_new(arena, double, points);
    v.n = join_steps(v.step, seeds, v.seeds);
    v.mean = arena_new(arena, double, v.n);
    v.whole = arena_new(arena, double, v.n);
    v.low = arena_new(arena, double, v.n);
    v.high = arena_new(arena, double, v.n);
    for (int i = 0; i < v.n; i++) {
        int n = 0;
        for (int k = 0; k < v.seeds; k++) {
            y[n] = seed_at(&seeds[k], v.step[i]);
            n += isfinite(y[n]);
        }
        measure(&v, i, y, n, rule->band);
    }
    if (rule->hours)
        v.x = hours_of(arena, &v, seeds);
    if (v.n == 0)
        return v;
    v.xs = chart_range_of(v.x, v.n);
    v.ys = chart_range_of(v.mean, v.n);
    for (int i = 0; i < v.n; i++)
        if (isfinite(v.low[i]))
            v.ys = chart_range_join(v.ys, (struct chart_range){v.low[i], v.high[i]});
    return v;
}
