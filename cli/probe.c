/* probe: see probe.h. */
#include "probe.h"
#include "dqs.h"
#include "number.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 64
#define LEAST_TIME 0.2 /* s of updates, */
#define LEAST_UPDATES 2
#define MOST_STEPS 20000 /* without an update coming due */

struct bench {
    dqs_config *config;
    dqs_env *env;
    dqs_agent *agent;
    const dqs_spec *spec;
    float *obs, *next, *action;
};

/* Of this thread, which does all the work: what others do on the machine meanwhile does not count. */
static double seconds_worked(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double option(const dqs_config *config, const char *key, double otherwise)
{
    double value;
    const char *text = dqs_config_get(config, key);
    return text && number_read(text, &value) ? value : otherwise;
}

/* Only options that change nothing about the cost of an action or an update. */
static bool shorten(dqs_config *config)
{
    static const struct {
        const char *key, *value;
    } changes[] = {{"warmup", "256"}, {"replay", "4096"}, {"threads", "1"}, {"action_repeat", "1"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (dqs_config_get(config, changes[i].key) &&
            dqs_config_set(config, changes[i].key, changes[i].value, NULL) != DQS_OK)
            return false;
    return true;
}

static bool configure(struct bench *b, struct probe *probe, const struct sweep_run *run)
{
    bool good = dqs_config_create(&b->config, run->algo, run->task, NULL) == DQS_OK &&
                dqs_config_preset(b->config, run->preset, NULL) == DQS_OK;
    for (int i = 0; good && i < run->n_settings; i++)
        good = dqs_config_set(b->config, run->settings[i].key, run->settings[i].value, NULL) == DQS_OK;
    if (!good)
        return false;
    double epochs = option(b->config, "epochs", 0), batch = option(b->config, "batch", 1);
    probe->warmup = (long)option(b->config, "warmup", 0);
    probe->repeat = option(b->config, "action_repeat", 1);
    probe->updates = epochs > 0 ? epochs / (batch * probe->repeat) : option(b->config, "updates_per_step", 1);
    probe->every = (long)option(b->config, "eval_every", 0);
    probe->some = (long)option(b->config, "eval_episodes", 1);
    probe->final = (long)option(b->config, "final_episodes", 1);
    return shorten(b->config);
}

static bool open_bench(struct bench *b, struct probe *probe, const struct sweep_run *run)
{
    if (!configure(b, probe, run) ||
        dqs_env_create(&b->env, run->task, dqs_config_get(b->config, "env_options"), NULL) != DQS_OK)
        return false;
    b->spec = dqs_env_spec(b->env);
    size_t d = (size_t)b->spec->obs_dim, a = (size_t)b->spec->act_dim;
    b->obs = calloc(ROWS * d, sizeof *b->obs);
    b->next = calloc(d, sizeof *b->next);
    b->action = calloc(ROWS * a, sizeof *b->action);
    return b->obs && b->next && b->action &&
           dqs_agent_create(&b->agent, b->config, (int)d, (int)a, 1, NULL) == DQS_OK &&
           dqs_env_reset(b->env, 0, b->obs, NULL) == DQS_OK;
}

static void close_bench(struct bench *b)
{
    dqs_agent_free(b->agent);
    dqs_env_free(b->env);
    dqs_config_free(b->config);
    free(b->obs);
    free(b->next);
    free(b->action);
}

static bool step(struct bench *b, double *act)
{
    dqs_outcome outcome;
    double begin = seconds_worked();
    if (dqs_agent_act(b->agent, b->obs, 1, DQS_ACT_EXPLORE, b->action, NULL) != DQS_OK)
        return false;
    *act += seconds_worked() - begin;
    if (dqs_env_step(b->env, b->action, b->next, &outcome, NULL) != DQS_OK)
        return false;
    float reward = (float)outcome.reward;
    uint8_t terminated = outcome.terminated != 0, truncated = outcome.truncated != 0;
    if (dqs_agent_observe(b->agent, b->obs, b->action, &reward, b->next, &terminated, &truncated, NULL) !=
        DQS_OK)
        return false;
    memcpy(b->obs, b->next, sizeof *b->obs * (size_t)b->spec->obs_dim);
    return !(terminated || truncated) || dqs_env_reset(b->env, 1, b->obs, NULL) == DQS_OK;
}

/* The loop of training; the first update is not timed, it wakes up memory. */
static bool train(struct bench *b, struct probe *probe)
{
    double act = 0, update = 0, learned = 0;
    long steps = 0, updates = -1;
    bool good = true;
    while (good && (updates < LEAST_UPDATES || update < LEAST_TIME) && steps < MOST_STEPS) {
        double acted = 0;
        good = step(b, &acted);
        if (updates >= 0) { /* before, actions may be random and cost nothing */
            act += acted;
            learned++;
        }
        steps++;
        while (good && dqs_agent_update_due(b->agent) && (updates < LEAST_UPDATES || update < LEAST_TIME)) {
            double begin = seconds_worked();
            good = dqs_agent_update(b->agent, NULL) == DQS_OK;
            update += updates++ < 0 ? 0 : seconds_worked() - begin;
        }
    }
    probe->update = updates > 0 ? update / (double)updates : 0;
    probe->act = learned > 0 ? act / learned : 0;
    return good && updates > 0;
}

bool probe_run(struct probe *probe, const struct sweep_run *run)
{
    struct bench b = {0};
    *probe = (struct probe){0};
    bool good = open_bench(&b, probe, run) && train(&b, probe);
    for (int i = 0; good && i < 2; i++) { /* the second counts */
        double begin = seconds_worked();
        good = dqs_agent_act(b.agent, b.obs, ROWS, DQS_ACT_EVALUATE, b.action, NULL) == DQS_OK;
        probe->row = (seconds_worked() - begin) / ROWS;
    }
    close_bench(&b);
    return good;
}

bool probe_task(double *seconds, long *length, const char *task)
{
    enum { STEPS = 100 };
    dqs_env *env = NULL;
    if (dqs_env_create(&env, task, NULL, NULL) != DQS_OK)
        return false;
    const dqs_spec *spec = dqs_env_spec(env);
    float *obs = calloc((size_t)spec->obs_dim, sizeof *obs),
          *action = calloc((size_t)spec->act_dim, sizeof *action);
    bool good = obs && action && dqs_env_reset(env, 0, obs, NULL) == DQS_OK;
    dqs_outcome outcome;
    double begin = seconds_worked();
    for (int i = 0; good && i < STEPS; i++) {
        good = dqs_env_step(env, action, obs, &outcome, NULL) == DQS_OK;
        if (good && (outcome.terminated || outcome.truncated))
            good = dqs_env_reset(env, 0, obs, NULL) == DQS_OK;
    }
    *seconds = (seconds_worked() - begin) / STEPS;
    *length = spec->max_steps > 0 ? spec->max_steps : 1000;
    dqs_env_free(env);
    free(obs);
    free(action);
    return good;
}

double probe_seconds(const struct probe *p, double env_step, long length, long begin, long steps)
{
    double left = (double)(steps - begin), actions = left / p->repeat,
           learning = (double)(steps - (begin > p->warmup ? begin : p->warmup));
    double evaluations = p->every > 0 ? left / (double)p->every : 0;
    double evaluated = (evaluations * (double)p->some + (double)p->final) * (double)length;
    return actions * p->act + (left + evaluated) * env_step +
           (learning > 0 ? learning * p->updates * p->update : 0) + evaluated / p->repeat * p->row;
}
