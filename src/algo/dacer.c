/* dacer: Diffusion Actor-Critic with Entropy Regulator (Wang et al. 2024), beside Algorithm 1 of the paper.
 *
 * Q: the two critics, Q': their targets, pi: reverse diffusion through a denoiser, differentiated through all
 * its steps; alpha: how much noise is added to what it draws, steered by an estimate of the policy's entropy;
 * D: the replay ring. B batch, d action dimensions. Departures from the paper are tagged [DEV];
 * docs/papers/dacer.md gives the reasons. */
#include "denoising.h"
#include "dsac.h"
#include "sampled_entropy.h"

enum critic_kind { CRITIC_MSE, CRITIC_DSAC };

struct learner_options {
    struct off_policy_options shared;
    struct denoising_options denoising;
    int critic;
    double noise, alpha, lr_alpha, entropy_target;
    long alpha_period, policy_delay;
};

#define OPTIONS struct learner_options
static const struct option options[] = {
    OFF_POLICY_OPTIONS,
    DENOISING_OPTIONS("20", "vp", "1", "original"),
    OPTION_ROW_CHOICE(critic, "mse", "mse dsac", "critics: plain twins, or DSAC-T's Gaussian ones",
                      "paper: two critics with their minimum; original: dsac"),
    OPTION_ROW_REAL(noise, "0.1", 0, 10, "lambda: drawn actions get noise lambda alpha",
                    "original; 0.15 for humanoid and cheetah"),
    OPTION_ROW_REAL(alpha, "3", 1e-9, 1e9, "where alpha starts", "original"),
    OPTION_ROW_REAL(lr_alpha, "0.03", 0, 1, "learning rate of log alpha", "original"),
    OPTION_ROW_INT(alpha_period, "10000", 0, 1e9, "updates between those of alpha; 0: never", "original"),
    OPTION_ROW_REAL(entropy_target, "-0.9", -20, 0.69, "nats per action dimension", "original"),
    OPTION_ROW_INT(policy_delay, "2", 1, 100, "updates of the critics per update of actor and targets",
                   "original"),
    {0},
};

/* pendulum: at 3e-4 one seed of three was still learning after 10000 steps; an actor at 1e-3 got stuck
 * against the clips. */
static const struct option_preset presets[] = {
    OFF_POLICY_PRESETS,
    {"*", "pendulum", "lr_critic=1e-3"},
    {"official", NULL, "critic=dsac hidden=3 lr_actor=1e-4 lr_critic=1e-4 reward_scale=0.2 replay=1000000"},
    {0},
};

struct learner {
    struct experience e; /* D; the first, so that what it does the learner does */
    struct learner_options o;
    struct twin critics; /* Q, Q' */
    struct dsac dsac;
    struct denoiser actor; /* pi */
    float *log_alpha;      /* [1] */
    struct adam alpha_adam;
    float *da; /* [B x d] */
    struct sampled_entropy entropy;
    struct rng rng_temperature;
};

static double noise_now(const struct learner *q)
{
    return q->o.noise * exp(q->log_alpha[0]);
}

/* a ~ pi(s): the end of the diffusion, plus N(0, (lambda alpha)^2), clipped */
static void draw(struct learner *q, float *a, const float *s, int rows, struct rng *rng)
{
    denoiser_draw(&q->actor, &q->actor.net, a, s, rows, 1, rng);
    add_noise(q->e.setup.compute->k, a, rows * q->e.setup.act_dim, noise_now(q), INFINITY, rng);
}

static dqs_status act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                      dqs_error *error)
{
    struct learner *q = self;
    return denoising_act(&q->actor, &q->e, &q->o.denoising, action, obs, rows, mode, noise_now(q), error);
}

/* ---------------------------------------------------------------- update */
/* Update pi by minimising -mean min_j Q_j(s, a), a ~ pi(s), through the clip and the whole diffusion */
static double update_actor(struct learner *q, struct log_sink *log)
{
    struct experience *e = &q->e;
    const struct compute *compute = e->setup.compute;
    int B = (int)e->o.batch, d = e->setup.act_dim;
    denoiser_draw_taped(&q->actor, e->a, e->s, B, &e->rng_noise);
    add_noise(compute->k, e->a, B * d, noise_now(q), INFINITY, &e->rng_noise);
    join_rows(e->x_next, e->s, e->features.dim, e->a, d, B); /* the target has done with x_next */
    double value = twin_action_gradient(compute, &q->critics, q->da, e->x_next, B, d, TWIN_MIN);
    int at_wall = 0;
    for (int i = 0; i < B * d; i++) {
        bool inside = e->a[i] > -1 && e->a[i] < 1;
        q->da[i] = inside ? -q->da[i] / (float)B : 0;
        at_wall += !inside;
    }
    log_add(log, "train/saturated", at_wall / (double)(B * d));
    denoiser_draw_back(&q->actor, q->da, B);
    denoiser_step(&q->actor);
    return -value;
}

/* Update alpha: down where the policy has more entropy than wanted, up where less */
static void update_alpha(struct learner *q, struct log_sink *log)
{
    double H = sampled_entropy(&q->entropy, &q->actor, q->e.s, noise_now(q), &q->rng_temperature),
           excess = H - q->o.entropy_target * q->e.setup.act_dim;
    float slope = (float)excess;
    log_add(log, "train/entropy_loss", -H);
    log_add(log, "train/ent_coef_loss", excess * q->log_alpha[0]);
    adam_step(q->e.setup.compute, &q->alpha_adam, q->log_alpha, &slope, 0);
}

