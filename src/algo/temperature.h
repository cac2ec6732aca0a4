/* temperature: the T of exp(Q/T), in four modes.
 *   fixed      T
 *   anneal     from T to T_end, linearly in log T, over T_steps environment steps (0: the whole run)
 *   relative   kappa sQ, sQ the running root-mean-square of the spread of Q over the box within a state; kappa falls
 *              to kappa_end in the same way
 *   auto       log T moves so that the entropy of exp(Q/T) meets entropy_target nats per action dimension
 * The last two keep T between floor and ceiling, and look at Q on uniform actions in the box, a probe of some
 * states of the batch every few updates. */
#ifndef ALGO_TEMPERATURE_H
#define ALGO_TEMPERATURE_H

#include "twin_energy.h"

enum temperature_mode { TEMPERATURE_FIXED, TEMPERATURE_ANNEAL, TEMPERATURE_RELATIVE, TEMPERATURE_AUTO };
#define TEMPERATURE_CHOICES "fixed anneal relative auto"

struct temperature_options {
    enum temperature_mode mode;
    double T, T_end, kappa, kappa_end, floor, ceiling, entropy_target, lr;
    long steps;
};

struct temperature {
    struct temperature_options o;
    double T, spread, entropy; /* now; running sQ; last measured entropy per dimension */
    long probes;
    int samples, states;
    float *action, *logp; /* [states x samples (x act_dim)] */
    int *owner;
};

/* The least entropy per action dimension that the probe can tell: that of a density on one of its samples. */
double temperature_least_entropy(int act_dim);
void temperature_create(struct temperature *t, struct arena *arena, const struct temperature_options *o,
                        int act_dim, int batch);
void temperature_at(struct temperature *t, long step); /* anneal */
bool temperature_wants_probe(const struct temperature *t, long update);
/* The energy is prepared for a batch of states. */
void temperature_probe(struct temperature *t, const struct compute *compute, const struct twin_energy *energy,
                       long step, struct rng *rng);
void temperature_visit(struct temperature *t, struct visitor *visitor);

#endif
