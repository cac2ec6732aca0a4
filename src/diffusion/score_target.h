/* score_target: the K-sample estimate of the score of p_t = p_0 * N(0, h), where p_0 = exp(L)/Z is known
 * through L alone. With y_i = x + sqrt(h) e_i and w = softmax_i L(y_i):
 *
 *   gradient   S = sum w_i grad L(y_i)                        the paper's (iDEM); good at small h
 *   value      S = sum w_i (y_i - x)/h                        no gradients; good at large h
 *   mixture    c S_gradient + (1-c) S_value, c = s^2/(s^2+h), s the width of the modes
 *   shifted    half of the y_i from N(x, h), half from N(x + h grad L(x), h) (the shift at most sqrt h long), importance weights; one gradient per state.
 *              Below sigma_low all are shifted, and K_low of them do. K is a multiple of 4: pairs of either kind in turn.
 * In a box the proposals are cut to [-1,1]^d, where p_0 lives; then only value and shifted are right, because
 * the gradient form misses what the edge contributes. Samples come in antithetic pairs. */
#ifndef DIFFUSION_SCORE_TARGET_H
#define DIFFUSION_SCORE_TARGET_H

#include "arena.h"
#include "energy.h"
#include "kernels.h"
#include "rng.h"

#define SCORE_MOST_DIMS 64

enum score_form { SCORE_GRADIENT, SCORE_VALUE, SCORE_MIXTURE, SCORE_SHIFTED };
#define SCORE_CHOICES "gradient value mixture shifted"

struct score_options {
    enum score_form form;
    int K, K_low;
    double sigma_low, mode_width, clip; /* clip: largest norm of S, 0 for none */
    bool box;
};

struct score_scratch { /* one per thread, for `states` states at a time */
    int states;
    int *owner, *first, *count;
    float *y, *logw, *grad, *centre, *shift, *weight0;
};

void score_scratch_create(struct score_scratch *scratch, struct arena *arena, const struct score_options *o,
                          int dim);
/* S [n x dim] for states first .. first+n-1 (n <= scratch->states): x [. x dim] and h [.] are indexed by
 * state. ess (may be NULL) receives the effective sample size of each state's weights. */
void score_tile(const struct score_options *o, const struct kernels *k, const struct energy *energy, float *S,
                float *ess, const float *x, const float *h, int first, int n, const struct rng *rng,
                uint64_t ticket, struct score_scratch *scratch, int thread);

#endif
