/* compute: what every numerical routine is handed: the kernels to use, the workers, a scratch arena per
 * worker. */
#ifndef MATH_COMPUTE_H
#define MATH_COMPUTE_H

#include "arena.h"
#include "pool.h"
#include "kernels.h"

struct compute {
    const struct kernels *k;
    struct pool *pool;
};

/* kernels: "auto" or "ref" or the name of an instruction set. NULL, with a message, if unknown or not on this
 * CPU. */
dqs_status compute_create(struct compute **compute, int threads, const char *kernels, dqs_error *error);
void compute_free(struct compute *compute);

#endif
