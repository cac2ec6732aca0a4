/* api_batch: dqs_batch, n environments on worker threads, for callers who have a learner of their own. */
#include "env.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside the task's own, a saved row has the step, the number and the return of its episode. */
enum { EXTRA = 3 };

struct dqs_batch {
    const dqs_env_type *type;
    void *handle; /* of the plug-in, if it is one */
    struct arena arena;
    struct pool *pool;
    struct env_batch *envs;
    dqs_spec shown; /* state_dim with EXTRA */
    int live;       /* was reset */
};

static dqs_status open_batch(dqs_batch *b, const char *name, const char *options, int n, int threads,
                             dqs_error *error)
{
    long cores = threads > 0 ? threads : sysconf(_SC_NPROCESSORS_ONLN);
    TRY(env_load(&b->type, &b->handle, name, error));
    cores = cores < 1 ? 1 : cores > n ? n : cores;
    b->pool = pool_create((int)cores);
    if (!b->pool)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", name);
    TRY(env_batch_create(&b->envs, &b->arena, b->type, options, n, 0, b->pool, error));
    b->shown = b->envs->spec;
    b->shown.state_dim += b->shown.state_dim > 0 ? EXTRA : 0;
    return DQS_OK;
}

dqs_status dqs_batch_create(dqs_batch **batch, const char *name, const char *options, int n, int threads,
                            dqs_error *error)
{
    if (!batch || !name)
        return fail(error, DQS_E_USAGE, "dqs_batch_create: %s is NULL", batch ? "name" : "batch");
    *batch = NULL;
    if (n < 1 || n > 4096 || threads < 0 || threads > 1024)
        return fail(error, DQS_E_USAGE, "%s: %d environments on %d threads; 1 .. 4096 on 0 .. 1024", name, n,
                    threads);
    dqs_batch *b = calloc(1, sizeof *b);
    if (!b)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", name);
    dqs_status status = open_batch(b, name, options, n, threads, error);
    if (status != DQS_OK) {
        dqs_batch_free(b);
        return status;
    }
    *batch = b;
    return DQS_OK;
}

const dqs_spec *dqs_batch_spec(const dqs_batch *batch)
{
    return &batch->shown;
}

static size_t obs_bytes(const dqs_batch *batch)
{
    return sizeof(float) * (size_t)batch->envs->n * (size_t)batch->shown.obs_dim;
}

static dqs_status need_life(const dqs_batch *batch, dqs_error *error)
{
    return batch->live ? DQS_OK
                       : fail(error, DQS_E_USAGE, "%s: no episodes are under way; call dqs_batch_reset first",
                              batch->type->name);
}

dqs_status dqs_batch_reset(dqs_batch *batch, uint64_t seed, float *obs, dqs_error *error)
{
    batch->live = 0;
    batch->envs->seed = seed;
    TRY(env_batch_reset(batch->envs, error));
    memcpy(obs, batch->envs->obs, obs_bytes(batch));
    batch->live = 1;
    return DQS_OK;
}

dqs_status dqs_batch_step(dqs_batch *batch, const float *action, float *obs, float *next_obs, float *reward,
                          uint8_t *terminated, uint8_t *truncated, dqs_error *error)
{
    struct env_batch *e = batch->envs;
    TRY(need_life(batch, error));
    batch->live = 0; /* a failed step leaves the rows in different places */
    TRY(env_batch_step(e, action, error));
    memcpy(obs, e->obs, obs_bytes(batch));
    memcpy(next_obs, e->next_obs, obs_bytes(batch));
    memcpy(reward, e->reward, sizeof *reward * (size_t)e->n);
    memcpy(terminated, e->terminated, (size_t)e->n);
    memcpy(truncated, e->truncated, (size_t)e->n);
    batch->live = 1;
    return DQS_OK;
}

static dqs_status state_supported(const dqs_batch *batch, dqs_error *error)
{
    return batch->shown.state_dim > 0
               ? DQS_OK
               : fail(error, DQS_E_UNSUPPORTED,
                      "%s: its state cannot be saved; the type needs get_state and set_state",
                      batch->type->name);
}

dqs_status dqs_batch_get_state(dqs_batch *batch, double *state, uint64_t *seed, dqs_error *error)
{
    struct env_batch *e = batch->envs;
    size_t own = (size_t)e->spec.state_dim;
    TRY(state_supported(batch, error));
    TRY(need_life(batch, error));
    env_batch_capture(e);
    for (int i = 0; i < e->n; i++, state += own + EXTRA) {
        memcpy(state, e->state + (size_t)i * own, sizeof *state * own);
        state[own] = (double)e->episode_step[i];
        state[own + 1] = (double)e->episode[i];
        state[own + 2] = e->episode_return[i];
    }
    *seed = e->seed;
    return DQS_OK;
}

static int is_count(double x, double most)
{
    return x >= 0 && x <= most && x == floor(x);
}

dqs_status dqs_batch_set_state(dqs_batch *batch, const double *state, uint64_t seed, float *obs,
                               dqs_error *error)
{
    struct env_batch *e = batch->envs;
    size_t own = (size_t)e->spec.state_dim;
    double most = e->spec.max_steps > 0 ? e->spec.max_steps - 1 : 9e15;
    TRY(state_supported(batch, error));
    for (int i = 0; i < e->n; i++) {
        const double *extra = state + (size_t)i * (own + EXTRA) + own;
        if (!is_count(extra[0], most) || !is_count(extra[1], 9e15) || !isfinite(extra[2]))
            return fail(error, DQS_E_USAGE,
                        "%s: row %d of the state has step %g, episode %g, return %g; was it made by "
                        "dqs_batch_get_state?",
                        batch->type->name, i, extra[0], extra[1], extra[2]);
    }
    batch->live = 0;
    e->seed = seed;
    for (int i = 0; i < e->n; i++, state += own + EXTRA) {
        memcpy(e->state + (size_t)i * own, state, sizeof *state * own);
        e->episode_step[i] = (long)state[own];
        e->episode[i] = (long)state[own + 1];
        e->episode_return[i] = state[own + 2];
    }
    TRY(env_batch_restore(e, error));
    memcpy(obs, e->obs, obs_bytes(batch));
    batch->live = 1;
    return DQS_OK;
}

void dqs_batch_free(dqs_batch *batch)
{
    if (!batch)
        return;
    env_batch_close(batch->envs);
    pool_free(batch->pool);
    arena_free(&batch->arena);
    env_unload(batch->handle);
    free(batch);
}
