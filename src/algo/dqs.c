/* dqs: Diffusion Q-Sampling (Jain, Akhound-Sadegh, Ravanbakhsh 2025), beside Algorithm 1 of the paper.
 *
 * theta: twin critics Q; theta bar: their targets; phi: the score network f; D: the replay ring. B batch, d
 * action dimensions, K Monte Carlo samples, T temperature, tau diffusion time, h(tau) noise variance.
 * Departures from the printed algorithm are tagged [DEV]; docs/papers/dqs.md gives the reason of each. */
#include "algo.h"
#include "averages.h"
#include "boltzmann_grid.h"
#include "diffusion_policy.h"
#include "dqs_options.h"
#include "experience.h"
#include "temperature.h"
#include <math.h>
#include <string.h>

struct dqs {
    struct experience e; /* D, its minibatch, counters; the first, so that what it does the learner does */
    struct dqs_options o;
    struct algo_setup setup;
    struct twin critics;            /* theta, theta bar */
    struct diffusion_policy policy; /* phi */
    struct averages averages;       /* of phi and theta; with the option `average` */
    struct temperature temperature;
    long resets, reset_at; /* how often all networks began anew, and after how many updates the last time */
    double reward[2];      /* the least and the largest so far; 0, what comes after an end, among them */
    struct twin_energy energy;
    struct score_options score;
    struct score_scratch *scratch; /* per thread */
    struct boltzmann_grid grid;
    float *a0, *a_tau, *S;        /* [B x d] */
    float *tau, *h, *log_T, *ess; /* [B] */
    struct rng rng_score, rng_temperature, rng_diagnose;
};

/* The temperature as the network sees it. */
static double seen_T(const struct dqs *q, double T)
{
    return q->o.T_input == DQS_T_ABSOLUTE ? log(T) : log(T / q->temperature.T);
}

/* a ~ pi_phi(. | s) by reverse diffusion, at temperature T. [DEV] then, optionally, particles and the
 * corrector. */
static double draw(struct dqs *q, float *action, const float *s, int rows, double T, struct policy_draw how,
                   struct rng *rng)
{
    how.log_T = seen_T(q, T);
    if (how.particles > 1 || how.corrector > 0)
        twin_energy_prepare(&q->energy, q->setup.compute, s, rows, T);
    return policy_act(&q->policy, action, s, rows, &how, rng);
}

/* ---------------------------------------------------------------- act */
static int eval_particles(const struct dqs_options *o)
{
    return (int)(o->eval_particles ? o->eval_particles : o->particles);
}

static struct policy_draw acting(const struct dqs *q, dqs_act_mode mode)
{
    bool evaluate = mode == DQS_ACT_EVALUATE;
    return (struct policy_draw){.noise = evaluate ? q->o.eval_noise : 1,
                                .particles = evaluate ? eval_particles(&q->o) : (int)q->o.particles,
                                .best = evaluate && q->o.eval_choice == DQS_CHOICE_BEST,
                                .corrector = (int)q->o.corrector};
}

/* [DEV] What is evaluated are averages of the networks. Before the first update there are none. */
static void exchange_averages(struct dqs *q)
{
    if (q->e.updates > 0)
        averages_exchange(&q->averages);
}

static dqs_status dqs_act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                          dqs_error *error)
{
    struct dqs *q = self;
    int d = q->setup.act_dim;
    struct rng *rng = mode == DQS_ACT_EXPLORE ? &q->e.rng_act : &q->e.rng_evaluate;
    if (experience_warms_up(&q->e, action, rows, mode))
        return DQS_OK;
    if (mode == DQS_ACT_EXACT && !grid_possible(d))
        return fail(error, DQS_E_UNSUPPORTED,
                    "exact: needs at most 2 action dimensions, this task has %d; use evaluate", d);
    if (mode != DQS_ACT_EXPLORE)
        exchange_averages(q);
    for (int at = 0, n; (n = experience_block(&q->e, obs, at, rows)) > 0; at += n) {
        float *a = action + (size_t)at * (size_t)d;
        if (mode == DQS_ACT_EXACT) {
            twin_energy_prepare(&q->energy, q->setup.compute, q->e.s, n, q->temperature.T);
            grid_draw(&q->grid, a, n, rng);
        } else {
            draw(q, a, q->e.s, n, q->temperature.T, acting(q, mode), rng);
        }
    }
    if (mode != DQS_ACT_EXPLORE)
        exchange_averages(q);
    return DQS_OK;
}

