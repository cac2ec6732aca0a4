/* stats: see stats.h. */
#include "stats.h"
#include "rng.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COVERAGE 0.95

int stats_total(const struct stats_scores *scores)
{
    int n = 0;
    for (int t = 0; t < scores->n_tasks; t++)
        n += scores->count[t];
    return n;
}

/* ---------------------------------------------------------------- one row of numbers */

double stats_mean(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

double stats_std(const double *values, int n)
{
    double mean = stats_mean(values, n), sum = 0;
    for (int i = 0; i < n; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return n < 2 ? NAN : sqrt(sum / (n - 1));
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_quantile(const double *sorted, int n, double share)
{
    double at = share * (n - 1);
    int low = (int)at;
    if (low >= n - 1)
        return sorted[n - 1];
    return sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]);
}

double stats_median(const double *values, int n, double *scratch)
{
    memcpy(scratch, values, sizeof *values * (size_t)n);
    qsort(scratch, (size_t)n, sizeof *scratch, compare_numbers);
    return stats_quantile(scratch, n, 0.5);
}

/* ---------------------------------------------------------------- a set of tasks */

/* The mean over tasks of the mean over a task's scores of f(score, parameter). */
typedef double score_function(double score, double parameter);

static double mean_of(const struct stats_scores *scores, score_function *f, double parameter)
{
    const double *values = scores->values;
    double sum = 0;
    for (int t = 0; t < scores->n_tasks; t++) {
        double task = 0;
        for (int i = 0; i < scores->count[t]; i++)
            task += f(values[i], parameter);
        values += scores->count[t];
        sum += task / scores->count[t];
    }
    return sum / scores->n_tasks;
}

static double itself(double score, double unused)
{
    (void)unused;
    return score;
}

static double below(double score, double best)
{
    return score < best ? best - score : 0;
}

static double is_above(double score, double tau)
{
    return score > tau;
}

double stats_task_mean(const struct stats_scores *scores)
{
    return mean_of(scores, itself, 0);
}

double stats_optimality_gap(const struct stats_scores *scores, double best)
{
    return mean_of(scores, below, best);
}

double stats_profile(const struct stats_scores *scores, double tau)
{
    return mean_of(scores, is_above, tau);
}

double stats_task_median(const struct stats_scores *scores, double *scratch)
{
    double *means = scratch;
    const double *values = scores->values;
    for (int t = 0; t < scores->n_tasks; t++) {
        means[t] = stats_mean(values, scores->count[t]);
        values += scores->count[t];
    }
    return stats_median(means, scores->n_tasks, scratch + scores->n_tasks);
}

/* How often each task's scores would be repeated: to the least common multiple of the counts. Beyond 1e12
 * whole repetitions stop mattering, and a fraction of one does as well. */
static double common_count(const struct stats_scores *scores)
{
    double common = 1;
    for (int t = 0; t < scores->n_tasks; t++) {
        double a = common, b = scores->count[t];
        while (b > 0) {
            double rest = fmod(a, b);
            a = b;
            b = rest;
        }
        common = common / a * scores->count[t];
        if (common > 1e12)
            return 1e12;
    }
    return common;
}

double stats_iqm(const struct stats_scores *scores, double *scratch)
{
    int total = stats_total(scores);
    double common = common_count(scores), *pair = scratch; /* score, weight */
    const double *values = scores->values;
    for (int t = 0; t < scores->n_tasks; t++)
        for (int i = 0; i < scores->count[t]; i++) {
            *pair++ = *values++;
            *pair++ = common / scores->count[t];
        }
    qsort(scratch, (size_t)total, 2 * sizeof *scratch, compare_numbers);
    double all = common * scores->n_tasks, cut = floor(all / 4), from = cut, to = all - cut;
    double seen = 0, sum = 0;
    for (int i = 0; i < total; i++) {
        double begin = seen, end = seen += scratch[2 * i + 1];
        double weight = fmin(end, to) - fmax(begin, from);
        if (weight > 0)
            sum += weight * scratch[2 * i];
    }
    return sum / (to - from);
}

double stats_improvement(const struct stats_scores *x, const struct stats_scores *y)
{
    const double *a = x->values, *b = y->values;
    double sum = 0;
    assert(x->n_tasks == y->n_tasks);
    for (int t = 0; t < x->n_tasks; t++) {
        double wins = 0;
        for (int i = 0; i < x->count[t]; i++)
            for (int k = 0; k < y->count[t]; k++)
                wins += a[i] > b[k] ? 1 : a[i] == b[k] ? 0.5 : 0;
        sum += wins / x->count[t] / y->count[t];
        a += x->count[t];
        b += y->count[t];
    }
    return sum / x->n_tasks;
}

/* ---------------------------------------------------------------- intervals */

static void draw(double *out, const struct stats_scores *scores, struct rng *rng)
{
    const double *values = scores->values;
    for (int t = 0; t < scores->n_tasks; t++) {
        int n = scores->count[t];
        for (int i = 0; i < n; i++)
            *out++ = values[rng_below(rng, (uint32_t)n)];
        values += n;
    }
}

static void summarise(struct stats_interval *out, double *results, int repetitions)
{
    qsort(results, (size_t)repetitions, sizeof *results, compare_numbers);
    out->low = stats_quantile(results, repetitions, (1 - COVERAGE) / 2);
    out->high = stats_quantile(results, repetitions, (1 + COVERAGE) / 2);
}

void stats_bootstrap(struct stats_interval *out, int n_out, const struct stats_scores *sets, int n_sets,
                     stats_function *function, const void *context, int repetitions, uint64_t seed)
{
    struct arena arena = {0};
    struct rng rng;
    int total = 0;
    struct stats_scores *drawn = arena_new(&arena, struct stats_scores, n_sets);
    double **room = arena_new(&arena, double *, n_sets);
    for (int s = 0; s < n_sets; s++) {
        int n = stats_total(&sets[s]);
        drawn[s] = sets[s];
        drawn[s].values = room[s] = arena_new(&arena, double, n);
        total += n;
    }
    double *scratch = arena_new(&arena, double, 2 * total), *one = arena_new(&arena, double, n_out);
    double *results = arena_new(&arena, double, (size_t)n_out *(size_t)repetitions); /* by number */
    rng_seed(&rng, seed, RNG_BOOTSTRAP);
    for (int r = 0; r < repetitions; r++) {
        for (int s = 0; s < n_sets; s++)
            draw(room[s], &sets[s], &rng);
        function(one, drawn, context, scratch);
        for (int k = 0; k < n_out; k++)
            results[(size_t)k * (size_t)repetitions + (size_t)r] = one[k];
    }
    function(one, sets, context, scratch);
    for (int k = 0; k < n_out; k++) {
        out[k].value = one[k];
        summarise(&out[k], results + (size_t)k * (size_t)repetitions, repetitions);
    }
    arena_free(&arena);
}

void stats_mean_function(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)context;
    (void)scratch;
    *out = stats_task_mean(sets);
}

