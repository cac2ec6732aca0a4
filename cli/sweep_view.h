/* sweep_view: a sweep for people and for scripts: the table that redraws itself on a terminal, lines
 * elsewhere, the table of --status, and JSON. */
#ifndef CLI_SWEEP_VIEW_H
#define CLI_SWEEP_VIEW_H

#include "sweep.h"

struct sweep_view {
    const char *name; /* of the sweep, for the headline */
    int jobs, tries;
    bool quiet, redraw;
    int drawn;        /* lines of the table that stand on the terminal */
    double next_line; /* plain mode: when to sum up again */
};

void sweep_view_begin(struct sweep_view *view, const char *name, int jobs, int tries, bool quiet);
sweep_watcher sweep_view_watch; /* user: the view */
void sweep_view_end(struct sweep_view *view);

/* "3 of 12 done, 2 running, 1 failed, 6 waiting" */
void sweep_summary(char *out, size_t size, const struct sweep_count *count);
void sweep_print_table(const struct sweep_plan *plan, const struct sweep_state *states, int jobs);
void sweep_print_json(const struct sweep_plan *plan, const struct sweep_state *states, int jobs);

#endif
