/* corrector: Metropolis-adjusted Langevin steps in the box [-1,1]^d, reflected at its walls, that leave
 * exp(L) invariant. It samples the current density from wherever the diffusion put the points; the diffusion
 * supplies the modes. */
#ifndef DIFFUSION_CORRECTOR_H
#define DIFFUSION_CORRECTOR_H

#include "arena.h"
#include "energy.h"
#include "kernels.h"
#include "rng.h"

struct corrector {
    int steps;
    double step; /* d: standard deviation of the noise of a proposal */
};

struct corrector_scratch { /* one per thread */
    float *logp, *logp2, *grad, *grad2, *y, *z, *u;
};

void corrector_scratch_create(struct corrector_scratch *s, struct arena *arena, int rows, int dim);
int corrector_tickets(const struct corrector *c);
/* x [rows x dim] in place, rows row0 .. of the batch (a multiple of 4); returns how many proposals were
 * accepted. */
int corrector_tile(const struct corrector *c, const struct kernels *k, const struct energy *energy, float *x,
                   const int *owner, int row0, int rows, const struct rng *rng, uint64_t ticket,
                   struct corrector_scratch *s, int thread);

#endif
