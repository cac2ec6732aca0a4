/* dqs_options: what can be set about Diffusion Q-Sampling, and the named sets of values. */
#ifndef ALGO_DQS_OPTIONS_H
#define ALGO_DQS_OPTIONS_H

#include "option.h"

enum dqs_noised { DQS_NOISED_BUFFER, DQS_NOISED_POLICY };
enum dqs_critics { DQS_CRITICS_MIN, DQS_CRITICS_MEAN, DQS_CRITICS_AUTO };
enum dqs_weight { DQS_WEIGHT_LAMBDA, DQS_WEIGHT_UNIT };
enum dqs_T_input { DQS_T_ABSOLUTE, DQS_T_RELATIVE };
enum dqs_eval_choice { DQS_CHOICE_SOFTMAX, DQS_CHOICE_BEST };

struct dqs_options {
    /* networks */
    long critic_width, critic_hidden, score_width, score_hidden, embed, obs_octaves;
    bool critic_layernorm, critic_residual, score_layernorm, score_residual, normalise_obs;
    int score_activation, init;
    /* diffusion */
    int squash, estimator, sampler, noised, loss_weight;
    long K, K_low, N;
    double sigma_low, mode_width, score_clip, sigma_min, sigma_max, score_gain;
    /* temperature */
    int temperature, T_input;
    double T, T_end, kappa, kappa_end, T_floor, T_ceiling, entropy_target, T_lr, T_spread, T_target;
    long T_steps;
    /* acting */
    long particles, particles_target, corrector, corrector_target, eval_particles;
    int eval_choice;
    double corrector_step, eval_noise, average;
    /* learning */
    int target_critics, energy_critics;
    bool bound_values;
    double gamma, eta, lr_critic, lr_actor, weight_decay, max_grad_norm, huber, updates_per_step,
        reward_scale;
    long batch, replay, warmup, n_step, policy_delay, reset_first, reset_settle;
    /* looking */
    long diag_states, diag_samples;
};

extern const struct option dqs_option_table[];
extern const struct option_preset dqs_preset_table[];

#endif
