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

static void step_clip_x(const struct vp_level *l, float *x, const float *e, const float *z, double noise,
                        int n)
{
    float by_x = (float)(1 / sqrt(l->alpha)), by_e = (float)(l->beta / sqrt((1 - l->alpha_bar) * l->alpha)),
          spread = (float)(noise * sqrt(l->beta));
    for (int i = 0; i < n; i++)
        x[i] = into_box(by_x * x[i] - by_e * e[i] + (z ? spread * z[i] : 0));
}

static void step_clip_x0(const struct vp_level *l, float *x, const float *e, const float *z, double noise,
                         int n)
{
    float x0_x = (float)l->x0_x, x0_e = (float)l->x0_e, by_x0 = (float)l->mean_x0, by_x = (float)l->mean_x,
          spread = (float)(noise * l->std);
    for (int i = 0; i < n; i++)
        x[i] = by_x0 * into_box(x0_x * x[i] - x0_e * e[i]) + by_x * x[i] + (z ? spread * z[i] : 0);
}

void ddpm_tile(const struct ddpm *d, const struct kernels *k, float *x, int row0, int rows,
               const struct rng *rng, uint64_t ticket, struct ddpm_scratch *s, int thread)
{
    int n = rows * d->dim;
    uint64_t first = (uint64_t)row0 * (uint64_t)d->dim;
    k->normals(x, (size_t)n, rng->key, ticket, first);
    for (int t = d->vp.steps - 1; t >= 0; t--) {
        float *z = t > 0 && d->noise > 0 ? s->z : NULL;
        d->predict(d->self, s->e, x, t, row0, rows, thread);
        if (z)
            k->normals(z, (size_t)n, rng->key, ticket + (uint64_t)t, first);
        (d->kind == DDPM_CLIP_X ? step_clip_x : step_clip_x0)(&d->vp.level[t], x, s->e, z, d->noise, n);
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
