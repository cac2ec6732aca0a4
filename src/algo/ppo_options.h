/* ppo_options: what can be set of ppo, and its presets. */
#ifndef ALGO_PPO_OPTIONS_H
#define ALGO_PPO_OPTIONS_H

#include "algo.h"

enum ppo_kl_stop { PPO_KL_MINIBATCH, PPO_KL_EPOCH };

struct ppo_options {
    long n_steps, batch, epochs, width, hidden, obs_octaves;
    double gamma, gae_lambda, clip_range, clip_value, ent_coef, vf_coef, max_grad_norm, target_kl, lr,
        adam_eps, log_sigma;
    bool anneal_lr, normalise_obs, normalise_reward, normalise_advantage, bootstrap_truncated;
    int kl_stop;
};

extern const struct option ppo_option_table[];
extern const struct option_preset ppo_preset_table[];

#endif
