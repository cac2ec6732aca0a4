/* stats: honest numbers from few seeds, after Agarwal et al. 2021 (Deep RL at the edge of the statistical
 * precipice; the package rliable). Pure functions on arrays.
 *
 * Tasks may have different numbers of seeds. Every task then weighs the same, whatever it has: a measure is
 * what it would be if each task's scores were repeated until all tasks had equally many. With equal numbers
 * this is rliable's definition to the digit. */
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include "arena.h"
#include <stdbool.h>
#include <stdint.h>

/* Scores of one method: count[t] of them for task t, one task after the other in `values`; at least one task,
 * and at least one finite score each. Larger is better. */
struct stats_scores {
    int n_tasks;
    const int *count;
    const double *values;
};
int stats_total(const struct stats_scores *scores);

double stats_mean(const double *values, int n);
double stats_std(const double *values, int n); /* with n - 1; not-a-number below two values */
double stats_median(const double *values, int n, double *scratch); /* n numbers of scratch */
/* Linear between order statistics, as NumPy's default; `sorted` ascending, share in [0,1]. */
double stats_quantile(const double *sorted, int n, double share);

/* Measures of a whole set of tasks. */
double stats_task_mean(const struct stats_scores *scores); /* mean of the tasks' means */
/* Median of the tasks' means. scratch: 2 x n_tasks numbers. */
double stats_task_median(const struct stats_scores *scores, double *scratch);
/* Mean of the scores without the lowest and the highest quarter. scratch: 2 x stats_total numbers. */
double stats_iqm(const struct stats_scores *scores, double *scratch);
/* How far below `best` the scores are on average, those above it counting as at it. */
double stats_optimality_gap(const struct stats_scores *scores, double best);
/* Share of scores above tau. */
double stats_profile(const struct stats_scores *scores, double tau);
/* P(a run of x beats a run of y), a tie being half a win, averaged over the tasks, which are the same in
 * both. */
double stats_improvement(const struct stats_scores *x, const struct stats_scores *y);

/* ---------------------------------------------------------------- intervals */
struct stats_interval {
    double value, low, high; /* the measure of the data; the middle 95 % of the resampled */
};

/* Some numbers made from one or more sets of scores. scratch: 2 x the total of all sets. */
typedef void stats_function(double *out, const struct stats_scores *sets, const void *context,
                            double *scratch);

/* Percentile bootstrap, stratified: every repetition draws as many scores of each task, with replacement,
 * from that task's own; sets are drawn independently. The same seed gives the same interval. */
void stats_bootstrap(struct stats_interval *out, int n_out, const struct stats_scores *sets, int n_sets,
                     stats_function *function, const void *context, int repetitions, uint64_t seed);
#define STATS_REPETITIONS 10000
#define STATS_SEED 0                /* the same files give the same intervals */
stats_function stats_mean_function; /* mean of the tasks' means */
stats_function stats_lead_function; /* how far that of the first set is above that of the second */
/* Of the mean of n values, and of how far that of x is above that of y; not-a-number if there are none. */
struct stats_interval stats_mean_interval(const double *values, int n, int repetitions);
struct stats_interval stats_lead_interval(const double *x, int n, const double *y, int m);

/* As in the paper's tables: the highest mean of a row is best, those not below it by more than its standard
 * deviation are close. Not-a-number: nothing there. One alone is not best. */
void stats_mark_best(const double *means, const double *stds, int n, bool *best, bool *close);

#endif
