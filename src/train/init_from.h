/* init_from: what a new run takes over from another: its networks and, if asked for, its replay. */
#ifndef TRAIN_INIT_FROM_H
#define TRAIN_INIT_FROM_H

#include "run.h"

/* As the options init_from and init_replay say; nothing without the former. */
dqs_status init_from(struct run *run, dqs_error *error);

#endif
