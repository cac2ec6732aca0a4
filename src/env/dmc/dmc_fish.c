/* fish-upright, fish-swim: a fish with a tail and two fins in dense water, without gravity and contacts. */
#include "dmc.h"
#include "dmc_frame.h"
#include "tolerance.h"
#include <math.h>

enum { TORSO, TARGET, MOUTH };
static const struct dmc_name names[] = {
    [TORSO] = {mjOBJ_BODY, "torso"}, [TARGET] = {mjOBJ_GEOM, "target"}, [MOUTH] = {mjOBJ_GEOM, "mouth"}, {0}};

enum { ROOT_POSITIONS = 7, HINGES = 7 }; /* the free joint stands first */

static double *target_place(const struct dmc *dmc)
{
    return dmc->m->geom_pos + 3 * dmc->id[TARGET];
}

static void ready_upright(struct dmc *dmc)
{
    dmc->m->geom_rgba[4 * dmc->id[TARGET] + 3] = 0.0f; /* the target is another task's */
}

static void ready_swim(struct dmc *dmc)
{
    dmc_edits(dmc, target_place(dmc), 3);
}

/* Any attitude, the hinges near the middle. */
static dqs_status reset_upright(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    dmc_random_quaternion(rng, dmc->d->qpos + 3);
    for (int i = 0; i < HINGES; i++)
        dmc->d->qpos[ROOT_POSITIONS + i] = dmc_uniform(rng, -0.2, 0.2);
    return DQS_OK;
}

static dqs_status reset_swim(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    TRY(reset_upright(dmc, rng, error));
    double *target = target_place(dmc);
    target[0] = dmc_uniform(rng, -0.4, 0.4);
    target[1] = dmc_uniform(rng, -0.4, 0.4);
    target[2] = dmc_uniform(rng, 0.1, 0.3);
    return DQS_OK;
}

static double upright(const struct dmc *dmc)
{
    return dmc_xmat(dmc, TORSO)[8];
}

/* From the mouth to the target, in the mouth's own frame. */
static void mouth_to_target(const struct dmc *dmc, double out[3])
{
    const double *mouth = dmc->d->geom_xpos + 3 * dmc->id[MOUTH];
    const double *target = dmc->d->geom_xpos + 3 * dmc->id[TARGET];
    const double *frame = dmc->d->geom_xmat + 9 * dmc->id[MOUTH];
    dmc_put_in_frame(out, frame, target, mouth);
}

/* 21: hinge angles, upright, velocities. */
static void observe_upright(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos + ROOT_POSITIONS, HINGES);
    *obs++ = upright(dmc);
    dmc_put(obs, dmc->d->qvel, dmc->m->nv);
}

/* 24: the same with the target before the velocities. */
static void observe_swim(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos + ROOT_POSITIONS, HINGES);
    *obs++ = upright(dmc);
    mouth_to_target(dmc, obs);
    dmc_put(obs + 3, dmc->d->qvel, dmc->m->nv);
}

static double reward_upright(const struct dmc *dmc)
{
    return tolerance_near(upright(dmc), 1.0, 1.0, 1.0);
}

/* Mostly for having the target in the mouth, a little for being upright. */
static double reward_swim(const struct dmc *dmc)
{
    double to[3], reach = dmc->m->geom_size[3 * dmc->id[MOUTH]] + dmc->m->geom_size[3 * dmc->id[TARGET]];
    mouth_to_target(dmc, to);
    double in_target =
        tolerance_near(sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]), 0.0, reach, 2.0 * reach);
    return (7.0 * in_target + 0.5 * (upright(dmc) + 1.0)) / 8.0;
}

const struct dmc_task fish_upright_task = {.model = "fish",
                                           .names = names,
                                           .substeps = 10,
                                           .obs_dim = 21,
                                           .ready = ready_upright,
                                           .reset = reset_upright,
                                           .observe = observe_upright,
                                           .reward = reward_upright};
const struct dmc_task fish_swim_task = {.model = "fish",
                                        .names = names,
                                        .substeps = 10,
                                        .obs_dim = 24,
                                        .ready = ready_swim,
                                        .reset = reset_swim,
                                        .observe = observe_swim,
                                        .reward = reward_swim};
