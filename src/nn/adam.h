/* adam: Adam and AdamW (decay > 0) over flat parameter arrays, and the Polyak average of target networks. */
#ifndef NN_ADAM_H
#define NN_ADAM_H

#include "compute.h"
#include "net.h"
#include "visit.h"

struct adam_options {
    double lr, beta1, beta2, eps, decay;
};

struct adam {
    struct adam_options options;
    size_t n;
    float *m, *v;
    long t; /* updates done */
};

void adam_create(struct adam *adam, struct arena *arena, size_t n, double lr, double decay);
/* params -= step; max_norm > 0 scales the gradient down to that norm first. Returns the norm of the
 * gradient. */
double adam_step(const struct compute *compute, struct adam *adam, float *params, float *gradient,
                 double max_norm);
/* The same on a network. */
double adam_net(const struct compute *compute, struct adam *adam, struct net *net, struct net *gradient,
                double max_norm);
/* Scales several gradients together, so that their common norm is at most max_norm (0: as they are). Returns
 * the norm they had. */
double clip_gradients(float *const gradient[], const size_t n[], int parts, double max_norm);
void adam_restart(struct adam *adam); /* as created */
void adam_visit(struct adam *adam, struct visitor *visitor, const char *name);

/* target += eta (source - target) */
void polyak_blend(const struct compute *compute, struct net *target, const struct net *source, double eta);

#endif
