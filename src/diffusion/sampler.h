/* sampler: from noise at t = 1 to a sample at t = 0, along a given score. Levels t_n = 1 - n/N, n = 0 .. N.
 *
 *   Euler-Maruyama   x <- x + g^2 S dt + g sqrt(dt) z                         the paper's reverse SDE
 *   ancestral        x <- D + (h'/h)(x - D) + sqrt(h' (1 - h'/h)) z           exact if the posterior were a Gaussian
 *   flow-euler       x <- D + (sigma'/sigma)(x - D)                           probability-flow ODE, Euler in sigma = sqrt h
 *   flow-heun        the same, second order: two scores a step
 * with D = x + h S, the posterior mean of the clean sample. A tile of rows runs all its steps in one
 * thread. */
#ifndef DIFFUSION_SAMPLER_H
#define DIFFUSION_SAMPLER_H

#include "arena.h"
#include "kernels.h"
#include "rng.h"
#include "schedule.h"

enum sampler_kind { SAMPLER_EULER_MARUYAMA, SAMPLER_ANCESTRAL, SAMPLER_FLOW_EULER, SAMPLER_FLOW_HEUN };
#define SAMPLER_CHOICES "euler-maruyama ancestral flow-euler flow-heun"

/* S [rows x dim] = the score at x [rows x dim] and level n, for rows row0 .. of the call. */
typedef void sampler_score(void *self, float *score, const float *x, int level, int row0, int rows,
                           int thread);

struct sampler {
    enum sampler_kind kind;
    struct schedule schedule;
    int steps, dim;
    double noise; /* 1: as derived; 0: no noise after the start */
    double *h;    /* [steps + 1], from h(1) down to 0 */
    sampler_score *score;
    void *self;
};

struct sampler_scratch { /* one per thread */
    float *score, *z, *x2, *score2;
};

void sampler_create(struct sampler *s, struct arena *arena, enum sampler_kind kind, struct schedule schedule,
                    int steps, int dim, double noise);
void sampler_scratch_create(struct sampler_scratch *scratch, struct arena *arena, int rows, int dim);
/* Tickets a call of sampler_tile uses: the caller takes this many once for all tiles of a batch. */
int sampler_tickets(const struct sampler *s);
/* The step from a level: x <- x + drift S + noise spread z. Of flow-heun its first half. */
struct sampler_move {
    double drift, spread;
};
struct sampler_move sampler_move(const struct sampler *s, int level);
/* x [rows x dim] <- samples for rows row0 .. row0+rows-1 of the batch; row0 is a multiple of 4. */
void sampler_tile(const struct sampler *s, const struct kernels *k, float *x, int row0, int rows,
                  const struct rng *rng, uint64_t ticket, struct sampler_scratch *scratch, int thread);

#endif
