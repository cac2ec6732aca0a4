/* sweep_child: the processes of a sweep. */
#ifndef LAB_SWEEP_CHILD_H
#define LAB_SWEEP_CHILD_H

#include "sweep.h"
#include <sys/types.h>

/* Set to the number of the sweep's process for the processes it starts: they stop, with a checkpoint, when it
 * is gone. */
#define CHILD_OF "DQS_CHILD_OF"

/* Starts a program whose output is appended to a log. -1 and *error if that cannot be done. */
pid_t child_start(char **words, const char *log_path, dqs_error *error);

#endif
