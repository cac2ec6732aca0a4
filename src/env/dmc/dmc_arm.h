/* dmc_arm: the arm of manipulator and stacker, four links and a hand of two fingers in a vertical plane.
 * The names a row looks up begin with ARM_NAMES. */
#ifndef ENV_DMC_DMC_ARM_H
#define ENV_DMC_DMC_ARM_H

#include "dmc.h"

/* The joints in the order in which they are observed. */
enum {
    ARM_ROOT,
    ARM_SHOULDER,
    ARM_ELBOW,
    ARM_WRIST,
    ARM_FINGER,
    ARM_FINGERTIP,
    ARM_THUMB,
    ARM_THUMBTIP,
    ARM_JOINTS,
    ARM_HAND = ARM_JOINTS,
    ARM_TOUCH, /* the first of five sensors */
    ARM_GRASP,
    ARM_NEXT /* the row's own names */
};
#define ARM_NAMES                                                                           \
    [ARM_ROOT] = {mjOBJ_JOINT, "arm_root"}, [ARM_SHOULDER] = {mjOBJ_JOINT, "arm_shoulder"}, \
    [ARM_ELBOW] = {mjOBJ_JOINT, "arm_elbow"}, [ARM_WRIST] = {mjOBJ_JOINT, "arm_wrist"},     \
    [ARM_FINGER] = {mjOBJ_JOINT, "finger"}, [ARM_FINGERTIP] = {mjOBJ_JOINT, "fingertip"},   \
    [ARM_THUMB] = {mjOBJ_JOINT, "thumb"}, [ARM_THUMBTIP] = {mjOBJ_JOINT, "thumbtip"},       \
    [ARM_HAND] = {mjOBJ_BODY, "hand"}, [ARM_TOUCH] = {mjOBJ_SENSOR, "palm_touch"},          \
    [ARM_GRASP] = {mjOBJ_SITE, "grasp"}

/* The model without those of `props` (bodies, the list ends with NULL) that the row does not name. In the
 * file a body that can be left out stands between <!--name--> and <!--/name-->. */
char *arm_compose(const struct dmc_task *task, const char *text, const char *const *props);
/* Joints anywhere, the fingers alike. */
void arm_draw(struct dmc *dmc, struct rng *rng);
enum { ARM_OBSERVED = 33 };
/* 33: sine and cosine of each joint, velocities, log(1 + touch), the hand's pose. */
double *arm_observe(const struct dmc *dmc, double *obs);
/* 4: a body's x, z, and the w and y of its quaternion. */
double *arm_put_pose(const struct dmc *dmc, double *obs, int body_name);
double arm_distance(const struct dmc *dmc, int site_name, int other_site_name);
static inline double *arm_position(const struct dmc *dmc, int joint_name)
{
    return dmc->d->qpos + dmc->m->jnt_qposadr[dmc->id[joint_name]];
}
static inline double *arm_velocity(const struct dmc *dmc, int joint_name)
{
    return dmc->d->qvel + dmc->m->jnt_dofadr[dmc->id[joint_name]];
}

#endif
