/* api_agent: a learner without an environment, for programs that own the loop. */
#include "handles.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dqs_agent {
    struct config *config;
    struct compute *compute;
    struct arena arena;
    void *self;
    int obs_dim, act_dim, n_envs, max_rows;
    bool terminates;
    long updates;
    struct log_sink log; /* of the last update */
};

static void visit_agent(void *object, struct visitor *visitor)
{
    struct dqs_agent *agent = object;
    agent->config->algo->visit(agent->self, visitor);
    visit_long(visitor, "agent/updates", VISIT_LEARN, &agent->updates);
}

/* Without an environment to ask, an end must be taken as possible. */
static dqs_status can_terminate(const struct config *config, bool *terminates, dqs_error *error)
{
    struct arena arena = {0};
    struct env_batch *envs;
    *terminates = true;
    if (!config->env)
        return DQS_OK;
    dqs_status status =
        env_batch_create(&envs, &arena, config->env, config->value.run.env_options, 1, 0, NULL, error);
    if (status == DQS_OK) {
        *terminates = envs->spec.terminates;
        env_batch_close(envs);
    }
    arena_free(&arena);
    return status;
}

static dqs_status build(struct dqs_agent *agent, const struct config *config, dqs_error *error)
{
    TRY(config_clone(&agent->config, config, error));
    const struct run_options *o = &agent->config->value.run;
    TRY(can_terminate(agent->config, &agent->terminates, error));
    long threads = o->threads > 0 ? o->threads : sysconf(_SC_NPROCESSORS_ONLN);
    agent->compute = compute_create((int)(threads > 0 ? threads : 1), o->kernels, error);
    if (!agent->compute)
        return DQS_E_OPTION;
    agent->max_rows = agent->n_envs > 64 ? agent->n_envs : 64;
    struct algo_setup setup = {.compute = agent->compute,
                               .options = agent->config->value.algo,
                               .obs_dim = agent->obs_dim,
                               .act_dim = agent->act_dim,
                               .n_envs = agent->n_envs,
                               .total_steps = o->steps,
                               .total_updates = o->stop_updates,
                               .seed = (uint64_t)o->seed,
                               .terminates = agent->terminates,
                               .max_rows = agent->max_rows};
    return agent->config->algo->create(&agent->self, &agent->arena, &setup, error);
}

dqs_status dqs_agent_create(dqs_agent **out, const dqs_config *config, int obs_dim, int act_dim, int n_envs,
                            dqs_error *error)
{
    NEED(out, error);
    NEED(config, error);
    *out = NULL;
    if (obs_dim < 1 || act_dim < 1 || n_envs < 1 || n_envs > 4096)
        return fail(error, DQS_E_USAGE,
                    "agent: %d observations, %d actions, %d environments; each must be at least 1", obs_dim,
                    act_dim, n_envs);
    struct dqs_agent *agent = calloc(1, sizeof *agent);
    if (!agent)
        return fail(error, DQS_E_MEMORY, "agent: out of memory");
    agent->obs_dim = obs_dim;
    agent->act_dim = act_dim;
    agent->n_envs = n_envs;
    dqs_status status = build(agent, config_inside(config), error);
    if (status != DQS_OK) {
        dqs_agent_free(agent);
        return status;
    }
    *out = agent;
    return DQS_OK;
}

dqs_status dqs_agent_act(dqs_agent *agent, const float *obs, int rows, dqs_act_mode mode, float *action,
                         dqs_error *error)
{
    NEED(agent, error);
    NEED(obs, error);
    NEED(action, error);
    /* Exploring is part of training and has one row per environment; evaluation may have any number. */
    if (rows < 1 || (mode == DQS_ACT_EXPLORE && rows != agent->n_envs))
        return fail(error, DQS_E_USAGE, "agent: act on %d rows; exploring needs %d", rows, agent->n_envs);
    for (int row = 0; row < rows; row += agent->max_rows) {
        int some = rows - row < agent->max_rows ? rows - row : agent->max_rows;
        TRY(agent->config->algo->act(agent->self, action + (size_t)row * (size_t)agent->act_dim,
                                     obs + (size_t)row * (size_t)agent->obs_dim, some, mode, error));
    }
    return DQS_OK;
}

