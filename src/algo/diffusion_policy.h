/* diffusion_policy: a score network f(s, a_tau, tau, T) and the ways to draw actions from it.
 *
 * Inputs of the network, in this order: features of s, noisy action, embedding of tau, embedding of log T.
 * The network predicts S / scale(h), scale = gain / (1 + gain h): of order one at every noise level when
 * scores reach `gain`; gain = 0: it predicts the score itself. */
#ifndef ALGO_DIFFUSION_POLICY_H
#define ALGO_DIFFUSION_POLICY_H

#include "corrector.h"
#include "sampler.h"
#include "score_target.h"
#include "twin_energy.h"

struct policy_options {
    int width, hidden, embed, steps;
    int most_particles; /* of any draw */
    enum activation act;
    bool residual, layernorm, act_only;
    enum net_init init;
    enum squash squash;
    enum sampler_kind sampler;
    struct schedule schedule;
    double gain, lr, decay, max_norm, corrector_step;
    int feature_dim, act_dim, batch;
};

struct policy_work; /* per thread */
struct diffusion_policy {
    struct policy_options o;
    const struct compute *compute;
    struct net score, gradient;
    struct adam adam;
    struct tape tape;
    struct sampler sampler;
    float *level_embedding; /* [steps+1 x 2 embed]: of tau and of T at each level */
    float *level_part;      /* [steps+1 x width]: their part of the first layer */
    float *x, *y, *dy;      /* a training batch: [batch x in], [batch x act_dim] twice */
    struct policy_work *work;
    const struct twin_energy *energy;
};

void policy_create(struct diffusion_policy *p, struct arena *arena, const struct policy_options *o,
                   const struct compute *compute, const struct twin_energy *energy);
void policy_initialise(struct diffusion_policy *p, struct rng *rng);
/* kind: of the network; learn: with its optimiser */
void policy_visit(struct diffusion_policy *p, struct visitor *visitor, enum visit_kind kind, bool learn);

/* How to draw. The energy must be prepared for the same rows where particles > 1 or corrector > 0. */
struct policy_draw {
    double log_T;  /* temperature as the network sees it */
    double noise;  /* of the diffusion: 1, or 0 for none after the start */
    int particles; /* chains per row; one is chosen by softmax(Q/T) ... */
    bool best;     /* ... or for its Q: the first of the highest */
    int corrector; /* Metropolis-adjusted Langevin steps afterwards */
};
/* action [rows x act_dim] in the box <- features [rows x feature_dim]; returns the corrector's acceptance
 * rate. */
double policy_act(struct diffusion_policy *p, float *action, const float *features, int rows,
                  const struct policy_draw *draw, struct rng *rng);
/* The same as a blueprint, its features already told. */
void policy_describe(const struct diffusion_policy *p, struct blueprint *b, struct arena *arena,
                     const struct policy_draw *draw, double T);

/* tau ~ U[0,1], stratified over the batch; h = h(tau); x = x0 + sqrt(h) e. tau, h [rows]; x, x0 [rows x
 * act_dim] */
void policy_noise(struct diffusion_policy *p, float *tau, float *h, float *x, const float *x0, int rows,
                  struct rng *rng);

/* One Adam step on the weighted squared error between the network's score and S; weight lambda = h + 1e-3 on
 * the raw score, or 1 on the scaled one. log_T [rows] as the network sees it. Returns the loss. */
double policy_fit(struct diffusion_policy *p, const float *features, const float *x, const float *tau,
                  const float *h, const float *log_T, const float *S, int rows, bool lambda_weight);

#endif
