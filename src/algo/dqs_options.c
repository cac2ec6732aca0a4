#include "dqs_options.h"
#include "diffusion_policy.h"
#include "temperature.h"

#define OPTIONS struct dqs_options
#define INT OPTION_ROW_INT
#define REAL OPTION_ROW_REAL
#define BOOL OPTION_ROW_BOOL
#define CHOICE OPTION_ROW_CHOICE

/* The standards are what an option was before anybody thought of it, or the paper's; the presets below
 * choose. */
const struct option dqs_option_table[] = {
    /* networks */
    INT(critic_width, "256", 16, 4096, "width of the critics' hidden layers, a multiple of 16", "paper"),
    INT(critic_hidden, "2", 1, 8, "hidden layers of the critics", "paper"),
    BOOL(critic_layernorm, "true", "normalise each hidden layer of the critics before its ReLU", "measured"),
    BOOL(critic_residual, "false", "add each hidden layer's input to its output, from the second on", "off"),
    INT(score_width, "256", 16, 4096, "width of the score network, a multiple of 16", "paper"),
    INT(score_hidden, "2", 1, 8, "hidden layers of the score network", "paper"),
    BOOL(score_residual, "true", "add each hidden layer's input to its output", "paper: skip connections"),
    BOOL(score_layernorm, "false", "normalise the score network's hidden layers", "off"),
    CHOICE(score_activation, "relu", "relu gelu mish tanh", "activation of the score network", "paper"),
    INT(embed, "64", 2, 1024, "numbers that encode tau, and as many for T", "measured"),
    CHOICE(init, "uniform", "uniform orthogonal", "initial weights", "PyTorch's default"),
    BOOL(normalise_obs, "true", "running normalisation of observations", "measured"),
    INT(obs_octaves, "0", 0, 12, "octaves of sines and cosines added to the observation",
        "off; gmm needs fine detail"),
    /* diffusion */
    CHOICE(squash, "paper", SQUASH_CHOICES,
           "where actions are bounded: after sampling, in the energy, by the box, or by clipping each step",
           "paper"),
    CHOICE(estimator, "gradient", SCORE_CHOICES, "form of the K-sample score estimate", "paper"),
    INT(K, "4", 1, 4096, "Monte Carlo samples per state", "measured"),
    INT(K_low, "2", 1, 4096, "the same below sigma_low, for estimator=shifted", "measured"),
    REAL(sigma_low, "0.05", 0, 10, "noise below which all proposals are shifted", "measured"),
    REAL(mode_width, "0.1", 1e-6, 10, "width of the modes for estimator=mixture", "measured"),
    REAL(score_clip, "0", 0, 1e9, "largest norm of a score target; 0: none", "iDEM clips at 70"),
    CHOICE(sampler, "ancestral", SAMPLER_CHOICES, "how the reverse process is integrated", "measured"),
    INT(N, "6", 1, 5000, "integration steps", "measured"),
    REAL(sigma_min, "0.01", 1e-8, 1, "smallest noise", "measured"),
    REAL(sigma_max, "1", 1e-3, 100, "largest noise", "paper"),
    REAL(score_gain, "20", 0, 1e6, "the network predicts S (1 + gain h)/gain; 0: S itself", "measured"),
    CHOICE(loss_weight, "unit", "lambda unit",
           "weight of the score loss: h + 1e-3 on S, or 1 on the scaled score", "measured"),
    CHOICE(noised, "buffer", "buffer policy",
           "whose actions are noised: the replay's, or the policy's at the next state", "paper"),
    /* temperature */
    CHOICE(temperature, "fixed", TEMPERATURE_CHOICES, "how T is set", "paper"),
    REAL(T, "0.05", 1e-9, 1e9, "temperature, or where it starts", "paper"),
    REAL(T_end, "1", 1e-9, 1e9, "where annealing ends", "paper: maze"),
    INT(T_steps, "0", 0, 1e12, "environment steps of annealing, also of kappa; 0: the whole run",
        "paper: maze"),
    REAL(kappa, "0.05", 1e-6, 100, "T as a share of the spread of Q, for temperature=relative", "measured"),
    REAL(kappa_end, "0", 0, 100, "where kappa ends; 0: it stays", "measured"),
    REAL(T_floor, "0.001", 1e-12, 1e6, "least T for relative and auto", "measured"),
    REAL(T_ceiling, "1e6", 1e-12, 1e9, "largest T for relative and auto", "measured"),
    REAL(entropy_target, "-0.3", -20, 0.69, "nats per action dimension for temperature=auto", "measured"),
    REAL(T_lr, "0.02", 1e-6, 1, "speed of log T for temperature=auto", "measured"),
    REAL(T_spread, "1", 1, 100,
         "the score network learns T within this factor, so that T can be chosen later", "measured"),
    REAL(T_target, "1", 0.001, 1,
         "share of T at which the actions in value targets are drawn; the network learns T from there on",
         "off"),
    CHOICE(T_input, "relative", "absolute relative", "the network sees log T, or log of T over the current T",
           "measured"),
    /* acting */
    INT(particles, "1", 1, 256, "actions drawn per decision; one is chosen by softmax(Q/T)", "measured"),
    INT(particles_target, "1", 1, 256, "the same in the value targets", "off"),
    INT(corrector, "0", 0, 100, "Metropolis-adjusted Langevin steps after acting's diffusion", "measured"),
    INT(corrector_target, "0", 0, 100, "the same in the value targets", "measured"),
    REAL(corrector_step, "0.1", 1e-6, 0.5, "noise of one such step", "measured"),
    REAL(eval_noise, "1", 0, 1,
         "diffusion noise at evaluation: 1 samples the policy, 0 only its start is random", "authors' code"),
    REAL(average, "0", 0, 1,
         "evaluation acts by averages of the networks to which an update adds this share; 0: by the networks",
         "off"),
    INT(eval_particles, "0", 0, 256, "actions drawn per decision at evaluation; 0: as many as `particles`",
        "measured"),
    CHOICE(eval_choice, "softmax", "softmax best",
           "which of them acts at evaluation: one drawn by softmax(Q/T), or the one of the highest Q",
           "measured"),
    /* learning */
    CHOICE(target_critics, "auto", "min mean auto",
           "how twin critics enter the target; auto: mean unless the task ends", "measured"),
    CHOICE(energy_critics, "auto", "min mean auto", "how twin critics enter the energy", "measured"),
    REAL(gamma, "0.99", 0, 1, "discount", "paper"),
    BOOL(bound_values, "false",
         "value targets stay within what the rewards seen so far, and 0, can add up to; not with gamma=1",
         "off"),
    INT(n_step, "1", 1, 100, "steps of reward in a target before the value", "paper: 1"),
    INT(policy_delay, "1", 1, 100, "updates of the critics per update of the score network", "off"),
    REAL(eta, "0.005", 0, 1, "Polyak step of the target critics", "paper"),
    REAL(lr_critic, "3e-4", 0, 1, "learning rate of the critics", "paper: 3e-4"),
    REAL(lr_actor, "1e-3", 0, 1, "learning rate of the score network", "measured"),
    REAL(weight_decay, "0", 0, 1, "AdamW's decay, critics and score", "off"),
    REAL(max_grad_norm, "0", 0, 1e9, "largest gradient norm; 0: none", "off"),
    REAL(huber, "0", 0, 1e9, "width of the critics' Huber loss; 0: squared error", "off"),
    REAL(reward_scale, "1", 1e-9, 1e9, "rewards are multiplied by this before learning", "off"),
    INT(batch, "256", 4, 65536, "minibatch, a multiple of 4", "paper"),
    INT(replay, "250000", 1, 1e9, "transitions kept", "paper"),
    INT(reset_first, "0", 0, 1e9,
        "steps after which all networks begin anew from the replay, then after twice as many, ...; 0: never, "
        "as it "
        "is with init_from unless set",
        "off"),
    INT(reset_settle, "8000", 0, 1e9,
        "updates for which, then, the averages from before are evaluated (average > 0)", "measured"),
    INT(warmup, "10000", 1, 1e9, "uniformly random steps before learning", "paper"),
    REAL(updates_per_step, "1", 0, 100, "gradient steps per environment step", "paper"),
    /* looking */
    INT(diag_states, "16", 0, 2000,
        "visited states on which total variation is measured at evaluations; 0: never", "-"),
    INT(diag_samples, "4096", 4, 1e6, "actions per such state", "-"),
    {0},
};

