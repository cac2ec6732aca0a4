/* config: the run's option table, presets and precedence. */
#include "config.h"
#include "env.h"
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS struct run_options
const struct option run_option_table[] = {
    OPTION_ROW_INT(steps, "100000", 1, 1e12, "environment steps to train for", "paper, section 5"),
    OPTION_ROW_INT(stop_updates, "0", 0, 1e12,
                   "stop after so many gradient updates, if that comes before `steps`; 0 for never",
                   "paper: PPO is plotted over updates"),
    OPTION_ROW_INT(seed, "0", 0, 9e15, "seed of everything that is random in training", "convention"),
    OPTION_ROW_INT(threads, "0", 0, 1024, "worker threads, 0 for all cores; does not change the results",
                   "convention"),
    OPTION_ROW_TEXT(kernels, "auto", "arithmetic kernels: auto, ref, or an instruction set", "convention"),
    OPTION_ROW_INT(n_envs, "1", 1, 4096, "environments stepped together in training", "paper, Algorithm 1"),
    OPTION_ROW_INT(action_repeat, "1", 1, 100,
                   "environment steps for which an action is held; n_step, n_steps and gamma count actions",
                   "paper: 1"),
    OPTION_ROW_TEXT(env_options, "", "options handed to the environment", "convention"),
    OPTION_ROW_INT(eval_every, "5000", 0, 1e12, "steps between evaluations, 0 for none but the last",
                   "measured"),
    OPTION_ROW_INT(eval_episodes, "20", 1, 100000, "episodes of an evaluation during training", "measured"),
    OPTION_ROW_INT(final_episodes, "100", 1, 100000, "episodes of the evaluation at the end",
                   "paper, section 5"),
    OPTION_ROW_INT(eval_seed, "0", 0, 9e15, "seed of the evaluation episodes, apart from `seed`",
                   "convention"),
    OPTION_ROW_INT(log_every, "1000", 1, 1e12, "steps between rows of progress.csv", "convention"),
    OPTION_ROW_INT(checkpoint_every, "10000", 0, 1e12, "steps between checkpoints, 0 for only at the end",
                   "convention"),
    OPTION_ROW_REAL(max_minutes, "0", 0, 1e9, "stop, saved, after so many minutes, 0 for never",
                    "convention"),
    OPTION_ROW_TEXT(name, "", "name of the run in its folder; empty for the preset's", "convention"),
    OPTION_ROW_TEXT(out, "", "run folder; empty for runs/<env>/<algo>/<name>-s<seed>", "convention"),
    OPTION_ROW_TEXT(init_from, "", "run folder or checkpoint to take the networks from", "convention"),
    OPTION_ROW_BOOL(init_replay, "false", "take the replay from init_from too", "convention"),
    {.key = NULL},
};
#undef OPTIONS

#define EVERY_PRESET "*" /* preset rows of this name belong to all presets */

struct config_text {
    char value[OPTION_TEXT_SIZE], standard[OPTION_TEXT_SIZE], range[OPTION_TEXT_SIZE],
        source[OPTION_TEXT_SIZE];
    bool from_preset;    /* which chose something else than the option's own standard */
    const char *for_env; /* and did so for this environment; NULL: for all */
};

static int table_rows(const struct option *table)
{
    int n = 0;
    while (table[n].key)
        n++;
    return n;
}

const struct option *config_row(const struct config *config, const struct config_values *values, int index,
                                void **options)
{
    int own = table_rows(run_option_table);
    *options = NULL;
    if (index < 0 || index >= config->rows)
        return NULL;
    *options = index < own ? (void *)&values->run : values->algo;
    return index < own ? &run_option_table[index] : &config->algo->options[index - own];
}

static int row_of(const struct config *config, const char *key)
{
    void *options;
    for (int i = 0; i < config->rows; i++)
        if (strcmp(config_row(config, &config->value, i, &options)->key, key) == 0)
            return i;
    return -1;
}

static size_t value_size(enum option_type type)
{
    static const size_t size[] = {[OPTION_INT] = sizeof(long),
                                  [OPTION_REAL] = sizeof(double),
                                  [OPTION_BOOL] = sizeof(bool),
                                  [OPTION_CHOICE] = sizeof(int),
                                  [OPTION_TEXT] = OPTION_TEXT_SIZE};
    return size[type];
}

static dqs_status unknown_key(const struct config *config, const char *key, dqs_error *error)
{
    const char *near = option_nearest(config->algo->options, key);
    const char *near_run = option_nearest(run_option_table, key);
    /* Each table offers its own nearest key: take the one that shares the longer beginning with what was
     * typed. */
    size_t same = 0, same_run = 0;
    while (near && key[same] && near[same] == key[same])
        same++;
    while (near_run && key[same_run] && near_run[same_run] == key[same_run])
        same_run++;
    if (near_run && (!near || same_run >= same))
        near = near_run;
    if (near)
        return fail(error, DQS_E_OPTION, "%.80s: no such option; did you mean %s?", key, near);
    return fail(error, DQS_E_OPTION, "%.80s: no such option; `dqs options %s` lists them", key,
                config->algo->name);
}

