/* squashed_gaussian: the policy a = tanh u, u = mu(s) + sigma(s) e, e ~ N(0, I), its log density, and the
 * gradient of both through the noise. The network's outputs are (mu, l) [B x 2d]; log sigma is l, brought
 * into its range.
 *
 * B batch, d action dimensions. */
#ifndef ALGO_SQUASHED_GAUSSIAN_H
#define ALGO_SQUASHED_GAUSSIAN_H

#include "actor.h"

enum sigma_form { SIGMA_TANH, SIGMA_CLAMP };
#define SIGMA_CHOICES "tanh clamp"

struct sigma_range {
    enum sigma_form form; /* low + (high - low)(tanh l + 1)/2, or l clipped */
    float low, high;      /* of log sigma */
};

struct squashed_gaussian {
    struct actor actor;
    struct sigma_range range;
    int act_dim;
    float *noise, *slope; /* of the last draw: sigma e, d log sigma / d l [B x d] */
};

/* spec->out = 2 act_dim; learn false: for acting. */
void gaussian_create(struct squashed_gaussian *g, struct arena *arena, const struct net_spec *spec,
                     struct sigma_range range, int batch, double lr, bool learn);
/* a [rows x d] = tanh mu(s) */
void gaussian_mean(const struct compute *compute, struct squashed_gaussian *g, float *a, const float *s,
                   int rows);
/* a ~ pi(.|s); if wanted log pi(a|s) [rows] = sum over dimensions of log N(u; mu, sigma^2) - log(1 - tanh^2
 * u) */
void gaussian_draw(const struct compute *compute, struct squashed_gaussian *g, float *a, float *log_pi,
                   const float *s, int rows, struct rng *rng);
/* actor.du <- d/d(mu, l) of the mean of alpha log pi(a|s) - Q(s, a), e fixed: after gaussian_draw, from da =
 * dQ/da. */
void gaussian_back(struct squashed_gaussian *g, const float *a, const float *da, double alpha, int rows);
/* The same as a blueprint, its features already told: tanh mu, or with noise. */
void gaussian_describe(const struct squashed_gaussian *g, struct blueprint *b, struct arena *arena,
                       bool stochastic);

#endif
