/* sac: Soft Actor-Critic with automatic temperature (Haarnoja et al. 2018), beside Algorithm 1 of the second
 * paper.
 *
 * Q: the two critics, Q': their targets, pi: the actor, alpha: the temperature, D: the replay ring.
 * B batch, d action dimensions. docs/papers/sac.md lists the departures from the print. */
#include "boltzmann_grid.h"
#include "squashed_gaussian.h"
#include <math.h>

enum temperature_rule { ALPHA_FIXED, ALPHA_AUTO };
enum alpha_loss { ALPHA_LOSS_LOG, ALPHA_LOSS_ALPHA };

struct learner_options {
    struct off_policy_options shared;
    int temperature, alpha_loss, log_sigma;
    double alpha, lr_alpha, entropy_target, log_sigma_min, log_sigma_max;
    long actor_delay;
};

#define OPTIONS struct learner_options
static const struct option options[] = {
    OFF_POLICY_OPTIONS,
    OPTION_ROW_CHOICE(temperature, "auto", "fixed auto", "how alpha is set", "original"),
    OPTION_ROW_REAL(alpha, "0.1", 1e-9, 1e9, "temperature, or where it starts", "measured; CleanRL, SB3: 1"),
    OPTION_ROW_REAL(lr_alpha, "3e-4", 0, 1, "learning rate of log alpha", "SB3"),
    OPTION_ROW_CHOICE(alpha_loss, "log", "log alpha",
                      "what multiplies the lack of entropy: log alpha or alpha", "SB3; CleanRL: alpha"),
    OPTION_ROW_REAL(entropy_target, "-1", -20, 0.69, "nats per action dimension",
                    "original; -0.5 is jaxrl5's"),
    OPTION_ROW_CHOICE(log_sigma, "tanh", SIGMA_CHOICES, "how log sigma is kept in its range",
                      "CleanRL; SB3: clamp"),
    OPTION_ROW_REAL(log_sigma_min, "-5", -50, 5, "least log sigma", "CleanRL; SB3: -20"),
    OPTION_ROW_REAL(log_sigma_max, "2", -20, 10, "largest log sigma", "original"),
    OPTION_ROW_INT(actor_delay, "1", 1, 100,
                   "updates of the critics between those of the actor, which then are as many",
                   "original; CleanRL: 2"),
    {0},
};

/* pendulum: the rates of SB3's zoo; at 3e-4 one of two seeds was still learning after 10000 steps. gmm: T = 1
 * in units of the scaled reward, as dqs has it. */
static const struct option_preset presets[] = {
    OFF_POLICY_PRESETS,
    {"*", "pendulum", "lr_actor=1e-3 lr_critic=1e-3 lr_alpha=1e-3"},
    {"*", "gmm", "temperature=fixed alpha=0.02"},
    {0}};

struct learner {
    struct experience e; /* D; the first, so that what it does the learner does */
    struct learner_options o;
    struct twin critics; /* Q, Q' */
    struct squashed_gaussian pi;
    float *log_alpha; /* [1] */
    struct adam alpha_adam;
    float *log_pi, *da;        /* [B], [B x d] */
    struct twin_energy energy; /* of Q/alpha, for maps of the log partition */
    struct boltzmann_grid grid;
};

