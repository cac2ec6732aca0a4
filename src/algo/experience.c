#include "experience.h"

dqs_status experience_check(const struct off_policy_options *o, dqs_error *error)
{
    if (o->width % KERNELS_LANES)
        return fail(error, DQS_E_OPTION, "width=%ld: must be a multiple of %d; try %ld", o->width,
                    KERNELS_LANES, (o->width + KERNELS_LANES - 1) / KERNELS_LANES * KERNELS_LANES);
    if (o->batch % 4)
        return fail(error, DQS_E_OPTION, "batch=%ld: must be a multiple of 4; try %ld", o->batch,
                    (o->batch + 3) / 4 * 4);
    return DQS_OK;
}

void experience_create(struct experience *e, struct arena *arena, const struct algo_setup *setup,
                       const struct off_policy_options *o)
{
    *e = (struct experience){.o = *o, .setup = *setup};
    features_create(&e->features, arena, setup->obs_dim, o->normalise_obs, (int)o->obs_octaves);
    int B = (int)o->batch, F = e->features.dim, d = setup->act_dim;
    e->s = arena_new(arena, float, B *F);
    rng_seed(&e->rng_act, setup->seed, RNG_ACT);
    rng_seed(&e->rng_evaluate, setup->seed, RNG_EVALUATE);
    if (setup->act_only)
        return;
    rng_seed(&e->rng_replay, setup->seed, RNG_REPLAY);
    rng_seed(&e->rng_noise, setup->seed, RNG_TARGET);
    ring_create(&e->replay, arena, o->replay, setup->obs_dim, d);
    ring_batch_create(&e->batch, arena, B, setup->obs_dim, d);
    e->s_next = arena_new(arena, float, B *F);
    e->x = arena_new(arena, float, B *(F + d));
    e->x_next = arena_new(arena, float, B *(F + d));
    e->a_next = arena_new(arena, float, B *d);
    e->a = arena_new(arena, float, B *d);
    e->y = arena_new(arena, float, B);
}

struct net_spec experience_net(const struct experience *e, int in, int out)
{
    return (struct net_spec){in, out, (int)e->o.width, (int)e->o.hidden, ACT_RELU, false, false};
}

dqs_status experience_refuse_exact(dqs_act_mode mode, dqs_error *error)
{
    return mode == DQS_ACT_EXACT
               ? fail(error, DQS_E_UNSUPPORTED, "exact: only dqs has an exact policy; use evaluate")
               : DQS_OK;
}

bool experience_warms_up(struct experience *e, float *action, int rows, dqs_act_mode mode)
{
    if (mode != DQS_ACT_EXPLORE || e->steps >= e->o.warmup || e->setup.act_only)
        return false;
    uniform_actions(action, rows * e->setup.act_dim, &e->rng_act);
    return true;
}

int experience_block(struct experience *e, const float *obs, int at, int rows)
{
    int n = rows - at < (int)e->o.batch ? rows - at : (int)e->o.batch;
    features_of(&e->features, e->s, obs + (size_t)at * (size_t)e->setup.obs_dim, n);
    return n;
}

void experience_observe(void *experience, const struct transitions *t)
{
    struct experience *e = experience;
    size_t o = (size_t)e->setup.obs_dim, d = (size_t)e->setup.act_dim;
    normaliser_learn(&e->features.norm, t->obs, t->rows);
    e->replay.lanes = t->rows;
    for (size_t r = 0; r < (size_t)t->rows; r++)
        ring_push(&e->replay, t->obs + r * o, t->action + r * d, t->reward[r], t->next_obs + r * o,
                  t->terminated[r]);
    e->steps += t->steps;
}

bool experience_update_due(const void *experience)
{
    const struct experience *e = experience;
    return (double)e->updates < (double)(e->steps - e->o.warmup) * e->o.updates_per_step &&
           ring_count(&e->replay) > 0;
}

void experience_sample(struct experience *e)
{
    struct ring_batch *b = &e->batch;
    ring_sample(&e->replay, b, e->o.gamma, (int)e->o.n_step, &e->rng_replay);
    for (int r = 0; r < b->rows; r++)
        b->reward[r] *= (float)e->o.reward_scale;
    features_of(&e->features, e->s, b->obs, b->rows);
    features_of(&e->features, e->s_next, b->next_obs, b->rows);
    join_rows(e->x, e->s, e->features.dim, b->action, e->setup.act_dim, b->rows);
}

void experience_log(const struct experience *e, struct log_sink *log, double critic_loss, double mean_q)
{
    log_add(log, "train/critic_loss", critic_loss);
    log_add(log, "train/q_mean", mean_q);
    log_set(log, "train/n_updates", (double)e->updates);
    log_set(log, "train/learning_rate", e->o.lr_actor);
}

void experience_visit(struct experience *e, struct visitor *v, const struct named_stream *own, int n)
{
    const struct named_stream shared[] = {{"rng/act", &e->rng_act},
                                          {"rng/evaluate", &e->rng_evaluate},
                                          {"rng/replay", &e->rng_replay},
                                          {"rng/target", &e->rng_noise}};
    int n_shared = (int)(sizeof shared / sizeof *shared);
    for (int i = 0; i < n_shared + n; i++) {
        const struct named_stream *stream = i < n_shared ? &shared[i] : &own[i - n_shared];
        visit_vector(v, stream->name, VISIT_LEARN, VISIT_I64, &stream->rng->ticket, 1);
    }
    visit_long(v, "steps", VISIT_LEARN, &e->steps);
    visit_long(v, "updates", VISIT_LEARN, &e->updates);
    ring_visit(&e->replay, v);
    if (e->o.n_step > 1) /* a save may fall between an observation and its update */
        ring_visit_lanes(&e->replay, v);
}

void experience_visit_policy(struct experience *e, struct visitor *v)
{
    normaliser_visit(&e->features.norm, v, "normaliser/");
}

void experience_describe(const struct experience *e, struct blueprint *b, dqs_act_mode mode)
{
    features_describe(&e->features, b);
    b->act_dim = e->setup.act_dim;
    b->rng = mode == DQS_ACT_EXPLORE ? &e->rng_act : &e->rng_evaluate;
}
