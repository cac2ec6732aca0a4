/* phase: one row per name, in the order in which they first began. */
#include "phase.h"
#include "clock.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

static int find(const struct phase_clock *clock, const char *name)
{
    int i = 0;
    while (i < clock->count && strcmp(clock->rows[i].name, name) != 0)
        i++;
    return i;
}

void phase_begin(struct phase_clock *clock, const char *name)
{
    double now = clock_seconds();
    if (clock->since > 0)
        clock->rows[clock->current].seconds += now - clock->since;
    clock->since = 0;
    if (!name)
        return;
    int i = find(clock, name);
    assert(i < PHASE_CAPACITY);
    if (i == clock->count) {
        clock->rows[i].name = name;
        clock->rows[i].seconds = 0;
        clock->count++;
    }
    clock->current = i;
    clock->since = now;
}
