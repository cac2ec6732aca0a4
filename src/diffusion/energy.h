/* energy: a log density up to a constant, and its gradient, at many points. Row i belongs to state owner[i];
 * a fixed density ignores the owner. grad may be NULL. Called from several threads at once with different
 * `thread`.
 *
 * Many points of one state may be cheaper together. An energy that can do it has cloud and pull: the values
 * at count <= cloud_most points, and then sum [dim] = sum_i weight[i] grad_i over the same points. */
#ifndef DIFFUSION_ENERGY_H
#define DIFFUSION_ENERGY_H

struct energy {
    int dim;
    void (*eval)(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                 int thread);
    void *self;
    int cloud_most; /* 0: it cannot */
    void (*cloud)(void *self, float *logp, const float *y, int owner, int count, int thread);
    void (*pull)(void *self, float *sum, const float *weight, int owner, int count, int thread);
};

#endif
