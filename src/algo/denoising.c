#include "denoising.h"
#include "embed.h"
#include <math.h>

struct denoiser_options denoising_choice(const struct experience *e, const struct denoising_options *o,
                                         enum ddpm_kind sampler)
{
    return (struct denoiser_options){.feature_dim = e->features.dim,
                                     .act_dim = e->setup.act_dim,
                                     .width = (int)e->o.width,
                                     .hidden = (int)e->o.hidden,
                                     .embed = (int)o->embed,
                                     .steps = (int)o->diffusion_steps,
                                     .batch = (int)e->o.batch,
                                     .act = ACT_MISH,
                                     .schedule = (enum vp_kind)o->schedule,
                                     .sampler = sampler,
                                     .lr = e->o.lr_actor,
                                     .eps = 1e-8,
                                     .max_norm = e->o.max_grad_norm,
                                     .act_only = e->setup.act_only};
}

dqs_status denoising_act(struct denoiser *actor, struct experience *e, const struct denoising_options *o,
                         float *action, const float *obs, int rows, dqs_act_mode mode, double explore_noise,
                         dqs_error *error)
{
    int d = e->setup.act_dim;
    bool explore = mode == DQS_ACT_EXPLORE;
    struct rng *rng = explore ? &e->rng_act : &e->rng_evaluate;
    TRY(experience_refuse_exact(mode, error));
    if (experience_warms_up(e, action, rows, mode))
        return DQS_OK;
    for (int at = 0, n; (n = experience_block(e, obs, at, rows)) > 0; at += n) {
        float *a = action + (size_t)at * (size_t)d;
        denoiser_draw(actor, &actor->net, a, e->s, n, explore ? 1 : o->eval_noise, rng);
        if (explore && explore_noise > 0)
            add_noise(e->setup.compute->k, a, n * d, explore_noise, INFINITY, rng);
    }
    return DQS_OK;
}

/* ddpm.c's two kinds of step. */
static struct blueprint_step step_of(const struct ddpm *ddpm, int t, double noise)
{
    struct ddpm_move move = ddpm_move(ddpm, t, noise);
    bool clip_x = ddpm->kind == DDPM_CLIP_X;
    return (struct blueprint_step){.inner_x = move.inner_x,
                                   .inner_y = -move.inner_e,
                                   .by_inner = move.by_inner,
                                   .by_x = move.by_x,
                                   .spread = move.spread,
                                   .clip = clip_x,
                                   .clip_inner = !clip_x,
                                   .noise = -1};
}

dqs_status denoising_describe(const struct denoiser *actor, const struct experience *e,
                              const struct denoising_options *o, struct blueprint *b, struct arena *arena,
                              dqs_act_mode mode, double explore_noise, dqs_error *error)
{
    bool explore = mode == DQS_ACT_EXPLORE;
    int T = actor->o.steps, E = actor->o.embed, d = e->setup.act_dim;
    double noise = explore ? 1 : o->eval_noise;
    TRY(experience_refuse_exact(mode, error));
    experience_describe(e, b, mode);
    b->net = &actor->net;
    b->steps = T;
    b->step = arena_new(arena, struct blueprint_step, T);
    b->start = 1;
    b->start_noise = blueprint_draw(b, arena, d, false, 0);
    float *embedding = arena_new(arena, float, T *E);
    for (int s = 0, t = T - 1; s < T; s++, t--) {
        b->step[s] = step_of(&actor->ddpm, t, noise);
        if (b->step[s].spread > 0)
            b->step[s].noise = blueprint_draw(b, arena, d, false, (uint64_t)t);
        embed_sinusoid(embedding + (size_t)s * (size_t)E, (float)(t + 1) / (float)T, E);
    }
    blueprint_levels(b, arena, embedding, E);
    if (explore && explore_noise > 0) {
        b->out_noise = (float)explore_noise;
        b->out_slot = blueprint_draw(b, arena, d, false, (uint64_t)T);
    }
    blueprint_finish(b);
    return DQS_OK;
}
