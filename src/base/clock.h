#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void); /* monotonic */
/* "2026-01-31T12:00:00Z" into a buffer of at least 24 characters. */
void clock_stamp(char *out, int size);

#endif
