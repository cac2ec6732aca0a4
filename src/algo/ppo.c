/* ppo: Proximal Policy Optimization with the clipped objective (Schulman et al. 2017), with the details that
 * Stable-Baselines3 and CleanRL agree on, and options where they do not. docs/papers/ppo.md has the equations
 * and the choices.
 *
 * mu: the policy's mean, sigma: its standard deviations, the same in every state; V: the value. B minibatch,
 * d action dimensions, F features, rho = pi(a|s)/pi_old(a|s), A advantage, R return. An update is one
 * minibatch. A rollout that is full makes epochs x (rows / B) of them due, one after the other, so losses are
 * guarded, logged and counted one by one and the learner can be saved between any two. Experience is its own:
 * observe takes only what the last act in exploration drew. */
#include "box.h"
#include "clipped_loss.h"
#include "experience.h"
#include "gaussian.h"
#include "ppo_options.h"
#include <assert.h>
#include <math.h>
#include <string.h>

#define SQRT2 1.41421356f
#define VALUE_ROWS 1024 /* through the value network at a time */

/* ---------------------------------------------------------------- state */
struct ppo {
    struct ppo_options o;
    struct algo_setup setup;
    struct features features;
    struct reward_normaliser rewards;
    struct net mu, V, dmu, dV;
    float *log_sigma, *dlog_sigma; /* [d] */
    struct adam adam_mu, adam_V, adam_sigma;
    struct tape act_tape, value_tape, tape_mu, tape_V;
    struct rollout rollout;
    struct rollout_batch batch;
    float *s, *mean, *noise, *log_prob; /* acting: [rows x F], [rows x d], [rows x d], [rows] */
    float *reward, *final_value;        /* of a step: [n_envs] */
    uint8_t *terminated;
    float *b_mean, *b_dmean, *b_V, *b_dV;  /* of a minibatch: [B x d], [B] */
    long *order;                           /* of the rollout's rows in this epoch */
    long epoch, minibatch, steps, updates; /* the next minibatch; done so far */
    struct rng rng_act, rng_order;
};

/* ---------------------------------------------------------------- act */
/* a ~ N(mu(s), sigma^2) in place of the mean, and log pi(a|s). */
static void draw(struct ppo *p, int rows)
{
    int d = p->setup.act_dim;
    p->setup.compute->k->normals(p->noise, (size_t)(rows * d), p->rng_act.key, rng_ticket(&p->rng_act), 0);
    for (int r = 0; r < rows; r++) {
        double log_prob = 0;
        for (int j = 0; j < d; j++) {
            float e = p->noise[r * d + j];
            p->mean[r * d + j] += expf(p->log_sigma[j]) * e;
            log_prob -= 0.5 * e * e + p->log_sigma[j] + HALF_LOG_2PI;
        }
        p->log_prob[r] = (float)log_prob;
    }
}

static void next_rollout(struct ppo *p)
{
    rollout_clear(&p->rollout);
    p->epoch = p->minibatch = 0;
}

static dqs_status ppo_act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                          dqs_error *error)
{
    struct ppo *p = self;
    int d = p->setup.act_dim, block = p->act_tape.rows; /* at least n_envs */
    bool explore = mode == DQS_ACT_EXPLORE, learn = explore && !p->setup.act_only;
    TRY(experience_refuse_exact(mode, error));
    assert(!learn || rows == p->setup.n_envs);
    if (learn)
        normaliser_learn(&p->features.norm, obs, rows);
    for (int at = 0; at < rows; at += block) {
        int n = rows - at < block ? rows - at : block;
        features_of(&p->features, p->s, obs + (size_t)at * (size_t)p->setup.obs_dim, n);
        net_forward(p->setup.compute, &(struct net_pass){&p->mu, &p->act_tape, p->s, p->mean, .rows = n}, 1);
        if (explore)
            draw(p, n);
        for (int i = 0; i < n * d; i++)
            action[at * d + i] = into_box(p->mean[i]);
    }
    if (learn && rollout_full(&p->rollout)) /* whoever acts on while updates are due gives them up */
        next_rollout(p);
    if (learn)
        rollout_begin(&p->rollout, p->s, p->mean, p->log_prob);
    return DQS_OK;
}

/* ---------------------------------------------------------------- observe */
static void values_of(struct ppo *p, float *value, const float *s, long rows)
{
    for (long at = 0; at < rows; at += VALUE_ROWS) {
        int n = rows - at < VALUE_ROWS ? (int)(rows - at) : VALUE_ROWS;
        net_forward(
            p->setup.compute,
            &(struct net_pass){&p->V, &p->value_tape, s + at * p->features.dim, value + at, .rows = n}, 1);
    }
}

