/* view: see view.h. */
#include "view.h"
#include <assert.h>
#include <stdlib.h>

struct view {
    const struct view_kind *kind;
    void *self;
    int width, height;
};

static const struct view_kind *const kinds[] = {&view_scene, &view_painter};

static const struct view_kind *find_kind(const dqs_env_type *type, void *env)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->shows(type, env))
            return kinds[i];
    return NULL;
}

dqs_status view_open(struct view **out, const dqs_env_type *type, void *env, const struct view_wish *wish,
                     dqs_error *error)
{
    const struct view_kind *kind = find_kind(type, env);
    *out = NULL;
    if (!kind)
        return fail(error, DQS_E_UNSUPPORTED,
                    "%.100s: nobody knows what this task looks like; only the built-in tasks can be rendered",
                    type->name);
    struct view *view = calloc(1, sizeof *view);
    if (!view)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", type->name);
    *view = (struct view){.kind = kind, .width = wish->width, .height = wish->height};
    dqs_status status = kind->open(&view->self, type, env, wish, error);
    if (status != DQS_OK) {
        free(view);
        return status;
    }
    *out = view;
    return DQS_OK;
}

double view_rate(const struct view *view)
{
    return view->kind->rate(view->self);
}

const char *view_means(const struct view *view)
{
    return view->kind->means(view->self);
}

dqs_status view_draw(struct view *view, struct picture *out, const float *obs, long step, dqs_error *error)
{
    assert(out->width == view->width && out->height == view->height);
    return view->kind->draw(view->self, out, obs, step, error);
}

void view_close(struct view *view)
{
    if (!view)
        return;
    view->kind->close(view->self);
    free(view);
}
