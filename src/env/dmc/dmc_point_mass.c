/* point_mass: push a ball to the middle of a square with two motors: along x and y, or, in the hard task,
 * along two directions drawn for each episode and not observed. */
#include "dmc.h"
#include "tolerance.h"
#include <math.h>

enum { BALL, TARGET };
static const struct dmc_name names[] = {
    [BALL] = {mjOBJ_GEOM, "pointmass"}, [TARGET] = {mjOBJ_GEOM, "target"}, {0}};

static void draw_direction(struct rng *rng, double direction[2])
{
    double x = rng_normal(rng), y = rng_normal(rng), length = sqrt(x * x + y * y);
    direction[0] = x / length;
    direction[1] = y / length;
}

/* The coefficients of the two tendons, one after the other; the directions must not be nearly parallel. */
static dqs_status reset_mixed(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    double *first = dmc->m->wrap_prm, *second = first + 2;
    TRY(dmc_reset_joints(dmc, rng, error));
    draw_direction(rng, first);
    do
        draw_direction(rng, second);
    while (fabs(first[0] * second[0] + first[1] * second[1]) > 0.9);
    return DQS_OK;
}

static void ready_mixed(struct dmc *dmc)
{
    dmc_edits(dmc, dmc->m->wrap_prm, 4);
}

/* 4: position, velocity. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos, 2);
    dmc_put(obs, dmc->d->qvel, 2);
}

static double reach(const struct dmc *dmc)
{
    const double *ball = dmc->d->geom_xpos + 3 * dmc->id[BALL];
    const double *target = dmc->d->geom_xpos + 3 * dmc->id[TARGET];
    double x = target[0] - ball[0], y = target[1] - ball[1], z = target[2] - ball[2];
    double radius = dmc->m->geom_size[3 * dmc->id[TARGET]];
    double near = tolerance_near(sqrt(x * x + y * y + z * z), 0.0, radius, radius);
    return near * (4.0 + dmc_small_control(dmc)) / 5.0;
}

const struct dmc_task point_mass_easy_task = {.model = "point_mass",
                                              .names = names,
                                              .substeps = 1,
                                              .obs_dim = 4,
                                              .reset = dmc_reset_joints,
                                              .observe = observe,
                                              .reward = reach};
const struct dmc_task point_mass_hard_task = {.model = "point_mass",
                                              .names = names,
                                              .substeps = 1,
                                              .obs_dim = 4,
                                              .ready = ready_mixed,
                                              .reset = reset_mixed,
                                              .observe = observe,
                                              .reward = reach};