static dqs_status act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                      dqs_error *error)
{
    struct learner *q = self;
    struct experience *e = &q->e;
    int d = e->setup.act_dim;
    TRY(experience_refuse_exact(mode, error));
    if (experience_warms_up(e, action, rows, mode))
        return DQS_OK;
    for (int at = 0, n; (n = experience_block(e, obs, at, rows)) > 0; at += n) {
        float *a = action + (size_t)at * (size_t)d;
        if (mode == DQS_ACT_EXPLORE)
            gaussian_draw(e->setup.compute, &q->pi, a, NULL, e->s, n, &e->rng_act);
        else
            gaussian_mean(e->setup.compute, &q->pi, a, e->s, n);
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- update */
/* Update pi by minimising the mean of alpha log pi(a|s) - min_j Q_j(s, a), a ~ pi(s) by its noise */
static void update_actor(struct learner *q, double alpha, struct log_sink *log)
{
    struct experience *e = &q->e;
    const struct compute *compute = e->setup.compute;
    int B = (int)e->o.batch, d = e->setup.act_dim;
    gaussian_draw(compute, &q->pi, e->a, q->log_pi, e->s, B, &e->rng_noise);
    join_rows(e->x_next, e->s, e->features.dim, e->a, d, B); /* the target has done with x_next */
    double value = twin_action_gradient(compute, &q->critics, q->da, e->x_next, B, d, TWIN_MIN);
    gaussian_back(&q->pi, e->a, q->da, alpha, B);
    actor_descend(compute, &q->pi.actor, e->s, B, e->o.max_grad_norm);
    log_add(log, "train/actor_loss", alpha * mean_of(q->log_pi, B) - value);
}

/* Update alpha by minimising the mean of -log alpha (log pi(a|s) + H) */
static void update_alpha(struct learner *q, double alpha, struct log_sink *log)
{
    double lack = mean_of(q->log_pi, (int)q->e.o.batch) + q->o.entropy_target * q->e.setup.act_dim;
    bool by_log = q->o.alpha_loss == ALPHA_LOSS_LOG;
    float slope = (float)(by_log ? -lack : -lack * alpha);
    log_add(log, "train/ent_coef_loss", -lack * (by_log ? q->log_alpha[0] : alpha));
    adam_step(q->e.setup.compute, &q->alpha_adam, q->log_alpha, &slope, 0);
}

static void update(void *self, struct log_sink *log)
{
    struct learner *q = self;
    struct experience *e = &q->e;
    const struct compute *compute = e->setup.compute;
    int B = (int)e->o.batch, F = e->features.dim, d = e->setup.act_dim;
    double mean_q;

    /* Sample a minibatch (s, a, r, s') from D */
    log_phase(log, "sample");
    experience_sample(e);
    e->updates++;

    /* y = r + gamma (min_j Q'_j(s', a') - alpha log pi(a'|s')), a' ~ pi(s') */
    log_phase(log, "target");
    double alpha = exp(q->log_alpha[0]);
    gaussian_draw(compute, &q->pi, e->a_next, q->log_pi, e->s_next, B, &e->rng_noise);
    join_rows(e->x_next, e->s_next, F, e->a_next, d, B);
    twin_target_value(compute, &q->critics, e->y, e->x_next, B, TWIN_MIN);
    for (int r = 0; r < B; r++)
        e->y[r] -= (float)alpha * q->log_pi[r];
    bootstrap(e->y, e->batch.reward, e->batch.discount, e->y, B);

    /* Update both Q by minimising the mean of (Q(s, a) - y)^2 */
    log_phase(log, "critic");
    double critic_loss =
        twin_fit(compute, &q->critics, e->x, e->y, B, e->o.huber, e->o.max_grad_norm, &mean_q);

    log_phase(log, "actor");
    for (int i = 0; e->updates % q->o.actor_delay == 0 && i < q->o.actor_delay; i++) {
        update_actor(q, exp(q->log_alpha[0]), log);
        if (q->o.temperature == ALPHA_AUTO)
            update_alpha(q, exp(q->log_alpha[0]), log);
    }

    /* Q' <- eta Q + (1 - eta) Q' */
    log_phase(log, "blend");
    twin_blend(compute, &q->critics, e->o.eta);

    log_phase(log, "rest");
    experience_log(e, log, critic_loss, mean_q);
    log_set(log, "train/ent_coef", exp(q->log_alpha[0]));
}

/* The policy is not exp(Q/alpha), but its critics have one: the paper maps it beside that of dqs. */
static dqs_status soft_value(void *self, float *value, const float *obs, int rows, dqs_error *error)
{
    struct learner *q = self;
    if (q->e.setup.act_only)
        return fail(error, DQS_E_UNSUPPORTED, "soft value: needs the critics; try the checkpoint");
    return grid_map(&q->grid, &q->energy, value, &q->e, obs, rows, exp(q->log_alpha[0]), error);
}

/* ---------------------------------------------------------------- life */
static dqs_status check(const struct learner_options *o, dqs_error *error)
{
    TRY(experience_check(&o->shared, error));
    if (o->log_sigma_min >= o->log_sigma_max)
        return fail(error, DQS_E_OPTION, "log_sigma_min=%g: must be below log_sigma_max=%g", o->log_sigma_min,
                    o->log_sigma_max);
    return DQS_OK;
}

static dqs_status create(void **self, struct arena *arena, const struct algo_setup *setup, dqs_error *error)
{
    const struct learner_options *o = setup->options;
    TRY(check(o, error));
    struct learner *q = arena_new(arena, struct learner, 1);
    q->o = *o;
    experience_create(&q->e, arena, setup, &o->shared);
    int B = (int)o->shared.batch, F = q->e.features.dim, d = setup->act_dim;
    struct net_spec critic = experience_net(&q->e, F + d, 1), actor = experience_net(&q->e, F, 2 * d);
    struct rng init;
    rng_seed(&init, setup->seed, RNG_INIT);
    struct sigma_range range = {(enum sigma_form)o->log_sigma, (float)o->log_sigma_min,
                                (float)o->log_sigma_max};
    gaussian_create(&q->pi, arena, &actor, range, B, o->shared.lr_actor, !setup->act_only);
    actor_initialise(&q->pi.actor, 1, &init);
    *self = q;
    if (setup->act_only)
        return DQS_OK;
    twin_create(&q->critics, arena, &critic, 2, B, o->shared.lr_critic, 0, true);
    twin_initialise(&q->critics, NET_UNIFORM, &init);
    q->log_pi = arena_new(arena, float, B);
    q->da = arena_new(arena, float, B *d);
    q->log_alpha = arena_new(arena, float, 1);
    q->log_alpha[0] = (float)log(o->alpha);
    adam_create(&q->alpha_adam, arena, 1, o->lr_alpha, 0);
    if (grid_possible(d)) {
        twin_energy_create(&q->energy, arena, &q->critics, TWIN_MIN, SQUASH_BOX, setup->compute, F, d, B, 0);
        grid_create(&q->grid, arena, &q->energy, setup->compute);
    }
    return DQS_OK;
}

static void visit(void *self, struct visitor *v)
{
    struct learner *q = self;
    bool learn = !q->e.setup.act_only;
    actor_visit(&q->pi.actor, v, learn);
    experience_visit_policy(&q->e, v);
    if (!learn)
        return;
    twin_visit(&q->critics, v, VISIT_LEARN, true);
    visit_vector(v, "log_alpha", q->o.temperature == ALPHA_AUTO ? VISIT_LEARN : VISIT_LEARN | VISIT_COURSE,
                 VISIT_F32, q->log_alpha, 1);
    adam_visit(&q->alpha_adam, v, "alpha_adam/");
    experience_visit(&q->e, v, NULL, 0);
}

static dqs_status describe(void *self, struct blueprint *b, struct arena *arena, dqs_act_mode mode,
                           dqs_error *error)
{
    struct learner *q = self;
    TRY(experience_refuse_exact(mode, error));
    experience_describe(&q->e, b, mode);
    gaussian_describe(&q->pi, b, arena, mode == DQS_ACT_EXPLORE);
    return DQS_OK;
}

const struct algo algo_sac = {
    .name = "sac",
    .doc = "Soft Actor-Critic: a squashed Gaussian policy with automatic temperature",
    .options = options,
    .options_size = sizeof(struct learner_options),
    .presets = presets,
    .create = create,
    .act = act,
    .observe = experience_observe,
    .update_due = experience_update_due,
    .update = update,
    .visit = visit,
    .soft_value = soft_value,
    .describe = describe,
};
