/* A plug-in environment for the tests: counts up, ends by itself at 5, has lopsided action bounds and no
 * saved state. */
#include "dqs.h"
#include <stdlib.h>

static const float low[2] = {-3.0f, 0.0f}, high[2] = {1.0f, 10.0f};

static dqs_status counter_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    (void)user, (void)options, (void)error;
    *self = calloc(1, sizeof(int));
    *spec = (dqs_spec){.obs_dim = 3, .act_dim = 2, .terminates = 1, .act_low = low, .act_high = high};
    return *self ? DQS_OK : DQS_E_MEMORY;
}

static dqs_status counter_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    (void)seed, (void)error;
    *(int *)self = 0;
    obs[0] = obs[1] = obs[2] = 0.0f;
    return DQS_OK;
}

static dqs_status counter_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                               dqs_error *error)
{
    int count = ++*(int *)self;
    (void)error;
    obs[0] = (float)count;
    obs[1] = action[0];
    obs[2] = action[1];
    outcome->reward = count;
    outcome->terminated = count == 5;
    return DQS_OK;
}

static const dqs_env_type counter = {
    .size = sizeof(dqs_env_type),
    .name = "counter",
    .doc = "counts to five",
    .open = counter_open,
    .close = free,
    .reset = counter_reset,
    .step = counter_step,
};

const dqs_env_type *dqs_plugin(void);
const dqs_env_type *dqs_plugin(void)
{
    return &counter;
}
