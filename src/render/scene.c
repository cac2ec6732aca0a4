/* scene: the view of a task that has a MuJoCo model, by MuJoCo's own renderer. In a build without MuJoCo
 * there is no such task to show. */
#include "view.h"

#ifdef HAVE_MUJOCO
#include "dmc.h"
#include "gl.h"
#include "number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GEOMS = 2000, SHADOW = 2048 };

struct scene {
    struct dmc *dmc;
    struct gl *gl;
    mjvCamera camera;
    mjvOption option;
    mjvScene shapes;
    mjrContext context;
    double height_held;    /* see holds_height */
    unsigned char *pixels; /* as OpenGL has them: the bottom row first */
    int width, height;
};

static bool scene_shows(const dqs_env_type *type, void *env)
{
    return dmc_of(type, env) != NULL;
}

/* ---------------------------------------------------------------- camera */
static const char *camera_name(const mjModel *m, int camera)
{
    return m->names + m->name_camadr[camera];
}

static dqs_status no_camera(const struct dmc *dmc, const char *wanted, dqs_error *error)
{
    char known[200] = "";
    for (int i = 0; i < dmc->m->ncam; i++) {
        size_t used = strlen(known);
        const char *name = camera_name(dmc->m, i);
        snprintf(known + used, sizeof known - used, "%s%d%s%s", i ? ", " : "", i, *name ? " " : "", name);
    }
    if (!known[0])
        return fail(error, DQS_E_OPTION, "--camera: %s has no camera '%.60s'; leave it out for a free view",
                    dmc->name, wanted);
    return fail(error, DQS_E_OPTION, "--camera: %s has no camera '%.60s'; it has %s", dmc->name, wanted,
                known);
}

static dqs_status choose_camera(struct scene *scene, const char *wanted, dqs_error *error)
{
    const struct dmc *dmc = scene->dmc;
    long number = 0;
    int camera = -1;
    dmc->mj->mjv_defaultCamera(&scene->camera);
    if (!wanted && dmc->m->ncam == 0) { /* all of the model, from the front */
        scene->camera.distance = 1.5 * dmc->m->stat.extent;
        for (int i = 0; i < 3; i++)
            scene->camera.lookat[i] = dmc->m->stat.center[i];
        return DQS_OK;
    }
    if (wanted)
        camera = dmc->mj->mj_name2id(dmc->m, mjOBJ_CAMERA, wanted);
    if (camera < 0 && (!wanted || number_read_long(wanted, &number)) && number >= 0 && number < dmc->m->ncam)
        camera = (int)number;
    if (camera < 0)
        return no_camera(dmc, wanted, error);
    scene->camera.type = mjCAMERA_FIXED;
    scene->camera.fixedcamid = camera;
    return DQS_OK;
}

/* ---------------------------------------------------------------- open, draw, close */
static void scene_close(void *self)
{
    struct scene *scene = self;
    if (scene->gl) {
        scene->dmc->mj->mjr_freeContext(&scene->context);
        scene->dmc->mj->mjv_freeScene(&scene->shapes);
    }
    gl_close(scene->gl);
    free(scene->pixels);
    free(scene);
}

/* A camera that tracks a body follows it over the ground but not up and down: a jump should look like a
 * jump of the body and not of the floor. What floats is followed everywhere. */
static bool holds_height(const struct scene *scene)
{
    const mjModel *m = scene->dmc->m;
    int mode = scene->camera.type == mjCAMERA_FIXED ? m->cam_mode[scene->camera.fixedcamid] : -1;
    bool floats = m->opt.disableflags & mjDSBL_GRAVITY;
    return !floats && (mode == mjCAMLIGHT_TRACK || mode == mjCAMLIGHT_TRACKCOM);
}

/* The camera's height in the model's own pose. */
static void measure_height(struct scene *scene)
{
    const struct mujoco_api *mj = scene->dmc->mj;
    mjData *d = mj->mj_makeData(scene->dmc->m);
    if (!d)
        return;
    mj->mj_forward(scene->dmc->m, d);
    scene->height_held = d->cam_xpos[3 * scene->camera.fixedcamid + 2];
    mj->mj_deleteData(d);
}

