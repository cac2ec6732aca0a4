/* cartpole: a cart on a rail with one, two or three poles in a chain, to be kept upright or swung up first.
 * The row's parameter is the number of poles. */
#include "dmc.h"
#include "mjcf.h"
#include "tolerance.h"
#include <math.h>

static const double pi = 3.14159265358979323846;
enum { FIRST_POLE = 2 }; /* its body; the world and the cart come before */

static int count_poles(const struct dmc *dmc)
{
    return (int)dmc->m->nbody - FIRST_POLE;
}

static double upright_cosine(const struct dmc *dmc, int pole)
{
    return dmc->d->xmat[9 * (FIRST_POLE + pole) + 8];
}

static char *add_poles(const struct dmc_task *task, const char *text)
{
    int poles = (int)task->parameter;
    char *model = mjcf_copy(text);
    for (int i = 2; i <= poles; i++)
        model = mjcf_replace(model, "<!--pole-->",
                             "<body name=\"pole_%d\" pos=\"0 0 1\">"
                             "<joint name=\"hinge_%d\" axis=\"0 1 0\" damping=\".000002\"/>"
                             "<geom name=\"pole_%d\" type=\"capsule\" fromto=\"0 0 0 0 0 1\" size=\".045\""
                             " mass=\".1\" material=\"body\"/><!--pole--></body>",
                             i, i, i);
    model = mjcf_replace(model, "pos=\"0 0 -.05\"", "pos=\"0 0 -%d.05\"", poles - 1);
    return mjcf_replace(model, "pos=\"0 -4 1\"", "pos=\"0 -%d 1\"", 2 * poles + 4);
}

static void push_a_little(struct dmc *dmc, struct rng *rng)
{
    for (int i = 0; i < dmc->m->nv; i++)
        dmc->d->qvel[i] = 0.01 * rng_normal(rng);
}

/* Near the middle and nearly upright. */
static dqs_status reset_up(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    dmc->d->qpos[0] = dmc_uniform(rng, -0.1, 0.1);
    for (int i = 1; i < dmc->m->nq; i++)
        dmc->d->qpos[i] = dmc_uniform(rng, -0.034, 0.034);
    push_a_little(dmc, rng);
    return DQS_OK;
}

/* In the middle, hanging down, further poles nearly in line with the first. */
static dqs_status reset_down(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    dmc->d->qpos[0] = 0.01 * rng_normal(rng);
    dmc->d->qpos[1] = pi + 0.01 * rng_normal(rng);
    for (int i = 2; i < dmc->m->nq; i++)
        dmc->d->qpos[i] = 0.1 * rng_normal(rng);
    push_a_little(dmc, rng);
    return DQS_OK;
}

/* 5 with one pole, 3 more with each further: position of the cart, cosine and sine of each pole to the
 * vertical, velocities. */
static void observe(const struct dmc *dmc, double *obs)
{
    *obs++ = dmc->d->qpos[0];
    for (int i = 0; i < count_poles(dmc); i++) {
        *obs++ = upright_cosine(dmc, i);
        *obs++ = dmc->d->xmat[9 * (FIRST_POLE + i) + 2];
    }
    dmc_put(obs, dmc->d->qvel, (int)dmc->m->nv);
}

/* Upright, centred, with little control and no fast pole: a product, in which only being upright can be 0. */
static double reward_smooth(const struct dmc *dmc)
{
    double upright = 0.0, slow = 1.0;
    for (int i = 0; i < count_poles(dmc); i++) {
        upright += (upright_cosine(dmc, i) + 1.0) / 2.0;
        slow = fmin(slow, tolerance_near(dmc->d->qvel[1 + i], 0.0, 0.0, 5.0));
    }
    double centred = tolerance_near(dmc->d->qpos[0], 0.0, 0.0, 2.0);
    return upright / count_poles(dmc) * (4.0 + dmc_small_control(dmc)) / 5.0 * (1.0 + slow) / 2.0 *
           (1.0 + centred) / 2.0;
}

static double reward_sparse(const struct dmc *dmc)
{
    if (fabs(dmc->d->qpos[0]) > 0.25)
        return 0.0;
    for (int i = 0; i < count_poles(dmc); i++)
        if (tolerance_near(upright_cosine(dmc, i), 0.995, 1.0, 0.0) == 0.0)
            return 0.0;
    return 1.0;
}

#define CARTPOLE(task, poles, start, score)                                  \
    const struct dmc_task task = {.model = "cartpole",                       \
                                  .substeps = 1,                             \
                                  .obs_dim = 2 + 3 * (poles),                \
                                  .parameter = (poles),                      \
                                  .compose = (poles) > 1 ? add_poles : NULL, \
                                  .reset = start,                            \
                                  .observe = observe,                        \
                                  .reward = score};
CARTPOLE(cartpole_balance_task, 1, reset_up, reward_smooth)
CARTPOLE(cartpole_balance_sparse_task, 1, reset_up, reward_sparse)
CARTPOLE(cartpole_swingup_task, 1, reset_down, reward_smooth)
CARTPOLE(cartpole_swingup_sparse_task, 1, reset_down, reward_sparse)
CARTPOLE(cartpole_two_poles_task, 2, reset_down, reward_smooth)
CARTPOLE(cartpole_three_poles_task, 3, reset_down, reward_smooth)
