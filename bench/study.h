/* study: experiments that show the score target and the samplers are right: `dqs bench estimators`, `dqs
 * bench sampler`. They print Markdown tables (docs/studies.md) and end with a line of PASS or SHORT per
 * requirement. */
#ifndef BENCH_STUDY_H
#define BENCH_STUDY_H

#include "compute.h"
#include <stdbool.h>
#include <stdint.h>

struct study_options {
    bool quick; /* seconds instead of minutes, for CI; limits are looser */
    int threads;
    uint64_t seed;
};

/* argv[0] is the word that chose the study; then [--quick] [--threads n] [--seed n]. Return the exit code:
 * 0 if every requirement passed, 1 if one fell short, 2 for a wrong call. */
int study_estimator(int argc, char **argv);
int study_sampler(int argc, char **argv);

/* Reads the words and makes the compute the caller frees. Returns 0, or the exit code after a line on
 * stderr. */
int study_begin(struct study_options *o, struct compute **compute, int argc, char **argv);
/* Prints the verdict on `value <= limit` and returns whether it holds. */
bool study_verdict(const char *what, double value, double limit);

#endif
