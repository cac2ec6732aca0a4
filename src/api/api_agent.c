/* api_agent: a learner without an environment, for programs that own the loop. */
#include "handles.h"
#include "number.h"
#include <math.h>
#include <setjmp.h>
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
    int64_t *noise_ticket;   /* of the stream that evaluation draws from; NULL: it draws nothing */
    char *note, *low, *high; /* texts that are kept in its files; NULL: none */
    struct log_sink log;     /* of the last update */
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
    *terminates = !config->endless;
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

static void find_ticket(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct dqs_agent *agent = context;
    (void)kind, (void)type, (void)rank, (void)shape;
    if (strcmp(name, "rng/evaluate") == 0)
        agent->noise_ticket = data;
}

/* The options may ask for more memory than there is, and a program that is not ours must live on. */
static dqs_status create_learner(struct dqs_agent *agent, const struct algo_setup *setup, dqs_error *error)
{
    jmp_buf give_up;
    if (setjmp(give_up))
        return fail(error, DQS_E_MEMORY, "agent: not enough memory; try a smaller replay buffer or batch");
    agent->arena.give_up = &give_up;
    dqs_status status = agent->config->algo->create(&agent->self, &agent->arena, setup, error);
    agent->arena.give_up = NULL;
    return status;
}

/* Of the configuration and the sizes that stand in it already. */
static dqs_status build(struct dqs_agent *agent, dqs_error *error)
{
    const struct run_options *o = &agent->config->value.run;
    TRY(compute_create(&agent->compute, (int)o->threads, o->kernels, error));
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
    TRY(create_learner(agent, &setup, error));
    struct visitor visitor = {.tensor = find_ticket, .context = agent};
    agent->config->algo->visit(agent->self, &visitor);
    return DQS_OK;
}

static dqs_status make(struct dqs_agent **out, int obs_dim, int act_dim, int n_envs, dqs_error *error)
{
    if (obs_dim < 1 || obs_dim > 1000000 || act_dim < 1 || act_dim > 100000 || n_envs < 1 || n_envs > 4096)
        return fail(error, DQS_E_USAGE,
                    "agent: %d observations, %d actions, %d environments; each must be at least 1, and at "
                    "most 1000000, 100000 and 4096",
                    obs_dim, act_dim, n_envs);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return fail(error, DQS_E_MEMORY, "agent: out of memory");
    (*out)->obs_dim = obs_dim;
    (*out)->act_dim = act_dim;
    (*out)->n_envs = n_envs;
    return DQS_OK;
}

/* Whoever owns the loop steps the task, and to the agent an observation is a step. What a preset says of holding
 * actions does not apply, then, and its discount of a held action becomes that of a step; what the caller says
 * is a misunderstanding. */
static dqs_status hold_no_actions(struct config *config, dqs_error *error)
{
    long repeat = config->value.run.action_repeat;
    const char *gamma = config_get(config, "gamma");
    double discount;
    char text[32];
    if (repeat != 1 && config_is_set(config, "action_repeat"))
        return fail(error, DQS_E_OPTION,
                    "action_repeat=%ld: an agent does not step the task; hold its actions in your own loop",
                    repeat);
    if (repeat != 1 && gamma && number_read(gamma, &discount) && !config_is_set(config, "gamma")) {
        snprintf(text, sizeof text, "%.3g", pow(discount, 1 / (double)repeat));
        TRY(config_set(config, "gamma", text, error));
    }
    return config_set(config, "action_repeat", "1", error);
}

dqs_status dqs_agent_create(dqs_agent **out, const dqs_config *config, int obs_dim, int act_dim, int n_envs,
                            dqs_error *error)
{
    NEED(out, error);
    NEED(config, error);
    *out = NULL;
    struct dqs_agent *agent;
    TRY(make(&agent, obs_dim, act_dim, n_envs, error));
    dqs_status status = config_clone(&agent->config, config_inside(config), error);
    if (status == DQS_OK)
        status = hold_no_actions(agent->config, error);
    if (status == DQS_OK)
        status = can_terminate(agent->config, &agent->terminates, error);
    if (status == DQS_OK)
        status = build(agent, error);
    if (status != DQS_OK) {
        dqs_agent_free(agent);
        return status;
    }
    *out = agent;
    return DQS_OK;
}

