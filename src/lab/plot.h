/* plot: the pictures of a run folder, each as PNG and SVG: the learning curve, and the task's own picture. */
#ifndef LAB_PLOT_H
#define LAB_PLOT_H

#include "status.h"

#define PLOT_FILES 64
struct plot_report {
    int count; /* files written */
    char files[PLOT_FILES][512];
};

/* Draws what the folder has data for, into out_dir (NULL: the folder itself). A missing file leaves out its
 * picture; a damaged one is an error, and `report` still lists what was written before it was met. Nothing to
 * draw is an error. */
dqs_status plot_run(const char *run_dir, const char *out_dir, struct plot_report *report, dqs_error *error);

#endif
