#include "sampler.h"
#include <math.h>

void sampler_create(struct sampler *s, struct arena *arena, enum sampler_kind kind, struct schedule schedule,
                    int steps, int dim, double noise)
{
    *s = (struct sampler){.kind = kind, .schedule = schedule, .steps = steps, .dim = dim, .noise = noise};
    s->h = arena_new(arena, double, steps + 1);
    for (int n = 0; n <= steps; n++)
        s->h[n] = n == steps ? 0 : schedule_h(&schedule, 1 - (double)n / steps);
}

void sampler_scratch_create(struct sampler_scratch *scratch, struct arena *arena, int rows, int dim)
{
    float **buffers[] = {&scratch->score, &scratch->z, &scratch->x2, &scratch->score2};
    for (int i = 0; i < 4; i++)
        *buffers[i] = arena_new(arena, float, (size_t)rows *(size_t)dim);
}

int sampler_tickets(const struct sampler *s)
{
    return s->steps + 1; /* one for the start, one a step */
}

struct sampler_move sampler_move(const struct sampler *s, int level)
{
    double h = s->h[level], next = s->h[level + 1], dt = 1.0 / s->steps;
    if (s->kind == SAMPLER_EULER_MARUYAMA) {
        double drift = schedule_g2(&s->schedule, 1 - level * dt) * dt;
        return (struct sampler_move){drift, sqrt(drift)};
    }
    if (s->kind == SAMPLER_ANCESTRAL)
        return (struct sampler_move){h - next, sqrt(next * (1 - next / h))};
    return (struct sampler_move){sqrt(h) * (sqrt(h) - sqrt(next)), 0};
}

static void move(float *x, const float *score, const float *z, double drift, double spread, int n)
{
    float a = (float)drift, b = (float)spread;
    if (spread == 0)
        for (int i = 0; i < n; i++)
            x[i] += a * score[i];
    else
        for (int i = 0; i < n; i++)
            x[i] += a * score[i] + b * z[i];
}

static void heun(const struct sampler *s, float *x, int level, int row0, int rows,
                 struct sampler_scratch *scratch, int thread)
{
    int n = rows * s->dim;
    double from = sqrt(s->h[level]), to = sqrt(s->h[level + 1]), width = from - to;
    if (to == 0) { /* the score at sigma = 0 has no weight in the ODE */
        move(x, scratch->score, NULL, from * width, 0, n);
        return;
    }
    for (int i = 0; i < n; i++)
        scratch->x2[i] = x[i] + (float)(from * width) * scratch->score[i];
    s->score(s->self, scratch->score2, scratch->x2, level + 1, row0, rows, thread);
    for (int i = 0; i < n; i++)
        x[i] += (float)(0.5 * width) * ((float)from * scratch->score[i] + (float)to * scratch->score2[i]);
}

void sampler_tile(const struct sampler *s, const struct kernels *k, float *x, int row0, int rows,
                  const struct rng *rng, uint64_t ticket, struct sampler_scratch *scratch, int thread)
{
    int n = rows * s->dim;
    uint64_t first = (uint64_t)row0 * (uint64_t)s->dim;
    float start = (float)sqrt(s->h[0]);
    k->normals(x, (size_t)n, rng->key, ticket, first);
    for (int i = 0; i < n; i++)
        x[i] *= start;
    for (int level = 0; level < s->steps; level++) {
        s->score(s->self, scratch->score, x, level, row0, rows, thread);
        if (s->kind == SAMPLER_FLOW_HEUN) {
            heun(s, x, level, row0, rows, scratch, thread);
            continue;
        }
        struct sampler_move step = sampler_move(s, level);
        double spread = step.spread * s->noise;
        if (spread > 0)
            k->normals(scratch->z, (size_t)n, rng->key, ticket + 1 + (uint64_t)level, first);
        move(x, scratch->score, scratch->z, step.drift, spread, n);
    }
}
