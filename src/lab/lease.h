/* lease: which process works on a run. A lease is a file `lease-<n>` in the run's folder; the one with the
 * highest number counts. Taking means to create number n + 1, which the file system grants to one process
 * only, so two can never follow the same dead owner; an owner that finds a higher number than its own has
 * lost.
 *
 * A lease ends when it is released, or by itself: on the owner's own machine as soon as the process is gone;
 * seen from another machine when the file has not been touched for `patience` seconds of the observer's
 * clock, so that clocks need not agree. The lock of the run (file_lock) is held by the process that trains
 * and still says no where file systems share locks; the lease adds who may start that process, and machines
 * that share files but no locks. */
#ifndef LAB_LEASE_H
#define LAB_LEASE_H

#include "status.h"
#include <stdbool.h>
#include <time.h>

#define LEASE_PATIENCE 120 /* seconds */
#define LEASE_BEAT 10      /* seconds between renewals, at most */

struct lease_watch { /* what an observer remembers of a foreign lease; starts zeroed */
    long number;
    struct timespec touched;
    double since; /* by the observer's clock */
};

struct lease_view {
    long number; /* of the newest lease, 0: there was none yet */
    bool held;
    char owner[128]; /* "process 12 on name", while held */
};
/* A folder that is not there has no lease. `watch` may be NULL: then a foreign lease counts as held. */
void lease_look(struct lease_view *view, const char *folder, struct lease_watch *watch, double patience);

struct lease {
    char folder[1024];
    long number; /* 0: none is held */
};
/* After a look that found it free. false: another was quicker, or the file cannot be written (*error says
 * why). */
bool lease_take(struct lease *lease, const char *folder, const struct lease_view *seen, dqs_error *error);
bool lease_renew(struct lease *lease);   /* false: lost, the work must stop at once */
void lease_release(struct lease *lease); /* others may go on */
void lease_end(struct lease *lease);     /* the work is done: leaves no file */
/* The same for what a dead owner left, after a look that found nobody. */
void lease_clear(const char *folder, const struct lease_view *seen);

#endif
