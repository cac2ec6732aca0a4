#ifndef BENCH_BENCH_ENVS_H
#define BENCH_BENCH_ENVS_H

#include <stdbool.h>

/* Prints the table, or JSON; `only` (may be NULL): tasks whose name contains it. Returns the exit code. */
int bench_envs(int threads, int repeats, const char *only, bool json);

#endif