/* ---------------------------------------------------------------- presets */

static dqs_status apply_settings(struct config *config, const char *preset, const char *env,
                                 const char *settings, dqs_error *error)
{
    char key[128], value[OPTION_TEXT_SIZE];
    while (*(settings += strspn(settings, " ")) != 0) {
        size_t pair = strcspn(settings, " "), name = strcspn(settings, "= ");
        if (name >= pair || name >= sizeof key || pair - name - 1 >= sizeof value)
            return fail(error, DQS_E_OPTION, "preset %s: \"%.60s\" is not key=value", preset, settings);
        snprintf(key, sizeof key, "%.*s", (int)name, settings);
        snprintf(value, sizeof value, "%.*s", (int)(pair - name - 1), settings + name + 1);
        void *options;
        int index = row_of(config, key);
        const struct option *row = config_row(config, &config->standard, index, &options);
        if (!row)
            return fail(error, DQS_E_OPTION, "preset %s: %s: no such option", preset, key);
        char chosen[OPTION_TEXT_SIZE], own[OPTION_TEXT_SIZE];
        TRY(option_set(row, options, row->standard, error));
        option_get(row, options, own, sizeof own);
        TRY(option_set(row, options, value, error));
        option_get(row, options, chosen, sizeof chosen);
        config->text[index].from_preset = strcmp(chosen, own) != 0;
        config->text[index].for_env = env;
        settings += pair;
    }
    return DQS_OK;
}

static dqs_status apply_rows(struct config *config, const char *preset, const char *env, dqs_error *error)
{
    for (const struct option_preset *p = config->algo->presets; p && p->preset; p++)
        if (strcmp(p->preset, preset) == 0 && (env ? p->env && strcmp(p->env, env) == 0 : !p->env))
            TRY(apply_settings(config, preset, p->env, p->settings, error));
    return DQS_OK;
}

/* Standards, then the rows for all environments, then those for its family, then those for this one. */
static dqs_status resolve(struct config *config, dqs_error *error)
{
    option_defaults(run_option_table, &config->standard.run);
    option_defaults(config->algo->options, config->standard.algo);
    for (int i = 0; i < config->rows; i++)
        config->text[i].from_preset = false;
    const char *env[3] = {NULL};
    if (config->env) {
        env[1] = env_family(config->env);
        env[2] = config->env->name;
    }
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !env[i])
            continue;
        TRY(apply_rows(config, EVERY_PRESET, env[i], error));
        TRY(apply_rows(config, config->preset, env[i], error));
    }
    for (int i = 0; i < config->rows; i++) {
        void *from, *to;
        const struct option *row = config_row(config, &config->standard, i, &from);
        config_row(config, &config->value, i, &to);
        if (!config->is_set[i])
            memcpy((char *)to + row->offset, (char *)from + row->offset, value_size(row->type));
    }
    return DQS_OK;
}

const char *config_preset_name(const struct algo *algo, int index)
{
    if (index == 0)
        return "default"; /* even where it changes nothing */
    for (const struct option_preset *p = algo->presets; p && p->preset; p++) {
        bool told = strcmp(p->preset, EVERY_PRESET) == 0 || strcmp(p->preset, "default") == 0;
        for (const struct option_preset *q = algo->presets; q < p && !told; q++)
            told = strcmp(q->preset, p->preset) == 0;
        if (!told && --index == 0)
            return p->preset;
    }
    return NULL;
}

dqs_status config_preset(struct config *config, const char *preset, dqs_error *error)
{
    const char *name;
    char names[300] = "";
    size_t used = 0;
    bool known = false;
    for (int i = 0; (name = config_preset_name(config->algo, i)) && used < sizeof names; i++) {
        known |= strcmp(name, preset) == 0;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name);
    }
    if (!known || strlen(preset) >= sizeof config->preset)
        return fail(error, DQS_E_UNKNOWN, "%.80s: no preset of algorithm %s; there are %s", preset,
                    config->algo->name, names);
    if (preset != config->preset)
        snprintf(config->preset, sizeof config->preset, "%s", preset);
    return resolve(config, error);
}

/* ---------------------------------------------------------------- making and freeing */

static void drop_algo(struct config *config)
{
    free(config->standard.algo);
    free(config->value.algo);
    free(config->is_set);
    free(config->text);
}

