#ifndef TRAIN_LOOP_H
#define TRAIN_LOOP_H

#include "run.h"

/* Trains until that step count is reached or a stop is asked for. */
dqs_status loop_run(struct run *run, long until, dqs_error *error);

#endif
