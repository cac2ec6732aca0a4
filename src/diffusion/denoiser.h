/* denoiser: a network e(s, a_t, t) that predicts the noise in a noised action, and the ways to learn it and
 * to draw from it.
 *
 * Inputs of the network, in this order: features of s, noisy action, sinusoids of t. In a draw, what a state
 * and a level give to the first layer is multiplied once. */
#ifndef DIFFUSION_DENOISER_H
#define DIFFUSION_DENOISER_H

#include "adam.h"
#include "ddpm.h"
#include "net.h"

#define DENOISER_TILE 64 /* rows of a draw per tile */

struct denoiser_options {
    int feature_dim, act_dim, width, hidden, embed, steps, batch;
    enum activation act;
    enum vp_kind schedule;
    enum ddpm_kind sampler;
    double lr, eps, max_norm; /* Adam's; max_norm 0: gradients are not clipped */
    bool act_only;
    bool target;        /* keeps a slow copy of the network */
    bool differentiate; /* keeps what back-propagation through whole draws needs: T batches of activations */
};

struct denoiser_work; /* per thread */
struct denoiser {
    struct denoiser_options o;
    const struct compute *compute;
    struct net net, target, gradient;
    struct adam adam;
    struct ddpm ddpm;
    float *embedding;  /* [steps x embed] */
    float *level_part; /* [steps x width]: its part of the first layer */
    struct tape tape;  /* of a training batch or, to differentiate, of all steps of one: row t batch + r */
    float *x, *y, *dy; /* as many rows: [. x in], [. x act_dim] twice */
    float *noised;     /* as many rows, only to differentiate: [. x act_dim] */
    struct denoiser_work *work;
};

void denoiser_create(struct denoiser *d, struct arena *arena, const struct denoiser_options *o,
                     const struct compute *compute);
void denoiser_initialise(struct denoiser *d, enum net_init init, struct rng *rng);
void denoiser_visit(struct denoiser *d, struct visitor *visitor);

/* action [rows x act_dim] in the box <- features [rows x feature_dim], by the network itself or its slow
 * copy. */
void denoiser_draw(struct denoiser *d, const struct net *net, float *action, const float *features, int rows,
                   double noise, struct rng *rng);

/* t uniform, e ~ N(0, I), x = a0 noised by e to level t. level [rows]; x, e, a0 [rows x act_dim] */
void denoiser_noise(const struct denoiser *d, int *level, float *x, float *e, const float *a0, int rows,
                    struct rng *rng);
/* One Adam step on the mean of (e(s, x, t) - e)^2. Returns that mean. */
double denoiser_fit(struct denoiser *d, const float *features, const float *x, const int *level,
                    const float *e, int rows);

/* A draw of a batch that can be differentiated by the weights: first the actions, then, from d_action [rows x
 * act_dim] = d loss / d action, the gradient of the weights into d->gradient, whole (denoiser_step uses it).
 * Same actions as denoiser_draw. */
void denoiser_draw_taped(struct denoiser *d, float *action, const float *features, int rows, struct rng *rng);
void denoiser_draw_back(struct denoiser *d, const float *d_action, int rows);
void denoiser_step(struct denoiser *d);

#endif