static void ppo_observe(void *self, const struct transitions *t)
{
    struct ppo *p = self;
    struct rollout *r = &p->rollout;
    int n = t->rows, d = p->setup.act_dim;
    bool needs_value = r->filled == r->n_steps - 1;
    assert(n == r->n_envs && !rollout_full(r));
    for (int i = 0; i < n * d; i++)
        assert(into_box(r->action[rollout_at(r) * d + i]) == t->action[i] &&
               "ppo learns from its own actions alone");
    for (int i = 0; i < n; i++) {
        p->terminated[i] = t->terminated[i] || (t->truncated[i] && !p->o.bootstrap_truncated);
        needs_value = needs_value || (t->truncated[i] && !p->terminated[i]);
    }
    memset(p->final_value, 0, sizeof(float) * (size_t)n);
    if (needs_value) { /* next_obs is the true one, of whatever episode it ends */
        features_of(&p->features, p->s, t->next_obs, n);
        values_of(p, p->final_value, p->s, n);
    }
    reward_normaliser_step(&p->rewards, p->reward, t->reward, t->terminated, t->truncated);
    rollout_end(r, p->reward, p->final_value, p->terminated, t->truncated);
    p->steps += t->steps;
    if (rollout_full(r)) { /* the networks are still those that drew it */
        values_of(p, r->value, r->obs, rollout_rows(r));
        rollout_advantages(r, p->o.gamma, p->o.gae_lambda);
    }
}

static bool ppo_update_due(const void *self)
{
    return rollout_full(&((const struct ppo *)self)->rollout);
}

/* ---------------------------------------------------------------- update */
/* The learning rate of this rollout: linear in the share of the run that was over when it began. */
static double learning_rate(const struct ppo *p)
{
    long rows = rollout_rows(&p->rollout),
         before = p->updates - p->epoch * (rows / p->o.batch) - p->minibatch;
    long held = p->setup.action_repeat > 1 ? p->setup.action_repeat : 1; /* an end may cut one short: next to nothing */
    double share = (double)(p->steps - held * rows) / (double)p->setup.total_steps;
    if (p->setup.total_updates > 0)
        share = fmax(share, (double)before / (double)p->setup.total_updates);
    return p->o.anneal_lr ? p->o.lr * fmin(1, fmax(0, 1 - share)) : p->o.lr;
}

static void step(struct ppo *p, struct net_pass pass[2])
{
    const struct compute *compute = p->setup.compute;
    struct adam *adams[] = {&p->adam_mu, &p->adam_V, &p->adam_sigma};
    net_backward(compute, pass, 2);
    clip_gradients((float *const[]){p->dmu.params, p->dV.params, p->dlog_sigma},
                   (size_t[]){p->dmu.count, p->dV.count, (size_t)p->setup.act_dim}, 3, p->o.max_grad_norm);
    for (int i = 0; i < 3; i++)
        adams[i]->options.lr = learning_rate(p);
    adam_net(compute, &p->adam_mu, &p->mu, &p->dmu, 0);
    adam_net(compute, &p->adam_V, &p->V, &p->dV, 0);
    adam_step(compute, &p->adam_sigma, p->log_sigma, p->dlog_sigma, 0);
}

/* Not where all returns are the same: a number that is not finite would stop the run. */
static void log_explained_variance(const struct ppo *p, struct log_sink *log)
{
    double explained = rollout_explained_variance(&p->rollout);
    if (isfinite(explained))
        log_add(log, "train/explained_variance", explained);
}

static void write_log(const struct ppo *p, const struct clipped_loss *loss, double value_loss, double lr,
                      struct log_sink *log)
{
    double sigma = 0;
    for (int j = 0; j < p->setup.act_dim; j++)
        sigma += exp(p->log_sigma[j]) / p->setup.act_dim;
    log_add(log, "train/policy_gradient_loss", loss->policy);
    log_add(log, "train/value_loss", value_loss);
    log_add(log, "train/entropy_loss", -loss->entropy);
    log_add(log, "train/loss", loss->policy + p->o.vf_coef * value_loss - p->o.ent_coef * loss->entropy);
    log_add(log, "train/approx_kl", loss->approx_kl);
    log_add(log, "train/clip_fraction", loss->clip_fraction);
    log_set(log, "train/std", sigma);
    log_set(log, "train/learning_rate", lr);
    log_set(log, "train/n_updates", (double)p->updates);
}

