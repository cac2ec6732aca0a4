/* manipulator-bring_ball, -bring_peg, -insert_ball, -insert_peg: a planar arm brings a prop to a target,
 * which when inserting is inside a receptacle. Reward: the prop within a centimetre of the target; a third
 * of it for holding a peg. */
#include "dmc_arm.h"
#include "tolerance.h"
#include <math.h>

static const double pi = 3.14159265358979323846;

enum {
    OBJECT = ARM_NEXT,
    OBJECT_X,
    OBJECT_Z,
    OBJECT_Y,
    TARGET,
    OBJECT_SITE,
    TARGET_SITE,
    BALL_RECEPTACLE,
    PEG_GRASP = BALL_RECEPTACLE,
    PEG_PINCH,
    PEG_TIP,
    PINCH,
    TARGET_TIP,
    PEG_RECEPTACLE
};
#define BALL_NAMES                                                                           \
    ARM_NAMES, [OBJECT] = {mjOBJ_BODY, "ball"}, [OBJECT_X] = {mjOBJ_JOINT, "ball_x"},        \
               [OBJECT_Z] = {mjOBJ_JOINT, "ball_z"}, [OBJECT_Y] = {mjOBJ_JOINT, "ball_y"},   \
               [TARGET] = {mjOBJ_BODY, "target_ball"}, [OBJECT_SITE] = {mjOBJ_SITE, "ball"}, \
               [TARGET_SITE] = {mjOBJ_SITE, "target_ball"}
#define PEG_NAMES                                                                                   \
    ARM_NAMES, [OBJECT] = {mjOBJ_BODY, "peg"}, [OBJECT_X] = {mjOBJ_JOINT, "peg_x"},                 \
               [OBJECT_Z] = {mjOBJ_JOINT, "peg_z"}, [OBJECT_Y] = {mjOBJ_JOINT, "peg_y"},            \
               [TARGET] = {mjOBJ_BODY, "target_peg"}, [OBJECT_SITE] = {mjOBJ_SITE, "peg"},          \
               [TARGET_SITE] = {mjOBJ_SITE, "target_peg"}, [PEG_GRASP] = {mjOBJ_SITE, "peg_grasp"}, \
               [PEG_PINCH] = {mjOBJ_SITE, "peg_pinch"}, [PEG_TIP] = {mjOBJ_SITE, "peg_tip"},        \
               [PINCH] = {mjOBJ_SITE, "pinch"}, [TARGET_TIP] = {mjOBJ_SITE, "target_peg_tip"}
static const struct dmc_name ball_names[] = {BALL_NAMES, {0}};
static const struct dmc_name cup_names[] = {BALL_NAMES, [BALL_RECEPTACLE] = {mjOBJ_BODY, "cup"}, {0}};
static const struct dmc_name peg_names[] = {PEG_NAMES, {0}};
static const struct dmc_name slot_names[] = {PEG_NAMES, [PEG_RECEPTACLE] = {mjOBJ_BODY, "slot"}, {0}};

static char *compose(const struct dmc_task *task, const char *text)
{
    static const char *const props[] = {"ball", "peg", "slot", "cup", "target_ball", "target_peg", NULL};
    return arm_compose(task, text, props);
}

/* Where the row names its receptacle; 0 if it has none. */
static int receptacle(const struct dmc *dmc)
{
    return (int)dmc->task->parameter;
}

static void edits_pose(struct dmc *dmc, int body_name)
{
    dmc_edits(dmc, dmc->m->body_pos + 3 * dmc->id[body_name], 3);
    dmc_edits(dmc, dmc->m->body_quat + 4 * dmc->id[body_name], 4);
}

static void ready(struct dmc *dmc)
{
    edits_pose(dmc, TARGET);
    if (receptacle(dmc))
        edits_pose(dmc, receptacle(dmc));
}

struct pose {
    double x, z, angle;
};

static void move_body(struct dmc *dmc, int body_name, struct pose to)
{
    double *place = dmc->m->body_pos + 3 * dmc->id[body_name],
           *quat = dmc->m->body_quat + 4 * dmc->id[body_name];
    place[0] = to.x;
    place[2] = to.z;
    quat[0] = cos(to.angle / 2.0);
    quat[2] = sin(to.angle / 2.0);
}

