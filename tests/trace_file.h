/* trace_file: the trace of an evaluation, made up and written as a run folder keeps it. */
#ifndef TESTS_TRACE_FILE_H
#define TESTS_TRACE_FILE_H

#include "arena.h"
#include "gmm.h"
#include "safetensors.h"

#define TRACE_MAP 21 /* points of the map on a side */

struct trace {
    struct arena arena;
    size_t episodes, stride, obs_dim;
    float *obs, *map; /* map: NULL for none */
    int64_t *length;
    double *returns, axis[TRACE_MAP];
};

/* All zeros; every episode as long as there is room. */
static struct trace trace_new(size_t episodes, size_t stride, size_t obs_dim)
{
    struct trace t = {.episodes = episodes, .stride = stride, .obs_dim = obs_dim};
    t.obs = arena_new(&t.arena, float, episodes *stride *obs_dim);
    t.length = arena_new(&t.arena, int64_t, episodes);
    t.returns = arena_new(&t.arena, double, episodes);
    for (size_t e = 0; e < episodes; e++)
        t.length[e] = (int64_t)stride - 1;
    return t;
}

/* A map that shows the density of the task gmm. */
static void trace_map_gmm(struct trace *t)
{
    t->map = arena_new(&t->arena, float, TRACE_MAP *TRACE_MAP);
    for (int i = 0; i < TRACE_MAP * TRACE_MAP; i++)
        t->map[i] = (float)gmm_log_density(5 * (i % TRACE_MAP) - 50, 5 * (i / TRACE_MAP) - 50);
    for (int i = 0; i < TRACE_MAP; i++)
        t->axis[i] = 5 * i - 50;
}

static void trace_walk(void *object, struct visitor *v)
{
    struct trace *t = object;
    size_t shape[3] = {t->episodes, t->stride, t->obs_dim};
    v->tensor(v->context, "obs", VISIT_LEARN, VISIT_F32, 3, shape, t->obs);
    visit_vector(v, "returns", VISIT_LEARN, VISIT_F64, t->returns, t->episodes);
    visit_vector(v, "length", VISIT_LEARN, VISIT_I64, t->length, t->episodes);
    if (!t->map)
        return;
    visit_matrix(v, "soft_value", VISIT_LEARN, VISIT_F32, t->map, TRACE_MAP, TRACE_MAP);
    visit_vector(v, "soft_value_x", VISIT_LEARN, VISIT_F64, t->axis, TRACE_MAP);
    visit_vector(v, "soft_value_y", VISIT_LEARN, VISIT_F64, t->axis, TRACE_MAP);
}

/* Writes the file and frees the trace. */
static dqs_status trace_write(struct trace *t, const char *path, const struct safetensors_pair *about)
{
    dqs_error error;
    dqs_status status = safetensors_write(path, about, VISIT_LEARN, trace_walk, t, &error);
    arena_free(&t->arena);
    return status;
}

#endif
