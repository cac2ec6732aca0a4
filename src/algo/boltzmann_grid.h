/* boltzmann_grid: exp(Q/T) on a grid over the action box, for one or two action dimensions: the truth that a
 * policy is measured against, the exact policy, and the soft value. */
#ifndef ALGO_BOLTZMANN_GRID_H
#define ALGO_BOLTZMANN_GRID_H

#include "diffusion_policy.h"
#include "experience.h"

#define GRID_SIDE 48 /* points per dimension, at the middle of their cells */

struct boltzmann_grid {
    const struct twin_energy *energy;
    const struct compute *compute;
    int dim, points, coarse_points; /* GRID_SIDE^dim, (GRID_SIDE/2)^dim */
    float *action, *coarse;         /* [points x dim] */
    float **logp;                   /* per thread [points] */
    int **owner;
};

static inline bool grid_possible(int act_dim)
{
    return act_dim <= 2;
}
void grid_create(struct boltzmann_grid *g, struct arena *arena, const struct twin_energy *energy,
                 const struct compute *compute);
/* In all three the energy is prepared for `rows` states. action [rows x dim] ~ exp(Q/T), constant within a
 * coarse cell */
void grid_draw(struct boltzmann_grid *g, float *action, int rows, struct rng *rng);
/* value [rows] = T log of the mean of exp(Q/T) over the box, on the coarse grid: maps ask for it at thousands
 * of states. */
void grid_soft_value(struct boltzmann_grid *g, float *value, int rows);
/* The same at any observations: what algo's soft_value is, for critics whose energy is `energy`. No map of
 * more dimensions. */
dqs_status grid_map(struct boltzmann_grid *g, struct twin_energy *energy, float *value, struct experience *e,
                    const float *obs, int rows, double T, dqs_error *error);

#define GRID_CELLS 12 /* per dimension, for total variation */
/* Total variation between exp(Q/T) and samples, both counted in GRID_CELLS^dim cells. samples [rows x n x
 * dim]; the result is the mean over rows, *floor that of n exact samples. */
double grid_total_variation(struct boltzmann_grid *g, const float *samples, int rows, int n, double *floor,
                            struct rng *rng);

#endif
