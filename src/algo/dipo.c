/* dipo: Diffusion Policy for Online RL (Yang et al. 2023), beside Algorithm 3 of the paper.
 *
 * Q: the two critics, e: the denoiser that is the policy pi, Q' and e': their targets; D: the replay ring,
 * whose actions are also what action gradients start from. B batch, d action dimensions, t diffusion step.
 * Departures from the paper are tagged [DEV]; docs/papers/dipo.md gives the reasons. */
#include "box.h"
#include "denoising.h"
#include <string.h>

struct learner_options {
    struct off_policy_options shared;
    struct denoising_options denoising;
    long ascent_steps, target_period;
    double ascent_lr, ascent_norm, adam_eps;
    bool writeback;
};

#define OPTIONS struct learner_options
static const struct option options[] = {
    OFF_POLICY_OPTIONS,
    DENOISING_OPTIONS("100", "cosine", "0", "original"),
    OPTION_ROW_INT(ascent_steps, "20", 0, 1000, "Adam steps that improve a minibatch of actions",
                   "original; 40 for cheetah"),
    OPTION_ROW_REAL(ascent_lr, "0.03", 0, 1, "learning rate of these steps", "original"),
    OPTION_ROW_REAL(ascent_norm, "0.1", 0, 1e9,
                    "largest norm of their gradient, of the whole minibatch, per action dimension; 0: none",
                    "original; 0.08 to 0.3 by task"),
    OPTION_ROW_BOOL(writeback, "false", "improved actions go back to where they came from",
                    "authors' code, which means to and does not"),
    OPTION_ROW_INT(target_period, "1", 1, 100, "updates between those of the target actor",
                   "original; 2 for cheetah"),
    OPTION_ROW_REAL(adam_eps, "1e-5", 0, 1, "Adam's epsilon, everywhere", "authors' code"),
    {0},
};

static const struct option_preset presets[] = {
    {"*", NULL, "max_grad_norm=2"}, /* of the actor; and of both critics as one */
    OFF_POLICY_PRESETS,
    /* [DEV] Built-in tasks do with a fifth of the steps. */
    {"default", "pendulum", "diffusion_steps=20"},
    {"default", "gmm", "diffusion_steps=20"},
    {"default", "maze", "diffusion_steps=20"},
    {"default", "maze-small", "diffusion_steps=20"},
    {"quick", NULL, "diffusion_steps=20"},
    {0},
};

struct learner {
    struct experience e; /* D; the first, so that what it does the learner does */
    struct learner_options o;
    struct twin critics;   /* Q, Q' */
    struct denoiser actor; /* e, e' */
    struct ring_batch start;
    float *improved;    /* [replay x d]: D's actions as improved; only with writeback */
    struct adam ascent; /* over [B x d] */
    int *t;             /* [B] */
    float *s, *x;       /* of the second minibatch [B x F], [B x (F+d)] */
    float *da, *a_t;    /* [B x d] */
};

static dqs_status act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                      dqs_error *error)
{
    struct learner *q = self;
    return denoising_act(&q->actor, &q->e, &q->o.denoising, action, obs, rows, mode, 0, error);
}

static void observe(void *self, const struct transitions *t)
{
    struct learner *q = self;
    size_t d = (size_t)q->e.setup.act_dim;
    for (int r = 0; q->improved && r < t->rows; r++) {
        size_t slot = (size_t)((q->e.replay.written + r) % q->e.replay.capacity);
        memcpy(q->improved + slot * d, t->action + (size_t)r * d, sizeof(float) * d);
    }
    experience_observe(&q->e, t);
}

/* ---------------------------------------------------------------- update */
static void exchange(struct learner *q, bool back)
{
    size_t d = (size_t)q->e.setup.act_dim;
    for (size_t r = 0; q->improved && r < (size_t)q->start.rows; r++) {
        float *there = q->improved + (size_t)q->start.slot[r] * d, *here = q->start.action + r * d;
        memcpy(back ? there : here, back ? here : there, sizeof(float) * d);
    }
}

/* Another minibatch (s, a) from D, its a moved up min_j Q_j(s, a) by a fresh Adam; returns how far, on
 * average. */
