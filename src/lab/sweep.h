/* sweep: many runs from one file. sweep_file.c reads the grid, sweep_plan.c lays it out as runs with folders
 * and checks them all, sweep_state.c asks a folder how its run stands, sweep_work.c trains, each run a
 * process of its own, and sweep_slurm.c hands the work to a cluster. The folders are the only memory: whoever
 * starts again goes on. */
#ifndef LAB_SWEEP_H
#define LAB_SWEEP_H

#include "arena.h"
#include "lease.h"
#include "status.h"

/* ---------------------------------------------------------------- the file */
struct config; /* train's */

struct sweep_axis {            /* a key and the values to go over */
    const char *key, *section; /* section: a task or an algorithm that it is for, NULL: all */
    int line, count;           /* line 0: not from a file */
    bool is_list;
    const char **values;
};

struct sweep_spec {
    struct arena arena;
    const char *label; /* names the file in messages */
    const char *out;   /* where the runs go */
    struct sweep_axis *axes;
    int n_axes, capacity;
};

/* An empty grid for programs that fill it with sweep_set; `out` and `label` are copied. */
void sweep_begin(struct sweep_spec *spec, const char *label, const char *out);
/* Reads YAML; frees itself when it fails. `out` is what the text says, or runs/<name of the label>. */
dqs_status sweep_read(struct sweep_spec *spec, const char *text, size_t size, const char *label,
                      dqs_error *error);
/* A file; or the folder of a sweep, which has a copy of its file. */
dqs_status sweep_read_file(struct sweep_spec *spec, const char *path, dqs_error *error);
/* Values instead of all that was there for this key, in sections too: "3" for one, "1,2,4" or "[1, 2, 4]" for
 * a list, "0..9" for whole numbers in a row. */
dqs_status sweep_set(struct sweep_spec *spec, const char *key, const char *values, dqs_error *error);
const struct sweep_axis *sweep_axis(const struct sweep_spec *spec,
                                    const char *key); /* general ones; or NULL */
/* malloc'd YAML that sweep_read takes for the same grid. */
char *sweep_write(const struct sweep_spec *spec);
void sweep_free(struct sweep_spec *spec);

/* ---------------------------------------------------------------- the plan */
struct sweep_setting {
    const char *key, *value;
};
struct sweep_run {
    const char *task, *algo, *preset;
    const char *name, *folder; /* "pendulum/td3/default-s0", and with the sweep's folder before it */
    long seed, steps;
    int n_settings;
    const struct sweep_setting *settings; /* beyond preset and seed */
};
struct sweep_plan {
    struct arena arena;
    const char *out;
    int count, cells;
    struct sweep_run *runs; /* every cell's first seed, then every cell's second, ... */
};

/* Every run's options are checked, and against what its folder already holds. */
dqs_status sweep_plan(struct sweep_plan *plan, const struct sweep_spec *spec, dqs_error *error);
/* The rest of what `dqs train` would refuse: options that do not go together, a task that does not open. One
 * run of each cell is built and dropped, which takes some hundredths of a second. */
dqs_status sweep_check(const struct sweep_plan *plan, dqs_error *error);
void sweep_plan_free(struct sweep_plan *plan);

/* ---------------------------------------------------------------- how it stands */
enum sweep_phase { SWEEP_WAITING, SWEEP_STOPPED, SWEEP_RUNNING, SWEEP_FAILED, SWEEP_DONE, SWEEP_PHASES };
extern const char *const sweep_phase_name[SWEEP_PHASES];

struct sweep_state {
    enum sweep_phase phase;
    bool ours;   /* a child of this process */
    bool done;   /* DONE is there, for as many steps as the plan has */
    bool begun;  /* there is a checkpoint to go on from */
    bool longer; /* it was finished with fewer steps than the plan has */
    long step;
    double seconds;    /* of training so far */
    double eta;        /* of a running one, seconds; NaN if unknown */
    double eval_mean;  /* of its last evaluation, NaN before the first */
    int failures;      /* tries that ended badly */
    char owner[128];   /* who runs it */
    char message[300]; /* of a failed one: the last line of its log */
    struct lease_view lease;
    struct lease_watch watch;
};
/* `state` keeps its watch from call to call; zeroed before the first. */
void sweep_look(struct sweep_state *state, const struct sweep_run *run, int retries, double patience);

struct sweep_count {
    int phase[SWEEP_PHASES];
    double eta; /* of the whole, on `jobs` at a time; NaN if unknown */
};
void sweep_count(struct sweep_count *count, const struct sweep_plan *plan, const struct sweep_state *states,
                 int jobs);

/* ---------------------------------------------------------------- the work */
enum sweep_event { SWEEP_TICK, SWEEP_STARTED, SWEEP_RESUMED, SWEEP_ENDED, SWEEP_BROKE, SWEEP_PAUSED };
typedef void sweep_watcher(void *user, enum sweep_event event, int run, const struct sweep_plan *plan,
                           const struct sweep_state *states);

struct sweep_work {
    const char *program; /* the executable to start runs with */
    int jobs, retries;
    double patience;        /* of leases, seconds */
    bool until_idle;        /* end when nothing is left to take, although others still work: on a cluster */
    bool keep_failures;     /* do not try again what failed before */
    sweep_watcher *watcher; /* may be NULL */
    void *user;
    /* Set by signal handlers: 1: stop the runs with their checkpoints and return DQS_STOPPED, 2: at once. */
    const volatile int *stop;
};
/* DQS_OK: nothing is left that this process could do. `states` has plan->count elements, zeroed. */
dqs_status sweep_work(const struct sweep_work *work, const struct sweep_plan *plan,
                      struct sweep_state *states, dqs_error *error);
/* The words of the command for a run, ending with NULL: `train` with everything, or `resume`. */
char **sweep_command(struct arena *arena, const char *program, const struct sweep_run *run,
                     const struct sweep_state *state);

/* ---------------------------------------------------------------- the cluster */
struct sweep_slurm {
    const char *program, *job_name;
    const char *folder;           /* of the sweep, absolute */
    const char *grid;             /* what sweep_write made: a copy of their own is what the tasks read */
    const char *partition, *time; /* NULL: the cluster's own */
    int tasks, cpus, retries, patience;
    int notice;               /* seconds ahead of the time limit */
    const char *const *extra; /* further words for sbatch */
    int n_extra;
};
/* malloc'd text of the job script. */
char *sweep_slurm_script(const struct sweep_slurm *slurm);
/* Submits it; job: the number that sbatch tells. */
dqs_status sweep_slurm_submit(const struct sweep_slurm *slurm, char *job, size_t size, dqs_error *error);
/* From inside a task: back into the queue. */
dqs_status sweep_slurm_requeue(dqs_error *error);

#endif