/* Exactness first: the box squash, and a corrector that takes the policy to exp(Q/T). Its step of 0.3 mixes
 * over the box in ten steps where 0.1 would take a hundred. For tasks of one or two action dimensions small
 * networks are enough. */
#define BOX                                                                                          \
    "critic_width=128 score_width=128 squash=box estimator=shifted K=16 K_low=4 N=6 sigma_min=0.02 " \
    "sigma_max=1 temperature=relative kappa=0.05 T_floor=0.001 T_ceiling=1e6 "                       \
    "corrector=8 corrector_target=3 corrector_step=0.3 noised=policy "                               \
    "batch=256 updates_per_step=1 particles=1 average=0 eval_particles=0 eval_choice=softmax "       \
    "lr_critic=3e-4 bound_values=false T_target=1 "
/* Rewards down to -1000 are beyond what Adam reaches in small steps; T is in units of the scaled reward, so T
 * = 0.02 is T = 1. */
#define GMM                                                                                         \
    "gamma=0 temperature=fixed reward_scale=0.02 T=0.02 huber=0.04 lr_critic=1e-3 critic_hidden=3 " \
    "obs_octaves=6 "
/* The same for returns of -1000; T follows the scale by itself, and is cold: one way to swing up is
 * enough. */
#define PENDULUM "reward_scale=0.05 lr_critic=1e-3 kappa=0.02 "
#define MAZE "temperature=auto T=1 entropy_target=0.675 warmup=5000 "

