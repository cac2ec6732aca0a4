/* ddpm: from noise to a sample, level by level, along a predicted noise e^(x, t). Clips are to the box
 * [-1,1]^d.
 *
 *   clip-x    x <- clip((x - beta/sqrt(1 - abar) e^)/sqrt(alpha) + sqrt(beta) z)            QSM
 *   clip-x0   x <- mean_x0 clip(x0_x x - x0_e e^) + mean_x x + std z                        DACER, DIPO
 * The last step adds no z. A tile of rows runs all its steps in one thread. */
#ifndef DIFFUSION_DDPM_H
#define DIFFUSION_DDPM_H

#include "kernels.h"
#include "rng.h"
#include "vp.h"

enum ddpm_kind { DDPM_CLIP_X, DDPM_CLIP_X0 };

/* e [rows x dim] = the noise predicted in x [rows x dim] at a level, for rows row0 .. of the call. */
typedef void ddpm_predict(void *self, float *e, const float *x, int level, int row0, int rows, int thread);

struct ddpm {
    enum ddpm_kind kind;
    struct vp vp;
    int dim;
    double noise; /* 1: as derived; 0: only the start is random */
    ddpm_predict *predict;
    void *self;
};

struct ddpm_scratch { /* one per thread */
    float *e, *z;
};

void ddpm_scratch_create(struct ddpm_scratch *scratch, struct arena *arena, int rows, int dim);
/* Tickets a call of ddpm_tile uses: the caller takes this many once for all tiles of a batch. */
int ddpm_tickets(const struct ddpm *d);
/* The step from level t in the two forms above: inner = inner_x x - inner_e e^, then x <- clip(inner + spread z) or
 * by_inner clip(inner) + by_x x + spread z. */
struct ddpm_move {
    float inner_x, inner_e, by_inner, by_x, spread;
};
struct ddpm_move ddpm_move(const struct ddpm *d, int t, double noise);
/* x [rows x dim] <- samples for rows row0 .. row0+rows-1 of the batch; row0 is a multiple of 4. */
void ddpm_tile(const struct ddpm *d, const struct kernels *k, float *x, int row0, int rows,
               const struct rng *rng, uint64_t ticket, struct ddpm_scratch *scratch, int thread);

/* One step's own derivatives, for clip-x0: dx [n] = d loss / d x_{t-1} becomes that by x_t with e^ held
 * fixed; de [n] = that by e^. x and e are those the step had. */
void ddpm_back(const struct vp_level *level, float *dx, float *de, const float *x, const float *e, int n);

#endif
