/* process: another program, run to its end. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

#define PROCESS_ABSENT 127 /* there is no such program, as shells have it */

/* argv ends with NULL; argv[0] is looked for on the path. What it prints, to either stream, goes to output
 * (cut at size, 0 at its end); it reads nothing. Returns its exit code, 128 + the signal that ended it, or
 * PROCESS_ABSENT. */
int process_run(const char *const *argv, char *output, size_t size);
/* The Python that runs helpers: DQS_PYTHON, else PYTHON of the environment, else python3. */
const char *process_python(void);
/* Signals as a fresh process has them, whatever this one blocks or handles; in a group of its own or not.
 * Destroy it afterwards. */
void process_fresh(posix_spawnattr_t *attributes, bool own_group);

#endif
