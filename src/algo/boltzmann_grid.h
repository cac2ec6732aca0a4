/* boltzmann_grid: exp(Q/T) on a grid over the action box, for one or two action dimensions: the truth that a policy is
 * measured against, the exact policy, and the soft value. */
#ifndef ALGO_BOLTZMANN_GRID_H
#define ALGO_BOLTZMANN_GRID_H

#include "diffusion_policy.h"

#define GRID_SIDE 48 /* points per dimension, at the middle of their cells */

struct boltzmann_grid {
    const struct twin_energy *energy;
    const struct compute *compute;
    int dim, points; /* GRID_SIDE^dim */
    float *action;   /* [points x dim] */
    float **logp;    /* per thread [points] */
    int **owner;
};

static inline bool grid_possible(int act_dim) { return act_dim <= 2; }
void grid_create(struct boltzmann_grid *g, struct arena *arena, const struct twin_energy *energy, const struct compute *compute);
/* The energy is prepared for `rows` states. action [rows x dim] ~ exp(Q/T); value [rows] = T log mean exp(Q/T). Either may be
 * NULL. */
void grid_draw(struct boltzmann_grid *g, float *action, float *value, int rows, struct rng *rng);

#define GRID_CELLS 12 /* per dimension, for total variation */
/* Total variation between exp(Q/T) and samples, both counted in GRID_CELLS^dim cells. samples [rows x n x dim]; the result is
 * the mean over rows, *floor that of n exact samples. */
double grid_total_variation(struct boltzmann_grid *g, const float *samples, int rows, int n, double *floor, struct rng *rng);

#endif
