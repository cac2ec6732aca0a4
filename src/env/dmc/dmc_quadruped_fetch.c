/* quadruped-fetch: the quadruped in a walled yard with a ball to be brought to the middle. Reward:
 * upright, times closeness to the ball, half of it only for a ball at the target. */
#include "dmc.h"
#include "dmc_frame.h"
#include "mjcf.h"
#include "tolerance.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* The first ones are those of the other quadruped tasks, in their order: their observation opens this
 * one's. */
enum { TORSO, FLOOR, BALL = 7, BALL_GEOM, BALL_ROOT, TARGET, WORKSPACE };
static const struct dmc_name names[] = {[TORSO] = {mjOBJ_BODY, "torso"},
                                        [FLOOR] = {mjOBJ_GEOM, "floor"},
                                        {mjOBJ_SENSOR, "velocimeter"},
                                        {mjOBJ_SENSOR, "imu_accel"},
                                        {mjOBJ_SENSOR, "imu_gyro"},
                                        {mjOBJ_SENSOR, "force_toe_front_left"},
                                        {mjOBJ_SENSOR, "torque_toe_front_left"},
                                        [BALL] = {mjOBJ_BODY, "ball"},
                                        [BALL_GEOM] = {mjOBJ_GEOM, "ball"},
                                        [BALL_ROOT] = {mjOBJ_JOINT, "ball_root"},
                                        [TARGET] = {mjOBJ_SITE, "target"},
                                        [WORKSPACE] = {mjOBJ_SITE, "workspace"},
                                        {0}};

enum { COMMON = 78 }; /* numbers the other quadruped tasks observe */
static const double floor_size = 15.0, ball_drop = 2.0;

/* Four walls that lean outwards by 45 degrees, so that the ball rolls back from them, a target and a ball. */
#define WALL(name, place, normal, size)                                                 \
    "<geom name='" name "' type='plane' pos='" place "' zaxis='" normal "' size='" size \
    "' condim='3' material='floor'/>"
static const char yard[] = WALL("wall_px", "-15.7 0 .7", "1 0 1", "1 15 .5")
    WALL("wall_py", "0 -15.7 .7", "0 1 1", "15 1 .5") WALL("wall_nx", "15.7 0 .7", "-1 0 1", "1 15 .5") WALL(
        "wall_ny", "0 15.7 .7", "0 -1 1",
        "15 1 .5") "<site name='target' type='cylinder' pos='0 0 .05' size='.4 .06' rgba='.83 .25 .30 .8'/>"
                   "<body name='ball' pos='0 0 3'><freejoint name='ball_root'/>"
                   "<geom name='ball' type='sphere' size='.15' condim='6' friction='.7 .005 .005' "
                   "priority='1'"
                   " solref='-10000 -30' rgba='.83 .25 .30 1'/></body>";

static char *add_yard(const struct dmc_task *task, const char *text)
{
    (void)task;
    return mjcf_replace(mjcf_copy(text), "</worldbody>", "%s</worldbody>", yard);
}

static void ready(struct dmc *dmc)
{
    for (int i = 0; i < BALL; i++)
        assert(strcmp(names[i].name, quadruped_run_task.names[i].name) == 0 && "dmc_quadruped.c has it so");
    double *size = dmc->m->geom_size + 3 * dmc->id[FLOOR];
    size[0] = size[1] = floor_size;
}

/* Upright, facing any way, at the lowest height at which nothing touches, in steps of a centimetre. At
 * 0.52 m the toes just reach the floor, so the steps are added up, as in the suite, to have its rounding. */
static dqs_status place_body(struct dmc *dmc, struct rng *rng, double spread, dqs_error *error)
{
    double half_angle = dmc_uniform(rng, 0.0, pi);
    double x = dmc_uniform(rng, -spread, spread), y = dmc_uniform(rng, -spread, spread);
    for (double height = 0.0; height < 10.0; height += 0.01) {
        const double pose[7] = {x, y, height, cos(half_angle), 0.0, 0.0, sin(half_angle)};
        dmc_clear(dmc);
        dmc_put(dmc->d->qpos, pose, 7);
        dmc_forward(dmc);
        if (dmc->d->ncon == 0)
            return DQS_OK;
    }
    return fail(error, DQS_E_ENV, "%s: no start without contacts up to 10 m; is the model damaged?",
                dmc->name);
}

/* The ball falls from anywhere above the yard, with a push. */
static dqs_status reset(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    double spread = 0.9 * floor_size;
    TRY(place_body(dmc, rng, spread, error));
    double *position = dmc->d->qpos + dmc->m->jnt_qposadr[dmc->id[BALL_ROOT]];
    double *velocity = dmc->d->qvel + dmc->m->jnt_dofadr[dmc->id[BALL_ROOT]];
    for (int axis = 0; axis < 2; axis++)
        position[axis] = dmc_uniform(rng, -spread, spread);
    for (int axis = 0; axis < 2; axis++)
        velocity[axis] = 5.0 * rng_normal(rng);
    position[2] = ball_drop;
    return DQS_OK;
}

static const double *site_place(const struct dmc *dmc, int name)
{
    return dmc->d->site_xpos + 3 * dmc->id[name];
}

/* 90: as the other tasks; then from the torso and in its axes the ball's position and velocity, the ball's
 * turning rate (in the ball's axes, but turned by the torso's all the same: the suite has it so), the
 * target's position. */
static void observe(const struct dmc *dmc, double *obs)
{
    static const double zero[3];
    const double *frame = dmc_xmat(dmc, TORSO), *origin = dmc_xpos(dmc, TORSO);
    const double *ball_velocity = dmc->d->qvel + dmc->m->jnt_dofadr[dmc->id[BALL_ROOT]];
    quadruped_run_task.observe(dmc, obs);
    obs += COMMON;
    obs = dmc_put_in_frame(obs, frame, dmc_xpos(dmc, BALL), origin);
    obs = dmc_put_in_frame(obs, frame, ball_velocity, dmc->d->qvel);
    obs = dmc_put_in_frame(obs, frame, ball_velocity + 3, zero);
    dmc_put_in_frame(obs, frame, site_place(dmc, TARGET), origin);
}

/* 1 within `radius` on the ground, 0 at the length of the yard's half diagonal beyond. */
static double near_on_ground(const double *a, const double *b, double radius)
{
    return tolerance(hypot(a[0] - b[0], a[1] - b[1]), 0.0, radius, floor_size * sqrt(2.0), TOLERANCE_LINEAR,
                     0.0);
}

static double fetch(const struct dmc *dmc)
{
    const double *ball = dmc_xpos(dmc, BALL), *site_size = dmc->m->site_size;
    double ball_radius = dmc->m->geom_size[3 * dmc->id[BALL_GEOM]];
    double upright = tolerance(dmc_xmat(dmc, TORSO)[8], 1.0, INFINITY, 2.0, TOLERANCE_LINEAR, 0.0);
    double reached =
        near_on_ground(site_place(dmc, WORKSPACE), ball, site_size[3 * dmc->id[WORKSPACE]] + ball_radius);
    double fetched = near_on_ground(site_place(dmc, TARGET), ball, site_size[3 * dmc->id[TARGET]]);
    return upright * reached * (0.5 + 0.5 * fetched);
}

const struct dmc_task quadruped_fetch_task = {.model = "quadruped",
                                              .names = names,
                                              .substeps = 4,
                                              .obs_dim = COMMON + 12,
                                              .compose = add_yard,
                                              .ready = ready,
                                              .reset = reset,
                                              .observe = observe,
                                              .reward = fetch};
