/* score_net: a score network for densities with fine detail in the plane, fitted to known scores. The
 * position enters with octaves of sines, each damped where the noise hides it. The network's output F
 * corrects a Gaussian of width d = 1/2, in units of the noise, so that it is of order one at every level:
 *     S = -x / (h + d^2) + d F / (sqrt h sqrt(h + d^2)) */
#ifndef BENCH_SCORE_NET_H
#define BENCH_SCORE_NET_H

#include "adam.h"
#include "mixture.h"
#include "sampler.h"

struct score_net_options {
    int width, hidden, octaves, embed, batch, updates;
    double lr;
    struct schedule schedule;
};

struct score_net {
    struct score_net_options o;
    const struct compute *compute;
    struct net net, gradient;
    struct adam adam;
    struct tape tape, *infer; /* a training batch; one per thread */
    float *x, *y, *dy, **features;
    struct rng rng;
};

void score_net_create(struct score_net *s, struct arena *arena, const struct score_net_options *o,
                      const struct compute *compute, uint64_t seed);
/* Noised exact samples (nine of ten; the tenth starts uniform in the box), regression on the exact noised
 * score, the learning rate falling to 0 as a half cosine. Returns the mean loss of the last tenth. */
double score_net_fit(struct score_net *s, const struct mixture *m);

/* Samples xy [n x 2] from the network, or, where it is NULL, from the exact score of the mixture. */
struct draw {
    const struct score_net *net;
    const struct mixture *mixture;
    struct schedule schedule;
    enum sampler_kind kind;
    int steps;
};
void draw_samples(const struct draw *d, const struct compute *compute, float *xy, int n, struct rng *rng);

#endif
