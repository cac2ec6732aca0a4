/* rng: the counter-based generator Philox4x32-10 (Salmon et al. 2011). A generator is a key and a count of
 * the tickets drawn; ticket t owns the blocks {i, t}, i = 0, 1, ..., each of four 32-bit words. So any thread
 * can produce any part of a ticket, and saving a generator means saving one number. One stream per purpose:
 * streams never interact. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

enum rng_purpose { /* appended to, never reordered: the values are part of the checkpoint contract */
                   RNG_INIT,
                   RNG_REPLAY,
                   RNG_ACT,
                   RNG_EVALUATE,
                   RNG_TARGET,
                   RNG_SCORE,
                   RNG_TEMPERATURE,
                   RNG_ENV,
                   RNG_EVAL_ENV,
                   RNG_DIAGNOSE,
                   RNG_TEST,
                   RNG_PARTICLES,
                   RNG_CORRECTOR,
                   RNG_BOOTSTRAP
};

struct rng {
    uint32_t key[2];
    uint64_t ticket; /* next ticket */
};

void rng_seed(struct rng *rng, uint64_t seed, enum rng_purpose purpose);
uint64_t rng_ticket(struct rng *rng); /* takes a ticket */
/* Block `index` of a ticket: four words. */
void rng_block(const struct rng *rng, uint64_t ticket, uint64_t index, uint32_t out[4]);

/* Scalar conveniences for code that is not hot: each takes one ticket. */
uint32_t rng_word(struct rng *rng);
uint64_t rng_word64(struct rng *rng);
double rng_uniform(struct rng *rng);             /* in (0,1), 53 bits */
double rng_normal(struct rng *rng);              /* Box-Muller on two 53-bit uniforms */
uint32_t rng_below(struct rng *rng, uint32_t n); /* unbiased in 0 .. n-1 */

/* The seed of an episode in one lane of a batch of environments. */
uint64_t rng_episode_seed(uint64_t batch_seed, long lane, long episode);
/* The seed of the batch in which evaluations are played, a lane an episode: of a stream apart from that of
 * training, also where eval_seed equals seed. */
uint64_t rng_evaluation_seed(uint64_t eval_seed);

#endif