static void ppo_update(void *self, struct log_sink *log)
{
    struct ppo *p = self;
    int B = (int)p->o.batch, d = p->setup.act_dim;
    long rows = rollout_rows(&p->rollout);
    double lr = learning_rate(p), target = p->o.target_kl > 0 ? p->o.target_kl : INFINITY;
    assert(ppo_update_due(p));
    if (p->epoch == 0 && p->minibatch == 0)
        log_explained_variance(p, log);

    /* for K epochs: minibatches of the rollout, in an order of their own */
    log_phase(log, "sample");
    if (p->minibatch == 0)
        shuffle(p->order, rows, &p->rng_order);
    rollout_gather(&p->rollout, &p->batch, p->order + p->minibatch * B);
    if (p->o.normalise_advantage)
        standardise(p->batch.advantage, B);

    /* L = L_clip + c_v L_V - c_e H */
    log_phase(log, "loss");
    struct net_pass pass[2] = {{&p->mu, &p->tape_mu, p->batch.obs, p->b_mean, p->b_dmean, &p->dmu, B},
                               {&p->V, &p->tape_V, p->batch.obs, p->b_V, p->b_dV, &p->dV, B}};
    net_forward(p->setup.compute, pass, 2);
    struct clipped_loss loss = clipped_policy_loss(p->b_dmean, p->dlog_sigma, p->b_mean, p->log_sigma, d,
                                                   &p->batch, p->o.clip_range, p->o.ent_coef);
    double value_loss = clipped_value_loss(p->b_dV, p->b_V, &p->batch, p->o.clip_value, p->o.vf_coef);

    /* theta <- theta - Adam, unless the policy has gone far enough already */
    log_phase(log, "step");
    bool far = p->o.kl_stop == PPO_KL_MINIBATCH && loss.approx_kl > 1.5 * target;
    if (!far)
        step(p, pass);

    p->updates++;
    if (++p->minibatch == rows / B) {
        p->minibatch = 0;
        p->epoch++;
        far = far || (p->o.kl_stop == PPO_KL_EPOCH && loss.approx_kl > target);
    }
    if (far || p->epoch == p->o.epochs)
        next_rollout(p);
    log_phase(log, "rest");
    write_log(p, &loss, value_loss, lr, log);
}

/* ---------------------------------------------------------------- life */
static dqs_status check(const struct ppo_options *o, int n_envs, dqs_error *error)
{
    long rows = o->n_steps * n_envs;
    if (o->width % KERNELS_LANES)
        return fail(error, DQS_E_OPTION, "width=%ld: must be a multiple of %d", o->width, KERNELS_LANES);
    if (rows % o->batch)
        return fail(error, DQS_E_OPTION, "batch=%ld: must divide n_steps x n_envs = %ld; try n_steps=%ld",
                    o->batch, rows, (o->n_steps + o->batch - 1) / o->batch * o->batch);
    return DQS_OK;
}

static void create_learning(struct ppo *p, struct arena *arena, const struct net_spec *mu,
                            const struct net_spec *V)
{
    int n = p->setup.n_envs, d = p->setup.act_dim, F = p->features.dim, B = (int)p->o.batch;
    long rows = p->o.n_steps * n;
    struct adam *adams[] = {&p->adam_mu, &p->adam_V, &p->adam_sigma};
    net_create(&p->V, arena, V);
    net_create(&p->dmu, arena, mu);
    net_create(&p->dV, arena, V);
    p->dlog_sigma = arena_new(arena, float, d);
    const size_t counts[] = {p->mu.count, p->V.count, (size_t)d};
    for (int i = 0; i < 3; i++) {
        adam_create(adams[i], arena, counts[i], p->o.lr, 0);
        adams[i]->options.eps = p->o.adam_eps;
    }
    tape_create(&p->value_tape, arena, V, rows < VALUE_ROWS ? (int)rows : VALUE_ROWS, TAPE_INFER);
    tape_create(&p->tape_mu, arena, mu, B, TAPE_TRAIN);
    tape_create(&p->tape_V, arena, V, B, TAPE_TRAIN);
    rollout_create(&p->rollout, arena, p->o.n_steps, n, F, d);
    rollout_batch_create(&p->batch, arena, B, F, d);
    reward_normaliser_create(&p->rewards, arena, n, p->o.gamma, p->o.normalise_reward);
    p->order = arena_new(arena, long, rows);
    p->reward = arena_new(arena, float, n);
    p->final_value = arena_new(arena, float, n);
    p->terminated = arena_new(arena, uint8_t, n);
    p->b_mean = arena_new(arena, float, B *d);
    p->b_dmean = arena_new(arena, float, B *d);
    p->b_V = arena_new(arena, float, B);
    p->b_dV = arena_new(arena, float, B);
}

