/* td3: Twin Delayed Deep Deterministic Policy Gradient (Fujimoto et al. 2018), beside Algorithm 1 of the
 * paper.
 *
 * Q: the two critics, mu: the actor, Q' and mu': their targets, D: the replay ring. B batch, d action
 * dimensions. docs/papers/td3.md lists the departures from the print; ddpg.c is the same file without the
 * ideas of TD3. */
#include "actor.h"

struct learner_options {
    struct off_policy_options shared;
    double explore_noise, last_layer, target_noise, target_clip;
    long policy_delay;
};

#define OPTIONS struct learner_options
static const struct option options[] = {
    OFF_POLICY_OPTIONS,
    OPTION_ROW_INT(policy_delay, "2", 1, 100, "updates of the critics per update of actor and targets",
                   "original"),
    OPTION_ROW_REAL(target_noise, "0.2", 0, 10, "noise on the target's actions", "original"),
    OPTION_ROW_REAL(target_clip, "0.5", 0, 10, "where that noise is clipped", "original"),
    OPTION_ROW_REAL(explore_noise, "0.1", 0, 10, "noise added to actions in training, of half the range",
                    "original"),
    OPTION_ROW_REAL(last_layer, "1", 0, 10, "multiplies the actor's first output layer", "off"),
    {0},
};

static const struct option_preset presets[] = {OFF_POLICY_PRESETS, {0}};

struct learner {
    struct experience e; /* D; the first, so that what it does the learner does */
    struct learner_options o;
    struct twin critics; /* Q, Q' */
    struct actor actor;  /* mu, mu' */
};

static dqs_status act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                      dqs_error *error)
{
    struct learner *q = self;
    return actor_act(&q->actor, &q->e, action, obs, rows, mode, q->o.explore_noise, error);
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

    /* a' = clip(mu'(s') + clip(N(0, sigma^2), +-c), +-1), y = r + gamma min_j Q'_j(s', a') */
    log_phase(log, "target");
    actor_target_action(compute, &q->actor, e->a_next, e->s_next, B);
    add_noise(compute->k, e->a_next, B * d, q->o.target_noise, q->o.target_clip, &e->rng_noise);
    join_rows(e->x_next, e->s_next, F, e->a_next, d, B);
    td_target(compute, &q->critics, e->y, e->batch.reward, e->batch.discount, e->x_next, B, TWIN_MIN);

    /* Update both Q by minimising the mean of (Q(s, a) - y)^2 */
    log_phase(log, "critic");
    double critic_loss =
        twin_fit(compute, &q->critics, e->x, e->y, B, e->o.huber, e->o.max_grad_norm, &mean_q);
    log_phase(log, "rest");
    experience_log(e, log, critic_loss, mean_q);

    if (e->updates % q->o.policy_delay != 0)
        return;

    /* Update mu by the sampled policy gradient, the mean of grad_a Q_1(s, a)|mu(s) grad mu(s) */
    log_phase(log, "actor");
    ascent_log(actor_ascend(&q->actor, &q->critics, e), log);

    /* Q' <- eta Q + (1 - eta) Q', mu' <- eta mu + (1 - eta) mu' */
    log_phase(log, "blend");
    twin_blend(compute, &q->critics, e->o.eta);
    actor_blend(compute, &q->actor, e->o.eta);
    log_phase(log, "rest");
}

static dqs_status create(void **self, struct arena *arena, const struct algo_setup *setup, dqs_error *error)
{
    const struct learner_options *o = setup->options;
    TRY(experience_check(&o->shared, error));
    struct learner *q = arena_new(arena, struct learner, 1);
    q->o = *o;
    experience_create(&q->e, arena, setup, &o->shared);
    int B = (int)o->shared.batch, F = q->e.features.dim, d = setup->act_dim;
    struct net_spec critic = experience_net(&q->e, F + d, 1), actor = experience_net(&q->e, F, d);
    struct rng init;
    rng_seed(&init, setup->seed, RNG_INIT);
    actor_create(&q->actor, arena, &actor, B, o->shared.lr_actor, true, !setup->act_only);
    actor_initialise(&q->actor, (float)o->last_layer, &init);
    *self = q;
    if (setup->act_only)
        return DQS_OK;
    twin_create(&q->critics, arena, &critic, 2, B, o->shared.lr_critic, 0, true);
    twin_initialise(&q->critics, NET_UNIFORM, &init);
    return DQS_OK;
}

static void visit(void *self, struct visitor *v)
{
    struct learner *q = self;
    bool learn = !q->e.setup.act_only;
    actor_visit(&q->actor, v, learn);
    experience_visit_policy(&q->e, v);
    if (!learn)
        return;
    twin_visit(&q->critics, v, VISIT_LEARN, true);
    experience_visit(&q->e, v, NULL, 0);
}

static dqs_status describe(void *self, struct blueprint *b, struct arena *arena, dqs_act_mode mode,
                           dqs_error *error)
{
    struct learner *q = self;
    return actor_describe(&q->actor, &q->e, b, arena, mode, q->o.explore_noise, error);
}

const struct algo algo_td3 = {
    .name = "td3",
    .doc = "Twin Delayed DDPG: two critics, a smoothed target, a slower actor",
    .options = options,
    .options_size = sizeof(struct learner_options),
    .presets = presets,
    .create = create,
    .act = act,
    .observe = experience_observe,
    .update_due = experience_update_due,
    .update = update,
    .visit = visit,
    .describe = describe,
};