static void widen_rewards(struct dqs *q, const float *reward, long n)
{
    for (long i = 0; i < n; i++) {
        q->reward[0] = fmin(q->reward[0], reward[i]);
        q->reward[1] = fmax(q->reward[1], reward[i]);
    }
}

static void dqs_observe(void *self, const struct transitions *t)
{
    struct dqs *q = self;
    experience_observe(&q->e, t);
    widen_rewards(q, t->reward, t->rows);
    temperature_at(&q->temperature, q->e.steps);
}

/* ---------------------------------------------------------------- update */
static void score_one_tile(void *context, int tile, int thread)
{
    struct dqs *q = context;
    int states = q->scratch[thread].states, first = tile * states, left = (int)q->o.batch - first;
    score_tile(&q->score, q->setup.compute->k, &q->energy.squashed, q->S, q->ess, q->a_tau, q->h, first,
               left < states ? left : states, &q->rng_score, q->rng_score.ticket, &q->scratch[thread],
               thread);
}

/* S = grad log sum_i exp(Q(s, a~_i)/T), a~_i ~ N(a_tau, h I), for the whole batch. */
static void estimate_scores(struct dqs *q)
{
    int states = q->scratch[0].states;
    pool_run(q->setup.compute->pool, ((int)q->o.batch + states - 1) / states, score_one_tile, q);
    rng_ticket(&q->rng_score);
}

/* [DEV] Each state gets its own T, from the coldest that is asked for to the hottest, so that the network
 * learns to be conditioned. */
static void spread_temperatures(struct dqs *q)
{
    int B = (int)q->o.batch;
    double T = q->temperature.T, hot = log(q->o.T_spread), cold = fmin(-hot, log(q->o.T_target));
    q->setup.compute->k->uniforms(q->log_T, (size_t)B, q->rng_score.key, rng_ticket(&q->rng_score), 0);
    for (int r = 0; r < B; r++) {
        double own = T * exp(cold + (hot - cold) * q->log_T[r]);
        q->log_T[r] = (float)seen_T(q, own);
        q->energy.inverse_T[r] = (float)(1 / own);
    }
}

/* Lines of the score network: for each (s, a) of the minibatch one noised action and the K-sample score
 * there. */
static void fit_scores(struct dqs *q, struct log_sink *log)
{
    struct experience *e = &q->e;
    int B = (int)q->o.batch, d = q->setup.act_dim;

    /* For each (s, a): tau ~ U[0,1], a_tau ~ N(a, h I). [DEV] noised=policy takes (s', a') instead. */
    log_phase(log, "noise");
    bool from_policy = q->o.noised == DQS_NOISED_POLICY;
    const float *s = from_policy ? e->s_next : e->s, *a = from_policy ? e->a_next : e->batch.action;
    for (int i = 0; i < B * d; i++)
        q->a0[i] = unsquash_action((enum squash)q->o.squash, a[i]);
    policy_noise(&q->policy, q->tau, q->h, q->a_tau, q->a0, B, &q->rng_score);

    /* S = grad log sum_i exp(Q_theta(s, a~_i)/T), a~_i ~ N(a_tau, h I), i = 1 .. K */
    log_phase(log, "score");
    twin_energy_prepare(&q->energy, q->setup.compute, s, B, q->temperature.T);
    spread_temperatures(q);
    estimate_scores(q);

    /* Update phi by minimising |f_phi(s, a_tau, tau) - S|^2 */
    log_phase(log, "actor");
    double loss = policy_fit(&q->policy, s, q->a_tau, q->tau, q->h, q->log_T, q->S, B,
                             q->o.loss_weight == DQS_WEIGHT_LAMBDA);

    /* [DEV] T follows the critic, in the modes that do. */
    log_phase(log, "temperature");
    if (temperature_wants_probe(&q->temperature, e->updates / q->o.policy_delay))
        temperature_probe(&q->temperature, q->setup.compute, &q->energy, e->steps, &q->rng_temperature);
    log_add(log, "train/actor_loss", loss);
    log_add(log, "train/score_ess", mean_of(q->ess, B));
}

/* [DEV] No return is beyond those of the least and the largest reward seen, for ever. NaN stays, for the
 * guard to see. */
