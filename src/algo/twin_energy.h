/* twin_energy: the log density Q(s,a)/T of two critics, at many actions per state. The state's part of the
 * first layer is multiplied once per state (prepare); an action adds its own few rows of W.
 *
 * Where the squash goes (algorithm choices, see docs/papers/dqs.md):
 *   paper    L(u) = Q(s, u)/T: the critic is asked at raw actions, also outside the box; tanh comes after sampling
 *   latent   L(u) = Q(s, tanh u)/T + sum log(1 - tanh^2 u)
 *   box      L(a) = Q(s, a)/T, a in [-1,1]^d
 *   clip     L as in paper; what a score points to, x + h S, is brought into the box, in its targets and in sampling */
#ifndef ALGO_TWIN_ENERGY_H
#define ALGO_TWIN_ENERGY_H

#include "energy.h"
#include "parts.h"

enum squash { SQUASH_PAPER, SQUASH_LATENT, SQUASH_BOX, SQUASH_CLIP };
#define SQUASH_CHOICES "paper latent box clip"

struct twin_energy_work; /* per thread */
struct twin_energy {
    const struct twin *twin;
    enum twin_combine combine;
    const struct kernels *k;
    int feature_dim, act_dim, states; /* states: the most that prepare takes */
    float *base[2];                   /* [states x width] */
    float *inverse_T;                 /* [states] */
    float *w2_transposed[2];          /* of plain ReLU critics, else NULL */
    struct twin_energy_work *work;
    struct energy squashed, boxed; /* the same critics in the squash of the policy, and in the box */
};

/* cloud_most: samples of one state that will be asked for together. */
void twin_energy_create(struct twin_energy *e, struct arena *arena, const struct twin *twin,
                        enum twin_combine combine, enum squash squash, const struct compute *compute,
                        int feature_dim, int act_dim, int states, int cloud_most);
/* features [states x feature_dim]; T for all of them (inverse_T may be changed afterwards, per state). */
void twin_energy_prepare(struct twin_energy *e, const struct compute *compute, const float *features,
                         int states, double T);

/* The action that a diffused point stands for, and back. */
bool squash_by_tanh(enum squash squash); /* else by clipping to the box */
float squash_action(enum squash squash, float u);
float unsquash_action(enum squash squash, float a);

#endif
