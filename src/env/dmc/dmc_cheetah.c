/* cheetah-run: a planar body with two legs. Reward: forward speed of the centre of mass over 10 m/s, in
 * [0,1]. */
#include "dmc.h"
#include "tolerance.h"
#include <math.h>

enum { SPEED };
static const struct dmc_name names[] = {[SPEED] = {mjOBJ_SENSOR, "torso_subtreelinvel"}, {0}};

/* The six limited joints anywhere, then 200 steps at rest to settle. The suite makes no forward pass in
 * between, so the first of them still has the forces of the default pose. */
static dqs_status settle(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    for (int joint = 0; joint < dmc->m->njnt; joint++)
        if (dmc->m->jnt_limited[joint])
            dmc->d->qpos[joint] =
                dmc_uniform(rng, dmc->m->jnt_range[2 * joint], dmc->m->jnt_range[2 * joint + 1]);
    dmc_advance(dmc, 200);
    dmc->d->time = 0.0;
    return DQS_OK;
}

/* 17: positions without x, velocities. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos + 1, dmc->m->nq - 1);
    dmc_put(obs, dmc->d->qvel, dmc->m->nv);
}

static double run(const struct dmc *dmc)
{
    return tolerance(dmc_sensor(dmc, SPEED)[0], 10.0, INFINITY, 10.0, TOLERANCE_LINEAR, 0.0);
}

const struct dmc_task cheetah_run_task = {.model = "cheetah",
                                          .names = names,
                                          .substeps = 1,
                                          .obs_dim = 17,
                                          .reset = settle,
                                          .observe = observe,
                                          .reward = run};
