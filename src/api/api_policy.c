/* api_policy: reads a policy file, whose metadata say what it is, and acts with it. Any file with the
 * policy's tensors will do: policy.safetensors, best.safetensors, a checkpoint, or what dqs_agent_save wrote.
 */
#include "file.h"
#include "handles.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static dqs_status open_policy(struct deployed **policy, const struct safetensors *file, const char *path,
                              dqs_error *error)
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
    dqs_status status = deployed_create(policy, config->algo, config->value.algo, config->value.run.kernels,
                                        shape, (uint64_t)config->value.run.seed, error);
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
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
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
    dqs_status status = open_policy(&policy, &file, name, error);
    safetensors_close(&file);
    if (status != DQS_OK) {
        deployed_free(policy);
        return status;
    }
    *out = (dqs_policy *)policy;
    return DQS_OK;
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
