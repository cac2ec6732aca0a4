/* probe: what training costs a core of this machine, measured by a few updates: rough. */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include "sweep.h"

struct probe {
    double act, update;      /* seconds of one action and of one update */
    double row;              /* of one action among many, as in evaluations */
    double updates;          /* to an environment step */
    double repeat;           /* steps for which an action is held */
    long warmup;             /* steps before the first */
    long every, some, final; /* evaluations: steps between them, episodes of each and of the last */
};

/* Trains a little with the run's options, in memory. false: it cannot be done (what is wrong will be told by
 * the sweep). */
bool probe_run(struct probe *probe, const struct sweep_run *run);
/* Seconds of a step of the task and the steps of an episode; false as above. */
bool probe_task(double *seconds, long *length, const char *task);
/* Seconds of a whole run from `begin` on. */
double probe_seconds(const struct probe *probe, double env_step, long length, long begin, long steps);

#endif