static void bound_targets(struct dqs *q)
{
    struct experience *e = &q->e;
    if (!q->o.bound_values || q->o.gamma == 1)
        return;
    if (e->updates == 0) /* the replay may be another run's */
        widen_rewards(q, e->replay.reward, ring_count(&e->replay));
    float forever = (float)(q->o.reward_scale / (1 - q->o.gamma)), low = (float)q->reward[0] * forever,
          high = (float)q->reward[1] * forever;
    for (int r = 0; r < (int)q->o.batch; r++)
        e->y[r] = e->y[r] < low ? low : e->y[r] > high ? high : e->y[r];
}

static void initialise(struct dqs *q)
{
    struct rng init;
    rng_seed(&init, q->setup.seed, RNG_INIT);
    init.ticket += (uint64_t)q->resets << 32;
    twin_initialise(&q->critics, (enum net_init)q->o.init, &init);
    policy_initialise(&q->policy, &init);
}

/* [DEV] All networks begin anew after reset_first steps, then after twice as many, and so on; the replay stays. */
static void begin_anew(struct dqs *q)
{
    if (q->o.reset_first == 0 || q->resets > 32 || q->e.steps < q->o.reset_first << q->resets)
        return;
    do /* those that fell into the warm-up are one */
        q->resets++;
    while (q->resets <= 32 && q->e.steps >= q->o.reset_first << q->resets);
    q->reset_at = q->e.updates;
    initialise(q);
    for (int i = 0; i < q->critics.count; i++)
        adam_restart(&q->critics.adam[i]);
    adam_restart(&q->policy.adam);
}

static void dqs_update(void *self, struct log_sink *log)
{
    struct dqs *q = self;
    begin_anew(q);
    struct experience *e = &q->e;
    const struct compute *compute = q->setup.compute;
    int B = (int)q->o.batch, d = q->setup.act_dim;
    bool from_policy = q->o.noised == DQS_NOISED_POLICY;
    double mean_q;

    /* Sample minibatch {(s, a, r, s')} from D */
    log_phase(log, "sample");
    experience_sample(e);

    /* Target values Q^ = r + gamma Q_thetabar(s', a'), a' ~ pi_phi(s'). Nobody looks at a' where gamma is 0.
     * [DEV] T_target < 1: values are of a colder policy than the one that explores. */
    log_phase(log, "policy");
    double accepted = 0;
    struct policy_draw next = {
        .noise = 1, .particles = (int)q->o.particles_target, .corrector = (int)q->o.corrector_target};
    if (q->o.gamma > 0 || from_policy)
        accepted = draw(q, e->a_next, e->s_next, B, q->o.T_target * q->temperature.T, next, &e->rng_noise);
    log_phase(log, "target");
    join_rows(e->x_next, e->s_next, e->features.dim, e->a_next, d, B);
    td_target(compute, &q->critics, e->y, e->batch.reward, e->batch.discount, e->x_next, B,
              (enum twin_combine)q->o.target_critics);
    bound_targets(q);

    /* Update theta by minimising the mean of (Q_theta(s,a) - Q^)^2 */
    log_phase(log, "critic");
    double critic_loss =
        twin_fit(compute, &q->critics, e->x, e->y, B, q->o.huber, q->o.max_grad_norm, &mean_q);

    /* [DEV] policy_delay > 1 leaves the score network as it is in between, as TD3 does with its actor. */
    if ((e->updates + 1) % q->o.policy_delay == 0)
        fit_scores(q, log);

    /* theta bar <- eta theta + (1 - eta) theta bar */
    log_phase(log, "blend");
    twin_blend(compute, &q->critics, q->o.eta);
    averages_update(&q->averages, compute, e->updates - q->reset_at, q->reset_at > 0);

    log_phase(log, "rest");
    e->updates++;
    experience_log(e, log, critic_loss, mean_q);
    log_add(log, "train/corrector_acceptance", accepted);
    log_set(log, "train/ent_coef", q->temperature.T);
    log_set(log, "train/q_spread", q->temperature.spread);
    log_set(log, "train/entropy_per_dim", q->temperature.entropy);
}

/* ---------------------------------------------------------------- look */
/* Total variation between the policy and exp(Q/T) on the action grid at visited states, at three
 * temperatures. */
