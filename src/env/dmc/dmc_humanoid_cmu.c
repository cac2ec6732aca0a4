/* humanoid_CMU-stand, -walk, -run: a body with hands and toes on a skeleton of motion capture, whose y
 * axis points up. Otherwise as humanoid. */
#include "dmc_humanoid.h"

static const struct dmc_name names[] = {[HUMANOID_TRUNK] = {mjOBJ_BODY, "thorax"},
                                        [HUMANOID_HEAD] = {mjOBJ_BODY, "head"},
                                        [HUMANOID_LEFT_HAND] = {mjOBJ_BODY, "lhand"},
                                        [HUMANOID_LEFT_FOOT] = {mjOBJ_BODY, "lfoot"},
                                        [HUMANOID_RIGHT_HAND] = {mjOBJ_BODY, "rhand"},
                                        [HUMANOID_RIGHT_FOOT] = {mjOBJ_BODY, "rfoot"},
                                        [HUMANOID_SPEED] = {mjOBJ_SENSOR, "thorax_subtreelinvel"},
                                        {0}};

static double stand(const struct dmc *dmc)
{
    return humanoid_stand(dmc, dmc_xmat(dmc, HUMANOID_TRUNK)[7]);
}

static double move(const struct dmc *dmc)
{
    return humanoid_move(dmc, dmc_xmat(dmc, HUMANOID_TRUNK)[7]);
}

#define HUMANOID_CMU                                                                                  \
    .model = "humanoid_CMU", .names = names, .substeps = 10, .obs_dim = 137, .reset = humanoid_reset, \
    .observe = humanoid_observe

const struct dmc_task humanoid_cmu_stand_task = {HUMANOID_CMU, .reward = stand};
const struct dmc_task humanoid_cmu_walk_task = {HUMANOID_CMU, .reward = move, .parameter = 1.0}; /* m/s */
const struct dmc_task humanoid_cmu_run_task = {HUMANOID_CMU, .reward = move, .parameter = 10.0};