static void update(void *self, struct log_sink *log)
{
    struct learner *q = self;
    struct experience *e = &q->e;
    const struct compute *compute = e->setup.compute;
    int B = (int)e->o.batch, F = e->features.dim, d = e->setup.act_dim;
    bool plain = q->o.critic == CRITIC_MSE, delayed = e->updates % q->o.policy_delay != 0,
         steered = q->o.alpha_period > 0 && e->updates % q->o.alpha_period == 0;
    double mean_q, critic_loss;

    /* Sample a minibatch (s, a, r, s') from D */
    log_phase(log, "sample");
    experience_sample(e);
    e->updates++;

    /* a' ~ pi(s'), y = r + gamma min_j Q'_j(s', a') */
    log_phase(log, "policy");
    draw(q, e->a_next, e->s_next, B, &e->rng_noise);
    log_phase(log, "target");
    join_rows(e->x_next, e->s_next, F, e->a_next, d, B);
    if (plain)
        td_target(compute, &q->critics, e->y, e->batch.reward, e->batch.discount, e->x_next, B, TWIN_MIN);
    else
        dsac_target(compute, &q->dsac, &q->critics, e->y, e->batch.reward, e->batch.discount, e->x_next, B,
                    &e->rng_noise);

    /* The actor climbs the critics as they are before their own step: the two steps are one in the authors'
     * code. */
    log_phase(log, "actor");
    if (!delayed)
        log_add(log, "train/actor_loss", update_actor(q, log));

    /* Update both Q by minimising the mean of (Q(s, a) - y)^2 [DEV]; critic=dsac: the authors' distributional
     * loss */
    log_phase(log, "critic");
    if (plain)
        critic_loss = twin_fit(compute, &q->critics, e->x, e->y, B, e->o.huber, e->o.max_grad_norm, &mean_q);
    else
        critic_loss =
            dsac_fit(compute, &q->dsac, &q->critics, e->x, e->y, B, e->o.eta, e->o.max_grad_norm, &mean_q);

    log_phase(log, "alpha");
    if (steered)
        update_alpha(q, log);

    /* Q' <- eta Q + (1 - eta) Q' */
    log_phase(log, "blend");
    if (!delayed)
        twin_blend(compute, &q->critics, e->o.eta);

    log_phase(log, "rest");
    experience_log(e, log, critic_loss, mean_q);
    log_set(log, "train/ent_coef", exp(q->log_alpha[0]));
}

/* ---------------------------------------------------------------- life */
static void create_learner(struct learner *q, struct arena *arena, struct rng *init)
{
    struct experience *e = &q->e;
    int B = (int)e->o.batch, F = e->features.dim, d = e->setup.act_dim;
    struct net_spec critic = experience_net(e, F + d, q->o.critic == CRITIC_DSAC ? 2 : 1);
    critic.act = ACT_MISH;
    twin_create(&q->critics, arena, &critic, 2, B, e->o.lr_critic, 0, true);
    twin_initialise(&q->critics, NET_UNIFORM, init);
    dsac_create(&q->dsac, arena, B);
    adam_create(&q->alpha_adam, arena, 1, q->o.lr_alpha, 0);
    rng_seed(&q->rng_temperature, e->setup.seed, RNG_TEMPERATURE);
    q->da = arena_new(arena, float, B *d);
    sampled_entropy_create(&q->entropy, arena, &q->actor, B);
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
    choice.differentiate = true;
    rng_seed(&init, setup->seed, RNG_INIT);
    denoiser_create(&q->actor, arena, &choice, setup->compute);
    denoiser_initialise(&q->actor, NET_UNIFORM, &init);
    q->log_alpha = arena_new(arena, float, 1);
    q->log_alpha[0] = (float)log(o->alpha);
    if (!setup->act_only)
        create_learner(q, arena, &init);
    *self = q;
    return DQS_OK;
}

static void visit(void *self, struct visitor *v)
{
    struct learner *q = self;
    const struct named_stream own = {"rng/temperature", &q->rng_temperature};
    denoiser_visit(&q->actor, v);
    experience_visit_policy(&q->e, v);
    visit_vector(v, "log_alpha", VISIT_POLICY, VISIT_F32, q->log_alpha, 1);
    if (q->e.setup.act_only)
        return;
    twin_visit(&q->critics, v, VISIT_LEARN, true);
    dsac_visit(&q->dsac, v);
    adam_visit(&q->alpha_adam, v, "alpha_adam/");
    experience_visit(&q->e, v, &own, 1);
}

static dqs_status describe(void *self, struct blueprint *b, struct arena *arena, dqs_act_mode mode,
                           dqs_error *error)
{
    struct learner *q = self;
    return denoising_describe(&q->actor, &q->e, &q->o.denoising, b, arena, mode, noise_now(q), error);
}

const struct algo algo_dacer = {
    .name = "dacer",
    .doc = "Diffusion Actor-Critic with Entropy Regulator: back-propagation through the diffusion",
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
