#include "corrector.h"
#include "box.h"
#include <math.h>
#include <string.h>

void corrector_scratch_create(struct corrector_scratch *s, struct arena *arena, int rows, int dim)
{
    float **wide[] = {&s->grad, &s->grad2, &s->y, &s->z}, **narrow[] = {&s->logp, &s->logp2, &s->u};
    for (int i = 0; i < 4; i++)
        *wide[i] = arena_new(arena, float, (size_t)rows *(size_t)dim);
    for (int i = 0; i < 3; i++)
        *narrow[i] = arena_new(arena, float, rows);
}

int corrector_tickets(const struct corrector *c)
{
    return 2 * c->steps; /* noise and acceptance */
}

/* The Langevin drift d^2/2 g, at most 3 d long, so that one steep place does not throw a point across the
 * box. */
static float drift_scale(const float *g, int d, float step)
{
    float squares = 0;
    for (int j = 0; j < d; j++)
        squares += g[j] * g[j];
    float norm = sqrtf(squares), plain = 0.5f * step * step;
    return plain * norm > 3 * step ? 3 * step / norm : plain;
}

static float reflect(float v)
{
    while (v > 1 || v < -1)
        v = v > 1 ? 2 - v : -2 - v;
    return v;
}

/* log density, up to a constant, of proposing `to` from `from`: a Gaussian around from + drift, folded at
 * both walls. */
static double log_proposal(const float *to, const float *from, const float *g, int d, float step)
{
    float scale = drift_scale(g, d, step);
    double sum = 0, inverse = 0.5 / ((double)step * step);
    for (int j = 0; j < d; j++) {
        double m = from[j] + scale * g[j], y = to[j];
        double direct = -(y - m) * (y - m) * inverse;
        double right = -(2 - y - m) * (2 - y - m) * inverse, left = -(-2 - y - m) * (-2 - y - m) * inverse;
        double most = fmax(direct, fmax(right, left));
        if (most == direct && right < direct - 30 && left < direct - 30)
            sum += direct; /* far from the walls */
        else
            sum += most + log(exp(direct - most) + exp(right - most) + exp(left - most));
    }
    return sum;
}

int corrector_tile(const struct corrector *c, const struct kernels *k, const struct energy *energy, float *x,
                   const int *owner, int row0, int rows, const struct rng *rng, uint64_t ticket,
                   struct corrector_scratch *s, int thread)
{
    int d = energy->dim, accepted = 0;
    float step = (float)c->step;
    if (c->steps == 0)
        return 0;
    for (int i = 0; i < rows * d; i++)
        x[i] = into_box(x[i]);
    energy->eval(energy->self, s->logp, s->grad, x, owner, rows, thread);
    for (int n = 0; n < c->steps; n++) {
        k->normals(s->z, (size_t)(rows * d), rng->key, ticket + 2 * (uint64_t)n,
                   (uint64_t)row0 * (uint64_t)d);
        k->uniforms(s->u, (size_t)rows, rng->key, ticket + 2 * (uint64_t)n + 1, (uint64_t)row0);
        for (int r = 0; r < rows; r++) {
            float scale = drift_scale(s->grad + r * d, d, step);
            for (int i = r * d; i < (r + 1) * d; i++)
                s->y[i] = reflect(x[i] + scale * s->grad[i] + step * s->z[i]);
        }
        energy->eval(energy->self, s->logp2, s->grad2, s->y, owner, rows, thread);
        for (int r = 0; r < rows; r++) {
            float *from = x + r * d, *to = s->y + r * d, *g = s->grad + r * d, *g2 = s->grad2 + r * d;
            double ratio = (double)s->logp2[r] - s->logp[r] + log_proposal(from, to, g2, d, step) -
                           log_proposal(to, from, g, d, step);
            if (log(s->u[r]) >= ratio)
                continue;
            accepted++;
            s->logp[r] = s->logp2[r];
            memcpy(from, to, sizeof *from * (size_t)d);
            memcpy(g, g2, sizeof *g * (size_t)d);
        }
    }
    return accepted;
}
