/* reacher-easy, reacher-hard: a two-link arm in a plane and a target; 1 while the fingertip overlaps it. */
#include "dmc.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

enum { TARGET, FINGER };
static const struct dmc_name names[] = {
    [TARGET] = {mjOBJ_GEOM, "target"}, [FINGER] = {mjOBJ_GEOM, "finger"}, {0}};

static void ready(struct dmc *dmc)
{
    dmc->m->geom_size[3 * dmc->id[TARGET]] = dmc->task->parameter;
    dmc_edits(dmc, dmc->m->geom_pos + 3 * dmc->id[TARGET], 2);
}

static dqs_status reset(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    dmc_randomise_joints(dmc, rng);
    double angle = dmc_uniform(rng, 0.0, 2.0 * pi), radius = dmc_uniform(rng, 0.05, 0.20);
    double *target = dmc->m->geom_pos + 3 * dmc->id[TARGET];
    target[0] = radius * sin(angle);
    target[1] = radius * cos(angle);
    return DQS_OK;
}

static void finger_to_target(const struct dmc *dmc, double out[2])
{
    for (int axis = 0; axis < 2; axis++)
        out[axis] =
            dmc->d->geom_xpos[3 * dmc->id[TARGET] + axis] - dmc->d->geom_xpos[3 * dmc->id[FINGER] + axis];
}

/* 6: angles, finger to target in (x, y), velocities. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos, dmc->m->nq);
    finger_to_target(dmc, obs);
    dmc_put(obs + 2, dmc->d->qvel, dmc->m->nv);
}

static double reach(const struct dmc *dmc)
{
    double to[2], radii = dmc->m->geom_size[3 * dmc->id[TARGET]] + dmc->m->geom_size[3 * dmc->id[FINGER]];
    finger_to_target(dmc, to);
    return sqrt(to[0] * to[0] + to[1] * to[1]) <= radii;
}

#define REACHER                                                                                      \
    .model = "reacher", .names = names, .substeps = 1, .obs_dim = 6, .ready = ready, .reset = reset, \
    .observe = observe, .reward = reach

const struct dmc_task reacher_easy_task = {REACHER, .parameter = 0.05}; /* radius of the target */
const struct dmc_task reacher_hard_task = {REACHER, .parameter = 0.015};
