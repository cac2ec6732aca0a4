/* energy: a log density up to a constant, and its gradient, at many points. Row i belongs to state owner[i]; a fixed density
 * ignores the owner. grad may be NULL. Called from several threads at once with different `thread`. */
#ifndef DIFFUSION_ENERGY_H
#define DIFFUSION_ENERGY_H

struct energy {
    int dim;
    void (*eval)(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                 int thread);
    void *self;
};

#endif