/* Row by row, so that an action does not depend on where in the batch its row stands. */
static dqs_status act_frozen(dqs_agent *agent, const float *obs, int rows, float *action, dqs_error *error)
{
    int64_t ticket = agent->noise_ticket ? *agent->noise_ticket : 0;
    dqs_status status = DQS_OK;
    for (int row = 0; status == DQS_OK && row < rows; row++) {
        if (agent->noise_ticket)
            *agent->noise_ticket = 0;
        status =
            agent->config->algo->act(agent->self, action + (size_t)row * (size_t)agent->act_dim,
                                     obs + (size_t)row * (size_t)agent->obs_dim, 1, DQS_ACT_EVALUATE, error);
    }
    if (agent->noise_ticket)
        *agent->noise_ticket = ticket;
    return status;
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
    if (mode < DQS_ACT_EXPLORE || mode > DQS_ACT_FROZEN)
        return fail(error, DQS_E_USAGE, "agent: no such mode of acting: %d", (int)mode);
    if (mode == DQS_ACT_FROZEN)
        return act_frozen(agent, obs, rows, action, error);
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
                                                                    .steps = n,
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
    if (!dqs_agent_update_due(agent))
        return fail(error, DQS_E_USAGE, "agent: no update is due; observe more steps first");
    log_clear(&agent->log);
    agent->config->algo->update(agent->self, &agent->log);
    agent->updates++;
    return log_check_losses(&agent->log, agent->updates, error);
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
    char name[CHECKPOINT_NAME_SIZE], obs_dim[16], act_dim[16], n_envs[16];
    size_t index;
    if (checkpoint_find_bad(parts, name, &index))
        return fail(error, DQS_E_NUMERIC, "%s: not saved: %s[%zu] is not a finite number", path, name, index);
    snprintf(obs_dim, sizeof obs_dim, "%d", agent->obs_dim);
    snprintf(act_dim, sizeof act_dim, "%d", agent->act_dim);
    snprintf(n_envs, sizeof n_envs, "%d", agent->n_envs);
    char *yaml = config_write(agent->config, NULL);
    if (!yaml)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", path);
    const struct safetensors_pair metadata[] = {{"env", agent->config->env_name},
                                                {"algo", agent->config->algo->name},
                                                {"obs_dim", obs_dim},
                                                {"act_dim", act_dim},
                                                {"terminates", agent->terminates ? "1" : "0"},
                                                {"n_envs", n_envs},
                                                {"note", dqs_agent_note(agent)},
                                                {"version", DQS_VERSION},
                                                {"config", yaml},
                                                {agent->low && agent->high ? "act_low" : NULL, agent->low},
                                                {"act_high", agent->high},
                                                {NULL, NULL}};
    dqs_status status = checkpoint_save(path, parts, CHECKPOINT_ALL, metadata, error);
    free(yaml);
    return status;
}

static dqs_status keep_text(char **kept, const char *text, dqs_error *error)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return fail(error, DQS_E_MEMORY, "agent: out of memory");
    free(*kept);
    *kept = copy;
    return DQS_OK;
}

static dqs_status keep_numbers(char **kept, const float *numbers, int n, dqs_error *error)
{
    char *text = number_write_floats(numbers, 0, n);
    if (!text)
        return fail(error, DQS_E_MEMORY, "agent: out of memory");
    free(*kept);
    *kept = text;
    return DQS_OK;
}

