#include "normaliser.h"
#include <math.h>
#include <string.h>

#define CLIP 10.0f

void normaliser_create(struct normaliser *n, struct arena *arena, int dim, bool on)
{
    *n = (struct normaliser){.dim = dim, .on = on};
    n->mean = arena_new(arena, double, dim);
    n->m2 = arena_new(arena, double, dim);
    n->shift = arena_new(arena, float, dim);
    n->scale = arena_new(arena, float, dim);
    for (int i = 0; i < dim; i++)
        n->scale[i] = 1;
}

void normaliser_learn(struct normaliser *n, const float *x, int rows)
{
    for (int r = 0; n->on && r < rows; r++) {
        n->count++;
        for (int i = 0; i < n->dim; i++) {
            double d = x[r * n->dim + i] - n->mean[i];
            n->mean[i] += d / n->count;
            n->m2[i] += d * (x[r * n->dim + i] - n->mean[i]);
        }
    }
    for (int i = 0; n->on && i < n->dim; i++) {
        n->shift[i] = (float)n->mean[i];
        n->scale[i] = (float)(1 / sqrt(n->m2[i] / n->count + 1e-6));
    }
}

static float clip(float x)
{
    return x > CLIP ? CLIP : x < -CLIP ? -CLIP : x;
}

void normaliser_apply(const struct normaliser *n, float *y, const float *x, int rows)
{
    if (!n->on) {
        memmove(y, x, sizeof *x * (size_t)rows * (size_t)n->dim);
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n->dim; i++)
            y[r * n->dim + i] = clip((x[r * n->dim + i] - n->shift[i]) * n->scale[i]);
}

void normaliser_visit(struct normaliser *n, struct visitor *visitor, const char *name)
{
    int mark = visit_enter(visitor, name);
    visit_double(visitor, "count", VISIT_POLICY, &n->count);
    visit_vector(visitor, "mean", VISIT_POLICY, VISIT_F64, n->mean, (size_t)n->dim);
    visit_vector(visitor, "m2", VISIT_POLICY, VISIT_F64, n->m2, (size_t)n->dim);
    visit_vector(visitor, "shift", VISIT_POLICY, VISIT_F32, n->shift, (size_t)n->dim);
    visit_vector(visitor, "scale", VISIT_POLICY, VISIT_F32, n->scale, (size_t)n->dim);
    visit_leave(visitor, mark);
}

void reward_normaliser_create(struct reward_normaliser *n, struct arena *arena, int n_envs, double gamma,
                              bool on)
{
    *n = (struct reward_normaliser){.gamma = gamma, .n_envs = n_envs, .G = arena_new(arena, float, n_envs)};
    normaliser_create(&n->returns, arena, 1, on);
}

void reward_normaliser_step(struct reward_normaliser *n, float *scaled, const float *reward,
                            const uint8_t *terminated, const uint8_t *truncated)
{
    for (int i = 0; i < n->n_envs; i++)
        n->G[i] = reward[i] + (float)n->gamma * n->G[i];
    normaliser_learn(&n->returns, n->G, n->n_envs);
    for (int i = 0; i < n->n_envs; i++) {
        scaled[i] = n->returns.on ? clip(reward[i] * n->returns.scale[0]) : reward[i];
        if (terminated[i] || truncated[i])
            n->G[i] = 0;
    }
}

/* Not of the policy: nobody needs rewards to act. shift and scale are made again by the next step. */
void reward_normaliser_visit(struct reward_normaliser *n, struct visitor *visitor, const char *name)
{
    int mark = visit_enter(visitor, name);
    visit_double(visitor, "count", VISIT_LEARN, &n->returns.count);
    visit_double(visitor, "mean", VISIT_LEARN, n->returns.mean);
    visit_double(visitor, "m2", VISIT_LEARN, n->returns.m2);
    visit_vector(visitor, "G", VISIT_REPLAY, VISIT_F32, n->G, (size_t)n->n_envs);
    visit_leave(visitor, mark);
}
