/* quadruped-walk, quadruped-run: four legs with three actuators each, dropped from just above the floor in
 * any attitude. Reward: upright, times forward speed in the torso's own frame. */
#include "dmc.h"
#include "tolerance.h"
#include <math.h>

enum { TORSO, FLOOR, VELOCIMETER, ACCELEROMETER, GYRO, FIRST_FORCE, FIRST_TORQUE };
static const struct dmc_name names[] = {[TORSO] = {mjOBJ_BODY, "torso"},
                                        [FLOOR] = {mjOBJ_GEOM, "floor"},
                                        [VELOCIMETER] = {mjOBJ_SENSOR, "velocimeter"},
                                        [ACCELEROMETER] = {mjOBJ_SENSOR, "imu_accel"},
                                        [GYRO] = {mjOBJ_SENSOR, "imu_gyro"},
                                        [FIRST_FORCE] = {mjOBJ_SENSOR, "force_toe_front_left"},
                                        [FIRST_TORQUE] = {mjOBJ_SENSOR, "torque_toe_front_left"},
                                        {0}};

enum { ROOT_POSITIONS = 7, ROOT_VELOCITIES = 6, HINGES = 16, TOES = 4 };

/* As wide as the body can get in 20 s; only pictures see it, planes have no end. */
static void ready(struct dmc *dmc)
{
    double *size = dmc->m->geom_size + 3 * dmc->id[FLOOR];
    size[0] = size[1] = 20.0 * dmc->task->parameter;
}

/* The lowest height, in steps of a centimetre, at which nothing touches. */
static dqs_status reset(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    double quat[4];
    dmc_random_quaternion(rng, quat);
    for (double height = 0.0; height < 10.0;
         height += 0.01) { /* summed, as in the suite: the digits are its own */
        dmc_clear(dmc);
        dmc->d->qpos[0] = dmc->d->qpos[1] = 0.0;
        dmc->d->qpos[2] = height;
        dmc_put(dmc->d->qpos + 3, quat, 4);
        dmc_forward(dmc);
        if (dmc->d->ncon == 0)
            return DQS_OK;
    }
    return fail(error, DQS_E_ENV, "%s: no start without contacts up to 10 m; is the model damaged?",
                dmc->name);
}

/* 78: hinge angles and velocities, activations, velocity, upright, acceleration, turning rate; forces and
 * torques at the toes (neighbours in sensordata), which range over decades, as asinh. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos + ROOT_POSITIONS, HINGES);
    obs = dmc_put(obs, dmc->d->qvel + ROOT_VELOCITIES, HINGES);
    obs = dmc_put(obs, dmc->d->act, dmc->m->na);
    obs = dmc_put(obs, dmc_sensor(dmc, VELOCIMETER), 3);
    *obs++ = dmc_xmat(dmc, TORSO)[8];
    obs = dmc_put(obs, dmc_sensor(dmc, ACCELEROMETER), 3);
    obs = dmc_put(obs, dmc_sensor(dmc, GYRO), 3);
    for (int i = 0; i < 3 * TOES; i++)
        *obs++ = asinh(dmc_sensor(dmc, FIRST_FORCE)[i]);
    for (int i = 0; i < 3 * TOES; i++)
        *obs++ = asinh(dmc_sensor(dmc, FIRST_TORQUE)[i]);
}

static double move(const struct dmc *dmc)
{
    double wanted = dmc->task->parameter;
    double upright = tolerance(dmc_xmat(dmc, TORSO)[8], 1.0, INFINITY, 2.0, TOLERANCE_LINEAR, 0.0);
    return upright *
           tolerance(dmc_sensor(dmc, VELOCIMETER)[0], wanted, INFINITY, wanted, TOLERANCE_LINEAR, 0.5);
}

#define QUADRUPED                                                                                       \
    .model = "quadruped", .names = names, .substeps = 4, .obs_dim = 78, .ready = ready, .reset = reset, \
    .observe = observe, .reward = move

const struct dmc_task quadruped_walk_task = {QUADRUPED, .parameter = 0.5}; /* m/s */
const struct dmc_task quadruped_run_task = {QUADRUPED, .parameter = 5.0};
