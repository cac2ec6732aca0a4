/* own_env: an environment of your own, handed to the library as a struct of functions. A sledge on a line
 * starts somewhere, slides without friction, and is to come to rest at zero.
 *
 *     own_env [run folder] [steps]        (runs/sledge, 4000 steps)
 *
 * The same struct, exported by `const dqs_env_type *dqs_plugin(void)` from a shared object, is a plug-in that
 * `dqs train ./sledge.so` can learn.
 */
#include <dqs.h>
#include <stdio.h>
#include <stdlib.h>

struct sledge {
    double place, speed;
};

/* Fills in the sizes; the library allocates for them and calls nothing before this. */
static dqs_status sledge_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    static const float low[1] = {-2.0f}, high[1] = {2.0f}; /* the push comes mapped to these bounds */
    (void)user, (void)options;
    *self = calloc(1, sizeof(struct sledge));
    if (!*self) {
        error->status = DQS_E_MEMORY;
        snprintf(error->message, sizeof error->message, "sledge: out of memory");
        return DQS_E_MEMORY;
    }
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
    mixed ^= mixed >> 29;
    mixed *= 0xBF58476D1CE4E5B9u;
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
    s->speed += dt * action[0];
    s->place += dt * s->speed;
    outcome->reward = -s->place * s->place - 0.1 * s->speed * s->speed - 0.01 * action[0] * action[0];
    outcome->terminated = s->place < -5 || s->place > 5; /* off the ice: nothing can be earned any more */
    outcome->truncated = 0;                              /* max_steps is the library's to count */
    if (outcome->terminated)
        outcome->reward -= 100;
    look(s, obs);
    return DQS_OK;
}

/* Optional, but with these two a run that was stopped goes on in the middle of an episode. */
static void sledge_get_state(void *self, double *state)
{
    struct sledge *s = self;
    state[0] = s->place;
    state[1] = s->speed;
}

static dqs_status sledge_set_state(void *self, const double *state, float *obs, dqs_error *error)
{
    struct sledge *s = self;
    (void)error;
    *s = (struct sledge){state[0], state[1]};
    look(s, obs);
    return DQS_OK;
}

static const dqs_env_type sledge_type = {
    .size = sizeof(dqs_env_type),
    .name = "sledge",
    .doc = "bring a sledge to rest at zero",
    .open = sledge_open,
    .close = sledge_close,
    .reset = sledge_reset,
    .step = sledge_step,
    .get_state = sledge_get_state,
    .set_state = sledge_set_state,
};

static dqs_status learn(const char *folder, const char *steps, dqs_error *error)
{
    dqs_config *config = NULL;
    dqs_run *run = NULL;
    dqs_evaluation before, after;

    dqs_status status = dqs_config_create(&config, "dqs", NULL, error);
    if (status == DQS_OK)
        status = dqs_config_set_env(config, &sledge_type, error);
    if (status == DQS_OK)
        status = dqs_config_preset(config, "quick", error);
    if (status == DQS_OK)
        status = dqs_config_set(config, "out", folder, error);
    if (status == DQS_OK)
        status = dqs_config_set(config, "steps", steps, error);
    if (status == DQS_OK)
        status = dqs_run_create(&run, config, error);
    if (status == DQS_OK)
        status = dqs_run_evaluate(run, 20, DQS_ACT_EVALUATE, &before, error);
    if (status == DQS_OK)
        status = dqs_run_step(run, -1, error);
    if (status == DQS_OK)
        status = dqs_run_evaluate(run, 20, DQS_ACT_EVALUATE, &after, error);
    if (status == DQS_OK)
        printf("sledge: mean return %.2f before, %.2f after learning\n", before.mean, after.mean);

    dqs_run_free(run);
    dqs_config_free(config);
    return status;
}

int main(int argc, char **argv)
{
    dqs_error error;
    if (learn(argc > 1 ? argv[1] : "runs/sledge", argc > 2 ? argv[2] : "4000", &error) != DQS_OK) {
        fprintf(stderr, "own_env: %s\n", error.message);
        return 1;
    }
    return 0;
}
