/* dqs.h: the whole public interface of libdqs, Diffusion Q-Sampling and its tasks.
 *
 * Memory    Handles are opaque, created by *_create or *_load and freed by *_free (NULL is allowed). All arrays
 *           are float32, row-major, owned by the caller and only read or filled during the call. After creation,
 *           act, observe, update and step do not allocate.
 * Errors    Functions that can fail return a dqs_status and, if `error` is not NULL, fill one line that names the
 *           thing and the next thing to try. The library never prints to a terminal on its own, never exits.
 * Threads   A handle is used by one thread at a time; different handles are independent. A run owns its worker threads.
 * Sameness  Same build, machine, configuration and seed give the same bits, at any number of worker threads, and
 *           after any number of saves and loads.
 * Actions   The learners work in the box [-1,1]^d. dqs_env takes actions in that box too, and maps them to the bounds
 *           of the task: low + (a + 1)/2 (high - low). Plug-in callbacks receive the mapped action.
 */
#ifndef DQS_H
#define DQS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* the library shows these names and no others */
#endif

#define DQS_VERSION "0.1.0"

/* ---------------------------------------------------------------- status */
#define DQS_STATUS_LIST(X)                                                    \
    X(OK, "success")                                                          \
    X(E_USAGE, "wrong use of the interface or the command line")              \
    X(E_OPTION, "unknown option or value out of range")                       \
    X(E_UNKNOWN, "no environment, algorithm or preset of that name")          \
    X(E_IO, "a file could not be read or written")                            \
    X(E_FORMAT, "a file is damaged or of another format")                     \
    X(E_MISMATCH, "a file belongs to another environment or configuration")   \
    X(E_BUSY, "the run folder is in use by a live process")                   \
    X(E_MEMORY, "out of memory")                                              \
    X(E_NUMERIC, "a number became infinite or not-a-number")                  \
    X(E_ENV, "the environment reported a failure")                            \
    X(E_UNSUPPORTED, "not supported by this algorithm, environment or build") \
    X(STOPPED, "stopped on request; the state is saved")

typedef enum dqs_status {
#define DQS_STATUS_ENUM(name, text) DQS_##name,
    DQS_STATUS_LIST(DQS_STATUS_ENUM)
#undef DQS_STATUS_ENUM
} dqs_status;

typedef struct dqs_error {
    dqs_status status;
    char message[500]; /* one line, no newline at its end */
} dqs_error;

const char *dqs_strerror(dqs_status status);
const char *dqs_version(void); /* DQS_VERSION and the build: "0.1.0 (gcc 12.2.0, openblas, mujoco 3.14.0)" */

/* A named number: evaluation summaries, metrics. */
typedef struct dqs_number {
    char name[40];
    double value;
} dqs_number;

/* ---------------------------------------------------------------- environments */
#define DQS_LONGEST_EPISODE 10000 /* where evaluations end one of a task that has no limit of its own */
typedef struct dqs_spec {
    int obs_dim, act_dim;
    int max_steps;                   /* truncate the episode after so many steps; 0: never in training */
    int state_dim;                   /* doubles in get_state/set_state; 0: the state cannot be saved */
    int terminates;                  /* 1 if an episode can end by itself (then the value beyond is zero) */
    const float *act_low, *act_high; /* act_dim each, owned by the environment; NULL: -1 and +1 */
} dqs_spec;

typedef struct dqs_outcome {
    double reward;
    int terminated; /* the task is over: no value beyond this step */
    int truncated;  /* the clock ran out: the value goes on */
} dqs_outcome;

/* Observations of whole evaluation episodes: episode e, time t (0 .. length[e]) at obs + (e*stride +
 * t)*obs_dim. */
typedef struct dqs_trace {
    int episodes, obs_dim, stride;
    const float *obs;
    const int *length;     /* actions taken: length[e] + 1 observations */
    const double *returns; /* undiscounted */
} dqs_trace;

/* A kind of environment. Plug-ins fill one and hand it to dqs_config_set_env, or export
 * `const dqs_env_type *dqs_plugin(void)` from a shared object. Optional callbacks may be NULL. */
