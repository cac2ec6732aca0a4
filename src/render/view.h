/* view: a picture of one instance of an environment, as it stands now. How a task is drawn is the business
 * of a kind of view: MuJoCo's renderer for what has a MuJoCo model, a painter for the tasks that have
 * none. */
#ifndef RENDER_VIEW_H
#define RENDER_VIEW_H

#include "picture.h"
#include "status.h"
#include <stdbool.h>

struct view_wish {
    int width, height;
    const char *camera; /* by name or number; NULL: the first */
};

struct view;

/* Looks at the instance `env` of `type`, which must outlive the view. For the thread that opened it alone. */
dqs_status view_open(struct view **view, const dqs_env_type *type, void *env, const struct view_wish *wish,
                     dqs_error *error);
double view_rate(const struct view *view);       /* control steps in a second of the task's time */
const char *view_means(const struct view *view); /* what draws: "EGL", "OSMesa", "cairo" */
/* `out` has the size wished for; obs is the observation after `step` steps of the episode: 0 begins one. */
dqs_status view_draw(struct view *view, struct picture *out, const float *obs, long step, dqs_error *error);
void view_close(struct view *view); /* NULL is allowed */

/* ---------------------------------------------------------------- the kinds */
struct view_kind {
    bool (*shows)(const dqs_env_type *type, void *env);
    dqs_status (*open)(void **self, const dqs_env_type *type, void *env, const struct view_wish *wish,
                       dqs_error *error);
    double (*rate)(const void *self);
    const char *(*means)(const void *self);
    dqs_status (*draw)(void *self, struct picture *out, const float *obs, long step, dqs_error *error);
    void (*close)(void *self);
};

extern const struct view_kind view_scene, view_painter;

#endif
