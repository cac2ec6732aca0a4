/* lqr: a row of balls on springs without friction, motors on the first one or two only, to be brought to
 * rest; the linear-quadratic regulator. Reward: 1 less the cost, so there is no lower bound; all at rest
 * ends the episode. The suite sets no limit of steps; here it is the usual one. The row's parameter is
 * the number of balls. */
#include "dmc.h"
#include "mjcf.h"
#include <math.h>

/* The suite draws the springs from [15, 25] when it builds the task. These are its draws with seed 0, so that
 * everyone has the same task; they are part of the state, so any other can be set. The suite bounds no
 * force; within +-6 the optimal regulator stays from every start. */
static const char *const stiffness[] = {"20.488135039273246", "21.02763376071644",  "19.236547993389046",
                                        "19.375872112626926", "24.636627605010293", "22.917250380826644"};

static char *add_balls(const struct dmc_task *task, const char *text)
{
    int balls = (int)task->parameter, motors = balls > 2 ? 2 : 1;
    char *model = mjcf_copy(text);
    for (int i = 0; i < balls; i++) {
        model = mjcf_replace(model, "<!--ball-->",
                             "<body name=\"body_%d\" pos=\".25 0 %s\">"
                             "<joint name=\"joint_%d\" type=\"slide\" axis=\"0 1 0\" stiffness=\"%s\"/>"
                             "<geom name=\"geom_%d\" type=\"sphere\" size=\".1\" material=\"%s\"/>"
                             "<site name=\"site_%d\" size=\".01\"/><!--ball--></body>",
                             i, i == 0 ? ".1" : "0", i, stiffness[i], i, i < motors ? "accent" : "body", i);
        if (i < motors)
            model = mjcf_replace(model, "<!--motor-->",
                                 "<motor name=\"motor_%d\" joint=\"joint_%d\" ctrllimited=\"false\""
                                 " ctrlrange=\"-6 6\"/><!--motor-->",
                                 i, i);
        if (i > 0)
            model = mjcf_replace(model, "<!--string-->",
                                 "<spatial name=\"tendon_%d\" width=\".02\" material=\"body\">"
                                 "<site site=\"site_%d\"/><site site=\"site_%d\"/></spatial><!--string-->",
                                 i - 1, i - 1, i);
    }
    return model;
}

static void ready(struct dmc *dmc)
{
    dmc_edits(dmc, dmc->m->jnt_stiffness, (int)dmc->m->njnt);
}

static double square(const double *v, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum;
}

/* Anywhere on the sphere of radius sqrt(2): a cost of 1, a reward of 0. */
static dqs_status reset_on_sphere(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    int n = (int)dmc->m->nq;
    for (int i = 0; i < n; i++)
        dmc->d->qpos[i] = rng_normal(rng);
    double scale = sqrt(2.0 / square(dmc->d->qpos, n));
    for (int i = 0; i < n; i++)
        dmc->d->qpos[i] *= scale;
    return DQS_OK;
}

/* 4 or 12: positions, velocities. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos, (int)dmc->m->nq);
    dmc_put(obs, dmc->d->qvel, (int)dmc->m->nv);
}

static double regulate(const struct dmc *dmc)
{
    return 1.0 - 0.5 * (square(dmc->d->qpos, (int)dmc->m->nq) + 0.1 * square(dmc->d->ctrl, (int)dmc->m->nu));
}

static bool at_rest(const struct dmc *dmc)
{
    return sqrt(square(dmc->d->qpos, (int)dmc->m->nq) + square(dmc->d->qvel, (int)dmc->m->nv)) < 1e-6;
}

#define LQR(task, balls)                                    \
    const struct dmc_task task = {.model = "lqr",           \
                                  .substeps = 1,            \
                                  .obs_dim = 2 * (balls),   \
                                  .parameter = (balls),     \
                                  .compose = add_balls,     \
                                  .ready = ready,           \
                                  .reset = reset_on_sphere, \
                                  .observe = observe,       \
                                  .reward = regulate,       \
                                  .over = at_rest};
LQR(lqr_lqr_2_1_task, 2)
LQR(lqr_lqr_6_2_task, 6)
