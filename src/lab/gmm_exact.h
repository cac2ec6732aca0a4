/* gmm_exact: the walk of the exact Boltzmann policy on gmm. With discount 0 the true Q(s, a) is the log
 * density after the step; actions are drawn from exp(Q) over the action square. Even this policy does not end
 * where exact samples of the mixture lie, since from uniform starts every mode is filled by the size of its
 * basin: it is the yardstick. */
#ifndef LAB_GMM_EXACT_H
#define LAB_GMM_EXACT_H

#include "arena.h"
#include "rng.h"

/* Where n episodes end, xy [n x 2]. */
void gmm_exact_walk(float *xy, int n, struct arena *scratch, struct rng *rng);

#endif