void stats_lead_function(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)context;
    (void)scratch;
    *out = stats_task_mean(&sets[0]) - stats_task_mean(&sets[1]);
}

struct stats_interval stats_mean_interval(const double *values, int n, int repetitions)
{
    struct stats_interval interval = {NAN, NAN, NAN};
    const struct stats_scores one = {1, &n, values};
    if (n > 0)
        stats_bootstrap(&interval, 1, &one, 1, stats_mean_function, NULL, repetitions, STATS_SEED);
    return interval;
}

struct stats_interval stats_lead_interval(const double *x, int n, const double *y, int m)
{
    struct stats_interval interval = {NAN, NAN, NAN};
    const struct stats_scores sets[] = {{1, &n, x}, {1, &m, y}};
    if (n > 0 && m > 0)
        stats_bootstrap(&interval, 1, sets, 2, stats_lead_function, NULL, STATS_REPETITIONS, STATS_SEED);
    return interval;
}

void stats_mark_best(const double *means, const double *stds, int n, bool *best, bool *close)
{
    int top = -1, there = 0;
    for (int i = 0; i < n; i++) {
        there += !isnan(means[i]);
        if (!isnan(means[i]) && (top < 0 || means[i] > means[top]))
            top = i;
    }
    for (int i = 0; i < n; i++) {
        best[i] = there > 1 && means[i] == means[top];
        close[i] = there > 1 && !best[i] && means[i] >= means[top] - stds[top];
    }
}
