#include "sampled_entropy.h"
#include "parts.h"
#include <string.h>

void sampled_entropy_create(struct sampled_entropy *h, struct arena *arena, const struct denoiser *actor,
                            int states)
{
    int threads = pool_threads(actor->compute->pool);
    size_t d = (size_t)actor->o.act_dim;
    h->states = states;
    h->s = arena_new(arena, float, (size_t)states *(size_t)actor->o.feature_dim);
    h->action = arena_new(arena, float, (size_t)states *ENTROPY_SAMPLES *d);
    h->entropy = arena_new(arena, double, states);
    h->mixture = arena_new(arena, struct mixture_em, threads);
    for (int t = 0; t < threads; t++)
        mixture_create(&h->mixture[t], arena, ENTROPY_SAMPLES, (int)d);
}

struct fit_job {
    struct sampled_entropy *h;
    const struct rng *rng;
    uint64_t ticket;
};

static void fit_state(void *context, int state, int thread)
{
    struct fit_job *job = context;
    struct mixture_em *m = &job->h->mixture[thread];
    const float *x = job->h->action + (size_t)state * ENTROPY_SAMPLES * (size_t)m->dim;
    uint32_t words[4];
    rng_block(job->rng, job->ticket, (uint64_t)state, words);
    mixture_start(m, x, words);
    mixture_climb(m, x);
    job->h->entropy[state] = mixture_entropy(m);
}

double sampled_entropy(struct sampled_entropy *h, struct denoiser *actor, const float *s, double noise,
                       struct rng *rng)
{
    int n = h->states, d = actor->o.act_dim;
    size_t F = (size_t)actor->o.feature_dim;
    double sum = 0;
    for (int at = 0; at < n * ENTROPY_SAMPLES; at += n) { /* as many draws at a time; they may span states */
        float *action = h->action + (size_t)at * (size_t)d;
        for (int r = 0; r < n; r++)
            memcpy(h->s + (size_t)r * F, s + (size_t)((at + r) / ENTROPY_SAMPLES) * F, sizeof *s * F);
        denoiser_draw(actor, &actor->net, action, h->s, n, 1, rng);
        add_noise(actor->compute->k, action, n * d, noise, INFINITY, rng);
    }
    struct fit_job job = {h, rng, rng_ticket(rng)};
    pool_run(actor->compute->pool, n, fit_state, &job);
    for (int r = 0; r < n; r++)
        sum += h->entropy[r];
    return sum / n;
}