static void make(void *argument)
{
    struct scene *scene = argument;
    const struct mujoco_api *mj = scene->dmc->mj;
    mjModel *m = scene->dmc->m;
    m->vis.global.offwidth = scene->width;
    m->vis.global.offheight = scene->height;
    /* MuJoCo's usual 4096 takes longer than all the rest where a processor draws, and shows no difference. */
    if (m->vis.quality.shadowsize > SHADOW)
        m->vis.quality.shadowsize = SHADOW;
    mj->mjv_makeScene(m, &scene->shapes, MOST_GEOMS);
    mj->mjr_makeContext(m, &scene->context, mjFONTSCALE_100);
    mj->mjr_setBuffer(mjFB_OFFSCREEN, &scene->context);
    if (holds_height(scene))
        measure_height(scene);
}

static dqs_status prepare(struct scene *scene, const struct view_wish *wish, dqs_error *error)
{
    char message[200];
    TRY(choose_camera(scene, wish->camera, error));
    scene->pixels = malloc((size_t)wish->width * (size_t)wish->height * 3);
    if (!scene->pixels)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", scene->dmc->name);
    TRY(gl_open(&scene->gl, error));
    if (!mujoco_try(make, scene, message, sizeof message))
        return fail(error, DQS_E_UNSUPPORTED,
                    "%s: MuJoCo cannot draw by %s: %s; try another value of MUJOCO_GL, egl or osmesa",
                    scene->dmc->name, gl_name(scene->gl), message);
    if (scene->context.offWidth < wish->width || scene->context.offHeight < wish->height)
        return fail(error, DQS_E_UNSUPPORTED, "--size: %s draws %d x %d at most; try a smaller picture",
                    gl_name(scene->gl), scene->context.offWidth, scene->context.offHeight);
    return DQS_OK;
}

static dqs_status scene_open(void **self, const dqs_env_type *type, void *env, const struct view_wish *wish,
                             dqs_error *error)
{
    struct scene *scene = calloc(1, sizeof *scene);
    *self = NULL;
    if (!scene)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", type->name);
    scene->dmc = dmc_of(type, env);
    scene->width = wish->width;
    scene->height = wish->height;
    const struct mujoco_api *mj = scene->dmc->mj;
    mj->mjv_defaultOption(&scene->option);
    mj->mjv_defaultScene(&scene->shapes);
    mj->mjr_defaultContext(&scene->context);
    dqs_status status = prepare(scene, wish, error);
    if (status != DQS_OK) {
        scene_close(scene);
        return status;
    }
    *self = scene;
    return DQS_OK;
}

static double scene_rate(const void *self)
{
    const struct dmc *dmc = ((const struct scene *)self)->dmc;
    return 1.0 / (dmc->task->substeps * dmc->m->opt.timestep);
}

static const char *scene_means(const void *self)
{
    return gl_name(((const struct scene *)self)->gl);
}

static void draw(void *argument)
{
    struct scene *scene = argument;
    const struct mujoco_api *mj = scene->dmc->mj;
    if (holds_height(scene)) /* where cameras are is worked out anew in each step and moves nothing else */
        scene->dmc->d->cam_xpos[3 * scene->camera.fixedcamid + 2] = scene->height_held;
    mjrRect all = {0, 0, scene->width, scene->height};
    mj->mjv_updateScene(scene->dmc->m, scene->dmc->d, &scene->option, NULL, &scene->camera, mjCAT_ALL,
                        &scene->shapes);
    mj->mjr_render(all, &scene->shapes, &scene->context);
    mj->mjr_readPixels(scene->pixels, NULL, all, &scene->context);
}

static dqs_status scene_draw(void *self, struct picture *out, const float *obs, long step, dqs_error *error)
{
    struct scene *scene = self;
    char message[200];
    size_t row = (size_t)out->width * 3;
    (void)obs, (void)step;
    if (!mujoco_try(draw, scene, message, sizeof message))
        return fail(error, DQS_E_UNSUPPORTED, "%s: MuJoCo failed while drawing: %s", scene->dmc->name,
                    message);
    for (int y = 0; y < out->height; y++)
        memcpy(out->rgb + (size_t)y * row, scene->pixels + (size_t)(out->height - 1 - y) * row, row);
    return DQS_OK;
}

const struct view_kind view_scene = {scene_shows, scene_open, scene_rate,
                                     scene_means, scene_draw, scene_close};

#else
static bool scene_shows(const dqs_env_type *type, void *env)
{
    (void)type, (void)env;
    return false;
}

const struct view_kind view_scene = {.shows = scene_shows};
#endif
