/* experience: what every off-policy learner keeps: the replay ring, its minibatch as the networks see it, the
 * counters that say when to act at random and when to update, and the streams of random numbers; and the
 * options all of them share.
 *
 * B batch, F features of an observation, d action dimensions. */
#ifndef ALGO_EXPERIENCE_H
#define ALGO_EXPERIENCE_H

#include "algo.h"
#include "blueprint.h"
#include "parts.h"

/* First member of an off-policy algorithm's own options struct, so that its rows serve them all. */
struct off_policy_options {
    long width, hidden, batch, replay, warmup, n_step, obs_octaves;
    double lr_actor, lr_critic, gamma, eta, updates_per_step, reward_scale, huber, max_grad_norm;
    bool normalise_obs;
};

#define OFF_POLICY_ROW(type, field, standard, low, high, doc, source)                                    \
    {                                                                                                    \
#field, type, offsetof(struct off_policy_options, field), standard, low, high, NULL, doc, source \
    }
#define OFF_POLICY_OPTIONS                                                                                 \
    OFF_POLICY_ROW(OPTION_INT, width, "256", 16, 4096, "width of all hidden layers, a multiple of 16",     \
                   "paper"),                                                                               \
        OFF_POLICY_ROW(OPTION_INT, hidden, "2", 1, 8, "hidden layers of every network", "paper"),          \
        OFF_POLICY_ROW(OPTION_REAL, lr_actor, "3e-4", 0, 1, "learning rate of the actor", "paper"),        \
        OFF_POLICY_ROW(OPTION_REAL, lr_critic, "3e-4", 0, 1, "learning rate of the critics", "paper"),     \
        OFF_POLICY_ROW(OPTION_REAL, gamma, "0.99", 0, 1, "discount", "paper"),                             \
        OFF_POLICY_ROW(OPTION_INT, n_step, "1", 1, 100, "steps of reward in a target before the value",    \
                       "paper"),                                                                           \
        OFF_POLICY_ROW(OPTION_REAL, eta, "0.005", 0, 1, "Polyak step of the target networks", "paper"),    \
        OFF_POLICY_ROW(OPTION_INT, batch, "256", 4, 65536, "minibatch, a multiple of 4", "paper"),         \
        OFF_POLICY_ROW(OPTION_INT, replay, "250000", 1, 1e9, "transitions kept", "paper"),                 \
        OFF_POLICY_ROW(OPTION_INT, warmup, "10000", 1, 1e9, "uniformly random steps before learning",      \
                       "paper"),                                                                           \
        OFF_POLICY_ROW(OPTION_REAL, updates_per_step, "1", 0, 100, "gradient steps per environment step",  \
                       "paper"),                                                                           \
        OFF_POLICY_ROW(OPTION_REAL, reward_scale, "1", 1e-9, 1e9,                                          \
                       "rewards are multiplied by this before learning", "off"),                           \
        OFF_POLICY_ROW(OPTION_REAL, huber, "0", 0, 1e9,                                                    \
                       "width of the critics' Huber loss; 0: squared error", "off"),                       \
        OFF_POLICY_ROW(OPTION_REAL, max_grad_norm, "0", 0, 1e9, "largest gradient norm; 0: none", "off"),  \
        OFF_POLICY_ROW(OPTION_BOOL, normalise_obs, "false", 0, 1, "running normalisation of observations", \
                       "off"),                                                                             \
        OFF_POLICY_ROW(OPTION_INT, obs_octaves, "0", 0, 12,                                                \
                       "octaves of sines and cosines added to the observation",                            \
                       "off; gmm needs fine detail")

/* Values that single tasks need, whatever the algorithm; and a small set for tests. gmm: a bandit at each
 * point of the plane, with rewards down to -1000 and detail that a plain perceptron does not see. */
#define OFF_POLICY_PRESETS                                                                            \
    {"paper", NULL, ""}, {"quick", NULL, "width=64 batch=128 warmup=1000"},                           \
        {"*", "pendulum", "warmup=1000 steps=10000"}, {"*", "maze", "warmup=5000 steps=100000"},      \
        {"*", "maze-small", "warmup=5000 steps=30000"},                                               \
    {                                                                                                 \
        "*", "gmm",                                                                                   \
            "gamma=0 reward_scale=0.02 huber=0.04 lr_critic=1e-3 hidden=3 obs_octaves=6 warmup=1000 " \
            "steps=20000 final_episodes=5000"                                                         \
    }

struct experience {
    struct off_policy_options o;
    struct algo_setup setup;
    struct features features;
    struct ring replay;
    struct ring_batch batch;
    float *s, *s_next; /* features of the minibatch [B x F]; acting uses s too */
    float *x, *x_next; /* critic inputs [s | a], [s' | a'] [B x (F+d)]; x_next is the algorithm's to join */
    float *a_next, *a; /* the policy's actions at s' and at s [B x d], the algorithm's to draw */
    float *y;          /* targets of the critics [B] */
    long steps, updates;
    struct rng rng_act, rng_evaluate, rng_replay, rng_noise; /* noise: of the policy within an update */
};

/* A further generator of an algorithm, saved beside those of its experience. */
struct named_stream {
    const char *name;
    struct rng *rng;
};

/* What the rows of the table cannot say: multiples. */
dqs_status experience_check(const struct off_policy_options *o, dqs_error *error);
/* act_only: what acting needs, features and s. */
void experience_create(struct experience *e, struct arena *arena, const struct algo_setup *setup,
                       const struct off_policy_options *o);
/* A network of the shared width and depth, ReLU. */
struct net_spec experience_net(const struct experience *e, int in, int out);
/* DQS_ACT_EXACT is for policies that have a density known up to a constant. */
dqs_status experience_refuse_exact(dqs_act_mode mode, dqs_error *error);
/* True while actions are uniform in the box; draws them. */
bool experience_warms_up(struct experience *e, float *action, int rows, dqs_act_mode mode);
/* s <- the features of the rows of obs from `at` on, of a minibatch at most. Returns how many; 0 past the last. */
int experience_block(struct experience *e, const float *obs, int at, int rows);
/* Callbacks of learners whose first member is their experience; or with one itself. */
void experience_observe(void *experience, const struct transitions *t);
bool experience_update_due(const void *experience);
/* batch, with scaled rewards over n_step transitions; s, s_next, x <- replay */
void experience_sample(struct experience *e);
void experience_log(const struct experience *e, struct log_sink *log, double critic_loss, double mean_q);
/* Everything but the normaliser, which belongs to the policy (experience_visit_policy). */
void experience_visit(struct experience *e, struct visitor *visitor, const struct named_stream *own, int n);
void experience_visit_policy(struct experience *e, struct visitor *visitor);
/* What all of them begin with: features, and the generator of this mode. */
void experience_describe(const struct experience *e, struct blueprint *b, dqs_act_mode mode);

#endif