static void dqs_diagnose(void *self, struct log_sink *log)
{
    static const struct {
        double factor;
        const char *plain, *corrected, *floor;
    } at[] = {{1.0, "diag/tv", "diag/tv_corrected", "diag/tv_floor"},
              {0.3, "diag/tv_cold", "diag/tv_cold_corrected", "diag/tv_cold_floor"},
              {3.0, "diag/tv_hot", "diag/tv_hot_corrected", "diag/tv_hot_floor"}};
    struct dqs *q = self;
    int d = q->setup.act_dim, n = (int)q->o.diag_samples, B = (int)q->o.batch, rows = (int)q->o.diag_states,
        F = q->e.features.dim;
    if (!grid_possible(d) || q->setup.act_only || ring_count(&q->e.replay) == 0)
        return;
    rows = rows < B ? rows : B;
    struct arena arena = {0};
    float *states = arena_new(&arena, float, rows *F),
          *samples = arena_new(&arena, float, (size_t)rows *(size_t)n *(size_t)d);
    ring_sample(&q->e.replay, &q->e.batch, q->o.gamma, 1, &q->rng_diagnose);
    features_of(&q->e.features, states, q->e.batch.obs, rows);
    int kinds = q->o.T_spread >= 3 ? 3 : 1;
    for (int k = 0; rows > 0 && k < kinds; k++)
        for (int corrected = 0; corrected <= (q->o.corrector > 0); corrected++) {
            double T = q->temperature.T * at[k].factor, floor;
            struct policy_draw how = acting(q, DQS_ACT_EXPLORE);
            how.corrector = corrected ? how.corrector : 0;
            for (int i = 0; i < rows * n; i += B) { /* blocks of B samples; a block may span states */
                int block = rows * n - i < B ? rows * n - i : B;
                for (int r = 0; r < block; r++)
                    memcpy(q->e.s + (size_t)r * (size_t)F, states + (size_t)((i + r) / n) * (size_t)F,
                           sizeof(float) * (size_t)F);
                draw(q, samples + (size_t)i * (size_t)d, q->e.s, block, T, how, &q->rng_diagnose);
            }
            twin_energy_prepare(&q->energy, q->setup.compute, states, rows, T);
            double tv = grid_total_variation(&q->grid, samples, rows, n, &floor, &q->rng_diagnose);
            log_set(log, corrected ? at[k].corrected : at[k].plain, tv);
            log_set(log, at[k].floor, floor);
        }
    arena_free(&arena);
}

static dqs_status dqs_soft_value(void *self, float *value, const float *obs, int rows, dqs_error *error)
{
    struct dqs *q = self;
    exchange_averages(q);
    dqs_status status = grid_map(&q->grid, &q->energy, value, &q->e, obs, rows, q->temperature.T, error);
    exchange_averages(q);
    return status;
}

static dqs_status dqs_describe(void *self, struct blueprint *b, struct arena *arena, dqs_act_mode mode,
                               dqs_error *error)
{
    struct dqs *q = self;
    double T = q->temperature.T;
    struct policy_draw how = acting(q, mode);
    how.log_T = seen_T(q, T);
    if (mode == DQS_ACT_EXACT)
        return fail(error, DQS_E_UNSUPPORTED, "exact: a grid over the critics is not exported; use evaluate");
    experience_describe(&q->e, b, mode);
    policy_describe(&q->policy, b, arena, &how, T);
    return DQS_OK;
}

/* ---------------------------------------------------------------- life */
static struct off_policy_options experience_choice(const struct dqs_options *o)
{
    return (struct off_policy_options){.batch = o->batch,
                                       .replay = o->replay,
                                       .warmup = o->warmup,
                                       .n_step = o->n_step,
                                       .gamma = o->gamma,
                                       .lr_actor = o->lr_actor,
                                       .updates_per_step = o->updates_per_step,
                                       .reward_scale = o->reward_scale,
                                       .normalise_obs = o->normalise_obs,
                                       .obs_octaves = o->obs_octaves};
}

