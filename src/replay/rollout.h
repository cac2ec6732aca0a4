/* rollout: n_steps of n_envs environments, in order, for learners that use experience once and throw it away;
 * and the advantages of it. Row t n_envs + i is step t of environment i. */
#ifndef REPLAY_ROLLOUT_H
#define REPLAY_ROLLOUT_H

#include "arena.h"
#include "rng.h"
#include "visit.h"
#include <stdbool.h>

struct rollout {
    int obs_dim, act_dim, n_envs;
    long n_steps, filled;             /* in steps of all environments */
    float *obs, *action;              /* as the networks saw it; as drawn, unclipped */
    float *log_prob, *value, *reward; /* of that action; V(obs) */
    float *final_value;               /* V of the true next observation, where no row follows */
    uint8_t *terminated, *truncated;
    float *advantage, *ret; /* by rollout_advantages */
};

/* Some rows, gathered. [rows x .] */
struct rollout_batch {
    int rows;
    float *obs, *action, *log_prob, *value, *advantage, *ret;
};

void rollout_create(struct rollout *r, struct arena *arena, long n_steps, int n_envs, int obs_dim,
                    int act_dim);
void rollout_batch_create(struct rollout_batch *batch, struct arena *arena, int rows, int obs_dim,
                          int act_dim);
bool rollout_full(const struct rollout *r);
long rollout_rows(const struct rollout *r); /* of the whole rollout */
long rollout_at(const struct rollout *r);   /* first row of the step that comes next */
void rollout_clear(struct rollout *r);
/* What is known when the action is drawn; drawn again before rollout_end, it is overwritten. [n_envs x .] */
void rollout_begin(struct rollout *r, const float *obs, const float *action, const float *log_prob);
/* What came of it. final_value counts where truncated, and in the last step. */
void rollout_end(struct rollout *r, const float *reward, const float *final_value, const uint8_t *terminated,
                 const uint8_t *truncated);
/* Of a full rollout whose values are filled in. */
void rollout_advantages(struct rollout *r, double gamma, double lambda);
/* 1 - var(ret - value)/var(ret); not a finite number where all returns are the same */
double rollout_explained_variance(const struct rollout *r);
void rollout_gather(const struct rollout *r, struct rollout_batch *batch, const long *rows);
void rollout_visit(struct rollout *r, struct visitor *visitor);

/* Generalised advantage estimation (Schulman et al. 2016), on arrays [n_steps x n_envs]:
 *     delta_t = r_t + gamma V(s_t+1) - V(s_t),    A_t = delta_t + gamma lambda A_t+1,    ret_t = A_t + V(s_t)
 * A chain ends where an episode does. V(s_t+1) is 0 where terminated, else final_value where the next row is
 * not s_t+1 (truncated, or the last step), else the value of the next row. terminated wins over truncated. */
void gae(float *advantage, float *ret, const float *reward, const float *value, const float *final_value,
         const uint8_t *terminated, const uint8_t *truncated, long n_steps, int n_envs, double gamma,
         double lambda);

/* order [n] <- a random permutation of 0 .. n-1 */
void shuffle(long *order, long n, struct rng *rng);

#endif
