/* dmc_humanoid: what humanoid and humanoid_CMU share. The names a row looks up begin with these. */
#ifndef ENV_DMC_DMC_HUMANOID_H
#define ENV_DMC_DMC_HUMANOID_H

#include "dmc.h"

enum {
    HUMANOID_TRUNK,
    HUMANOID_HEAD,
    HUMANOID_LEFT_HAND,
    HUMANOID_LEFT_FOOT,
    HUMANOID_RIGHT_HAND,
    HUMANOID_RIGHT_FOOT,
    HUMANOID_SPEED
};

/* Any pose, turned any way, high enough that it touches neither itself nor the floor. */
dqs_status humanoid_reset(struct dmc *dmc, struct rng *rng, dqs_error *error);
/* nq + nv + 12: joint angles, height of the head, hands and feet in the trunk's frame, the trunk's
 * vertical, velocity of the centre of mass, velocities. */
void humanoid_observe(const struct dmc *dmc, double *obs);
/* `upright` is the cosine between the trunk's axis and the vertical. */
double humanoid_stand(const struct dmc *dmc, double upright);
double humanoid_move(const struct dmc *dmc, double upright); /* at task->parameter m/s, in any direction */

#endif
