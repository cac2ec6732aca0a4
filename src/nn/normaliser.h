/* normaliser: running mean and variance of observations (Welford), saved with the policy. */
#ifndef NN_NORMALISER_H
#define NN_NORMALISER_H

#include "arena.h"
#include "visit.h"
#include <stdbool.h>

struct normaliser {
    int dim;
    bool on; /* off: observations pass unchanged */
    double count, *mean, *m2;
    float *shift, *scale; /* derived: (x - shift) * scale */
};

void normaliser_create(struct normaliser *n, struct arena *arena, int dim, bool on);
void normaliser_learn(struct normaliser *n, const float *x, int rows);
/* y = clip((x - mean)/std, +-10); y may be x */
void normaliser_apply(const struct normaliser *n, float *y, const float *x, int rows);
void normaliser_visit(struct normaliser *n, struct visitor *visitor, const char *name);

#endif
