/* api_config: dqs_config over train/config, the version, and the list of algorithms. */
#include "build_info.h"
#include "handles.h"

const char *dqs_version(void)
{
    return DQS_VERSION " (" BUILD_COMPILER ", " BUILD_BLAS ", mujoco " BUILD_MUJOCO ")";
}

const char *dqs_algo_name(int index, const char **doc)
{
    for (int i = 0; algo_table[i]; i++) {
        if (i != index)
            continue;
        if (doc)
            *doc = algo_table[i]->doc;
        return algo_table[i]->name;
    }
    return NULL;
}

const char *dqs_algo_preset(const char *algo, int index)
{
    const struct algo *row = algo ? algo_find(algo) : NULL;
    return row ? config_preset_name(row, index) : NULL;
}

dqs_status dqs_config_create(dqs_config **config, const char *algo, const char *env, dqs_error *error)
{
    NEED(config, error);
    struct config *inner = NULL;
    dqs_status status = config_create(&inner, algo, env, error);
    *config = (dqs_config *)inner;
    return status;
}

dqs_status dqs_config_set_env(dqs_config *config, const dqs_env_type *type, dqs_error *error)
{
    NEED(config, error);
    return config_set_env(config_inside(config), type, error);
}

dqs_status dqs_config_name_env(dqs_config *config, const char *name, int terminates, dqs_error *error)
{
    NEED(config, error);
    NEED(name, error);
    return config_name_env(config_inside(config), name, !terminates, error);
}

dqs_status dqs_config_preset(dqs_config *config, const char *preset, dqs_error *error)
{
    NEED(config, error);
    NEED(preset, error);
    return config_preset(config_inside(config), preset, error);
}

dqs_status dqs_config_set(dqs_config *config, const char *key, const char *value, dqs_error *error)
{
    NEED(config, error);
    NEED(key, error);
    NEED(value, error);
    return config_set(config_inside(config), key, value, error);
}

dqs_status dqs_config_file(dqs_config *config, const char *yaml_path, dqs_error *error)
{
    NEED(config, error);
    NEED(yaml_path, error);
    return config_read_file(config_inside(config), yaml_path, error);
}

const char *dqs_config_get(const dqs_config *config, const char *key)
{
    return config && key ? config_get(config_inside(config), key) : NULL;
}

int dqs_config_describe(const dqs_config *config, int index, dqs_option_info *info)
{
    return config && info && config_describe(config_inside(config), index, info);
}

void dqs_config_free(dqs_config *config)
{
    config_free(config_inside(config));
}
