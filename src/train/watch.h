/* watch: the periodic hooks of the loop. */
#ifndef TRAIN_WATCH_H
#define TRAIN_WATCH_H

#include "run.h"

dqs_status watch_evaluation(struct run *run, dqs_error *error); /* and keeps the best policy */
dqs_status watch_log(struct run *run, dqs_error *error); /* a row of progress.csv; looks for bad numbers */
dqs_status watch_progress(struct run *run,
                          dqs_error *error); /* the watcher, ten times a second; max_minutes */
/* At the end: the larger evaluation, the trace, DONE. */
dqs_status watch_final(struct run *run, dqs_error *error);

#endif