static dqs_status check(const struct dqs_options *o, int act_dim, dqs_error *error)
{
    struct off_policy_options shared = experience_choice(o);
    TRY(experience_check(&shared, error));
    if (act_dim > SCORE_MOST_DIMS)
        return fail(error, DQS_E_UNSUPPORTED, "dqs: %d action dimensions; %d is the most", act_dim,
                    SCORE_MOST_DIMS);
    if (o->critic_width % KERNELS_LANES || o->score_width % KERNELS_LANES)
        return fail(error, DQS_E_OPTION, "critic_width=%ld score_width=%ld: must be multiples of %d",
                    o->critic_width, o->score_width, KERNELS_LANES);
    if (o->sigma_min >= o->sigma_max)
        return fail(error, DQS_E_OPTION, "sigma_min=%g: must be below sigma_max=%g", o->sigma_min,
                    o->sigma_max);
    if (o->T_floor > o->T_ceiling)
        return fail(error, DQS_E_OPTION, "T_floor=%g: must not be above T_ceiling=%g", o->T_floor,
                    o->T_ceiling);
    if (o->temperature == TEMPERATURE_AUTO && o->entropy_target <= temperature_least_entropy(act_dim))
        return fail(error, DQS_E_OPTION,
                    "entropy_target=%g: with %d action dimensions only more than %.2f can be measured; "
                    "try 0.5, or temperature=relative",
                    o->entropy_target, act_dim, temperature_least_entropy(act_dim));
    if (o->squash == SQUASH_BOX && (o->estimator == SCORE_GRADIENT || o->estimator == SCORE_MIXTURE))
        return fail(error, DQS_E_OPTION,
                    "estimator: with squash=box the gradient form misses the edge; "
                    "use estimator=shifted or value");
    if (o->squash == SQUASH_CLIP && o->sampler == SAMPLER_FLOW_HEUN)
        return fail(
            error, DQS_E_OPTION,
            "sampler: squash=clip moves by way of one denoised action a step, flow-heun by two scores; "
            "use sampler=flow-euler or ancestral");
    if (o->estimator == SCORE_SHIFTED && o->K % 4)
        return fail(error, DQS_E_OPTION,
                    "K=%ld: with estimator=shifted, pairs of pairs, a multiple of 4; try %ld", o->K,
                    (o->K + 3) / 4 * 4);
    return DQS_OK;
}

static struct policy_options policy_choice(const struct dqs *q)
{
    const struct dqs_options *o = &q->o;
    int of_use[] = {(int)o->particles, (int)o->particles_target, eval_particles(o)}, most = 1;
    for (size_t i = 0; i < sizeof of_use / sizeof *of_use; i++)
        most = of_use[i] > most ? of_use[i] : most;
    return (struct policy_options){.width = (int)o->score_width,
                                   .hidden = (int)o->score_hidden,
                                   .embed = (int)o->embed,
                                   .steps = (int)o->N,
                                   .most_particles = most,
                                   .act = (enum activation)o->score_activation,
                                   .residual = o->score_residual,
                                   .layernorm = o->score_layernorm,
                                   .act_only = q->setup.act_only,
                                   .init = (enum net_init)o->init,
                                   .squash = (enum squash)o->squash,
                                   .sampler = (enum sampler_kind)o->sampler,
                                   .schedule = {o->sigma_min, o->sigma_max},
                                   .gain = o->score_gain,
                                   .lr = o->lr_actor,
                                   .decay = o->weight_decay,
                                   .max_norm = o->max_grad_norm,
                                   .corrector_step = o->corrector_step,
                                   .feature_dim = q->e.features.dim,
                                   .act_dim = q->setup.act_dim,
                                   .batch = (int)o->batch};
}

static void create_buffers(struct dqs *q, struct arena *arena)
{
    int B = (int)q->o.batch, d = q->setup.act_dim, threads = pool_threads(q->setup.compute->pool);
    float **wide[] = {&q->a0, &q->a_tau, &q->S}, **narrow[] = {&q->tau, &q->h, &q->log_T, &q->ess};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        *wide[i] = arena_new(arena, float, B *d);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        *narrow[i] = arena_new(arena, float, B);
    q->scratch = arena_new(arena, struct score_scratch, threads);
    for (int t = 0; t < threads; t++)
        score_scratch_create(&q->scratch[t], arena, &q->score, d);
}

static void create_averages(struct dqs *q, struct arena *arena)
{
    static const char *const names[] = {"score/", "critic0/", "critic1/"};
    struct net *of[] = {&q->policy.score, &q->critics.net[0], &q->critics.net[1]};
    struct averages_options options = {.rate = q->o.average,
                                       .act_only = q->setup.act_only,
                                       .anew = q->o.reset_first > 0,
                                       .settle = q->o.reset_settle};
    averages_create(&q->averages, arena, &options, of, names, 3);
}

