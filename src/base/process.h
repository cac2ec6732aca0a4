/* process: another program, run to its end. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stddef.h>

#define PROCESS_ABSENT 127 /* there is no such program, as shells have it */

/* argv ends with NULL; argv[0] is looked for on the path. What it prints, to either stream, goes to output (cut at size, 0 at its
 * end); it reads nothing. Returns its exit code, 128 + the signal that ended it, or PROCESS_ABSENT. */
int process_run(const char *const *argv, char *output, size_t size);

#endif