const struct option_preset dqs_preset_table[] = {
    /* As printed. */
    {"paper", NULL,
     "critic_layernorm=false normalise_obs=false embed=256 squash=paper estimator=gradient K=1000 "
     "sampler=euler-maruyama N=1000 sigma_min=1e-5 sigma_max=1 score_gain=0 loss_weight=lambda noised=buffer "
     "temperature=fixed T=0.05 T_input=absolute target_critics=min energy_critics=min lr_critic=3e-4 "
     "lr_actor=3e-4 corrector=0 "
     "corrector_target=0"},
    {"paper", "maze", "steps=250000 temperature=anneal T=10 T_end=1 T_steps=250000"},
    {"paper", "maze-small", "temperature=anneal T=10 T_end=1 T_steps=0"},
    {"paper", "gmm", "gamma=0 T=1 warmup=1000"},
    {"paper", "pendulum", "warmup=1000"},
    /* What is known of the authors' code. */
    {"authors", NULL,
     "critic_layernorm=false normalise_obs=false embed=128 score_activation=gelu score_hidden=3 "
     "init=orthogonal squash=paper "
     "estimator=gradient K=1000 sampler=euler-maruyama N=500 sigma_min=1e-5 sigma_max=1 score_gain=0 "
     "loss_weight=lambda "
     "noised=buffer temperature=fixed T=0.05 T_input=absolute target_critics=min energy_critics=min "
     "lr_critic=3e-4 lr_actor=3e-4 "
     "corrector=0 corrector_target=0"},
    {"authors", "maze", "steps=250000 temperature=anneal T=10 T_end=1 T_steps=250000"},
    {"authors", "maze-small", "temperature=anneal T=10 T_end=1 T_steps=0"},
    {"authors", "gmm", "gamma=0 T=1 warmup=1000"},
    {"authors", "pendulum", "warmup=1000"},
    /* The best measured here. The row of all tasks is made for control: small networks that learn four times
     * a step do better than large ones once, at the same cost; actions follow the values where the score
     * network lags behind, stay where the network has learned (clip), and T follows the spread of the values,
     * which grows fortyfold on some tasks, up to 0.05: warm enough to explore while they are flat, sharper
     * and sharper afterwards. Next to nothing holds it up: where rewards are rare the spread is a thousandth,
     * and any T above it is a uniform policy. Values stay within what rewards can add up to, or they feed on
     * themselves where a task is nearly solved, and are those of a policy at a tenth of T: the noise that
     * explores is not what will act in the end. What is evaluated is not that exploration but the best of 32
     * samples of the averaged networks. */
    {"default", NULL,
     "critic_width=128 score_width=128 batch=128 updates_per_step=4 particles=8 lr_critic=1e-3 squash=clip "
     "temperature=relative kappa=0.3 T_floor=1e-6 T_ceiling=0.05 T_target=0.1 bound_values=true "
     "average=3e-5 eval_particles=32 eval_choice=best"},
    /* A control step is short beside what an action does: held for two, half as many decisions reach as far,
     * and targets that follow the critics ten times as fast carry a reward back to them in time. The discount of
     * two steps is about that of two single ones. Networks that have been fitted to the first data four times a
     * step do not get away from it: they begin anew from all there is by then. */
    {"default", "control", "action_repeat=2 eta=0.05 gamma=0.98 reset_first=16000"},
    {"default", "gmm",
     BOX GMM "warmup=1000 noised=buffer corrector=10 T_spread=3.3 steps=20000 final_episodes=5000"},
    {"default", "maze", BOX MAZE "T_spread=3.3 steps=100000"},
    {"default", "maze-small", BOX MAZE "T_spread=3.3 steps=30000"},
    {"default", "pendulum", BOX PENDULUM "warmup=1000 steps=10000"},
    /* The paper's sizes, squash and T with few samples and steps, one update a step: what bench compares with
     * other libraries. */
    {"wide", NULL, "particles=8 lr_critic=1e-3"},
    /* Small, for tests. */
    {"quick", NULL, BOX "embed=32 N=5 batch=128 warmup=1000 diag_states=4 diag_samples=1024"},
    {"quick", "gmm", GMM},
    {"quick", "maze", MAZE "warmup=1000"},
    {"quick", "maze-small", MAZE "warmup=1000"},
    {"quick", "pendulum", PENDULUM},
    {0},
};
