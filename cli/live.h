/* live: progress while a run trains: one line that redraws itself on a terminal, plain lines now and then
 * elsewhere. The cursor is never hidden, so nothing needs repair after any kind of exit. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include "dqs.h"
#include <stdbool.h>

struct live {
    bool quiet, redraw, utf8;
    bool drawn;       /* an unfinished line stands on the terminal */
    double next_line; /* plain mode: when to speak again */
    bool evaluated;
    dqs_evaluation evaluation; /* the last one seen */
};

void live_begin(struct live *live, const dqs_run *run, bool quiet);
void live_watch(void *live, const dqs_progress *progress, const dqs_evaluation *evaluation);
void live_end(struct live *live); /* leaves the cursor at the start of an empty line */

/* "mmd 0.021  modes 38": as many of the task's own numbers as fit. */
void live_numbers(char *out, size_t size, const dqs_evaluation *evaluation);

#endif
