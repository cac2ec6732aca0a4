#include "squashed_gaussian.h"
#include "gaussian.h"

void gaussian_create(struct squashed_gaussian *g, struct arena *arena, const struct net_spec *spec,
                     struct sigma_range range, int batch, double lr, bool learn)
{
    g->range = range;
    g->act_dim = spec->out / 2;
    g->noise = arena_new(arena, float, batch * g->act_dim);
    g->slope = arena_new(arena, float, batch * g->act_dim);
    actor_create(&g->actor, arena, spec, batch, lr, false, learn);
}

static float log_sigma_of(struct sigma_range range, float l, float *slope)
{
    if (range.form == SIGMA_CLAMP) {
        *slope = l >= range.low && l <= range.high;
        return fminf(range.high, fmaxf(range.low, l));
    }
    float t = tanhf(l), half = 0.5f * (range.high - range.low);
    *slope = half * (1 - t * t);
    return range.low + half * (t + 1);
}

void gaussian_mean(const struct compute *compute, struct squashed_gaussian *g, float *a, const float *s,
                   int rows)
{
    int d = g->act_dim;
    actor_forward(compute, &g->actor, s, rows);
    for (int i = 0; i < rows * d; i++)
        a[i] = tanhf(g->actor.u[i / d * 2 * d + i % d]);
}

void gaussian_draw(const struct compute *compute, struct squashed_gaussian *g, float *a, float *log_pi,
                   const float *s, int rows, struct rng *rng)
{
    int d = g->act_dim;
    actor_forward(compute, &g->actor, s, rows);
    compute->k->normals(g->noise, (size_t)(rows * d), rng->key, rng_ticket(rng), 0);
    for (int r = 0; r < rows; r++) {
        const float *mu = g->actor.u + (size_t)(r * 2 * d), *l = mu + d;
        double sum = 0;
        for (int i = r * d, j = 0; j < d; i++, j++) {
            float e = g->noise[i], log_sigma = log_sigma_of(g->range, l[j], &g->slope[i]);
            g->noise[i] = expf(log_sigma) * e;
            float u = mu[j] + g->noise[i];
            a[i] = tanhf(u);
            if (log_pi)
                sum += -0.5f * e * e - log_sigma - (float)HALF_LOG_2PI - log_tanh_slope(u);
        }
        if (log_pi)
            log_pi[r] = (float)sum;
    }
}

/* d log pi / d u = 2 tanh u; d u / d log sigma = sigma e, and log pi has -log sigma besides. */
void gaussian_back(struct squashed_gaussian *g, const float *a, const float *da, double alpha, int rows)
{
    int d = g->act_dim;
    float T = (float)alpha;
    for (int r = 0; r < rows; r++) {
        float *dmu = g->actor.du + (size_t)(r * 2 * d), *dl = dmu + d;
        for (int i = r * d, j = 0; j < d; i++, j++) {
            dmu[j] = (2 * T * a[i] - da[i] * (1 - a[i] * a[i])) / (float)rows;
            dl[j] = (dmu[j] * g->noise[i] - T / (float)rows) * g->slope[i];
        }
    }
}

void gaussian_describe(const struct squashed_gaussian *g, struct blueprint *b, struct arena *arena,
                       bool stochastic)
{
    b->net = &g->actor.net;
    b->squash = OUT_TANH;
    if (stochastic) {
        b->sigma_form = g->range.form == SIGMA_TANH ? SIGMA_OF_NET_TANH : SIGMA_OF_NET_CLAMP;
        b->sigma_low = g->range.low;
        b->sigma_high = g->range.high;
        b->sigma_noise = blueprint_draw(b, arena, b->act_dim, false, 0);
    }
    blueprint_finish(b);
}
