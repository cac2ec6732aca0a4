/* pendulum: dynamics and reward of Gymnasium's Pendulum-v1. The reward is that of the angle and speed before
 * the step. State (2 doubles): theta (0 is upright, not wrapped), theta_dot. Observation: cos theta, sin
 * theta, theta_dot. */
#include "pendulum.h"
#include "env_options.h"
#include "rng.h"
#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;
static const double gravity = 10.0, mass = 1.0, length = 1.0, time_step = 0.05, max_speed = 8.0,
                    max_torque = 2.0;
static const float torque_low[1] = {-2.0f}, torque_high[1] = {2.0f};

struct pendulum {
    double theta, theta_dot;
};

static void observe(const struct pendulum *p, float *obs)
{
    obs[0] = (float)cos(p->theta);
    obs[1] = (float)sin(p->theta);
    obs[2] = (float)p->theta_dot;
}

/* Into [-pi, pi), with the sign rule of Python's %. */
static double wrap(double angle)
{
    double turned = fmod(angle + pi, 2.0 * pi);
    return (turned < 0.0 ? turned + 2.0 * pi : turned) - pi;
}

static double clip(double value, double limit)
{
    return value < -limit ? -limit : value > limit ? limit : value;
}

static dqs_status pendulum_open(void **self, dqs_spec *spec, void *user, const char *options,
                                dqs_error *error)
{
    (void)user;
    TRY(env_options_parse("pendulum", NULL, NULL, options, error));
    *self = calloc(1, sizeof(struct pendulum));
    if (!*self)
        return fail(error, DQS_E_MEMORY, "pendulum: out of memory");
    *spec = (dqs_spec){.obs_dim = 3,
                       .act_dim = 1,
                       .max_steps = 200,
                       .state_dim = 2,
                       .act_low = torque_low,
                       .act_high = torque_high};
    return DQS_OK;
}

static dqs_status pendulum_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct pendulum *p = self;
    struct rng rng;
    (void)error;
    rng_seed(&rng, seed, RNG_ENV);
    p->theta = pi * (2.0 * rng_uniform(&rng) - 1.0);
    p->theta_dot = 2.0 * rng_uniform(&rng) - 1.0;
    observe(p, obs);
    return DQS_OK;
}

static dqs_status pendulum_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                                dqs_error *error)
{
    struct pendulum *p = self;
    double torque = clip(action[0], max_torque), angle = wrap(p->theta);
    (void)error;
    outcome->reward = -(angle * angle + 0.1 * p->theta_dot * p->theta_dot + 0.001 * torque * torque);
    double acceleration =
        3.0 * gravity / (2.0 * length) * sin(p->theta) + 3.0 / (mass * length * length) * torque;
    p->theta_dot = clip(p->theta_dot + acceleration * time_step, max_speed);
    p->theta += p->theta_dot * time_step;
    observe(p, obs);
    return DQS_OK;
}

static void pendulum_get_state(void *self, double *state)
{
    const struct pendulum *p = self;
    state[0] = p->theta;
    state[1] = p->theta_dot;
}

static dqs_status pendulum_set_state(void *self, const double *state, float *obs, dqs_error *error)
{
    struct pendulum *p = self;
    if (!isfinite(state[0]) || !(fabs(state[1]) <= max_speed))
        return fail(error, DQS_E_USAGE, "pendulum: state (%g, %g) is not an angle and a speed of at most %g",
                    state[0], state[1], max_speed);
    p->theta = state[0];
    p->theta_dot = state[1];
    observe(p, obs);
    return DQS_OK;
}

const dqs_env_type pendulum_type = {
    .size = sizeof(dqs_env_type),
    .name = "pendulum",
    .doc = "swing a pendulum up with a weak motor (Gymnasium's Pendulum-v1), 200 steps",
    .open = pendulum_open,
    .close = free,
    .reset = pendulum_reset,
    .step = pendulum_step,
    .get_state = pendulum_get_state,
    .set_state = pendulum_set_state,
};
