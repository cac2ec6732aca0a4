/* run: one training run: its configuration, learner, environments, counters and folder. Whoever trains calls
 * run_train; what happens in a step stands in loop.c. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include "algo.h"
#include "checkpoint.h"
#include "compute.h"
#include "config.h"
#include "env.h"
#include "metrics.h"
#include <stdatomic.h>

#define RUN_WINDOW 100 /* episodes in rollout/ep_rew_mean, as elsewhere */
#define RUN_PATH_SIZE 1024
#define RUN_LOG_NAME 64

struct evaluator; /* evaluate.c */
typedef void run_watcher(void *user, const dqs_progress *progress, const dqs_evaluation *evaluation);

/* All that a resumed run needs besides environments and learner. Visited as "run/...". */
struct run_counters {
    long step, episodes, updates;
    long evaluations; /* made so far; without any, the two means below mean nothing */
    double eval_mean, best_mean;
    double last_return; /* of the last training episode, if episodes > 0 */
    double window_return[RUN_WINDOW], window_length[RUN_WINDOW]; /* of the last episodes, a ring */
};

struct run {
    struct config *config;
    const struct run_options *options; /* the configuration's */
    struct arena arena;
    struct compute *compute;

    struct env_batch *envs;
    const struct algo *algo;
    void *self;          /* the learner */
    int max_rows;        /* of one act call */
    float *obs, *action; /* n_envs x obs_dim, x act_dim: of the step being made */

    long made; /* steps of the environments in the loop's last one */
    struct run_counters count;
    struct checkpoint_part
        parts[4]; /* the whole state: counters, environments, learner, and the list's end */
    struct log_sink log;
    char log_names[LOG_CAPACITY][RUN_LOG_NAME]; /* of a restored sink: the literals died with the process */
    struct evaluator *evaluator;
    dqs_evaluation evaluation; /* the last one */

    char dir[RUN_PATH_SIZE];
    int lock;
    struct metrics *metrics;

    bool shows_policy; /* of another file: to be evaluated, not to go on with */
    atomic_bool stop;
    run_watcher *watcher;
    void *watcher_user;
    double started, seconds_before; /* of this process; of those before it */
    struct {
        double time;
        long step;
    } mark[2];      /* speed is measured since mark[0], 5 to 10 seconds ago */
    double watched; /* when the watcher was last called */
};

/* Everything that can be refused is refused before the folder is made. */
dqs_status run_create(struct run **run, const struct config *config, dqs_error *error);
/* Would run_create refuse it? Makes all but the folder, and drops it. */
dqs_status run_check(const struct config *config, dqs_error *error);
/* algo and env stand for the tables' rows, if not NULL. steps > 0: a new total. threads > 0: instead of the
 * recorded. */
dqs_status run_resume(struct run **run, const char *dir, const struct algo *algo, const dqs_env_type *env,
                      long steps, long threads, dqs_error *error);
/* Puts the policy of a file in the place of the run's own, and its step: for evaluations alone. */
dqs_status run_show_policy(struct run *run, const char *path, dqs_error *error);
void run_free(struct run *run); /* does not save */

/* At most n more steps, n < 0: all that are left. DQS_STOPPED, saved, after run_stop. */
dqs_status run_train(struct run *run, long n, dqs_error *error);
void run_stop(struct run *run); /* safe in a signal handler */

/* Writes checkpoint and policy, unless a number in them has gone bad: then the old ones stay. */
dqs_status run_save(struct run *run, dqs_error *error);
dqs_status run_save_policy(struct run *run, const char *file, dqs_error *error);
dqs_status run_check_numbers(struct run *run, dqs_error *error);
uint64_t run_hash(struct run *run); /* of the whole state */

void run_count_step(struct run *run);    /* the step just made, and the episodes that ended in it */
bool run_done(const struct run *run);    /* all steps are made, or all updates */
bool run_updated(const struct run *run); /* all updates are, where their number is limited */
void run_progress(const struct run *run, dqs_progress *out);
void run_path(const struct run *run, char path[RUN_PATH_SIZE], const char *file);

#endif
