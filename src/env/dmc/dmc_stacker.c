/* stacker-stack_2, -stack_4: a planar arm and two or four boxes. Reward: a box at the target, whose height
 * may need stacking, and the hand away from it. The row's parameter is the number of boxes. */
#include "dmc_arm.h"
#include "tolerance.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

enum { TARGET = ARM_NEXT, TARGET_GEOM, TARGET_SITE, BOXES };
/* Of a box its body, its site and the first of its joints. */
enum { BODY, SITE, JOINT, BOX_NAMES };
#define BOX(i, box)                                                                  \
    [BOXES + BOX_NAMES * (i) + BODY] = {mjOBJ_BODY, box},                            \
                               [BOXES + BOX_NAMES * (i) + SITE] = {mjOBJ_SITE, box}, \
                               [BOXES + BOX_NAMES * (i) + JOINT] = {mjOBJ_JOINT, box "_x"}
#define STACKER_NAMES                                                                     \
    ARM_NAMES, [TARGET] = {mjOBJ_BODY, "target"}, [TARGET_GEOM] = {mjOBJ_GEOM, "target"}, \
               [TARGET_SITE] = {mjOBJ_SITE, "target"}, BOX(0, "box0"), BOX(1, "box1")
static const struct dmc_name names_of_two[] = {STACKER_NAMES, {0}};
static const struct dmc_name names_of_four[] = {STACKER_NAMES, BOX(2, "box2"), BOX(3, "box3"), {0}};

enum { X, Z, Y }; /* the order of a box's joints */

static int box_name(int box, int kind)
{
    return BOXES + box * BOX_NAMES + kind;
}

static int count_boxes(const struct dmc *dmc)
{
    return (int)dmc->task->parameter;
}

static double box_size(const struct dmc *dmc) /* half its side; the target is as large */
{
    return dmc->m->geom_size[3 * dmc->id[TARGET_GEOM]];
}

static char *compose(const struct dmc_task *task, const char *text)
{
    static const char *const props[] = {"box2", "box3", NULL};
    return arm_compose(task, text, props);
}

static double *target_place(const struct dmc *dmc)
{
    return dmc->m->body_pos + 3 * dmc->id[TARGET];
}

static void ready(struct dmc *dmc)
{
    dmc_edits(dmc, target_place(dmc), 3);
}

static void draw(struct dmc *dmc, struct rng *rng)
{
    arm_draw(dmc, rng);
    target_place(dmc)[2] = box_size(dmc) * (2.0 * rng_below(rng, (uint32_t)count_boxes(dmc)) + 1.0);
    target_place(dmc)[0] = dmc_uniform(rng, -0.37, 0.37);
    for (int box = 0; box < count_boxes(dmc); box++) {
        double *position = arm_position(dmc, box_name(box, JOINT));
        position[X] = dmc_uniform(rng, 0.1, 0.3);
        position[Z] = dmc_uniform(rng, 0.0, 0.7);
        position[Y] = dmc_uniform(rng, 0.0, 2.0 * pi);
    }
}

static dqs_status reset(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    return dmc_draw_until_free(dmc, rng, draw, error);
}

/* 35 and 7 for each box: the arm, the boxes' poses, their velocities (here x, y, z), the target's x and z. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = arm_observe(dmc, obs);
    for (int box = 0; box < count_boxes(dmc); box++)
        obs = arm_put_pose(dmc, obs, box_name(box, BODY));
    for (int box = 0; box < count_boxes(dmc); box++) {
        const double *velocity = arm_velocity(dmc, box_name(box, JOINT));
        *obs++ = velocity[X];
        *obs++ = velocity[Y];
        *obs++ = velocity[Z];
    }
    *obs++ = dmc_xpos(dmc, TARGET)[0];
    *obs++ = dmc_xpos(dmc, TARGET)[2];
}

static double stack(const struct dmc *dmc)
{
    double nearest = INFINITY;
    for (int box = 0; box < count_boxes(dmc); box++)
        nearest = fmin(nearest, arm_distance(dmc, box_name(box, SITE), TARGET_SITE));
    return tolerance_near(nearest, 0.0, 0.0, 2.0 * box_size(dmc)) *
           tolerance_near(arm_distance(dmc, ARM_GRASP, TARGET_SITE), 0.1, INFINITY, 0.01);
}

#define STACKER                                                                             \
    .model = "stacker", .substeps = 10, .compose = compose, .ready = ready, .reset = reset, \
    .observe = observe, .reward = stack

const struct dmc_task stacker_stack_2_task = {STACKER, .names = names_of_two, .obs_dim = ARM_OBSERVED + 16,
                                              .parameter = 2};
const struct dmc_task stacker_stack_4_task = {STACKER, .names = names_of_four, .obs_dim = ARM_OBSERVED + 30,
                                              .parameter = 4};
