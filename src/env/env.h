/* env: a batch of equal environments, stepped together on the pool. It maps actions from [-1,1] to the task's
 * bounds, counts steps, truncates, resets by itself and keeps the true final observation. Episode e of lane i
 * starts from a seed that is a pure function of (batch seed, i, e), so a batch can be saved and restored
 * without a generator. */
#ifndef ENV_ENV_H
#define ENV_ENV_H

#include "arena.h"
#include "pool.h"
#include "status.h"
#include "visit.h"
#include <stdbool.h>

extern const dqs_env_type *const env_table[]; /* ends with NULL */
/* Also accepts other spellings: case, '_' for '-'. NULL if unknown. */
const dqs_env_type *env_find(const char *name);
/* Tasks that share rows of presets: "control" of the DeepMind Control Suite, NULL of any other. */
const char *env_family(const dqs_env_type *type);
/* By name from the table; a path that contains '/' or ends in .so: a plug-in; gym:ID: one of Gymnasium's.
 * *handle: see env_unload. */
dqs_status env_load(const dqs_env_type **type, void **handle, const char *name, dqs_error *error);
void env_unload(void *handle);

/* Is a type fit for use: size field, name, the four callbacks? For plug-ins and dqs_config_set_env. */
dqs_status env_check_type(const dqs_env_type *type, dqs_error *error);

/* One instance, checked: what the batch and dqs_env have in common. `step` counts from 1 and is only named in
 * messages. */
dqs_status env_open(const dqs_env_type *type, void **self, dqs_spec *spec, const char *options,
                    dqs_error *error);
dqs_status env_reset(const dqs_env_type *type, void *self, float *obs, const dqs_spec *spec, uint64_t seed,
                     dqs_error *error);
/* Clips box_action to [-1,1], maps it into `mapped`, steps, truncates at max_steps; terminated wins over
 * truncated. */
dqs_status env_step(const dqs_env_type *type, void *self, float *mapped, float *obs, dqs_outcome *outcome,
                    const dqs_spec *spec, const float *box_action, long step, dqs_error *error);

struct env_batch {
    const dqs_env_type *type;
    dqs_spec spec;
    int n;
    int repeat;                      /* steps of the task for which an action is held: 1 unless the owner sets it */
    void **self;                     /* n instances */
    float *obs;                      /* n x obs_dim: what to act on now (after any reset) */
    float *next_obs;                 /* n x obs_dim: the true result of the last step */
    float *action;                   /* n x act_dim: mapped to the task's bounds */
    float *reward;                   /* n: mean over the held action, 0 for its steps beyond an end */
    uint8_t *terminated, *truncated; /* n; truncated is 0 where terminated is 1 */
    long *episode_step, *episode;    /* n */
    double *episode_return;          /* n, running */
    double *finished_return; /* n: return of the episode that ended in the last step, NaN if none did */
    long *finished_length;
    int *made;     /* n: steps of the task in the last step of the batch, 1 to repeat */
    double *state; /* n x state_dim, filled by env_batch_capture */
    uint64_t seed;
    dqs_error *errors;       /* n */
    struct pool *pool;       /* may be NULL: serial */
    const float *box_action; /* during a step */
};

dqs_status env_batch_create(struct env_batch **batch, struct arena *arena, const dqs_env_type *type,
                            const char *options, int n, uint64_t seed, struct pool *pool, dqs_error *error);
void env_batch_close(struct env_batch *batch); /* closes the instances; the memory is the arena's */
dqs_status env_batch_reset(struct env_batch *batch, dqs_error *error);
/* Not-a-number or infinity in an observation or reward is DQS_E_NUMERIC, naming the task, the lane, the step
 * and the entry. */
dqs_status env_batch_step(struct env_batch *batch, const float *box_action, dqs_error *error);
/* Names the whole state. env_batch_capture fills the arrays from the instances first; env_batch_restore
 * writes them back. */
void env_batch_visit(struct env_batch *batch, struct visitor *visitor);
void env_batch_capture(struct env_batch *batch);
dqs_status env_batch_restore(struct env_batch *batch, dqs_error *error);

#endif
