#include "dmc_arm.h"
#include "mjcf.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
enum { TOUCH_SENSORS = 5 };

static bool names_body(const struct dmc_task *task, const char *name)
{
    for (const struct dmc_name *row = task->names; row->name; row++)
        if (row->kind == mjOBJ_BODY && strcmp(row->name, name) == 0)
            return true;
    return false;
}

/* Between the marks all becomes one comment. */
static char *leave_out(char *text, const char *name)
{
    char mark[40];
    snprintf(mark, sizeof mark, "<!--%s-->", name);
    text = mjcf_replace(text, mark, "<!--");
    snprintf(mark, sizeof mark, "<!--/%s-->", name);
    return mjcf_replace(text, mark, "-->");
}

char *arm_compose(const struct dmc_task *task, const char *text, const char *const *props)
{
    char *model = mjcf_copy(text);
    for (; *props; props++)
        if (!names_body(task, *props))
            model = leave_out(model, *props);
    return model;
}

void arm_draw(struct dmc *dmc, struct rng *rng)
{
    for (int joint = 0; joint < ARM_JOINTS; joint++) {
        int id = dmc->id[joint];
        bool limited = dmc->m->jnt_limited[id];
        const double *range = dmc->m->jnt_range + 2 * id;
        *arm_position(dmc, joint) = dmc_uniform(rng, limited ? range[0] : -pi, limited ? range[1] : pi);
    }
    *arm_position(dmc, ARM_FINGER) = *arm_position(dmc, ARM_THUMB);
}

double *arm_observe(const struct dmc *dmc, double *obs)
{
    for (int joint = 0; joint < ARM_JOINTS; joint++) {
        double angle = *arm_position(dmc, joint);
        *obs++ = sin(angle);
        *obs++ = cos(angle);
    }
    for (int joint = 0; joint < ARM_JOINTS; joint++)
        *obs++ = *arm_velocity(dmc, joint);
    for (int i = 0; i < TOUCH_SENSORS; i++)
        *obs++ = log1p(dmc_sensor(dmc, ARM_TOUCH)[i]);
    return arm_put_pose(dmc, obs, ARM_HAND);
}

double *arm_put_pose(const struct dmc *dmc, double *obs, int body_name)
{
    const double *place = dmc_xpos(dmc, body_name), *quat = dmc->d->xquat + 4 * dmc->id[body_name];
    *obs++ = place[0];
    *obs++ = place[2];
    *obs++ = quat[0];
    *obs++ = quat[2];
    return obs;
}

double arm_distance(const struct dmc *dmc, int site_name, int other_site_name)
{
    const double *a = dmc->d->site_xpos + 3 * dmc->id[site_name];
    const double *b = dmc->d->site_xpos + 3 * dmc->id[other_site_name];
    double square = 0.0;
    for (int i = 0; i < 3; i++)
        square += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(square);
}
