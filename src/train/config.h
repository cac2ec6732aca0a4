/* config: every option of a run, its value and where the value comes from. Two tables make one list of keys:
 * the run's own (below) and the algorithm's. A value is the option's standard, then the preset's, then what
 * was set; what was set always wins, whichever came first. */
#ifndef TRAIN_CONFIG_H
#define TRAIN_CONFIG_H

#include "algo.h"
#include "option.h"
#include "status.h"
#include <stdbool.h>

struct run_options {
    long steps, stop_updates, seed, threads, n_envs, action_repeat;
    long eval_every, eval_episodes, final_episodes, eval_seed;
    long log_every, checkpoint_every;
    double max_minutes;
    bool init_replay;
    char kernels[OPTION_TEXT_SIZE], name[OPTION_TEXT_SIZE], out[OPTION_TEXT_SIZE];
    char env_options[OPTION_TEXT_SIZE], init_from[OPTION_TEXT_SIZE];
};
extern const struct option run_option_table[];

struct config_values {
    struct run_options run;
    void *algo; /* the algorithm's own options struct */
};
struct config_text; /* room for values handed out as text */

struct config {
    const struct algo *algo;
    bool algo_open;          /* not asked for by name: a file may still choose another */
    const dqs_env_type *env; /* NULL: not chosen (yet) */
    void *env_handle;        /* of a plug-in */
    char env_name[1024];     /* finds the environment again: a name of the table or the path of a plug-in */
    bool endless;            /* env NULL: the caller's environment never ends by itself */
    char preset[64];
    struct config_values standard; /* by standard and preset alone */
    struct config_values value;
    bool *is_set; /* per row: set by hand or by a file */
    int rows;
    struct config_text *text;
};

/* algo NULL: the first of the table, until a file says otherwise. env NULL: chosen later, or never. */
dqs_status config_create(struct config **config, const char *algo, const char *env, dqs_error *error);
dqs_status config_create_with(struct config **config, const struct algo *algo, const dqs_env_type *env,
                              dqs_error *error);
dqs_status config_clone(struct config **copy, const struct config *config, dqs_error *error);
void config_free(struct config *config);

dqs_status config_find_algo(const struct algo **algo, const char *name, dqs_error *error);
dqs_status config_set_algo(struct config *config, const struct algo *algo, dqs_error *error);
/* By name, or by the path of a plug-in. */
dqs_status config_find_env(struct config *config, const char *name, dqs_error *error);
dqs_status config_set_env(struct config *config, const dqs_env_type *type, dqs_error *error);
/* An environment of which only the name and whether it ends are known; `env` stays NULL. */
dqs_status config_name_env(struct config *config, const char *name, bool endless, dqs_error *error);
dqs_status config_preset(struct config *config, const char *preset, dqs_error *error);
/* "default" first; NULL past the last. */
const char *config_preset_name(const struct algo *algo, int index);
/* Also takes `preset`. A mistyped key gets the nearest known one in the message. */
dqs_status config_set(struct config *config, const char *key, const char *value, dqs_error *error);
/* Also knows `env`, `algo` and `preset`. NULL if there is no such key; valid until the next set. */
const char *config_get(const struct config *config, const char *key);
bool config_is_set(const struct config *config, const char *key); /* by hand or by a file, not by a preset */
/* What follows from what was set: networks that are taken from another run do not begin anew soon after, unless
 * that was asked for too. */
dqs_status config_complete(struct config *config, dqs_error *error);
bool config_describe(const struct config *config, int index, dqs_option_info *info);
/* Can config.yaml hold it: UTF-8 without control characters, line separators and byte order marks? */
bool config_is_text(const char *text);
/* Row `index` of both tables as one list, and the struct it points into. NULL past the end. */
const struct option *config_row(const struct config *config, const struct config_values *values, int index,
                                void **options);

/* YAML (config_yaml.c): a flat mapping of keys to scalars; `label` names the source in messages, which give
 * the line. */
dqs_status config_read(struct config *config, const char *text, size_t size, const char *label,
                       dqs_error *error);
dqs_status config_read_file(struct config *config, const char *path, dqs_error *error);
/* Every pair of the text in its order, whatever the keys: for readers of runs that other versions made. */
typedef void config_pair(void *user, const char *key, const char *value);
dqs_status config_scan(const char *text, size_t size, const char *label, config_pair *pair, void *user,
                       dqs_error *error);
/* A configuration from the text that config_write made, perhaps before some option came: that is then at its
 * standard. algo, env: rows to use instead of the tables' (may be NULL); without need_env an environment
 * unknown here is left unset. */
dqs_status config_from_yaml(struct config **config, const char *text, size_t size, const char *label,
                            const struct algo *algo, const dqs_env_type *env, bool need_env,
                            dqs_error *error);
/* Facts worth recording that are no options: written as `recorded_<key>`, skipped when read. */
struct config_note {
    const char *key, *value;
};
/* malloc'd text with every option. notes end with key NULL; may be NULL. */
char *config_write(const struct config *config, const struct config_note *notes);

#endif
