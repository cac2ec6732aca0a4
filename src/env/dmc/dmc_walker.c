/* walker-stand, -walk, -run: two legs in a plane. Reward: standing tall and upright, times mostly forward
 * speed. */
#include "dmc.h"
#include "tolerance.h"
#include <math.h>

enum { TORSO, RIGHT_THIGH, RIGHT_LEG, RIGHT_FOOT, LEFT_THIGH, LEFT_LEG, LEFT_FOOT, BODIES, SPEED = BODIES };
static const struct dmc_name names[] = {[TORSO] = {mjOBJ_BODY, "torso"},
                                        [RIGHT_THIGH] = {mjOBJ_BODY, "right_thigh"},
                                        [RIGHT_LEG] = {mjOBJ_BODY, "right_leg"},
                                        [RIGHT_FOOT] = {mjOBJ_BODY, "right_foot"},
                                        [LEFT_THIGH] = {mjOBJ_BODY, "left_thigh"},
                                        [LEFT_LEG] = {mjOBJ_BODY, "left_leg"},
                                        [LEFT_FOOT] = {mjOBJ_BODY, "left_foot"},
                                        [SPEED] = {mjOBJ_SENSOR, "torso_subtreelinvel"},
                                        {0}};

/* 24: every body's attitude as (xx, xz), the torso's height, velocities. */
static void observe(const struct dmc *dmc, double *obs)
{
    for (int body = 0; body < BODIES; body++) {
        *obs++ = dmc_xmat(dmc, body)[0];
        *obs++ = dmc_xmat(dmc, body)[2];
    }
    *obs++ = dmc_xpos(dmc, TORSO)[2];
    dmc_put(obs, dmc->d->qvel, dmc->m->nv);
}

static double stand(const struct dmc *dmc)
{
    double standing = tolerance_near(dmc_xpos(dmc, TORSO)[2], 1.2, INFINITY, 0.6);
    double upright = 0.5 * (1.0 + dmc_xmat(dmc, TORSO)[8]);
    return (3.0 * standing + upright) / 4.0;
}

static double move(const struct dmc *dmc)
{
    double wanted = dmc->task->parameter;
    double speed =
        tolerance(dmc_sensor(dmc, SPEED)[0], wanted, INFINITY, 0.5 * wanted, TOLERANCE_LINEAR, 0.5);
    return stand(dmc) * (5.0 * speed + 1.0) / 6.0;
}

#define WALKER                                                                                   \
    .model = "walker", .names = names, .substeps = 10, .obs_dim = 24, .reset = dmc_reset_joints, \
    .observe = observe

const struct dmc_task walker_stand_task = {WALKER, .reward = stand};
const struct dmc_task walker_walk_task = {WALKER, .reward = move, .parameter = 1.0}; /* m/s */
const struct dmc_task walker_run_task = {WALKER, .reward = move, .parameter = 8.0};
