/* collection: every run below some folders, read once and grouped as task x method x seeds. Reports, pictures
 * and sweeps start here. Only files are read, never a live process, and nothing in them is trusted. */
#ifndef LAB_COLLECTION_H
#define LAB_COLLECTION_H

#include "arena.h"
#include "plot_data.h"

struct collection_option {
    const char *key, *value;
};

struct collection_run {
    const char *path;            /* of its folder */
    const char *env, *algo;      /* as recorded */
    const char *preset;          /* "" if not recorded */
    const char *task;            /* env, and env_options if it has any: "maze goals=1" */
    long seed, planned, reached; /* steps planned and made */
    bool done;
    int n_options; /* all pairs of config.yaml in its order, `recorded_...` too */
    const struct collection_option *options;
    struct plot_table evaluations; /* rows 0: none yet */
    int n_times;                   /* of progress.csv: seconds of training at those steps */
    const double *time_step, *time_seconds;
    int task_index, method_index;
};

/* An algorithm with a preset, and what sets its runs apart from others of the same preset on the same
 * task. */
struct collection_method {
    const char *label;    /* "dqs", "dqs paper K=8": the preset if the algorithm was run with several */
    bool preset_in_label; /* where the algorithm was run with several */
    const char *algo, *preset;
    int n_options;                           /* by key */
    const struct collection_option *options; /* that are not at the preset's value */
    int number;                              /* its place in the list */
};

struct collection_cell {
    int count;
    const struct collection_run **runs; /* by seed */
};

struct collection {
    struct arena arena;
    int n_runs, n_tasks, n_methods;
    struct collection_run *runs;       /* by path */
    const char **tasks;                /* by name */
    struct collection_method *methods; /* in the order of `dqs algos`, then preset, then option values */
    struct collection_cell *cells;     /* n_tasks x n_methods */
    int left_out;                      /* runs not taken, each with a warning */
};

/* Called with one line about each thing passed over. */
typedef void collection_warning(void *user, const char *line);

/* Links are not followed below the given folders, and hidden folders not entered. A run with a damaged file
 * is left out with a warning. Of runs alike in task, method and seed the one that got furthest stays. No run
 * at all is an error. Free the collection in any case. */
dqs_status collection_read(struct collection *collection, const char *const *folders, int n,
                           collection_warning *warn, void *user, dqs_error *error);
void collection_free(struct collection *collection);

const struct collection_cell *collection_cell(const struct collection *collection, int task, int method);
bool collection_finished(const struct collection_run *run); /* all planned steps or updates are made */
const char *collection_option(const struct collection_run *run, const char *key); /* NULL if not recorded */

/* Steps that one action of all environments takes: a run counts on by so many, and may be beyond what was
 * asked by less. */
long collection_stride(const struct collection_run *run);
/* The row of the evaluations made at `budget` steps or within a stride of it (the last of them, which is the
 * largest), or else the last one before it by at most 2 % of the budget; -1 if there is none, or none with a
 * finite mean. */
int collection_row(const struct collection_run *run, long budget);
/* mean_reward of that row, or not-a-number. */
double collection_score(const struct collection_run *run, long budget);
/* Seconds of training until `budget` steps, interpolated; not-a-number if not known. */
double collection_seconds(const struct collection_run *run, long budget);

#endif