typedef struct dqs_env_type {
    size_t size;      /* sizeof(dqs_env_type): fields may be added at the end */
    const char *name; /* "pendulum" */
    const char *doc;  /* one line */
    void *user;       /* handed to open */
    dqs_status (*open)(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error);
    void (*close)(void *self);
    /* All randomness of an episode must follow from `seed`. */
    dqs_status (*reset)(void *self, uint64_t seed, float *obs, dqs_error *error);
    dqs_status (*step)(void *self, const float *action, float *obs, dqs_outcome *outcome, dqs_error *error);
    /* Optional, state_dim doubles: setting a state and stepping gives the same bits as having been there. */
    void (*get_state)(void *self, double *state);
    dqs_status (*set_state)(void *self, const double *state, float *obs, dqs_error *error);
    /* Optional: numbers that say how well, and in how many ways, the episodes solved the task. Returns how
     * many. */
    int (*summarise)(void *self, const dqs_trace *trace, dqs_number *out, int capacity);
} dqs_env_type;

typedef struct dqs_env dqs_env;
dqs_status dqs_env_create(dqs_env **env, const char *name, const char *options, dqs_error *error);
const dqs_spec *dqs_env_spec(const dqs_env *env);
dqs_status dqs_env_reset(dqs_env *env, uint64_t seed, float *obs, dqs_error *error);
dqs_status dqs_env_step(dqs_env *env, const float *action, float *obs, dqs_outcome *outcome,
                        dqs_error *error);
/* spec.state_dim doubles: the task's own, then the episode step. */
dqs_status dqs_env_get_state(dqs_env *env, double *state, dqs_error *error);
dqs_status dqs_env_set_state(dqs_env *env, const double *state, float *obs, dqs_error *error);
void dqs_env_free(dqs_env *env);

/* n equal environments stepped together on worker threads (0: all cores). What ends begins anew within the
 * step: `obs` is what to act on next, `next_obs` the true result of the step. Arrays have n rows. */
typedef struct dqs_batch dqs_batch;
dqs_status dqs_batch_create(dqs_batch **batch, const char *name, const char *options, int n, int threads,
                            dqs_error *error);
const dqs_spec *dqs_batch_spec(const dqs_batch *batch); /* state_dim: doubles a row of a saved state */
dqs_status dqs_batch_reset(dqs_batch *batch, uint64_t seed, float *obs, dqs_error *error);
dqs_status dqs_batch_step(dqs_batch *batch, const float *action, float *obs, float *next_obs, float *reward,
                          uint8_t *terminated, uint8_t *truncated, dqs_error *error);
dqs_status dqs_batch_get_state(dqs_batch *batch, double *state, uint64_t *seed, dqs_error *error);
dqs_status dqs_batch_set_state(dqs_batch *batch, const double *state, uint64_t seed, float *obs,
                               dqs_error *error);
void dqs_batch_free(dqs_batch *batch);

/* Names and one-line docs of the built-in environments and algorithms; NULL at the end of the list. */
const char *dqs_env_name(int index, const char **doc);
const char *dqs_algo_name(int index, const char **doc);
/* Its presets, "default" first; NULL past the last. */
const char *dqs_algo_preset(const char *algo, int index);

/* ---------------------------------------------------------------- configuration */
typedef struct dqs_config dqs_config;
dqs_status dqs_config_create(dqs_config **config, const char *algo, const char *env, dqs_error *error);
dqs_status dqs_config_set_env(dqs_config *config, const dqs_env_type *type, dqs_error *error);
/* Names an environment of the caller's that the library never opens, for dqs_agent; terminates: it can end by
 * itself. */
dqs_status dqs_config_name_env(dqs_config *config, const char *name, int terminates, dqs_error *error);
dqs_status dqs_config_preset(dqs_config *config, const char *preset, dqs_error *error);
dqs_status dqs_config_set(dqs_config *config, const char *key, const char *value, dqs_error *error);
dqs_status dqs_config_file(dqs_config *config, const char *yaml_path, dqs_error *error);
/* The value of one option as text (valid until the next set); NULL if there is no such option. */
const char *dqs_config_get(const dqs_config *config, const char *key);
/* The option table, row by row. Returns 0 past the last row. */
typedef struct dqs_option_info {
    const char *key, *type, *value, *preset_default, *range, *doc, *source, *group;
} dqs_option_info;
int dqs_config_describe(const dqs_config *config, int index, dqs_option_info *info);
void dqs_config_free(dqs_config *config);