dqs_status dqs_agent_set_bounds(dqs_agent *agent, const float *low, const float *high, dqs_error *error)
{
    NEED(agent, error);
    NEED(low, error);
    NEED(high, error);
    for (int i = 0; i < agent->act_dim; i++)
        if (!isfinite(low[i]) || !isfinite(high[i]) || low[i] >= high[i])
            return fail(error, DQS_E_USAGE,
                        "agent: bounds of action %d are %g and %g; they must be finite and low < high", i,
                        (double)low[i], (double)high[i]);
    TRY(keep_numbers(&agent->low, low, agent->act_dim, error));
    return keep_numbers(&agent->high, high, agent->act_dim, error);
}

static dqs_status restore(dqs_agent *agent, const struct safetensors *file, const char *path,
                          dqs_error *error)
{
    struct checkpoint_part parts[] = {{visit_agent, agent}, {NULL, NULL}};
    TRY(checkpoint_restore(file, path, parts, CHECKPOINT_ALL, error));
    TRY(keep_text(&agent->note, safetensors_metadata(file, "note"), error));
    TRY(keep_text(&agent->low, safetensors_metadata(file, "act_low"), error));
    return keep_text(&agent->high, safetensors_metadata(file, "act_high"), error);
}

dqs_status dqs_agent_load(dqs_agent *agent, const char *path, dqs_error *error)
{
    NEED(agent, error);
    NEED(path, error);
    struct safetensors file;
    TRY(safetensors_open(path, &file, error));
    dqs_status status = restore(agent, &file, path, error);
    safetensors_close(&file);
    return status;
}

static dqs_status open_file(dqs_agent **out, const struct safetensors *file, const char *path, int n_envs,
                            int threads, dqs_error *error)
{
    int obs_dim, act_dim, terminates;
    const char *yaml = safetensors_metadata(file, "config");
    if (!yaml)
        return fail(error, DQS_E_FORMAT, "%s: holds no configuration; is it an agent of dqs?", path);
    TRY(metadata_number(file, path, "obs_dim", 1, 1000000, &obs_dim, error));
    TRY(metadata_number(file, path, "act_dim", 1, 100000, &act_dim, error));
    TRY(metadata_number(file, path, "terminates", 0, 1, &terminates, error));
    if (n_envs <= 0)
        TRY(metadata_number(file, path, "n_envs", 1, 4096, &n_envs, error));
    TRY(make(out, obs_dim, act_dim, n_envs, error));
    dqs_agent *agent = *out;
    TRY(config_from_yaml(&agent->config, yaml, strlen(yaml), path, NULL, NULL, false, error));
    if (threads > 0)
        agent->config->value.run.threads = threads;
    agent->terminates = terminates;
    TRY(build(agent, error));
    return restore(agent, file, path, error);
}

dqs_status dqs_agent_open(dqs_agent **out, const char *path, int n_envs, int threads, dqs_error *error)
{
    NEED(out, error);
    NEED(path, error);
    *out = NULL;
    struct safetensors file;
    dqs_agent *agent = NULL;
    TRY(safetensors_open(path, &file, error));
    dqs_status status = open_file(&agent, &file, path, n_envs, threads, error);
    safetensors_close(&file);
    if (status != DQS_OK) {
        dqs_agent_free(agent);
        return status;
    }
    *out = agent;
    return DQS_OK;
}

const dqs_config *dqs_agent_config(const dqs_agent *agent)
{
    return agent ? (const dqs_config *)agent->config : NULL;
}

void dqs_agent_size(const dqs_agent *agent, int *obs_dim, int *act_dim, int *n_envs)
{
    *obs_dim = agent->obs_dim;
    *act_dim = agent->act_dim;
    *n_envs = agent->n_envs;
}

dqs_status dqs_agent_set_note(dqs_agent *agent, const char *note, dqs_error *error)
{
    NEED(agent, error);
    NEED(note, error);
    return keep_text(&agent->note, note, error);
}

const char *dqs_agent_note(const dqs_agent *agent)
{
    return agent && agent->note ? agent->note : "";
}

void dqs_agent_free(dqs_agent *agent)
{
    if (!agent)
        return;
    compute_free(agent->compute);
    arena_free(&agent->arena);
    config_free(agent->config);
    free(agent->note);
    free(agent->low);
    free(agent->high);
    free(agent);
}
