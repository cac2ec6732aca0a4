#include "ppo_options.h"

#define OPTIONS struct ppo_options
const struct option ppo_option_table[] = {
    OPTION_ROW_INT(n_steps, "2048", 1, 1e7, "steps of each environment in a rollout", "SB3, CleanRL"),
    OPTION_ROW_INT(batch, "64", 2, 65536, "minibatch; divides the rows of a rollout", "SB3, CleanRL"),
    OPTION_ROW_INT(epochs, "10", 1, 1000, "passes over a rollout", "SB3, CleanRL"),
    OPTION_ROW_REAL(gamma, "0.99", 0, 1, "discount", "SB3, CleanRL"),
    OPTION_ROW_REAL(gae_lambda, "0.95", 0, 1, "decay of the advantage estimate", "SB3, CleanRL"),
    OPTION_ROW_REAL(clip_range, "0.2", 1e-6, 10, "how far rho may leave 1", "SB3, CleanRL"),
    OPTION_ROW_REAL(clip_value, "0", 0, 1e9, "how far V may leave its old value; 0: any way", "CleanRL: 0.2"),
    OPTION_ROW_REAL(ent_coef, "0", 0, 1e3, "weight of the entropy", "SB3, CleanRL"),
    OPTION_ROW_REAL(vf_coef, "0.5", 0, 1e6, "weight of half the squared error of V", "CleanRL; SB3: 1"),
    OPTION_ROW_REAL(max_grad_norm, "0.5", 0, 1e9, "largest norm of all gradients together; 0: none",
                    "SB3, CleanRL"),
    OPTION_ROW_REAL(target_kl, "0", 0, 1e3, "leave a rollout when the policy has moved this far; 0: never",
                    "SB3, CleanRL"),
    OPTION_ROW_CHOICE(kl_stop, "minibatch", "minibatch epoch",
                      "where: before a minibatch at 1.5 target_kl, or after an epoch at target_kl",
                      "SB3; CleanRL: epoch"),
    OPTION_ROW_REAL(lr, "3e-4", 0, 1, "learning rate", "SB3, CleanRL, paper"),
    OPTION_ROW_BOOL(anneal_lr, "true", "the learning rate falls to 0 over the run", "CleanRL; SB3: off"),
    OPTION_ROW_REAL(adam_eps, "1e-5", 1e-12, 1, "Adam's epsilon", "SB3, CleanRL"),
    OPTION_ROW_BOOL(normalise_advantage, "true", "to mean 0, deviation 1 in a minibatch", "SB3, CleanRL"),
    OPTION_ROW_BOOL(normalise_obs, "true", "running normalisation of observations", "CleanRL; SB3: off"),
    OPTION_ROW_BOOL(normalise_reward, "true", "rewards over the deviation of the return",
                    "CleanRL; SB3: off"),
    OPTION_ROW_BOOL(bootstrap_truncated, "true", "the value goes on where the clock ran out",
                    "SB3; CleanRL: off"),
    OPTION_ROW_INT(width, "256", 16, 4096, "width of the hidden layers, a multiple of 16",
                   "paper; SB3, CleanRL: 64"),
    OPTION_ROW_INT(hidden, "2", 1, 8, "hidden layers", "SB3, CleanRL, paper"),
    OPTION_ROW_INT(obs_octaves, "0", 0, 12, "octaves of sines and cosines added to the observation", "off"),
    OPTION_ROW_REAL(log_sigma, "0", -10, 2, "log of the first standard deviation", "SB3, CleanRL"),
    {.key = NULL},
};

/* Small networks are enough for the built-in tasks. On pendulum the normaliser narrows as the policy learns
 * to stay up, and blows up the way there; on gmm the networks need help with fine detail, and the reward is
 * of the step alone, as for dqs; in the mazes eight balls find a goal sooner than one. */
const struct option_preset ppo_preset_table[] = {
    /* 781 rollouts of 320 updates and a quarter of another. */
    {"paper", NULL, "steps=1601536 stop_updates=250000"},
    {"sb3", NULL, "width=64 vf_coef=1 anneal_lr=false normalise_obs=false normalise_reward=false"},
    {"cleanrl", NULL, "width=64 clip_value=0.2 kl_stop=epoch bootstrap_truncated=false"},
    {"quick", NULL, "width=64 n_steps=512 epochs=4"},
    {"default", "control", "lr=1e-4"}, /* of networks this wide 3e-4 leaves the trust region: docs/papers/ppo.md */
    {"*", "pendulum", "gamma=0.9"},
    {"*", "gmm", "gamma=0"},
    {"default", "pendulum", "width=64 lr=1e-3 normalise_obs=false steps=200000"},
    {"default", "gmm", "width=64 lr=1e-3 obs_octaves=4 steps=100000 final_episodes=5000"},
    {"default", "maze", "width=64 n_envs=8 n_steps=512 batch=128 steps=300000"},
    {"default", "maze-small", "width=64 n_envs=8 n_steps=512 batch=128 steps=200000"},
    {NULL, NULL, NULL},
};