/* set: which of the run's own options are, NULL for none. */
static dqs_status take_algo(struct config *config, const struct algo *algo, const bool *set, dqs_error *error)
{
    int own = table_rows(run_option_table);
    config->algo = algo;
    config->rows = own + table_rows(algo->options);
    config->is_set = calloc((size_t)config->rows, sizeof *config->is_set);
    config->text = calloc((size_t)config->rows, sizeof *config->text);
    config->standard.algo = calloc(1, algo->options_size);
    config->value.algo = calloc(1, algo->options_size);
    if (!config->is_set || !config->text || !config->standard.algo || !config->value.algo)
        return fail(error, DQS_E_MEMORY, "configuration: out of memory");
    for (const struct option *row = algo->options; row->key; row++)
        assert(!option_find(run_option_table, row->key) && "an algorithm's option has a key of the run's");
    if (set)
        memcpy(config->is_set, set, (size_t)own * sizeof *set);
    return config_preset(config, config->preset, error);
}

dqs_status config_create_with(struct config **out, const struct algo *algo, const dqs_env_type *env,
                              dqs_error *error)
{
    struct config *config = calloc(1, sizeof *config);
    *out = NULL;
    if (!config)
        return fail(error, DQS_E_MEMORY, "configuration: out of memory");
    snprintf(config->preset, sizeof config->preset, "default");
    dqs_status status = take_algo(config, algo, NULL, error);
    if (status == DQS_OK && env)
        status = config_set_env(config, env, error);
    if (status != DQS_OK) {
        config_free(config);
        return status;
    }
    *out = config;
    return DQS_OK;
}

dqs_status config_create(struct config **out, const char *algo, const char *env, dqs_error *error)
{
    const struct algo *row = algo_table[0];
    *out = NULL;
    if (algo)
        TRY(config_find_algo(&row, algo, error));
    TRY(config_create_with(out, row, NULL, error));
    (*out)->algo_open = !algo;
    dqs_status status = env ? config_find_env(*out, env, error) : DQS_OK;
    if (status != DQS_OK) {
        config_free(*out);
        *out = NULL;
    }
    return status;
}

dqs_status config_clone(struct config **out, const struct config *from, dqs_error *error)
{
    TRY(config_create_with(out, from->algo, from->env_handle ? NULL : from->env, error));
    struct config *config = *out;
    if (from->env_handle) { /* loaded once more, so that each configuration keeps its plug-in alive */
        dqs_status status = config_find_env(config, from->env_name, error);
        if (status != DQS_OK) {
            config_free(config);
            *out = NULL;
            return status;
        }
    }
    config->algo_open = from->algo_open;
    config->endless = from->endless;
    memcpy(config->env_name, from->env_name, sizeof config->env_name);
    memcpy(config->preset, from->preset, sizeof config->preset);
    memcpy(config->is_set, from->is_set, (size_t)from->rows * sizeof *from->is_set);
    memcpy(config->text, from->text, (size_t)from->rows * sizeof *from->text);
    config->standard.run = from->standard.run;
    config->value.run = from->value.run;
    memcpy(config->standard.algo, from->standard.algo, from->algo->options_size);
    memcpy(config->value.algo, from->value.algo, from->algo->options_size);
    return DQS_OK;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    env_unload(config->env_handle);
    drop_algo(config);
    free(config);
}

dqs_status config_find_algo(const struct algo **algo, const char *name, dqs_error *error)
{
    char known[256] = "";
    *algo = algo_find(name);
    if (*algo)
        return DQS_OK;
    for (int i = 0; algo_table[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", algo_table[i]->name);
    }
    return fail(error, DQS_E_UNKNOWN, "algorithm '%.60s': there is none of that name; known are %s", name,
                known);
}

dqs_status config_set_algo(struct config *config, const struct algo *algo, dqs_error *error)
{
    int own = table_rows(run_option_table);
    bool *old = config->is_set;
    for (int i = own; i < config->rows; i++)
        if (old[i])
            return fail(error, DQS_E_OPTION, "algo: choose %s before setting options of %s", algo->name,
                        config->algo->name);
    config->is_set = NULL;
    drop_algo(config);
    dqs_status status = take_algo(config, algo, old, error);
    free(old);
    return status;
}

dqs_status config_set_env(struct config *config, const dqs_env_type *type, dqs_error *error)
{
    TRY(env_check_type(type, error));
    env_unload(config->env_handle);
    config->env_handle = NULL;
    config->env = type;
    snprintf(config->env_name, sizeof config->env_name, "%s", type->name);
    return resolve(config, error);
}

dqs_status config_name_env(struct config *config, const char *name, bool endless, dqs_error *error)
{
    if (strlen(name) >= sizeof config->env_name || !config_is_text(name))
        return fail(error, DQS_E_USAGE, "environment: its name must be plain text of less than %zu bytes",
                    sizeof config->env_name);
    env_unload(config->env_handle);
    config->env_handle = NULL;
    config->env = NULL;
    config->endless = endless;
    snprintf(config->env_name, sizeof config->env_name, "%s", name);
    return resolve(config, error);
}

dqs_status config_find_env(struct config *config, const char *name, dqs_error *error)
{
    const dqs_env_type *type;
    void *handle;
    TRY(env_load(&type, &handle, name, error));
    dqs_status status = config_set_env(config, type, error);
    if (status != DQS_OK) {
        env_unload(handle);
        return status;
    }
    config->env_handle = handle;
    /* A plug-in is found again from another working folder only by its whole path. */
    char *path = handle ? realpath(name, NULL) : NULL;
    if (handle)
        snprintf(config->env_name, sizeof config->env_name, "%s", path ? path : name);
    free(path);
    return DQS_OK;
}

/* ---------------------------------------------------------------- setting and telling */

bool config_is_text(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        uint32_t code = *p < 0x80 ? *p : *p < 0xe0 ? *p & 0x1fu : *p < 0xf0 ? *p & 0x0fu : *p & 0x07u;
        int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
        if ((*p >= 0x80 && *p < 0xc2) || *p > 0xf4)
            return false;
        static const uint32_t least[] = {0x20, 0xa0, 0x800,
                                         0x10000}; /* nothing overlong, no C0 and C1 controls */
        p++;
        for (int i = 0; i < more; i++, p++) {
            if ((*p & 0xc0) != 0x80)
                return false;
            code = code << 6 | (*p & 0x3fu);
        }
        bool surrogate = code >= 0xd800 && code < 0xe000, separator = code == 0x2028 || code == 0x2029;
        if (code < least[more] || code == 0x7f || surrogate || separator || code == 0xfeff ||
            code == 0xfffe || code == 0xffff || code > 0x10ffff)
            return false;
    }
    return true;
}

