/* clock: monotonic seconds for measuring, a UTC stamp for records. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "clock.h"
#include <time.h>

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void clock_stamp(char *out, int size)
{
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(out, (size_t)size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        out[0] = 0;
}
