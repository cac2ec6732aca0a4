/* clipped_loss: the losses of a minibatch in PPO, with their gradients, for a Gaussian policy whose standard
 * deviations are the same in every state.
 *
 * B rows, d action dimensions, rho = pi(a|s)/pi_old(a|s), A advantage, H entropy. */
#ifndef ALGO_CLIPPED_LOSS_H
#define ALGO_CLIPPED_LOSS_H

#include "rollout.h"

struct clipped_loss {
    double policy, entropy, approx_kl, clip_fraction;
};

/* x <- (x - mean)/deviation */
void standardise(float *x, int n);
/* mean of max(-A rho, -A clip(rho, 1 - clip, 1 + clip)) - ent_coef H. dmean [B x d], dlog_sigma [d] <- its
 * gradients by mean [B x d], log_sigma [d]. */
struct clipped_loss clipped_policy_loss(float *dmean, float *dlog_sigma, const float *mean,
                                        const float *log_sigma, int d, const struct rollout_batch *batch,
                                        double clip, double ent_coef);
/* mean of (V - R)^2 / 2, or of the larger of that and the same with V kept within `clip` of its old value (0:
 * any way). dV [B] <- vf_coef times its gradient. */
double clipped_value_loss(float *dV, const float *V, const struct rollout_batch *batch, double clip,
                          double vf_coef);

#endif