/* ---------------------------------------------------------------- runs */
typedef struct dqs_run dqs_run;
typedef struct dqs_progress {
    long step, total_steps, episodes, updates;
    double seconds, steps_per_second, eta_seconds;
    double last_return, eval_mean; /* NaN until known */
} dqs_progress;
typedef struct dqs_evaluation {
    long step;
    int episodes;
    double mean, std, min, max, mean_length, seconds;
    int n_numbers;
    dqs_number numbers[48]; /* the task's own summary: mmd, goals, paths, ... */
} dqs_evaluation;
typedef enum dqs_act_mode {
    DQS_ACT_EXPLORE = 0, /* as in training, warm-up included */
    DQS_ACT_EVALUATE,    /* as in evaluation (options eval_*, average: noise, which of several draws) */
    DQS_ACT_EXACT,       /* from exp(Q/T) on a grid: two action dimensions at most */
    DQS_ACT_FROZEN /* of dqs_agent: as in evaluation, with the same noise every time: equal rows, equal actions */
} dqs_act_mode;

/* Creates the run folder (option `out`, else runs/<env>/<algo>/<name>-s<seed>) and locks it. */
dqs_status dqs_run_create(dqs_run **run, const dqs_config *config, dqs_error *error);
/* Opens an existing run for going on where its last checkpoint stands. `steps` > 0 sets a new total. */
dqs_status dqs_run_resume(dqs_run **run, const char *run_dir, long steps, int threads, dqs_error *error);
/* Trains for n steps (n < 0: to the end), and what the last action of all environments still takes; returns
 * DQS_STOPPED, state saved, after dqs_run_stop. */
dqs_status dqs_run_step(dqs_run *run, long n, dqs_error *error);
void dqs_run_stop(dqs_run *run); /* from a signal handler or another thread */
/* Called at most ten times a second, and at every evaluation (then `evaluation` is not NULL). */
void dqs_run_watch(dqs_run *run, void (*watch)(void *user, const dqs_progress *, const dqs_evaluation *),
                   void *user);
dqs_status dqs_run_evaluate(dqs_run *run, int episodes, dqs_act_mode mode, dqs_evaluation *out,
                            dqs_error *error);
/* Evaluations from now on are of the policy in this file, such as the run's best.safetensors; the run can
 * neither train nor save. */
dqs_status dqs_run_show_policy(dqs_run *run, const char *path, dqs_error *error);
dqs_status dqs_run_save(dqs_run *run, dqs_error *error);
const char *dqs_run_dir(const dqs_run *run);
const dqs_config *dqs_run_config(const dqs_run *run);
void dqs_run_progress(const dqs_run *run, dqs_progress *out);
void dqs_run_free(dqs_run *run);

/* ---------------------------------------------------------------- agents: you own the loop */
typedef struct dqs_agent dqs_agent;
/* To an agent an observation is a step: what a preset says of action_repeat does not apply (its gamma becomes
 * that of a step), and a value set by hand is refused. */
dqs_status dqs_agent_create(dqs_agent **agent, const dqs_config *config, int obs_dim, int act_dim, int n_envs,
                            dqs_error *error);
dqs_status dqs_agent_act(dqs_agent *agent, const float *obs, int rows, dqs_act_mode mode, float *action,
                         dqs_error *error);
/* next_obs is the true next observation, before any reset. rows = n_envs. */
dqs_status dqs_agent_observe(dqs_agent *agent, const float *obs, const float *action, const float *reward,
                             const float *next_obs, const uint8_t *terminated, const uint8_t *truncated,
                             dqs_error *error);
int dqs_agent_update_due(const dqs_agent *agent);
dqs_status dqs_agent_update(dqs_agent *agent, dqs_error *error); /* DQS_E_USAGE if none is due */
int dqs_agent_metrics(const dqs_agent *agent, dqs_number *out, int capacity);
dqs_status dqs_agent_save(dqs_agent *agent, const char *path, dqs_error *error);
dqs_status dqs_agent_load(dqs_agent *agent, const char *path, dqs_error *error);
/* An agent as dqs_agent_save left it: algorithm, options and sizes are the file's. n_envs, threads 0:
 * also. */
