/* phase: where the time of a piece of work goes. Whoever works says which phase begins; whoever measures owns
 * the clock. */
#ifndef BASE_PHASE_H
#define BASE_PHASE_H

#define PHASE_CAPACITY 16

struct phase_clock {
    int count, current; /* current: the row that runs, meaningful while since > 0 */
    double since;       /* when it began; 0: nothing runs */
    struct {
        const char *name; /* a literal */
        double seconds;
    } rows[PHASE_CAPACITY];
};

void phase_begin(struct phase_clock *clock, const char *name); /* ends the phase before; NULL: only ends it */

#endif
