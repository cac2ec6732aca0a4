/* humanoid-stand, -walk, -run, -run_pure_state: a body with arms and legs. Reward: head high and trunk
 * upright, with little control, times keeping still or horizontal speed. */
#include "dmc_humanoid.h"
#include "dmc_frame.h"
#include "tolerance.h"
#include <math.h>

static const struct dmc_name names[] = {[HUMANOID_TRUNK] = {mjOBJ_BODY, "torso"},
                                        [HUMANOID_HEAD] = {mjOBJ_BODY, "head"},
                                        [HUMANOID_LEFT_HAND] = {mjOBJ_BODY, "left_hand"},
                                        [HUMANOID_LEFT_FOOT] = {mjOBJ_BODY, "left_foot"},
                                        [HUMANOID_RIGHT_HAND] = {mjOBJ_BODY, "right_hand"},
                                        [HUMANOID_RIGHT_FOOT] = {mjOBJ_BODY, "right_foot"},
                                        [HUMANOID_SPEED] = {mjOBJ_SENSOR, "torso_subtreelinvel"},
                                        {0}};

enum { ROOT_POSITIONS = 7 };
static const double stand_height = 1.4;

dqs_status humanoid_reset(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    return dmc_draw_until_free(dmc, rng, dmc_randomise_joints, error);
}

void humanoid_observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos + ROOT_POSITIONS, (int)dmc->m->nq - ROOT_POSITIONS);
    *obs++ = dmc_xpos(dmc, HUMANOID_HEAD)[2];
    const double *frame = dmc_xmat(dmc, HUMANOID_TRUNK), *origin = dmc_xpos(dmc, HUMANOID_TRUNK);
    for (int limb = HUMANOID_LEFT_HAND; limb <= HUMANOID_RIGHT_FOOT; limb++)
        obs = dmc_put_in_frame(obs, frame, dmc_xpos(dmc, limb), origin);
    obs = dmc_put(obs, frame + 6, 3);
    obs = dmc_put(obs, dmc_sensor(dmc, HUMANOID_SPEED), 3);
    dmc_put(obs, dmc->d->qvel, (int)dmc->m->nv);
}

/* 55: positions, velocities. */
static void observe_state(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos, (int)dmc->m->nq);
    dmc_put(obs, dmc->d->qvel, (int)dmc->m->nv);
}

static double stand_with_ease(const struct dmc *dmc, double upright)
{
    double height = dmc_xpos(dmc, HUMANOID_HEAD)[2];
    return tolerance_near(height, stand_height, INFINITY, stand_height / 4.0) *
           tolerance(upright, 0.9, INFINITY, 1.9, TOLERANCE_LINEAR, 0.0) * (4.0 + dmc_small_control(dmc)) /
           5.0;
}

double humanoid_stand(const struct dmc *dmc, double upright)
{
    const double *velocity = dmc_sensor(dmc, HUMANOID_SPEED);
    double still = tolerance_near(velocity[0], 0.0, 0.0, 2.0) + tolerance_near(velocity[1], 0.0, 0.0, 2.0);
    return stand_with_ease(dmc, upright) * still / 2.0;
}

double humanoid_move(const struct dmc *dmc, double upright)
{
    const double *velocity = dmc_sensor(dmc, HUMANOID_SPEED);
    double wanted = dmc->task->parameter, speed = hypot(velocity[0], velocity[1]);
    double move = tolerance(speed, wanted, INFINITY, wanted, TOLERANCE_LINEAR, 0.0);
    return stand_with_ease(dmc, upright) * (5.0 * move + 1.0) / 6.0;
}

static double stand(const struct dmc *dmc)
{
    return humanoid_stand(dmc, dmc_xmat(dmc, HUMANOID_TRUNK)[8]);
}

static double move(const struct dmc *dmc)
{
    return humanoid_move(dmc, dmc_xmat(dmc, HUMANOID_TRUNK)[8]);
}

#define HUMANOID .model = "humanoid", .names = names, .substeps = 5, .reset = humanoid_reset
#define FEATURES .obs_dim = 67, .observe = humanoid_observe

const struct dmc_task humanoid_stand_task = {HUMANOID, FEATURES, .reward = stand};
const struct dmc_task humanoid_walk_task = {HUMANOID, FEATURES, .reward = move, .parameter = 1.0}; /* m/s */
const struct dmc_task humanoid_run_task = {HUMANOID, FEATURES, .reward = move, .parameter = 10.0};
const struct dmc_task humanoid_run_pure_state_task = {HUMANOID, .obs_dim = 55, .observe = observe_state,
                                                      .reward = move, .parameter = 10.0};
