/* api_policy: reads a policy file, whose metadata say what it is, and acts with it. Any file with the
 * policy's tensors will do: policy.safetensors, best.safetensors, a checkpoint, or what dqs_agent_save wrote.
 */
#include "file.h"
#include "handles.h"
#include "number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dqs_status metadata_number(const struct safetensors *file, const char *path, const char *key, int low,
                           int high, int *out, dqs_error *error)
{
    const char *text = safetensors_metadata(file, key);
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || value < low || value > high)
        return fail(error, DQS_E_FORMAT, "%s: its metadata give no sensible %s; is it a policy of dqs?", path,
                    key);
    *out = (int)value;
    return DQS_OK;
}

/* settings: key=value with blanks between. */
static dqs_status apply_settings(struct config *config, const char *settings, dqs_error *error)
{
    for (const char *at = settings ? settings : ""; *(at += strspn(at, " "));) {
        char word[400], *value;
        size_t length = strcspn(at, " ");
        if (length >= sizeof word)
            return fail(error, DQS_E_OPTION, "policy: the setting '%.40s...' is too long", at);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length;
        if (!(value = strchr(word, '=')))
            return fail(error, DQS_E_OPTION, "policy: '%.60s' is no setting; write key=value", word);
        *value++ = 0;
        const char *key = word;
        if (strcmp(key, "sampling_steps") == 0 && !(key = config->algo->sampling_steps))
            return fail(error, DQS_E_UNSUPPORTED,
                        "%s: an action takes one pass of its network; there are no steps to choose",
                        config->algo->name);
        TRY(config_set(config, key, value, error));
    }
    return DQS_OK;
}

/* act_dim numbers; NULL if the file does not have them or they make no sense. */
static float *read_bounds(const struct safetensors *file, const char *key, int act_dim)
{
    const char *text = safetensors_metadata(file, key);
    float *bounds = text ? calloc((size_t)act_dim, sizeof *bounds) : NULL;
    for (int i = 0; bounds && i < act_dim; i++) {
        char word[NUMBER_TEXT_SIZE];
        double value = NAN;
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), text);
        text += length;
        if (!number_read(word, &value) || !isfinite(value)) {
            free(bounds);
            return NULL;
        }
        bounds[i] = (float)value;
    }
    return bounds;
}

/* Files from before bounds were recorded: the task itself is asked, if it is here. */
static void ask_task(struct deployed *policy, const struct config *config)
{
    struct arena arena = {0};
    struct env_batch *envs;
    int d = policy->shape.act_dim;
    if (config->env && env_batch_create(&envs, &arena, config->env, config->value.run.env_options, 1, 0, NULL,
                                        NULL) == DQS_OK) {
        if (envs->spec.act_dim == d && envs->spec.act_low && envs->spec.act_high &&
            (policy->low = malloc(sizeof(float) * (size_t)d)) &&
            (policy->high = malloc(sizeof(float) * (size_t)d))) {
            memcpy(policy->low, envs->spec.act_low, sizeof(float) * (size_t)d);
            memcpy(policy->high, envs->spec.act_high, sizeof(float) * (size_t)d);
        }
        env_batch_close(envs);
    }
    arena_free(&arena);
}

static void find_bounds(struct deployed *policy, const struct safetensors *file, const struct config *config)
{
    int d = policy->shape.act_dim;
    bool good;
    policy->low = read_bounds(file, "act_low", d);
    policy->high = read_bounds(file, "act_high", d);
    if (!policy->low && !policy->high)
        ask_task(policy, config);
    good = policy->low && policy->high;
    for (int i = 0; good && i < d; i++)
        good = policy->low[i] < policy->high[i];
    if (good)
        return;
    free(policy->low);
    free(policy->high);
    policy->low = policy->high = NULL;
}

