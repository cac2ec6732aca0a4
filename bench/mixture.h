/* mixture: a mixture of Gaussians in the plane, whose noised scores and samples are known
 * in closed form. */
#ifndef BENCH_MIXTURE_H
#define BENCH_MIXTURE_H

#include "energy.h"
#include "rng.h"
#include <stdbool.h>

#define MIXTURE_MODES 40

struct mixture {
    int modes;
    double weight[MIXTURE_MODES];                            /* sums to 1 */
    double mean[MIXTURE_MODES][2], cov[MIXTURE_MODES][3];    /* xx, xy, yy */
    double inverse[MIXTURE_MODES][3], height[MIXTURE_MODES]; /* of cov; the mode's density at its mean */
};

/* Adds a mode with standard deviations along and across a direction (radians). */
void mixture_add(struct mixture *m, double weight, double x, double y, double along, double across,
                 double angle);
/* Log density at x of the mixture plus noise of variance h; S [2] (may be NULL) receives its gradient. */
double mixture_score(const struct mixture *m, double *S, const float *x, double h);
/* xy [n x 2]; box: only those inside [-1,1]^2 are kept. */
void mixture_sample(const struct mixture *m, float *xy, int n, bool box, struct rng *rng);
struct energy mixture_energy(const struct mixture *m);

#endif