dqs_status dqs_agent_open(dqs_agent **agent, const char *path, int n_envs, int threads, dqs_error *error);
const dqs_config *dqs_agent_config(const dqs_agent *agent);
void dqs_agent_size(const dqs_agent *agent, int *obs_dim, int *act_dim, int *n_envs);
/* What the box [-1,1] stands for, act_dim numbers each: kept in saved files, for policies and exports made
 * from them. */
dqs_status dqs_agent_set_bounds(dqs_agent *agent, const float *low, const float *high, dqs_error *error);
/* A text of the caller's own that is saved and loaded with the agent; "" if there is none. */
dqs_status dqs_agent_set_note(dqs_agent *agent, const char *note, dqs_error *error);
const char *dqs_agent_note(const dqs_agent *agent);
void dqs_agent_free(dqs_agent *agent);

/* ---------------------------------------------------------------- policies: load and act */
typedef struct dqs_policy dqs_policy;
/* `path`: a policy.safetensors or a run folder (then its best policy). */
dqs_status dqs_policy_load(dqs_policy **policy, const char *path, dqs_error *error);
/* The same with options changed, "particles=1 corrector=0"; sampling_steps=N is whatever the algorithm calls
 * the number of steps in which it draws an action. The weights must still fit. settings may be NULL. */
dqs_status dqs_policy_load_with(dqs_policy **policy, const char *path, const char *settings,
                                dqs_error *error);
int dqs_policy_steps(const dqs_policy *policy); /* sampling_steps; 0 if an action takes one pass */
/* Steps of the task for which it learned to hold an action (its option action_repeat): whoever steps the task
 * holds it. */
int dqs_policy_action_repeat(const dqs_policy *policy);
int dqs_policy_obs_dim(const dqs_policy *policy);
int dqs_policy_act_dim(const dqs_policy *policy);
void dqs_policy_seed(dqs_policy *policy, uint64_t seed);
/* One observation to one action in the box; allocation-free. */
dqs_status dqs_policy_act(dqs_policy *policy, const float *obs, float *action, dqs_error *error);
void dqs_policy_free(dqs_policy *policy);

/* ---------------------------------------------------------------- export: a policy without the library */
typedef struct dqs_export {
    const char *format; /* "c": path and its header, C99 without dependencies; "onnx": path */
    const char
        *path; /* "robot/arm.c": names in it begin with arm_ unless `name` says otherwise; "robot/arm.onnx" */
    const char *name;                /* NULL: from the path */
    const char *weights;             /* "fp32" (NULL too) or "fp16" */
    dqs_act_mode mode;               /* DQS_ACT_EVALUATE, or DQS_ACT_EXPLORE: with the noise of training */
    const float *act_low, *act_high; /* bounds of actions; NULL: the task's as recorded, else -1 and 1 */
    const float *obs;                /* [rows x obs_dim] to compare at; NULL: made up around the mean, 1000 */
    int rows;
    const char *keep; /* folder where the comparison stays, to be run elsewhere; NULL: none */
} dqs_export;
/* How far the exported policy is from the library's at the same observations with the same random numbers, in
 * halves of the action's range. It is compiled by cc, or run by Python with onnxruntime; where there is none,
 * rows is 0 and note says what to do. A policy that decides at random (among particles, on corrections) has
 * rows at which rounding turns a decision: `rounding` counts those at which the library's own reference loops
 * are as far from its fast ones. */
typedef struct dqs_parity {
    int rows, beyond;      /* compared; of them further away than 1e-5 */
    int decides, rounding; /* 0 if it does not decide */
    double most;           /* largest difference */
    double us, library_us; /* microseconds for an action: exported, library */
    long weights;          /* numbers stored */
    char note[400], summary[200];
} dqs_parity;
dqs_status dqs_policy_export(dqs_policy *policy, const dqs_export *how, dqs_parity *parity, dqs_error *error);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
