/* curve: the evaluations of a method on a task, over its seeds: their mean and a band around it. */
#ifndef LAB_CURVE_H
#define LAB_CURVE_H

#include "collection.h"

enum curve_band { CURVE_MINMAX, CURVE_CI, CURVE_NO_BAND };

struct curve_rule {
    enum curve_band band; /* from the worst to the best seed; 95 % bootstrap interval of the mean */
    bool hours;           /* of training along x, instead of environment steps */
    int smooth;           /* evaluations in a running mean; below 2: none */
    bool paper_steps;     /* along x, as the paper counts them (paper_steps.h); not with hours */
};

struct curve {
    int seeds, n;       /* runs with an evaluation; points */
    double *step, *x;   /* of the evaluations of all seeds; x is the step too, or hours */
    double *mean;       /* over the seeds that got so far; between evaluations of a seed a straight line */
    double *whole;      /* the mean where all seeds did, else not-a-number */
    double *low, *high; /* of the band: where all seeds did, and they are at least two */
    struct chart_range xs, ys;
};

/* Seeds meet at the same step, also where x is hours: there it is their mean time. */
struct curve curve_take(struct arena *arena, const struct collection_run *const *runs, int n_runs,
                        const struct curve_rule *rule);

#endif