static dqs_status check_finite(const char *what, const float *x, int rows, int columns, dqs_error *error)
{
    for (int i = 0; i < rows * columns; i++)
        if (!isfinite(x[i]))
            return fail(error, DQS_E_NUMERIC, "agent: %s is %g in row %d, entry %d; mend the environment",
                        what, (double)x[i], i / columns, i % columns);
    return DQS_OK;
}

dqs_status dqs_agent_observe(dqs_agent *agent, const float *obs, const float *action, const float *reward,
                             const float *next_obs, const uint8_t *terminated, const uint8_t *truncated,
                             dqs_error *error)
{
    NEED(agent, error);
    NEED(obs, error);
    NEED(action, error);
    NEED(reward, error);
    NEED(next_obs, error);
    NEED(terminated, error);
    NEED(truncated, error);
    int n = agent->n_envs;
    TRY(check_finite("obs", obs, n, agent->obs_dim, error));
    TRY(check_finite("action", action, n, agent->act_dim, error));
    TRY(check_finite("reward", reward, n, 1, error));
    TRY(check_finite("next_obs", next_obs, n, agent->obs_dim, error));
    agent->config->algo->observe(agent->self, &(struct transitions){.rows = n,
                                                                    .obs = obs,
                                                                    .action = action,
                                                                    .reward = reward,
                                                                    .next_obs = next_obs,
                                                                    .terminated = terminated,
                                                                    .truncated = truncated});
    return DQS_OK;
}

int dqs_agent_update_due(const dqs_agent *agent)
{
    return agent && agent->config->algo->update_due(agent->self);
}

dqs_status dqs_agent_update(dqs_agent *agent, dqs_error *error)
{
    NEED(agent, error);
    log_clear(&agent->log);
    agent->config->algo->update(agent->self, &agent->log);
    agent->updates++;
    for (int i = 0; i < agent->log.count; i++)
        if (!isfinite(agent->log.rows[i].sum) && strncmp(agent->log.rows[i].name, "train/", 6) == 0)
            return fail(error, DQS_E_NUMERIC, "%s became %g in update %ld; try a smaller learning rate",
                        agent->log.rows[i].name, agent->log.rows[i].sum, agent->updates);
    return DQS_OK;
}

int dqs_agent_metrics(const dqs_agent *agent, dqs_number *out, int capacity)
{
    int n = agent ? agent->log.count : 0;
    n = n < capacity ? n : capacity;
    for (int i = 0; i < n; i++) {
        snprintf(out[i].name, sizeof out[i].name, "%s", agent->log.rows[i].name);
        out[i].value = agent->log.rows[i].sum / (double)agent->log.rows[i].n;
    }
    return n;
}

dqs_status dqs_agent_save(dqs_agent *agent, const char *path, dqs_error *error)
{
    NEED(agent, error);
    NEED(path, error);
    struct checkpoint_part parts[] = {{visit_agent, agent}, {NULL, NULL}};
    char name[CHECKPOINT_NAME_SIZE], obs_dim[16], act_dim[16];
    size_t index;
    if (checkpoint_find_bad(parts, name, &index))
        return fail(error, DQS_E_NUMERIC, "%s: not saved: %s[%zu] is not a finite number", path, name, index);
    snprintf(obs_dim, sizeof obs_dim, "%d", agent->obs_dim);
    snprintf(act_dim, sizeof act_dim, "%d", agent->act_dim);
    char *yaml = config_write(agent->config, NULL);
    if (!yaml)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", path);
    const struct safetensors_pair metadata[] = {{"env", agent->config->env_name},
                                                {"algo", agent->config->algo->name},
                                                {"obs_dim", obs_dim},
                                                {"act_dim", act_dim},
                                                {"terminates", agent->terminates ? "1" : "0"},
                                                {"version", DQS_VERSION},
                                                {"config", yaml},
                                                {NULL, NULL}};
    dqs_status status = checkpoint_save(path, parts, CHECKPOINT_ALL, metadata, error);
    free(yaml);
    return status;
}

dqs_status dqs_agent_load(dqs_agent *agent, const char *path, dqs_error *error)
{
    NEED(agent, error);
    NEED(path, error);
    struct checkpoint_part parts[] = {{visit_agent, agent}, {NULL, NULL}};
    return checkpoint_load(path, parts, CHECKPOINT_ALL, error);
}

void dqs_agent_free(dqs_agent *agent)
{
    if (!agent)
        return;
    compute_free(agent->compute);
    arena_free(&agent->arena);
    config_free(agent->config);
    free(agent);
}
