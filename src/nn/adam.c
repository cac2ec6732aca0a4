/* adam: optimiser steps in fixed blocks of parameters on the pool. */
#include "adam.h"
#include <math.h>
#include <string.h>

#define BLOCK 4096

void adam_create(struct adam *adam, struct arena *arena, size_t n, double lr, double decay)
{
    adam->options = (struct adam_options){lr, 0.9, 0.999, 1e-8, decay};
    adam->n = n;
    adam->m = arena_new(arena, float, n);
    adam->v = arena_new(arena, float, n);
    adam->t = 0;
}

void adam_restart(struct adam *adam)
{
    memset(adam->m, 0, sizeof(float) * adam->n);
    memset(adam->v, 0, sizeof(float) * adam->n);
    adam->t = 0;
}

struct step {
    const struct kernels *k;
    const struct adam *adam;
    float *params, *gradient;
    float c1, c2, scale;
};

static size_t block_size(size_t n, int tile)
{
    size_t left = n - (size_t)tile * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static void step_block(void *context, int tile, int thread)
{
    (void)thread;
    struct step *s = context;
    const struct adam *a = s->adam;
    size_t at = (size_t)tile * BLOCK, n = block_size(a->n, tile);
    float *g = s->gradient + at;
    if (s->scale != 1)
        for (size_t i = 0; i < n; i++)
            g[i] *= s->scale;
    s->k->adam(s->params + at, a->m + at, a->v + at, g, n, (float)a->options.lr, (float)a->options.beta1,
               (float)a->options.beta2, (float)a->options.eps, (float)a->options.decay, s->c1, s->c2);
}

double adam_step(const struct compute *compute, struct adam *adam, float *params, float *gradient,
                 double max_norm)
{
    double squares = 0;
    for (size_t i = 0; max_norm > 0 && i < adam->n; i++)
        squares += (double)gradient[i] * gradient[i];
    double norm = sqrt(squares);
    adam->t++;
    struct step step = {compute->k,
                        adam,
                        params,
                        gradient,
                        (float)(1 / (1 - pow(adam->options.beta1, (double)adam->t))),
                        (float)(1 / (1 - pow(adam->options.beta2, (double)adam->t))),
                        max_norm > 0 && norm > max_norm ? (float)(max_norm / norm) : 1};
    pool_run(compute->pool, (int)((adam->n + BLOCK - 1) / BLOCK), step_block, &step);
    return norm;
}

double adam_net(const struct compute *compute, struct adam *adam, struct net *net, struct net *gradient,
                double max_norm)
{
    net_changed(net);
    return adam_step(compute, adam, net->params, gradient->params, max_norm);
}

/* In eight interleaved sums, an order that does not depend on who computes it and that vectorises. */
static double sum_squares(const float *x, size_t n)
{
    double sum[8] = {0}, rest = 0;
    size_t whole = n / 8 * 8;
    for (size_t i = 0; i < whole; i += 8)
        for (size_t j = 0; j < 8; j++)
            sum[j] += (double)x[i + j] * x[i + j];
    for (size_t i = whole; i < n; i++)
        rest += (double)x[i] * x[i];
    return rest + ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

double clip_gradients(float *const gradient[], const size_t n[], int parts, double max_norm)
{
    double squares = 0;
    for (int p = 0; p < parts; p++)
        squares += sum_squares(gradient[p], n[p]);
    double norm = sqrt(squares);
    if (max_norm <= 0 || norm <= max_norm)
        return norm;
    for (int p = 0; p < parts; p++)
        for (size_t i = 0; i < n[p]; i++)
            gradient[p][i] *= (float)(max_norm / norm);
    return norm;
}

void adam_visit(struct adam *adam, struct visitor *visitor, const char *name)
{
    int mark = visit_enter(visitor, name);
    visit_vector(visitor, "m", VISIT_LEARN | VISIT_COURSE, VISIT_F32, adam->m, adam->n);
    visit_vector(visitor, "v", VISIT_LEARN | VISIT_COURSE, VISIT_F32, adam->v, adam->n);
    visit_long(visitor, "t", VISIT_LEARN | VISIT_COURSE, &adam->t);
    visit_leave(visitor, mark);
}

struct blending {
    const struct kernels *k;
    float *target;
    const float *source;
    size_t n;
    float eta;
};

static void blend_block(void *context, int tile, int thread)
{
    (void)thread;
    struct blending *b = context;
    size_t at = (size_t)tile * BLOCK;
    b->k->blend(b->target + at, b->source + at, block_size(b->n, tile), b->eta);
}

void polyak_blend(const struct compute *compute, struct net *target, const struct net *source, double eta)
{
    struct blending b = {compute->k, target->params, source->params, target->count, (float)eta};
    net_changed(target);
    pool_run(compute->pool, (int)((b.n + BLOCK - 1) / BLOCK), blend_block, &b);
}
