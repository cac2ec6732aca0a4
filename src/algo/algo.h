/* algo: the five verbs of a learner. Each algorithm is one const row of functions in algo_table.c. An
 * algorithm never sees an environment; the loop never sees what kind of algorithm it drives. */
#ifndef ALGO_ALGO_H
#define ALGO_ALGO_H

#include "arena.h"
#include "compute.h"
#include "log.h"
#include "option.h"
#include "visit.h"
#include <stdbool.h>

struct algo_setup {
    const struct compute *compute;
    const void *options; /* the algorithm's own options struct */
    int obs_dim, act_dim, n_envs;
    int action_repeat; /* steps for which an action is held; 0 counts as 1 */
    long total_steps; /* of the run: schedules need it */
    long total_updates; /* 0: as many as the steps bring */
    uint64_t seed;
    bool terminates; /* the task can end by itself */
    bool act_only;   /* policy: no replay, no optimiser */
    int max_rows;    /* most rows a single act call will have */
};

/* One action of all environments. next_obs is the true one, before any reset; reward the mean over the steps
 * for which the action is held, so that rewards, values and temperatures are those of a step however long
 * that is. Steps beyond an end count as 0, as they do in a return; steps beyond a time limit do not count. */
struct transitions {
    int rows;
    long steps; /* of all environments together: rows, or more where actions are held */
    const float *obs, *action, *reward, *next_obs;
    const uint8_t *terminated, *truncated;
};

struct blueprint;

struct algo {
    const char *name, *doc;
    const struct option *options;
    size_t options_size;
    const struct option_preset *presets; /* ends with preset NULL */
    /* All memory from the arena. */
    dqs_status (*create)(void **self, struct arena *arena, const struct algo_setup *setup, dqs_error *error);
    /* action [rows x act_dim] in [-1,1] <- obs [rows x obs_dim] */
    dqs_status (*act)(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                      dqs_error *error);
    void (*observe)(void *self, const struct transitions *t);
    bool (*update_due)(const void *self);
    void (*update)(void *self, struct log_sink *log);
    void (*visit)(void *self, struct visitor *visitor);
    /* Optional: slower looks at the learner, for evaluation time: total variation, temperatures, ... */
    void (*diagnose)(void *self, struct log_sink *log);
    /* Optional: value [rows] = T log of the mean of exp(Q/T) over the action box, for pictures of the log
     * partition. */
    dqs_status (*soft_value)(void *self, float *value, const float *obs, int rows, dqs_error *error);
    /* What acting in this mode computes, for those who write policies in other languages. */
    dqs_status (*describe)(void *self, struct blueprint *out, struct arena *arena, dqs_act_mode mode,
                           dqs_error *error);
    /* The option that says in how many steps an action is drawn and may be changed after learning; NULL:
     * there are none. */
    const char *sampling_steps;
};

extern const struct algo *const algo_table[]; /* ends with NULL */
const struct algo *algo_find(const char *name);

#endif
