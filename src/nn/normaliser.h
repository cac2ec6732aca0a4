/* normaliser: running mean and variance of observations (Welford), saved with the policy; and the scale of
 * rewards, by the spread of the discounted return. */
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

/* Rewards over the standard deviation of G = r + gamma G, which starts anew with each episode. No mean is
 * taken off: that would change what is asked for. */
struct reward_normaliser {
    struct normaliser returns; /* dim 1 */
    double gamma;
    int n_envs;
    float *G; /* [n_envs] */
};

void reward_normaliser_create(struct reward_normaliser *n, struct arena *arena, int n_envs, double gamma,
                              bool on);
/* scaled [n_envs] = clip(reward/std, +-10), of one step of all environments, which is learned from first. */
void reward_normaliser_step(struct reward_normaliser *n, float *scaled, const float *reward,
                            const uint8_t *terminated, const uint8_t *truncated);
void reward_normaliser_visit(struct reward_normaliser *n, struct visitor *visitor, const char *name);

#endif
