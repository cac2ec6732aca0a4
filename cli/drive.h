/* drive: a run from where it stands to its end, with progress, signals and the closing lines. */
#ifndef CLI_DRIVE_H
#define CLI_DRIVE_H

#include "dqs.h"
#include <stdbool.h>

/* Returns the exit code. The run stays the caller's. */
int drive_to_end(dqs_run *run, bool json, bool quiet);

#endif
