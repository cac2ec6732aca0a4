/* swimmer: a snake of 6 or 15 links swims in the plane and brings its nose to a target. The row's
 * parameter is the number of links, of which the head is one. */
#include "dmc.h"
#include "mjcf.h"
#include "tolerance.h"
#include <math.h>

enum { HEAD, NOSE, TARGET, HEAD_VELOCITY };
static const struct dmc_name names[] = {[HEAD] = {mjOBJ_BODY, "head"},
                                        [NOSE] = {mjOBJ_GEOM, "nose"},
                                        [TARGET] = {mjOBJ_GEOM, "target"},
                                        [HEAD_VELOCITY] = {mjOBJ_SENSOR, "head_vel"},
                                        {0}};
enum { ROOT_JOINTS = 3 };

/* All links together may just about bend into a circle. */
static char *add_links(const struct dmc_task *task, const char *text)
{
    int links = (int)task->parameter, bend = 360 / links;
    char *model = mjcf_copy(text);
    for (int i = 0; i < links - 1; i++) {
        model =
            mjcf_replace(model, "<!--link-->",
                         "<body name=\"segment_%d\" pos=\"0 .1 0\">"
                         "<joint name=\"joint_%d\" axis=\"0 0 1\" pos=\"0 -.05 0\" armature=\".000001\""
                         " limited=\"true\" range=\"-%d %d\" solreflimit=\".05 1\" solimplimit=\"0 .8 .1\"/>"
                         "<geom name=\"visual_%d\" type=\"capsule\" fromto=\"0 -.05 0 0 .05 0\" size=\".01\""
                         " mass=\"0\" material=\"body\"/>"
                         "<geom name=\"inertial_%d\" type=\"box\" size=\".001 .05 .01\" mass=\".01\""
                         " rgba=\"0 0 0 0\"/>"
                         "<site name=\"site_%d\" size=\".01\" rgba=\"0 0 0 0\"/><!--link--></body>",
                         i, i, bend, bend, i, i, i);
        model = mjcf_replace(model, "<!--motor-->",
                             "<motor name=\"motor_%d\" joint=\"joint_%d\" gear=\".0005\" ctrllimited=\"true\""
                             " ctrlrange=\"-1 1\"/><!--motor-->",
                             i, i);
        model = mjcf_replace(model, "<!--sensor-->",
                             "<velocimeter name=\"velocimeter_%d\" site=\"site_%d\"/>"
                             "<gyro name=\"gyro_%d\" site=\"site_%d\"/><!--sensor-->",
                             i, i, i, i);
    }
    if (links > 6) /* the camera sees the whole of the longer one from twice the distance */
        model = mjcf_replace(model, "pos=\"0 -.6 1.1\"", "pos=\"0 -1.2 2.2\"");
    return model;
}

static double *target_xy(struct dmc *dmc)
{
    return dmc->m->geom_pos + 3 * dmc->id[TARGET];
}

static void ready(struct dmc *dmc)
{
    dmc_edits(dmc, target_xy(dmc), 2);
}

/* Every pose and direction; one target in five is close. */
static dqs_status reset_anywhere(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    dmc_randomise_joints(dmc, rng);
    double reach = rng_uniform(rng) < 0.2 ? 0.3 : 2.0;
    for (int i = 0; i < 2; i++)
        target_xy(dmc)[i] = dmc_uniform(rng, -reach, reach);
    return DQS_OK;
}

/* In the frame of the head. */
static void nose_to_target(const struct dmc *dmc, double out[2])
{
    const double *nose = dmc->d->geom_xpos + 3 * dmc->id[NOSE], *head = dmc_xmat(dmc, HEAD);
    const double *target = dmc->d->geom_xpos + 3 * dmc->id[TARGET];
    double x = target[0] - nose[0], y = target[1] - nose[1], z = target[2] - nose[2];
    for (int i = 0; i < 2; i++)
        out[i] = x * head[i] + y * head[3 + i] + z * head[6 + i];
}

/* 25 or 61: angles between links, the way to the target, and of each link its velocities in x and y and
 * its spin, in its own frame. The head's six velocities are followed by those of the links in the sensor
 * data. */
static void observe(const struct dmc *dmc, double *obs)
{
    obs = dmc_put(obs, dmc->d->qpos + ROOT_JOINTS, (int)dmc->m->nq - ROOT_JOINTS);
    nose_to_target(dmc, obs);
    obs += 2;
    const double *velocity = dmc_sensor(dmc, HEAD_VELOCITY);
    for (int link = 0; link < (int)dmc->task->parameter; link++, velocity += 6) {
        *obs++ = velocity[0];
        *obs++ = velocity[1];
        *obs++ = velocity[5];
    }
}

static double swim(const struct dmc *dmc)
{
    double way[2], radius = dmc->m->geom_size[3 * dmc->id[TARGET]];
    nose_to_target(dmc, way);
    double distance = sqrt(way[0] * way[0] + way[1] * way[1]);
    return tolerance(distance, 0.0, radius, 5.0 * radius, TOLERANCE_LONG_TAIL, 0.1);
}

#define SWIMMER(task, links)                                  \
    const struct dmc_task task = {.model = "swimmer",         \
                                  .names = names,             \
                                  .substeps = 15,             \
                                  .obs_dim = 4 * (links) + 1, \
                                  .parameter = (links),       \
                                  .compose = add_links,       \
                                  .ready = ready,             \
                                  .reset = reset_anywhere,    \
                                  .observe = observe,         \
                                  .reward = swim};
SWIMMER(swimmer_swimmer6_task, 6)
SWIMMER(swimmer_swimmer15_task, 15)
