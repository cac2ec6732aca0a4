#include "ddpm.h"
#include "box.h"
#include <math.h>

void ddpm_scratch_create(struct ddpm_scratch *scratch, struct arena *arena, int rows, int dim)
{
    scratch->e = arena_new(arena, float, (size_t)rows *(size_t)dim);
    scratch->z = arena_new(arena, float, (size_t)rows *(size_t)dim);
}

int ddpm_tickets(const struct ddpm *d)
{
    return d->vp.steps; /* the first for the start, number t for the noise of the step from level t */
}

struct ddpm_move ddpm_move(const struct ddpm *d, int t, double noise)
{
    const struct vp_level *l = &d->vp.level[t];
    noise = t > 0 ? noise : 0;
    if (d->kind == DDPM_CLIP_X)
        return (struct ddpm_move){.inner_x = (float)(1 / sqrt(l->alpha)),
                                  .inner_e = (float)(l->beta / sqrt((1 - l->alpha_bar) * l->alpha)),
                                  .by_inner = 1,
                                  .spread = (float)(noise * sqrt(l->beta))};
    return (struct ddpm_move){.inner_x = (float)l->x0_x,
                              .inner_e = (float)l->x0_e,
                              .by_inner = (float)l->mean_x0,
                              .by_x = (float)l->mean_x,
                              .spread = (float)(noise * l->std)};
}

static void step_clip_x(const struct ddpm_move *m, float *x, const float *e, const float *z, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = into_box(m->inner_x * x[i] - m->inner_e * e[i] + (z ? m->spread * z[i] : 0));
}

static void step_clip_x0(const struct ddpm_move *m, float *x, const float *e, const float *z, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = m->by_inner * into_box(m->inner_x * x[i] - m->inner_e * e[i]) + m->by_x * x[i] +
               (z ? m->spread * z[i] : 0);
}

void ddpm_tile(const struct ddpm *d, const struct kernels *k, float *x, int row0, int rows,
               const struct rng *rng, uint64_t ticket, struct ddpm_scratch *s, int thread)
{
    int n = rows * d->dim;
    uint64_t first = (uint64_t)row0 * (uint64_t)d->dim;
    k->normals(x, (size_t)n, rng->key, ticket, first);
    for (int t = d->vp.steps - 1; t >= 0; t--) {
        struct ddpm_move move = ddpm_move(d, t, d->noise);
        float *z = move.spread > 0 ? s->z : NULL;
        d->predict(d->self, s->e, x, t, row0, rows, thread);
        if (z)
            k->normals(z, (size_t)n, rng->key, ticket + (uint64_t)t, first);
        (d->kind == DDPM_CLIP_X ? step_clip_x : step_clip_x0)(&move, x, s->e, z, n);
    }
}

void ddpm_back(const struct vp_level *l, float *dx, float *de, const float *x, const float *e, int n)
{
    float x0_x = (float)l->x0_x, x0_e = (float)l->x0_e, by_x0 = (float)l->mean_x0, by_x = (float)l->mean_x;
    for (int i = 0; i < n; i++) {
        float x0 = x0_x * x[i] - x0_e * e[i], through = x0 > -1 && x0 < 1 ? by_x0 * dx[i] : 0;
        de[i] = -x0_e * through;
        dx[i] = x0_x * through + by_x * dx[i];
    }
}
