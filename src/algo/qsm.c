/* qsm: Q-Score Matching (Psenka, Escontrela, Abbeel, Ma 2024), beside Algorithm 1 of the paper, as its
 * authors' code runs it.
 *
 * Q: the two critics, Q': their targets, e: the denoiser, whose e(s, a_t, t) is minus the score of the
 * policy; D: the replay ring. B batch, d action dimensions, t diffusion step. Departures are tagged [DEV];
 * docs/papers/qsm.md gives the reasons. */
#include "denoising.h"

struct learner_options {
    struct off_policy_options shared;
    struct denoising_options denoising;
    double M_q, explore_noise;
};

#define OPTIONS struct learner_options
static const struct option options[] = {
    OFF_POLICY_OPTIONS,
    DENOISING_OPTIONS("5", "vp", "1", "authors' code"),
    OPTION_ROW_REAL(M_q, "50", 1e-6, 1e9, "the score is this times grad Q: an inverse temperature",
                    "authors' code; 120 for quadruped and humanoid"),
    OPTION_ROW_REAL(explore_noise, "0.1", 0, 10, "noise added to drawn actions, but not at evaluation",
                    "authors' code"),
    {0},
};

static const struct option_preset presets[] = {OFF_POLICY_PRESETS, {0}};

struct learner {
    struct experience e; /* D; the first, so that what it does the learner does */
    struct learner_options o;
    struct twin critics; /* Q, Q' */
    struct denoiser actor;
    int *t;             /* [B] */
    float *a_t, *score; /* [B x d] */
};

static dqs_status act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                      dqs_error *error)
{
    struct learner *q = self;
    return denoising_act(&q->actor, &q->e, &q->o.denoising, action, obs, rows, mode, q->o.explore_noise,
                         error);
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

    /* a' ~ pi(s') by DDPM, with the noise that exploration adds; y = r + gamma min_j Q'_j(s', a') */
    log_phase(log, "policy");
    denoiser_draw(&q->actor, &q->actor.net, e->a_next, e->s_next, B, 1, &e->rng_noise);
    add_noise(compute->k, e->a_next, B * d, q->o.explore_noise, INFINITY, &e->rng_noise);
    log_phase(log, "target");
    join_rows(e->x_next, e->s_next, F, e->a_next, d, B);
    td_target(compute, &q->critics, e->y, e->batch.reward, e->batch.discount, e->x_next, B, TWIN_MIN);

    /* Update both Q by minimising the mean of (Q(s, a) - y)^2 */
    log_phase(log, "critic");
    double critic_loss =
        twin_fit(compute, &q->critics, e->x, e->y, B, e->o.huber, e->o.max_grad_norm, &mean_q);

    /* t uniform, a_t = sqrt(abar) a + sqrt(1 - abar) noise; the noise itself is not asked for again */
    log_phase(log, "score");
    denoiser_noise(&q->actor, q->t, q->a_t, q->score, e->batch.action, B, &e->rng_noise);

    /* e* = -M_q (grad_a Q_1 + grad_a Q_2)/2 at (s, a_t): a denoiser predicts minus the score */
    join_rows(e->x_next, e->s, F, q->a_t, d, B); /* the target has done with x_next */
    twin_action_gradient(compute, &q->critics, q->score, e->x_next, B, d, TWIN_MEAN);
    for (int i = 0; i < B * d; i++)
        q->score[i] *= -(float)q->o.M_q;

    /* Update e by minimising the mean of (e(s, a_t, t) - e*)^2 */
    log_phase(log, "actor");
    double actor_loss = denoiser_fit(&q->actor, e->s, q->a_t, q->t, q->score, B);

    /* Q' <- eta Q + (1 - eta) Q' */
    log_phase(log, "blend");
    twin_blend(compute, &q->critics, e->o.eta);

    log_phase(log, "rest");
    experience_log(e, log, critic_loss, mean_q);
    log_add(log, "train/actor_loss", actor_loss);
}

static dqs_status create(void **self, struct arena *arena, const struct algo_setup *setup, dqs_error *error)
{
    const struct learner_options *o = setup->options;
    TRY(experience_check(&o->shared, error));
    struct learner *q = arena_new(arena, struct learner, 1);
    q->o = *o;
    experience_create(&q->e, arena, setup, &o->shared);
    int B = (int)o->shared.batch, d = setup->act_dim;
    struct denoiser_options choice = denoising_choice(&q->e, &o->denoising, DDPM_CLIP_X);
    struct rng init;
    rng_seed(&init, setup->seed, RNG_INIT);
    denoiser_create(&q->actor, arena, &choice, setup->compute);
    denoiser_initialise(&q->actor, NET_UNIFORM, &init);
    *self = q;
    if (setup->act_only)
        return DQS_OK;
    struct net_spec critic = experience_net(&q->e, q->e.features.dim + d, 1);
    twin_create(&q->critics, arena, &critic, 2, B, o->shared.lr_critic, 0, true);
    twin_initialise(&q->critics, NET_UNIFORM, &init);
    q->t = arena_new(arena, int, B);
    q->a_t = arena_new(arena, float, B *d);
    q->score = arena_new(arena, float, B *d);
    return DQS_OK;
}

static void visit(void *self, struct visitor *v)
{
    struct learner *q = self;
    denoiser_visit(&q->actor, v);
    experience_visit_policy(&q->e, v);
    if (q->e.setup.act_only)
        return;
    twin_visit(&q->critics, v, VISIT_LEARN, true);
    experience_visit(&q->e, v, NULL, 0);
}

static dqs_status describe(void *self, struct blueprint *b, struct arena *arena, dqs_act_mode mode,
                           dqs_error *error)
{
    struct learner *q = self;
    return denoising_describe(&q->actor, &q->e, &q->o.denoising, b, arena, mode, q->o.explore_noise, error);
}

const struct algo algo_qsm = {
    .name = "qsm",
    .doc = "Q-Score Matching: a diffusion policy whose score follows the gradient of Q",
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
    .sampling_steps = "diffusion_steps",
};
