/* blueprint: what acting computes, from an observation and some random numbers to an action, in a form that
 * does not know which algorithm learned it. Each algorithm fills one (struct algo, describe); whoever writes
 * a policy down in another language (src/deploy) reads it. Weights are pointed to, not copied: a blueprint
 * lives no longer than its policy.
 *
 *     s = features(obs)                                   normalised, clipped, with sines and cosines
 *     steps = 0:  u = net(s)
 *     steps > 0:  u = x, x = start z, then at each step   y = net(s, x, level), inner = clip?(inner_x x + inner_y y)
 *                     x <- clip?(by_inner inner + by_x x + by_y y + by_y2 net(s, inner, next level) + spread z)
 *     a = squash(u + sigma z)
 *     of several particles one is chosen, by softmax Q/T or for its Q, and the corrector moves it;
 *     then a <- clip(a + out_noise z)
 *
 * d action dimensions, P particles. What depends on the level alone (the embeddings of diffusion time and of
 * T, the first layer's bias) is multiplied out here: level_part [steps x width]. */
#ifndef ALGO_BLUEPRINT_H
#define ALGO_BLUEPRINT_H

#include "arena.h"
#include "net.h"
#include "normaliser.h"

enum blueprint_squash { OUT_AS_IS, OUT_BOX, OUT_TANH };
enum blueprint_sigma { SIGMA_NONE, SIGMA_CONSTANT, SIGMA_OF_NET_TANH, SIGMA_OF_NET_CLAMP };

struct blueprint_step { /* of the chain; level n is step n, and the second network call is at level n + 1 */
    float inner_x, inner_y, by_inner, by_x, by_y, by_y2, spread;
    bool clip_inner, clip, second;
    int noise; /* slot of z, or -1 */
};

/* Random numbers that a decision takes, as the trainer draws them: count of them from a ticket of its
 * generator. */
struct blueprint_noise {
    int count, at; /* at: where they stand among all; normals come first, then uniforms */
    bool uniform;
    uint64_t ticket; /* after the generator's */
};

struct blueprint {
    int obs_dim, act_dim;
    const struct normaliser *norm;
    int octaves, feature_dim;

    const struct net *net; /* inputs: features, then with steps > 0 x and the level's */
    int steps;
    struct blueprint_step *step;
    float *level_part; /* [steps x width], with the first layer's bias */
    float start;
    int start_noise; /* slot, P d numbers */

    enum blueprint_squash squash;
    enum blueprint_sigma sigma_form;
    const float *sigma;          /* [d], for SIGMA_CONSTANT */
    float sigma_low, sigma_high; /* of log sigma, for SIGMA_OF_NET: the network's second d outputs */
    int sigma_noise;             /* slot */
    float out_noise;
    int out_slot;

    int particles, corrector;  /* how many; Metropolis-adjusted Langevin steps */
    bool best;                 /* the particle of the highest Q acts, else one drawn by softmax Q/T ... */
    int choice_noise;          /* ... with the uniform of this slot, if P > 1 */
    int first_corrector_noise; /* slots in turn: normals, a uniform */
    float corrector_step, inverse_T;
    const struct net *critic[2]; /* inputs: features, action; NULL where nobody asks them */
    bool critics_mean;           /* else their minimum */

    struct blueprint_noise *slot;
    int slots, slot_capacity, normals, uniforms;
    const struct rng *rng; /* the trainer's, of this way of acting */
};

/* A slot for count numbers; returns its index. */
int blueprint_draw(struct blueprint *b, struct arena *arena, int count, bool uniform, uint64_t ticket);
/* Puts uniforms behind normals: once all slots are taken. */
void blueprint_finish(struct blueprint *b);
/* level_part from the embeddings [steps x n] of the levels in the order of the steps, n = the net's last
 * inputs. */
void blueprint_levels(struct blueprint *b, struct arena *arena, const float *embedding, int n);
/* noise [normals + uniforms] as the trainer will draw it for its next decision on one row. */
void blueprint_noise_of(const struct blueprint *b, const struct kernels *k, float *noise);

#endif
