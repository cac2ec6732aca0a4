/* pendulum-swingup: a weight on a rod, and a motor too weak to lift it at once. Reward: 1 within 8 degrees of
 * upright. */
#include "dmc.h"
#include "tolerance.h"

static const double pi = 3.14159265358979323846;
static const double cosine_8_degrees = 0.99026806874157036;

enum { POLE };
static const struct dmc_name names[] = {[POLE] = {mjOBJ_BODY, "pole"}, {0}};

static dqs_status reset_anywhere(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    dmc->d->qpos[0] = dmc_uniform(rng, -pi, pi);
    return DQS_OK;
}

/* 3: cosine and sine of the angle to the vertical, velocity. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs[0] = dmc_xmat(dmc, POLE)[8];
    obs[1] = dmc_xmat(dmc, POLE)[2];
    obs[2] = dmc->d->qvel[0];
}

static double upright(const struct dmc *dmc)
{
    return tolerance_near(dmc_xmat(dmc, POLE)[8], cosine_8_degrees, 1.0, 0.0);
}

const struct dmc_task pendulum_swingup_task = {.model = "pendulum",
                                               .names = names,
                                               .substeps = 1,
                                               .obs_dim = 3,
                                               .reset = reset_anywhere,
                                               .observe = observe,
                                               .reward = upright};
