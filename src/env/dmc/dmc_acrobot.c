/* acrobot: two arms with a motor between them only, to be swung up until the tip is at the target above the
 * pivot. The row's parameter is the margin of the reward. */
#include "dmc.h"
#include "tolerance.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

enum { UPPER, LOWER, TIP, TARGET };
static const struct dmc_name names[] = {[UPPER] = {mjOBJ_BODY, "upper_arm"},
                                        [LOWER] = {mjOBJ_BODY, "lower_arm"},
                                        [TIP] = {mjOBJ_SITE, "tip"},
                                        [TARGET] = {mjOBJ_SITE, "target"},
                                        {0}};

static dqs_status reset_anywhere(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    for (int i = 0; i < 2; i++)
        dmc->d->qpos[i] = dmc_uniform(rng, -pi, pi);
    return DQS_OK;
}

/* 6: sines of both arms to the vertical, their cosines, velocities. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs[0] = dmc_xmat(dmc, UPPER)[2];
    obs[1] = dmc_xmat(dmc, LOWER)[2];
    obs[2] = dmc_xmat(dmc, UPPER)[8];
    obs[3] = dmc_xmat(dmc, LOWER)[8];
    dmc_put(obs + 4, dmc->d->qvel, 2);
}

static double reach(const struct dmc *dmc)
{
    const double *tip = dmc->d->site_xpos + 3 * dmc->id[TIP];
    const double *target = dmc->d->site_xpos + 3 * dmc->id[TARGET];
    double x = target[0] - tip[0], y = target[1] - tip[1], z = target[2] - tip[2];
    double radius = dmc->m->site_size[3 * dmc->id[TARGET]];
    return tolerance_near(sqrt(x * x + y * y + z * z), 0.0, radius, dmc->task->parameter);
}

#define ACROBOT(task, margin)                              \
    const struct dmc_task task = {.model = "acrobot",      \
                                  .names = names,          \
                                  .substeps = 1,           \
                                  .obs_dim = 6,            \
                                  .parameter = (margin),   \
                                  .reset = reset_anywhere, \
                                  .observe = observe,      \
                                  .reward = reach};
ACROBOT(acrobot_swingup_task, 1.0)
ACROBOT(acrobot_swingup_sparse_task, 0.0)
