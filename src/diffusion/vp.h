/* vp: variance-preserving noise in T discrete levels, t = 0 (least noise) .. T-1:
 *     x_t = sqrt(abar_t) x_0 + sqrt(1 - abar_t) e,        abar_t = prod_{i<=t} alpha_i, alpha = 1 - beta
 * and what the reverse step needs:
 *     x0^ = x0_x x_t - x0_e e^                            the clean sample that the predicted noise e^ points to
 *     x_{t-1} | x_t, x_0 ~ N(mean_x0 x_0 + mean_x x_t, std^2)
 *
 *   vp       beta_t = 1 - exp(-0.1/T - 4.95 (2t+1)/T^2)   rate of noise from 0.1 to 10 over unit time (QSM, DACER)
 *   cosine   abar(u) ~ cos^2((u + 0.008)/1.008 pi/2), beta at most 0.999   (DIPO) */
#ifndef DIFFUSION_VP_H
#define DIFFUSION_VP_H

#include "arena.h"

enum vp_kind { VP_EXPONENTIAL, VP_COSINE };
#define VP_CHOICES "vp cosine"

struct vp_level {
    double beta, alpha, alpha_bar;
    double x0_x, x0_e;           /* 1/sqrt(abar), sqrt(1/abar - 1) */
    double mean_x0, mean_x, std; /* of the posterior; at level 0: 1, 0, 0 */
};

struct vp {
    int steps;
    struct vp_level *level; /* [steps] */
};

void vp_create(struct vp *vp, struct arena *arena, enum vp_kind kind, int steps);
/* x [rows x dim] = x0 noised by e to level[r] */
void vp_noise(const struct vp *vp, float *x, const float *x0, const float *e, const int *level, int rows,
              int dim);

#endif