static dqs_status ppo_create(void **self, struct arena *arena, const struct algo_setup *setup,
                             dqs_error *error)
{
    const struct ppo_options *o = setup->options;
    int d = setup->act_dim, rows = setup->max_rows > setup->n_envs ? setup->max_rows : setup->n_envs;
    if (!setup->act_only)
        TRY(check(o, setup->n_envs, error));
    struct ppo *p = arena_new(arena, struct ppo, 1);
    *p = (struct ppo){.o = *o, .setup = *setup};
    features_create(&p->features, arena, setup->obs_dim, o->normalise_obs, (int)o->obs_octaves);
    struct net_spec mu = {p->features.dim, d, (int)o->width, (int)o->hidden, ACT_TANH, false, false}, V = mu;
    V.out = 1;
    net_create(&p->mu, arena, &mu);
    tape_create(&p->act_tape, arena, &mu, rows, TAPE_INFER);
    p->log_sigma = arena_new(arena, float, d);
    p->s = arena_new(arena, float, rows * p->features.dim);
    p->mean = arena_new(arena, float, rows *d);
    p->noise = arena_new(arena, float, rows *d);
    p->log_prob = arena_new(arena, float, rows);
    for (int j = 0; j < d; j++)
        p->log_sigma[j] = (float)o->log_sigma;

    struct rng init;
    rng_seed(&init, setup->seed, RNG_INIT);
    rng_seed(&p->rng_act, setup->seed, RNG_ACT);
    rng_seed(&p->rng_order, setup->seed, RNG_REPLAY);
    /* Orthogonal with gain sqrt 2; of the heads 0.01 and 1. */
    net_initialise(&p->mu, NET_ORTHOGONAL, 0.01f / SQRT2, &init);
    if (!setup->act_only) {
        create_learning(p, arena, &mu, &V);
        net_initialise(&p->V, NET_ORTHOGONAL, 1 / SQRT2, &init);
    }
    *self = p;
    return DQS_OK;
}

static void ppo_visit(void *self, struct visitor *v)
{
    struct ppo *p = self;
    net_visit(&p->mu, v, "policy/", VISIT_POLICY);
    visit_vector(v, "log_sigma", VISIT_POLICY, VISIT_F32, p->log_sigma, (size_t)p->setup.act_dim);
    normaliser_visit(&p->features.norm, v, "normaliser/");
    if (p->setup.act_only)
        return;
    net_visit(&p->V, v, "value/", VISIT_LEARN);
    adam_visit(&p->adam_mu, v, "policy_adam/");
    adam_visit(&p->adam_sigma, v, "log_sigma_adam/");
    adam_visit(&p->adam_V, v, "value_adam/");
    reward_normaliser_visit(&p->rewards, v, "reward_normaliser/");
    visit_vector(v, "rng/act", VISIT_LEARN, VISIT_I64, &p->rng_act.ticket, 1);
    visit_vector(v, "rng/order", VISIT_LEARN, VISIT_I64, &p->rng_order.ticket, 1);
    visit_long(v, "steps", VISIT_LEARN, &p->steps);
    visit_long(v, "updates", VISIT_LEARN, &p->updates);
    rollout_visit(&p->rollout, v);
    visit_vector(v, "order", VISIT_REPLAY, VISIT_I64, p->order, (size_t)rollout_rows(&p->rollout));
    visit_long(v, "epoch", VISIT_REPLAY, &p->epoch);
    visit_long(v, "minibatch", VISIT_REPLAY, &p->minibatch);
    /* The visitor may have been a reader of a stranger's file. */
    long rows = rollout_rows(&p->rollout);
    p->minibatch = p->minibatch < rows / p->o.batch ? p->minibatch : 0;
    p->epoch = p->epoch < p->o.epochs ? p->epoch : 0;
    for (long i = 0; i < rows; i++)
        p->order[i] = p->order[i] >= 0 && p->order[i] < rows ? p->order[i] : 0;
}

static dqs_status ppo_describe(void *self, struct blueprint *b, struct arena *arena, dqs_act_mode mode,
                               dqs_error *error)
{
    struct ppo *p = self;
    int d = p->setup.act_dim;
    TRY(experience_refuse_exact(mode, error));
    features_describe(&p->features, b);
    b->act_dim = d;
    b->net = &p->mu;
    b->squash = OUT_BOX;
    b->rng = &p->rng_act;
    if (mode == DQS_ACT_EXPLORE) {
        float *sigma = arena_new(arena, float, d);
        for (int j = 0; j < d; j++)
            sigma[j] = expf(p->log_sigma[j]);
        b->sigma_form = SIGMA_CONSTANT;
        b->sigma = sigma;
        b->sigma_noise = blueprint_draw(b, arena, d, false, 0);
    }
    blueprint_finish(b);
    return DQS_OK;
}

const struct algo algo_ppo = {
    .name = "ppo",
    .doc = "Proximal Policy Optimization: on-policy, a clipped objective and generalised advantages",
    .options = ppo_option_table,
    .options_size = sizeof(struct ppo_options),
    .presets = ppo_preset_table,
    .create = ppo_create,
    .act = ppo_act,
    .observe = ppo_observe,
    .update_due = ppo_update_due,
    .update = ppo_update,
    .visit = ppo_visit,
    .describe = ppo_describe,
};
