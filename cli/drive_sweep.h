/* drive_sweep: a planned sweep to its end, with the live table, signals and the closing lines. For the verbs
 * that train many runs. */
#ifndef CLI_DRIVE_SWEEP_H
#define CLI_DRIVE_SWEEP_H

#include "sweep.h"
#include "sweep_view.h"

struct drive_sweep {
    const struct sweep_spec *spec;
    const struct sweep_plan *plan;
    const char *again; /* what to give to `dqs sweep` to go on; NULL: the folder */
    const char *words; /* instead: the words after the program's name that go on, as typed to a shell */
    bool json, quiet;  /* json: the table as JSON at the end */
    bool worker;       /* a task of a job array */
    bool aside; /* part of another verb, which has standard output: the closing lines go to standard error */
    struct sweep_work work; /* filled by drive_sweep_begin */
    struct sweep_state *states;
    char program[1024];
};

/* jobs 0: as many as there are cores. false: complained already. */
bool drive_sweep_begin(struct drive_sweep *drive, int jobs, int retries, double patience);
/* Checks the plan to the end, then writes OUT/sweep.yaml. */
dqs_status drive_sweep_record(const struct drive_sweep *drive, dqs_error *error);
int drive_sweep(struct drive_sweep *drive); /* the exit code: 1 if a run failed, 128 + signal if stopped */
void drive_sweep_end(struct drive_sweep *drive);

#endif
