/* sampled_entropy: how random a denoiser's actions are, by DACER's measure: at each of B states
 * ENTROPY_SAMPLES actions are drawn, a mixture of Gaussians is fitted to them, and its entropy (mixture_em.h)
 * is averaged over the states. */
#ifndef ALGO_SAMPLED_ENTROPY_H
#define ALGO_SAMPLED_ENTROPY_H

#include "denoiser.h"
#include "mixture_em.h"

#define ENTROPY_SAMPLES 200

struct sampled_entropy {
    int states;
    float *s, *action;          /* [states x features] in turn, [states x ENTROPY_SAMPLES x act_dim] */
    double *entropy;            /* [states] */
    struct mixture_em *mixture; /* per thread */
};

void sampled_entropy_create(struct sampled_entropy *h, struct arena *arena, const struct denoiser *actor,
                            int states);
/* s [states x features]; noise is added to the actions, which are then clipped, as when acting. */
double sampled_entropy(struct sampled_entropy *h, struct denoiser *actor, const float *s, double noise,
                       struct rng *rng);

#endif