dqs_status config_set(struct config *config, const char *key, const char *value, dqs_error *error)
{
    if (strcmp(key, "preset") == 0)
        return config_preset(config, value, error);
    if (strcmp(key, "env") == 0 || strcmp(key, "algo") == 0)
        return fail(error, DQS_E_OPTION, "%s: chosen when the configuration is made, not set", key);
    int index = row_of(config, key);
    if (index < 0)
        return unknown_key(config, key, error);
    void *options;
    const struct option *row = config_row(config, &config->value, index, &options);
    if (!config_is_text(value))
        return fail(error, DQS_E_OPTION, "%s: the value is not plain UTF-8 text", key);
    TRY(option_set(row, options, value, error));
    config->is_set[index] = true;
    return DQS_OK;
}

const char *config_get(const struct config *config, const char *key)
{
    if (strcmp(key, "env") == 0)
        return config->env_name;
    if (strcmp(key, "algo") == 0)
        return config->algo->name;
    if (strcmp(key, "preset") == 0)
        return config->preset;
    void *options;
    int index = row_of(config, key);
    const struct option *row = config_row(config, &config->value, index, &options);
    if (!row)
        return NULL;
    option_get(row, options, config->text[index].value, OPTION_TEXT_SIZE);
    return config->text[index].value;
}

/* Where the value comes from: the option's own source holds for its own standard alone. */
static void describe_source(const struct config *config, const struct option *row, struct config_text *text)
{
    if (strcmp(text->value, text->standard) != 0)
        snprintf(text->source, sizeof text->source, "set");
    else if (text->from_preset)
        snprintf(text->source, sizeof text->source, "preset %s%s%s", config->preset,
                 text->for_env ? ", " : "", text->for_env ? text->for_env : "");
    else
        snprintf(text->source, sizeof text->source, "%s", row->source);
}

bool config_is_set(const struct config *config, const char *key)
{
    int row = row_of(config, key);
    return row >= 0 && config->is_set[row];
}

dqs_status config_complete(struct config *config, dqs_error *error)
{
    bool takes = config->value.run.init_from[0] != 0;
    if (!takes || row_of(config, "reset_first") < 0 || config_is_set(config, "reset_first"))
        return DQS_OK;
    return config_set(config, "reset_first", "0", error);
}

bool config_describe(const struct config *config, int index, dqs_option_info *info)
{
    void *options, *standard;
    const struct option *row = config_row(config, &config->value, index, &options);
    if (!row)
        return false;
    config_row(config, &config->standard, index, &standard);
    struct config_text *text = &config->text[index];
    option_get(row, options, text->value, OPTION_TEXT_SIZE);
    option_get(row, standard, text->standard, OPTION_TEXT_SIZE);
    option_range(row, text->range, OPTION_TEXT_SIZE);
    describe_source(config, row, text);
    *info = (dqs_option_info){.key = row->key,
                              .type = option_type_name(row->type),
                              .value = text->value,
                              .preset_default = text->standard,
                              .range = text->range,
                              .doc = row->doc,
                              .source = text->source,
                              .group = options == (void *)&config->value.run ? "run" : config->algo->name};
    return true;
}
