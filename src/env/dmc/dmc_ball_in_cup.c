/* ball_in_cup-catch: a cup on springs and a ball on a string. Reward: 1 while the ball is in the cup. */
#include "dmc.h"
#include <math.h>

enum { BALL, BALL_GEOM, TARGET };
static const struct dmc_name names[] = {[BALL] = {mjOBJ_BODY, "ball"},
                                        [BALL_GEOM] = {mjOBJ_GEOM, "ball"},
                                        [TARGET] = {mjOBJ_SITE, "target"},
                                        {0}};
enum { BALL_X = 2, BALL_Z }; /* of qpos, after the cup's */

static void draw_ball(struct dmc *dmc, struct rng *rng)
{
    dmc->d->qpos[BALL_X] = dmc_uniform(rng, -0.2, 0.2);
    dmc->d->qpos[BALL_Z] = dmc_uniform(rng, 0.2, 0.5);
}

static dqs_status reset_free(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    return dmc_draw_until_free(dmc, rng, draw_ball, error);
}

/* 8: positions and velocities of cup and ball. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos, 4);
    dmc_put(obs, dmc->d->qvel, 4);
}

/* Wholly inside the target box, seen from the side. */
static double caught(const struct dmc *dmc)
{
    const double *ball = dmc_xpos(dmc, BALL), *target = dmc->d->site_xpos + 3 * dmc->id[TARGET];
    const double *size = dmc->m->site_size + 3 * dmc->id[TARGET];
    double radius = dmc->m->geom_size[3 * dmc->id[BALL_GEOM]];
    return fabs(target[0] - ball[0]) < size[0] - radius && fabs(target[2] - ball[2]) < size[2] - radius;
}

const struct dmc_task ball_in_cup_catch_task = {.model = "ball_in_cup",
                                                .names = names,
                                                .substeps = 10,
                                                .obs_dim = 8,
                                                .reset = reset_free,
                                                .observe = observe,
                                                .reward = caught};
