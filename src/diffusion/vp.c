#include "vp.h"
#include <math.h>

static double cosine_bar(double u)
{
    const double half_pi = 1.57079632679489662, offset = 0.008;
    double c = cos((u + offset) / (1 + offset) * half_pi);
    return c * c;
}

static double beta_of(enum vp_kind kind, int t, int T)
{
    if (kind == VP_EXPONENTIAL)
        return -expm1(-0.1 / T - 4.95 * (2 * t + 1) / ((double)T * T));
    return fmin(0.999, 1 - cosine_bar((t + 1.0) / T) / cosine_bar((double)t / T));
}

void vp_create(struct vp *vp, struct arena *arena, enum vp_kind kind, int steps)
{
    vp->steps = steps;
    vp->level = arena_new(arena, struct vp_level, steps);
    double before = 1; /* abar of the level below */
    for (int t = 0; t < steps; t++) {
        double beta = beta_of(kind, t, steps), alpha = 1 - beta, bar = before * alpha, rest = 1 - bar;
        vp->level[t] = (struct vp_level){.beta = beta,
                                         .alpha = alpha,
                                         .alpha_bar = bar,
                                         .x0_x = 1 / sqrt(bar),
                                         .x0_e = sqrt(1 / bar - 1),
                                         .mean_x0 = beta * sqrt(before) / rest,
                                         .mean_x = (1 - before) * sqrt(alpha) / rest,
                                         .std = sqrt(beta * (1 - before) / rest)};
        before = bar;
    }
}

void vp_noise(const struct vp *vp, float *x, const float *x0, const float *e, const int *level, int rows,
              int dim)
{
    for (int r = 0; r < rows; r++) {
        double bar = vp->level[level[r]].alpha_bar;
        float keep = (float)sqrt(bar), spread = (float)sqrt(1 - bar);
        for (int i = r * dim; i < (r + 1) * dim; i++)
            x[i] = keep * x0[i] + spread * e[i];
    }
}
