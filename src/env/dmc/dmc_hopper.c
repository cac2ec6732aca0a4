/* hopper-stand, hopper-hop: one leg in a plane. Both want the torso 0.6 to 2 m above the foot (centres of
 * mass); stand also wants little effort, hop a forward speed of 2 m/s. */
#include "dmc.h"
#include "tolerance.h"
#include <math.h>

enum { TORSO, FOOT, SPEED, TOE, HEEL };
static const struct dmc_name names[] = {[TORSO] = {mjOBJ_BODY, "torso"},
                                        [FOOT] = {mjOBJ_BODY, "foot"},
                                        [SPEED] = {mjOBJ_SENSOR, "torso_subtreelinvel"},
                                        [TOE] = {mjOBJ_SENSOR, "touch_toe"},
                                        [HEEL] = {mjOBJ_SENSOR, "touch_heel"},
                                        {0}};

/* 15: positions without x, velocities, log(1 + touch) of toe and heel. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos + 1, dmc->m->nq - 1);
    obs = dmc_put(obs, dmc->d->qvel, dmc->m->nv);
    obs[0] = log1p(*dmc_sensor(dmc, TOE));
    obs[1] = log1p(*dmc_sensor(dmc, HEEL));
}

static double standing(const struct dmc *dmc)
{
    double height = dmc->d->xipos[3 * dmc->id[TORSO] + 2] - dmc->d->xipos[3 * dmc->id[FOOT] + 2];
    return tolerance(height, 0.6, 2.0, 0.0, TOLERANCE_GAUSSIAN, 0.1);
}

static double stand(const struct dmc *dmc)
{
    return standing(dmc) * (dmc_small_control(dmc) + 4.0) / 5.0;
}

static double hop(const struct dmc *dmc)
{
    return standing(dmc) * tolerance(dmc_sensor(dmc, SPEED)[0], 2.0, INFINITY, 1.0, TOLERANCE_LINEAR, 0.5);
}

const struct dmc_task hopper_stand_task = {.model = "hopper",
                                           .names = names,
                                           .substeps = 4,
                                           .obs_dim = 15,
                                           .reset = dmc_reset_joints,
                                           .observe = observe,
                                           .reward = stand};
const struct dmc_task hopper_hop_task = {.model = "hopper",
                                         .names = names,
                                         .substeps = 4,
                                         .obs_dim = 15,
                                         .reset = dmc_reset_joints,
                                         .observe = observe,
                                         .reward = hop};
