/* env_single: one environment instance behind checks: a spec that makes sense, actions inside the bounds, no
 * number gone bad. Callbacks are foreign code, so they always get an error to fill, and a failure without a
 * message gets one. */
#include "env.h"
#include <math.h>
#include <string.h>

/* Hands on what a callback reported, in front of it the task and the verb. */
static dqs_status callback_failed(const dqs_env_type *type, const char *verb, dqs_status status,
                                  dqs_error *inner, dqs_error *error)
{
    inner->message[sizeof inner->message - 1] = '\0';
    inner->message[strcspn(inner->message, "\n")] = '\0';
    size_t length = strlen(type->name);
    const char *own =
        strncmp(inner->message, type->name, length) == 0 && inner->message[length] == ':' ? NULL : type->name;
    return fail(error, status, "%s%s%.300s", own ? own : "", own ? ": " : "",
                inner->message[0] ? inner->message : verb);
}

static dqs_status step_failed(const dqs_env_type *type, long step, dqs_status status, dqs_error *inner,
                              dqs_error *error)
{
    dqs_error named = {0};
    callback_failed(type, "step failed without a message", status, inner, &named);
    return fail(error, status, "%.400s (step %ld of the episode)", named.message, step);
}

static dqs_status check_spec(const dqs_env_type *type, const dqs_spec *spec, dqs_error *error)
{
    if (spec->obs_dim < 1 || spec->act_dim < 1)
        return fail(error, DQS_E_ENV, "%s: obs_dim is %d and act_dim is %d; open must set both to 1 or more",
                    type->name, spec->obs_dim, spec->act_dim);
    if (spec->max_steps < 0 || spec->state_dim < 0)
        return fail(error, DQS_E_ENV, "%s: max_steps is %d and state_dim is %d; neither may be negative",
                    type->name, spec->max_steps, spec->state_dim);
    if (spec->state_dim > 0 && !type->get_state)
        return fail(error, DQS_E_ENV,
                    "%s: state_dim is %d without get_state and set_state; set it to 0 or give both",
                    type->name, spec->state_dim);
    if (!spec->act_low != !spec->act_high)
        return fail(error, DQS_E_ENV, "%s: has only one of act_low and act_high; give both or none",
                    type->name);
    for (int i = 0; spec->act_low && i < spec->act_dim; i++)
        if (!isfinite(spec->act_low[i]) || !isfinite(spec->act_high[i]) ||
            spec->act_low[i] >= spec->act_high[i])
            return fail(error, DQS_E_ENV,
                        "%s: bounds of action %d are %g and %g; they must be finite and low < high",
                        type->name, i, (double)spec->act_low[i], (double)spec->act_high[i]);
    return DQS_OK;
}

dqs_status env_open(const dqs_env_type *type, void **self, dqs_spec *spec, const char *options,
                    dqs_error *error)
{
    dqs_error inner = {0};
    memset(spec, 0, sizeof *spec);
    *self = NULL;
    dqs_status status = type->open(self, spec, type->user, options ? options : "", &inner);
    if (status != DQS_OK)
        return callback_failed(type, "open failed without a message", status, &inner, error);
    if (!type->get_state)
        spec->state_dim = 0;
    status = check_spec(type, spec, error);
    if (status != DQS_OK) {
        type->close(*self);
        *self = NULL;
    }
    return status;
}

static dqs_status check_obs(const dqs_env_type *type, const float *obs, const dqs_spec *spec, long step,
                            dqs_error *error)
{
    for (int i = 0; i < spec->obs_dim; i++)
        if (!isfinite(obs[i]))
            return fail(error, DQS_E_NUMERIC,
                        "%s: entry %d of the observation is %g at step %ld of the episode; "
                        "look at the task's dynamics",
                        type->name, i, (double)obs[i], step);
    return DQS_OK;
}

dqs_status env_reset(const dqs_env_type *type, void *self, float *obs, const dqs_spec *spec, uint64_t seed,
                     dqs_error *error)
{
    dqs_error inner = {0};
    dqs_status status = type->reset(self, seed, obs, &inner);
    if (status != DQS_OK)
        return callback_failed(type, "reset failed without a message", status, &inner, error);
    return check_obs(type, obs, spec, 0, error);
}

/* mapped = centre + half range * a, in double so that the bounds -1 and 1 leave an action as it is. */
static dqs_status map_action(const dqs_env_type *type, float *mapped, const dqs_spec *spec,
                             const float *box_action, long step, dqs_error *error)
{
    for (int i = 0; i < spec->act_dim; i++) {
        double a = box_action[i];
        if (!isfinite(a))
            return fail(error, DQS_E_NUMERIC,
                        "%s: entry %d of the action is %g at step %ld of the episode; the "
                        "policy has gone bad",
                        type->name, i, a, step);
        double low = spec->act_low ? spec->act_low[i] : -1.0, high = spec->act_high ? spec->act_high[i] : 1.0;
        a = a < -1.0 ? -1.0 : a > 1.0 ? 1.0 : a;
        mapped[i] = (float)(0.5 * (low + high) + 0.5 * (high - low) * a);
    }
    return DQS_OK;
}

dqs_status env_step(const dqs_env_type *type, void *self, float *mapped, float *obs, dqs_outcome *outcome,
                    const dqs_spec *spec, const float *box_action, long step, dqs_error *error)
{
    TRY(map_action(type, mapped, spec, box_action, step, error));
    *outcome = (dqs_outcome){0};
    dqs_error inner;
    inner.message[0] = '\0'; /* all of it would be half a kilobyte to clear at every step */
    dqs_status status = type->step(self, mapped, obs, outcome, &inner);
    if (status != DQS_OK)
        return step_failed(type, step, status, &inner, error);
    TRY(check_obs(type, obs, spec, step, error));
    if (!isfinite((float)outcome->reward)) /* as the learner will see it */
        return fail(error, DQS_E_NUMERIC,
                    "%s: the reward is %g at step %ld of the episode; look at the task's reward", type->name,
                    outcome->reward, step);
    outcome->terminated = outcome->terminated != 0;
    outcome->truncated =
        !outcome->terminated && (outcome->truncated || (spec->max_steps > 0 && step >= spec->max_steps));
    return DQS_OK;
}