static struct pose pose_in_hand(struct dmc *dmc)
{
    dmc_forward(dmc); /* for the new arm's places */
    const double *place = dmc->d->site_xpos + 3 * dmc->id[ARM_GRASP];
    const double *frame = dmc->d->site_xmat + 9 * dmc->id[ARM_GRASP];
    return (struct pose){place[0], place[2], pi - atan2(frame[6], frame[0])};
}

/* One in ten starts in the hand, one in ten at the target, the others anywhere and moving sideways. The
 * suite forgets no velocity when it draws again, so a few of the former two move as well. */
static void draw(struct dmc *dmc, struct rng *rng)
{
    double tilt = receptacle(dmc) ? pi / 3.0 : pi;
    struct pose target, object;
    arm_draw(dmc, rng);
    target.x = dmc_uniform(rng, -0.4, 0.4);
    target.z = dmc_uniform(rng, 0.1, 0.4);
    target.angle = dmc_uniform(rng, -tilt, tilt);
    move_body(dmc, TARGET, target);
    if (receptacle(dmc))
        move_body(dmc, receptacle(dmc), target);
    double kind = rng_uniform(rng);
    object = target;
    if (kind < 0.1) {
        object = pose_in_hand(dmc);
    } else if (kind >= 0.2) {
        object.x = dmc_uniform(rng, -0.5, 0.5);
        object.z = dmc_uniform(rng, 0.0, 0.7);
        object.angle = dmc_uniform(rng, 0.0, 2.0 * pi);
        *arm_velocity(dmc, OBJECT_X) = dmc_uniform(rng, -5.0, 5.0);
    }
    *arm_position(dmc, OBJECT_X) = object.x;
    *arm_position(dmc, OBJECT_Z) = object.z;
    *arm_position(dmc, OBJECT_Y) = object.angle;
}

static dqs_status reset(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    return dmc_draw_until_free(dmc, rng, draw, error);
}

/* 44: the arm, the prop's pose and velocity, the target's pose. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = arm_observe(dmc, obs);
    obs = arm_put_pose(dmc, obs, OBJECT);
    for (int joint = OBJECT_X; joint <= OBJECT_Y; joint++)
        *obs++ = *arm_velocity(dmc, joint);
    arm_put_pose(dmc, obs, TARGET);
}

static double close_to(const struct dmc *dmc, int site_name, int other_site_name)
{
    return tolerance_near(arm_distance(dmc, site_name, other_site_name), 0.0, 0.01, 0.02);
}

static double bring_ball(const struct dmc *dmc)
{
    return close_to(dmc, OBJECT_SITE, TARGET_SITE);
}

static double bring_peg(const struct dmc *dmc)
{
    double held = (close_to(dmc, PEG_GRASP, ARM_GRASP) + close_to(dmc, PEG_PINCH, PINCH)) / 2.0;
    double brought = (close_to(dmc, OBJECT_SITE, TARGET_SITE) + close_to(dmc, PEG_TIP, TARGET_TIP)) / 2.0;
    return fmax(brought, held / 3.0);
}

#define MANIPULATOR                                                                           \
    .model = "manipulator", .substeps = 10, .obs_dim = ARM_OBSERVED + 11, .compose = compose, \
    .ready = ready, .reset = reset, .observe = observe

const struct dmc_task manipulator_bring_ball_task = {MANIPULATOR, .names = ball_names, .reward = bring_ball};
const struct dmc_task manipulator_bring_peg_task = {MANIPULATOR, .names = peg_names, .reward = bring_peg};
const struct dmc_task manipulator_insert_ball_task = {MANIPULATOR, .names = cup_names, .reward = bring_ball,
                                                      .parameter = BALL_RECEPTACLE};
const struct dmc_task manipulator_insert_peg_task = {MANIPULATOR, .names = slot_names, .reward = bring_peg,
                                                     .parameter = PEG_RECEPTACLE};