static double improve_actions(struct learner *q)
{
    struct experience *e = &q->e;
    const struct compute *compute = e->setup.compute;
    int B = (int)e->o.batch, F = e->features.dim, d = e->setup.act_dim;
    float *a = q->start.action;
    double moved = 0;
    ring_sample(&e->replay, &q->start, e->o.gamma, 1, &e->rng_replay);
    exchange(q, false);
    features_of(&e->features, q->s, q->start.obs, B);
    memcpy(q->a_t, a, sizeof *a * (size_t)(B * d));
    memset(q->ascent.m, 0, sizeof(float) * q->ascent.n);
    memset(q->ascent.v, 0, sizeof(float) * q->ascent.n);
    q->ascent.t = 0;
    for (int n = 0; n < q->o.ascent_steps; n++) {
        join_rows(q->x, q->s, F, a, d, B);
        twin_action_gradient(compute, &q->critics, q->da, q->x, B, d, TWIN_MIN);
        for (int i = 0; i < B * d; i++)
            q->da[i] = -q->da[i];
        adam_step(compute, &q->ascent, a, q->da, q->o.ascent_norm * d);
        for (int i = 0; i < B * d; i++)
            a[i] = into_box(a[i]);
    }
    exchange(q, true);
    for (int i = 0; i < B * d; i++)
        moved += fabsf(a[i] - q->a_t[i]);
    return moved / (B * d);
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

    /* a' ~ pi'(s'), y = r + gamma min_j Q'_j(s', a') */
    log_phase(log, "policy");
    denoiser_draw(&q->actor, &q->actor.target, e->a_next, e->s_next, B, 1, &e->rng_noise);
    log_phase(log, "target");
    join_rows(e->x_next, e->s_next, F, e->a_next, d, B);
    td_target(compute, &q->critics, e->y, e->batch.reward, e->batch.discount, e->x_next, B, TWIN_MIN);

    /* Update both Q by minimising the mean of (Q(s, a) - y)^2 */
    log_phase(log, "critic");
    double critic_loss =
        twin_fit(compute, &q->critics, e->x, e->y, B, e->o.huber, e->o.max_grad_norm, &mean_q);

    /* Action gradient: a <- a + eta grad_a Q(s, a), by Adam, for a minibatch from D */
    log_phase(log, "ascent");
    double moved = improve_actions(q);

    /* Update e by minimising the mean of (e(s, a_t, t) - z)^2, a_t = sqrt(abar) a + sqrt(1 - abar) z */
    log_phase(log, "actor");
    denoiser_noise(&q->actor, q->t, q->a_t, q->da, q->start.action, B, &e->rng_noise);
    double actor_loss = denoiser_fit(&q->actor, q->s, q->a_t, q->t, q->da, B);

    /* Q' <- eta Q + (1 - eta) Q', e' <- eta e + (1 - eta) e' */
    log_phase(log, "blend");
    twin_blend(compute, &q->critics, e->o.eta);
    if (e->updates % q->o.target_period == 0)
        polyak_blend(compute, &q->actor.target, &q->actor.net, e->o.eta);

    log_phase(log, "rest");
    experience_log(e, log, critic_loss, mean_q);
    log_add(log, "train/actor_loss", actor_loss);
    log_add(log, "train/action_moved", moved);
}

/* ---------------------------------------------------------------- life */
static void create_learner(struct learner *q, struct arena *arena, struct rng *init)
{
    struct experience *e = &q->e;
    int B = (int)e->o.batch, F = e->features.dim, d = e->setup.act_dim;
    struct net_spec critic = experience_net(e, F + d, 1);
    critic.act = ACT_MISH;
    twin_create(&q->critics, arena, &critic, 2, B, e->o.lr_critic, 0, true);
    twin_initialise(&q->critics, NET_UNIFORM, init);
    q->critics.clip_together = true;
    ring_batch_create(&q->start, arena, B, e->setup.obs_dim, d);
    if (q->o.writeback)
        q->improved = arena_new(arena, float, (size_t)e->o.replay *(size_t)d);
    adam_create(&q->ascent, arena, (size_t)(B * d), q->o.ascent_lr, 0);
    for (int i = 0; i < 2; i++)
        q->critics.adam[i].options.eps = q->o.adam_eps;
    q->ascent.options.eps = q->o.adam_eps;
    q->t = arena_new(arena, int, B);
    q->s = arena_new(arena, float, B *F);
    q->x = arena_new(arena, float, B *(F + d));
    q->da = arena_new(arena, float, B *d);
    q->a_t = arena_new(arena, float, B *d);
}

static dqs_status create(void **self, struct arena *arena, const struct algo_setup *setup, dqs_error *error)
{
    const struct learner_options *o = setup->options;
    TRY(experience_check(&o->shared, error));
    struct learner *q = arena_new(arena, struct learner, 1);
    q->o = *o;
    experience_create(&q->e, arena, setup, &o->shared);
    struct denoiser_options choice = denoising_choice(&q->e, &o->denoising, DDPM_CLIP_X0);
    struct rng init;
    choice.target = true;
    choice.eps = o->adam_eps;
    rng_seed(&init, setup->seed, RNG_INIT);
    denoiser_create(&q->actor, arena, &choice, setup->compute);
    denoiser_initialise(&q->actor, NET_UNIFORM, &init);
    if (!setup->act_only)
        create_learner(q, arena, &init);
    *self = q;
    return DQS_OK;
}

static void visit(void *self, struct visitor *v)
{
    struct learner *q = self;
    struct experience *e = &q->e;
    denoiser_visit(&q->actor, v);
    experience_visit_policy(e, v);
    if (e->setup.act_only)
        return;
    twin_visit(&q->critics, v, VISIT_LEARN, true);
    if (q->improved)
        visit_matrix(v, "replay/improved", VISIT_REPLAY, VISIT_F32, q->improved, (size_t)e->replay.capacity,
                     (size_t)e->setup.act_dim);
    experience_visit(e, v, NULL, 0);
}

static dqs_status describe(void *self, struct blueprint *b, struct arena *arena, dqs_act_mode mode,
                           dqs_error *error)
{
    struct learner *q = self;
    return denoising_describe(&q->actor, &q->e, &q->o.denoising, b, arena, mode, 0, error);
}

const struct algo algo_dipo = {
    .name = "dipo",
    .doc = "Diffusion Policy for Online RL: a diffusion model of actions moved up the critic",
    .options = options,
    .options_size = sizeof(struct learner_options),
    .presets = presets,
    .create = create,
    .act = act,
    .observe = observe,
    .update_due = experience_update_due,
    .update = update,
    .visit = visit,
    .describe = describe,
    .sampling_steps = "diffusion_steps",
};
