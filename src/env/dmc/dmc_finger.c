/* finger-spin, -turn_easy, -turn_hard: a two-link finger and a body that turns about a hinge, without
 * gravity. Spin pays for turning fast one way, turn for holding the body's tip inside a target on its
 * circle. */
#include "dmc.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

enum {
    PROXIMAL,
    DISTAL,
    PROXIMAL_VELOCITY,
    DISTAL_VELOCITY,
    HINGE_VELOCITY,
    TIP,
    TARGET,
    SPINNER,
    TOUCHTOP,
    TOUCHBOTTOM,
    HINGE,
    CAP,
    TARGET_SITE
};
static const struct dmc_name names[] = {[PROXIMAL] = {mjOBJ_SENSOR, "proximal"},
                                        [DISTAL] = {mjOBJ_SENSOR, "distal"},
                                        [PROXIMAL_VELOCITY] = {mjOBJ_SENSOR, "proximal_velocity"},
                                        [DISTAL_VELOCITY] = {mjOBJ_SENSOR, "distal_velocity"},
                                        [HINGE_VELOCITY] = {mjOBJ_SENSOR, "hinge_velocity"},
                                        [TIP] = {mjOBJ_SENSOR, "tip"},
                                        [TARGET] = {mjOBJ_SENSOR, "target"},
                                        [SPINNER] = {mjOBJ_SENSOR, "spinner"},
                                        [TOUCHTOP] = {mjOBJ_SENSOR, "touchtop"},
                                        [TOUCHBOTTOM] = {mjOBJ_SENSOR, "touchbottom"},
                                        [HINGE] = {mjOBJ_JOINT, "hinge"},
                                        [CAP] = {mjOBJ_GEOM, "cap1"},
                                        [TARGET_SITE] = {mjOBJ_SITE, "target"},
                                        {0}};

/* A hinge that coasts; and no target to be seen. */
static void ready_spin(struct dmc *dmc)
{
    dmc->m->dof_damping[dmc->m->jnt_dofadr[dmc->id[HINGE]]] = 0.03;
    dmc->m->site_rgba[4 * dmc->id[TARGET_SITE] + 3] = 0.0f;
}

static double *target_place(const struct dmc *dmc)
{
    return dmc->m->site_pos + 3 * dmc->id[TARGET_SITE];
}

static void ready_turn(struct dmc *dmc)
{
    dmc->m->site_size[3 * dmc->id[TARGET_SITE]] = dmc->task->parameter;
    dmc_edits(dmc, target_place(dmc), 3);
}

static dqs_status reset_spin(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    return dmc_draw_until_free(dmc, rng, dmc_randomise_joints, error);
}

/* The target lies on the circle the tip describes. */
static dqs_status reset_turn(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    const double *anchor = dmc->d->xanchor + 3 * dmc->id[HINGE];
    const double *size = dmc->m->geom_size + 3 * dmc->id[CAP];
    double angle = dmc_uniform(rng, -pi, pi), radius = size[0] + size[1] + size[2];
    target_place(dmc)[0] = anchor[0] + radius * sin(angle);
    target_place(dmc)[2] = anchor[2] + radius * cos(angle);
    return dmc_draw_until_free(dmc, rng, dmc_randomise_joints, error);
}

/* 9: joint angles, tip from the spinner in (x, z), velocities, log(1 + touch). */
static void observe_spin(const struct dmc *dmc, double *obs)
{
    obs[0] = *dmc_sensor(dmc, PROXIMAL);
    obs[1] = *dmc_sensor(dmc, DISTAL);
    for (int axis = 0; axis < 2; axis++)
        obs[2 + axis] = dmc_sensor(dmc, TIP)[2 * axis] - dmc_sensor(dmc, SPINNER)[2 * axis];
    obs[4] = *dmc_sensor(dmc, PROXIMAL_VELOCITY);
    obs[5] = *dmc_sensor(dmc, DISTAL_VELOCITY);
    obs[6] = *dmc_sensor(dmc, HINGE_VELOCITY);
    obs[7] = log1p(*dmc_sensor(dmc, TOUCHTOP));
    obs[8] = log1p(*dmc_sensor(dmc, TOUCHBOTTOM));
}

/* Negative inside the target. */
static double distance_to_target(const struct dmc *dmc)
{
    const double *tip = dmc_sensor(dmc, TIP), *target = dmc_sensor(dmc, TARGET);
    double x = target[0] - tip[0], z = target[2] - tip[2];
    return sqrt(x * x + z * z) - dmc->m->site_size[3 * dmc->id[TARGET_SITE]];
}

/* 12: as spin, then the target from the spinner in (x, z), and the tip's distance to it. */
static void observe_turn(const struct dmc *dmc, double *obs)
{
    observe_spin(dmc, obs);
    for (int axis = 0; axis < 2; axis++)
        obs[9 + axis] = dmc_sensor(dmc, TARGET)[2 * axis] - dmc_sensor(dmc, SPINNER)[2 * axis];
    obs[11] = distance_to_target(dmc);
}

static double spin(const struct dmc *dmc)
{
    return *dmc_sensor(dmc, HINGE_VELOCITY) <= -15.0;
}

static double turn(const struct dmc *dmc)
{
    return distance_to_target(dmc) <= 0.0;
}

#define TURN                                                                              \
    .model = "finger", .names = names, .substeps = 2, .obs_dim = 12, .ready = ready_turn, \
    .reset = reset_turn, .observe = observe_turn, .reward = turn

const struct dmc_task finger_spin_task = {.model = "finger",
                                          .names = names,
                                          .substeps = 2,
                                          .obs_dim = 9,
                                          .ready = ready_spin,
                                          .reset = reset_spin,
                                          .observe = observe_spin,
                                          .reward = spin};
const struct dmc_task finger_turn_easy_task = {TURN, .parameter = 0.07};
const struct dmc_task finger_turn_hard_task = {TURN, .parameter = 0.03};
