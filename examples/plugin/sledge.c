/* sledge: an environment in a shared object. A sledge on a line starts somewhere, slides without friction,
 * and is to come to rest at zero, in spite of a wind whose strength is an option.
 *
 *     make && dqs train --env ./sledge.so --preset quick --steps 4000
 *     dqs train --env ./sledge.so --preset quick --set env_options=0.5
 *
 * It includes dqs.h and is linked with nothing: the program that loads it brings the rest. examples/own_env.c
 * hands the same struct to the library instead. */
#include <dqs.h>
#include <stdio.h>
#include <stdlib.h>

struct sledge {
    double place, speed, wind;
};

static dqs_status wrong(dqs_error *error, dqs_status status, const char *what)
{
    error->status = status;
    snprintf(error->message, sizeof error->message, "sledge: %s", what);
    return status;
}

static dqs_status sledge_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    static const float low[1] = {-2.0f}, high[1] = {2.0f}; /* the push comes mapped to these bounds */
    char *end;
    (void)user;
    double wind = strtod(options, &end);
    if (*end || wind < -1 || wind > 1)
        return wrong(error, DQS_E_OPTION, "env_options: the wind, a number from -1 to 1");
    struct sledge *s = calloc(1, sizeof *s);
    if (!s)
        return wrong(error, DQS_E_MEMORY, "out of memory");
    s->wind = wind;
    *self = s;
    *spec = (dqs_spec){
        .obs_dim = 2, .act_dim = 1, .max_steps = 60, .state_dim = 2, .act_low = low, .act_high = high};
    return DQS_OK;
}

static void sledge_close(void *self)
{
    free(self);
}

static void look(const struct sledge *s, float *obs)
{
    obs[0] = (float)s->place;
    obs[1] = (float)s->speed;
}

/* All randomness of an episode follows from the seed: that is what makes runs repeatable. */
static dqs_status sledge_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct sledge *s = self;
    (void)error;
    uint64_t mixed = (seed + 1) * 0x9E3779B97F4A7C15u; /* neighbouring seeds, far places */
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u;
    s->place = (double)(mixed >> 11) / 9007199254740992.0 * 2 - 1;
    s->speed = 0;
    look(s, obs);
    return DQS_OK;
}

static dqs_status sledge_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                              dqs_error *error)
{
    struct sledge *s = self;
    const double dt = 0.1;
    (void)error;
    s->speed += dt * (action[0] + s->wind);
    s->place += dt * s->speed;
    outcome->reward = -s->place * s->place - 0.1 * s->speed * s->speed - 0.01 * action[0] * action[0];
    look(s, obs); /* max_steps is the library's to count: nothing ends here */
    return DQS_OK;
}

/* Optional, but with these two a run that was stopped goes on in the middle of an episode. */
static void sledge_get_state(void *self, double *state)
{
    const struct sledge *s = self;
    state[0] = s->place;
    state[1] = s->speed;
}

static dqs_status sledge_set_state(void *self, const double *state, float *obs, dqs_error *error)
{
    struct sledge *s = self;
    (void)error;
    s->place = state[0];
    s->speed = state[1];
    look(s, obs);
    return DQS_OK;
}

/* The one name that is looked up. */
const dqs_env_type *dqs_plugin(void)
{
    static const dqs_env_type type = {.size = sizeof(dqs_env_type),
                                      .name = "sledge",
                                      .doc = "bring a sledge to rest at zero",
                                      .open = sledge_open,
                                      .close = sledge_close,
                                      .reset = sledge_reset,
                                      .step = sledge_step,
                                      .get_state = sledge_get_state,
                                      .set_state = sledge_set_state};
    return &type;
}