static dqs_status dqs_create(void **self, struct arena *arena, const struct algo_setup *setup,
                             dqs_error *error)
{
    const struct dqs_options *o = setup->options;
    TRY(check(o, setup->act_dim, error));
    struct dqs *q = arena_new(arena, struct dqs, 1);
    *q = (struct dqs){.o = *o, .setup = *setup};
    int d = setup->act_dim, B = (int)o->batch,
        automatic = setup->terminates ? DQS_CRITICS_MIN : DQS_CRITICS_MEAN;
    q->o.target_critics = o->target_critics == DQS_CRITICS_AUTO ? automatic : o->target_critics;
    q->o.energy_critics = o->energy_critics == DQS_CRITICS_AUTO ? automatic : o->energy_critics;
    struct off_policy_options experience = experience_choice(o);
    experience_create(&q->e, arena, setup, &experience);
    int F = q->e.features.dim;

    struct net_spec spec = {F + d,
                            1,
                            (int)o->critic_width,
                            (int)o->critic_hidden,
                            ACT_RELU,
                            o->critic_layernorm,
                            o->critic_residual};
    twin_create(&q->critics, arena, &spec, 2, B, o->lr_critic, o->weight_decay, !setup->act_only);
    twin_energy_create(&q->energy, arena, &q->critics, (enum twin_combine)q->o.energy_critics,
                       (enum squash)o->squash, setup->compute, F, d, B,
                       setup->act_only ? 0 : (int)(o->K > o->K_low ? o->K : o->K_low));
    struct policy_options policy = policy_choice(q);
    policy_create(&q->policy, arena, &policy, setup->compute, &q->energy);
    struct temperature_options temperature = {(enum temperature_mode)o->temperature,
                                              o->T,
                                              o->T_end,
                                              o->kappa,
                                              o->kappa_end > 0 ? o->kappa_end : o->kappa,
                                              o->T_floor,
                                              o->T_ceiling,
                                              o->entropy_target,
                                              o->T_lr,
                                              o->T_steps ? o->T_steps : setup->total_steps};
    temperature_create(&q->temperature, arena, &temperature, d, B);
    q->score = (struct score_options){
        (enum score_form)o->estimator, (int)o->K, (int)o->K_low, o->sigma_low, o->mode_width, o->score_clip,
        o->squash == SQUASH_BOX};
    if (grid_possible(d))
        grid_create(&q->grid, arena, &q->energy, setup->compute);
    if (!setup->act_only)
        create_buffers(q, arena);

    initialise(q);
    create_averages(q, arena);
    rng_seed(&q->rng_score, setup->seed, RNG_SCORE);
    rng_seed(&q->rng_temperature, setup->seed, RNG_TEMPERATURE);
    rng_seed(&q->rng_diagnose, setup->seed, RNG_DIAGNOSE);
    *self = q;
    return DQS_OK;
}

static void dqs_visit(void *self, struct visitor *v)
{
    struct dqs *q = self;
    bool learn = !q->setup.act_only;
    if (learn || q->o.average == 0) {
        enum visit_kind kind = q->o.average > 0 ? VISIT_LEARN : VISIT_POLICY;
        policy_visit(&q->policy, v, kind, learn);
        twin_visit(&q->critics, v, kind, learn);
    }
    if (q->o.average > 0)
        averages_visit(&q->averages, v, q->e.updates == 0);
    experience_visit_policy(&q->e, v);
    temperature_visit(&q->temperature, v);
    if (!learn)
        return;
    const struct named_stream own[] = {{"rng/score", &q->rng_score},
                                       {"rng/temperature", &q->rng_temperature},
                                       {"rng/diagnose", &q->rng_diagnose}};
    experience_visit(&q->e, v, own, 3);
    if (q->o.reset_first > 0) {
        visit_long(v, "reset/count", VISIT_LEARN, &q->resets);
        visit_long(v, "reset/updates", VISIT_LEARN, &q->reset_at);
        if (q->reset_at > q->e.updates) /* a stranger's file */
            q->reset_at = q->e.updates;
        averages_visit_coming(&q->averages, v);
    }
    if (q->o.bound_values)
        visit_vector(v, "reward_range", VISIT_LEARN, VISIT_F64, q->reward, 2);
}

const struct algo algo_dqs = {
    .name = "dqs",
    .doc = "Diffusion Q-Sampling: a diffusion policy that samples exp(Q/T)",
    .options = dqs_option_table,
    .options_size = sizeof(struct dqs_options),
    .presets = dqs_preset_table,
    .create = dqs_create,
    .act = dqs_act,
    .observe = dqs_observe,
    .update_due = experience_update_due,
    .update = dqs_update,
    .visit = dqs_visit,
    .diagnose = dqs_diagnose,
    .soft_value = dqs_soft_value,
    .describe = dqs_describe,
    .sampling_steps = "N",
};