static dqs_status open_policy(struct deployed **policy, const struct safetensors *file, const char *path,
                              const char *settings, dqs_error *error)
{
    struct deployed_shape shape = {0};
    struct config *config;
    int terminates = 0;
    const char *yaml = safetensors_metadata(file, "config");
    if (!yaml)
        return fail(error, DQS_E_FORMAT, "%s: holds no configuration; is it a policy of dqs?", path);
    TRY(metadata_number(file, path, "obs_dim", 1, 1000000, &shape.obs_dim, error));
    TRY(metadata_number(file, path, "act_dim", 1, 100000, &shape.act_dim, error));
    TRY(metadata_number(file, path, "terminates", 0, 1, &terminates, error));
    shape.terminates = terminates;
    TRY(config_from_yaml(&config, yaml, strlen(yaml), path, NULL, NULL, false, error));
    long repeat = config->value.run.action_repeat;
    dqs_status status = apply_settings(config, settings, error);
    if (status == DQS_OK && config->value.run.action_repeat != repeat)
        status = fail(error, DQS_E_OPTION,
                      "action_repeat=%ld: %s learned to hold its actions for %ld; whoever steps the task may do otherwise",
                      config->value.run.action_repeat, path, repeat);
    if (status == DQS_OK)
        status = deployed_create(policy, config->algo, config->value.algo, config->value.run.kernels, shape,
                                 (uint64_t)config->value.run.seed, error);
    if (status == DQS_OK) {
        const char *env = safetensors_metadata(file, "env"), *key = config->algo->sampling_steps;
        snprintf((*policy)->env, sizeof(*policy)->env, "%s", env ? env : "");
        (*policy)->steps = key ? atoi(config_get(config, key)) : 0;
        (*policy)->repeat = (int)repeat;
        find_bounds(*policy, file, config);
    }
    config_free(config);
    if (status != DQS_OK)
        return status;
    struct checkpoint_part parts[] = {{deployed_visit, *policy}, {NULL, NULL}};
    return checkpoint_restore(file, path, parts, VISIT_POLICY, error);
}

/* A run folder stands for its best policy, or its last if none was evaluated. */
static const char *find_file(const char *path, char *inside, size_t size)
{
    static const char *const names[] = {"best.safetensors", "policy.safetensors", "checkpoint.safetensors"};
    if (!file_is_folder(path))
        return path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(inside, size, "%s/%s", path, names[i]);
        if (file_exists(inside))
            return inside;
    }
    return NULL;
}

dqs_status dqs_policy_load(dqs_policy **out, const char *path, dqs_error *error)
{
    return dqs_policy_load_with(out, path, NULL, error);
}

dqs_status dqs_policy_load_with(dqs_policy **out, const char *path, const char *settings, dqs_error *error)
{
    NEED(out, error);
    NEED(path, error);
    char inside[1200];
    struct safetensors file;
    struct deployed *policy = NULL;
    *out = NULL;
    const char *name = find_file(path, inside, sizeof inside);
    if (!name)
        return fail(error, DQS_E_IO,
                    "%s: a folder without a policy; name a run folder or a .safetensors file", path);
    TRY(safetensors_open(name, &file, error));
    dqs_status status = open_policy(&policy, &file, name, settings, error);
    safetensors_close(&file);
    if (status != DQS_OK) {
        deployed_free(policy);
        return status;
    }
    *out = (dqs_policy *)policy;
    return DQS_OK;
}

int dqs_policy_steps(const dqs_policy *policy)
{
    return policy_inside(policy)->steps;
}

int dqs_policy_action_repeat(const dqs_policy *policy)
{
    return policy_inside(policy)->repeat;
}

int dqs_policy_obs_dim(const dqs_policy *policy)
{
    return policy_inside(policy)->shape.obs_dim;
}

int dqs_policy_act_dim(const dqs_policy *policy)
{
    return policy_inside(policy)->shape.act_dim;
}

void dqs_policy_seed(dqs_policy *policy, uint64_t seed)
{
    /* It was created once with the same memory and options: what could fail is memory, and then the old seed
     * stays. */
    (void)deployed_seed(policy_inside(policy), seed, NULL);
}

dqs_status dqs_policy_act(dqs_policy *policy, const float *obs, float *action, dqs_error *error)
{
    return deployed_act(policy_inside(policy), obs, action, error);
}

void dqs_policy_free(dqs_policy *policy)
{
    deployed_free(policy_inside(policy));
}
