/* api_env: dqs_env, one environment for callers who have a learner of their own. It does not reset by itself:
 * after the end of an episode the caller must. */
#include "env.h"
#include <math.h>
#include <stdlib.h>

struct dqs_env {
    const dqs_env_type *type;
    void *handle; /* of the plug-in, if it is one */
    void *self;
    dqs_spec spec;  /* the task's own */
    dqs_spec shown; /* its state_dim has the episode step added */
    float *mapped;
    long step;
    int live; /* an episode is under way */
};

dqs_status dqs_env_create(dqs_env **env, const char *name, const char *options, dqs_error *error)
{
    if (!env)
        return fail(error, DQS_E_USAGE, "dqs_env_create: env is NULL; give a place for the handle");
    *env = NULL;
    if (!name)
        return fail(error, DQS_E_USAGE,
                    "dqs_env_create: the name is NULL; see dqs_env_name for what there is");
    dqs_env *e = calloc(1, sizeof *e);
    if (!e)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", name);
    dqs_status status = env_load(&e->type, &e->handle, name, error);
    if (status == DQS_OK)
        status = env_open(e->type, &e->self, &e->spec, options, error);
    if (status != DQS_OK) {
        env_unload(e->handle);
        free(e);
        return status;
    }
    e->shown = e->spec;
    e->shown.state_dim += e->spec.state_dim > 0;
    e->mapped = calloc((size_t)e->spec.act_dim, sizeof *e->mapped);
    if (!e->mapped) {
        dqs_env_free(e);
        return fail(error, DQS_E_MEMORY, "%s: out of memory", name);
    }
    *env = e;
    return DQS_OK;
}

const dqs_spec *dqs_env_spec(const dqs_env *env)
{
    return &env->shown;
}

dqs_status dqs_env_reset(dqs_env *env, uint64_t seed, float *obs, dqs_error *error)
{
    env->step = 0;
    env->live = 0;
    TRY(env_reset(env->type, env->self, obs, &env->spec, seed, error));
    env->live = 1;
    return DQS_OK;
}

dqs_status dqs_env_step(dqs_env *env, const float *action, float *obs, dqs_outcome *outcome, dqs_error *error)
{
    if (!env->live)
        return fail(error, DQS_E_USAGE, "%s: no episode is under way; call dqs_env_reset first",
                    env->type->name);
    dqs_status status =
        env_step(env->type, env->self, env->mapped, obs, outcome, &env->spec, action, env->step + 1, error);
    env->live = status == DQS_OK && !outcome->terminated && !outcome->truncated;
    env->step += status == DQS_OK;
    return status;
}

static dqs_status state_supported(const dqs_env *env, dqs_error *error)
{
    if (env->spec.state_dim > 0)
        return DQS_OK;
    return fail(error, DQS_E_UNSUPPORTED,
                "%s: its state cannot be saved; the type needs get_state and set_state", env->type->name);
}

dqs_status dqs_env_get_state(dqs_env *env, double *state, dqs_error *error)
{
    TRY(state_supported(env, error));
    if (!env->live)
        return fail(error, DQS_E_USAGE, "%s: no episode is under way; call dqs_env_reset first",
                    env->type->name);
    env->type->get_state(env->self, state);
    state[env->spec.state_dim] = (double)env->step;
    return DQS_OK;
}

dqs_status dqs_env_set_state(dqs_env *env, const double *state, float *obs, dqs_error *error)
{
    TRY(state_supported(env, error));
    double step = state[env->spec.state_dim];
    double most = env->spec.max_steps > 0 ? env->spec.max_steps - 1 : 9e15;
    if (!(step >= 0.0 && step <= most && step == floor(step)))
        return fail(error, DQS_E_USAGE,
                    "%s: the episode step of the state is %g; it must be a whole number from 0 to "
                    "%g",
                    env->type->name, step, most);
    env->live = 0;
    dqs_error inner = {0};
    dqs_status status = env->type->set_state(env->self, state, obs, &inner);
    if (status != DQS_OK)
        return fail(error, status, "%.450s",
                    inner.message[0] ? inner.message : "set_state failed without a message");
    env->step = (long)step;
    env->live = 1;
    return DQS_OK;
}

void dqs_env_free(dqs_env *env)
{
    if (!env)
        return;
    env->type->close(env->self);
    env_unload(env->handle);
    free(env->mapped);
    free(env);
}

const char *dqs_env_name(int index, const char **doc)
{
    int count = 0;
    while (env_table[count])
        count++;
    if (index < 0 || index >= count)
        return NULL;
    if (doc)
        *doc = env_table[index]->doc ? env_table[index]->doc : "";
    return env_table[index]->name;
}
