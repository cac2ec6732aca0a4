#include "denoising.h"

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
    int d = e->setup.act_dim, B = (int)e->o.batch;
    bool explore = mode == DQS_ACT_EXPLORE;
    struct rng *rng = explore ? &e->rng_act : &e->rng_evaluate;
    TRY(experience_refuse_exact(mode, error));
    if (experience_warms_up(e, action, rows, mode))
        return DQS_OK;
    for (int at = 0; at < rows; at += B) {
        int n = rows - at < B ? rows - at : B;
        float *a = action + (size_t)at * (size_t)d;
        features_of(&e->features, e->s, obs + (size_t)at * (size_t)e->setup.obs_dim, n);
        denoiser_draw(actor, &actor->net, a, e->s, n, explore ? 1 : o->eval_noise, rng);
        if (explore && explore_noise > 0)
            add_noise(e->setup.compute->k, a, n * d, explore_noise, INFINITY, rng);
    }
    return DQS_OK;
}
