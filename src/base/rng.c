/* rng: Philox4x32-10 of Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (2011). */
#include "rng.h"
#include <assert.h>
#include <math.h>

#define TWO_PI 6.283185307179586476925
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio: the increment of splitmix64 */

static uint64_t finalise(uint64_t x)
{ /* of splitmix64: a bijection in which every bit matters */
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed, enum rng_purpose purpose)
{
    /* Mixed twice, so that no pair of small seeds is a constant apart in the keys of two purposes. */
    uint64_t key = finalise(finalise(seed + GOLDEN) + GOLDEN * ((uint64_t)purpose + 1));
    rng->key[0] = (uint32_t)key;
    rng->key[1] = (uint32_t)(key >> 32);
    rng->ticket = 0;
}

uint64_t rng_ticket(struct rng *rng)
{
    return rng->ticket++;
}

void rng_block(const struct rng *rng, uint64_t ticket, uint64_t index, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
    uint32_t c2 = (uint32_t)ticket, c3 = (uint32_t)(ticket >> 32);
    uint32_t k0 = rng->key[0], k1 = rng->key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c0, b = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static uint64_t join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* The centre of the lowest cell stands in for 0; adding half a cell would round to 1 at the top. */
static double open_uniform(uint64_t word)
{
    uint64_t cell = word >> 11;
    return cell ? (double)cell * 0x1p-53 : 0x1p-54;
}

uint32_t rng_word(struct rng *rng)
{
    uint32_t w[4];
    rng_block(rng, rng_ticket(rng), 0, w);
    return w[0];
}

uint64_t rng_word64(struct rng *rng)
{
    uint32_t w[4];
    rng_block(rng, rng_ticket(rng), 0, w);
    return join(w[0], w[1]);
}

double rng_uniform(struct rng *rng)
{
    return open_uniform(rng_word64(rng));
}

double rng_normal(struct rng *rng)
{
    uint32_t w[4];
    rng_block(rng, rng_ticket(rng), 0, w);
    double radius = sqrt(-2.0 * log(open_uniform(join(w[0], w[1]))));
    return radius * cos(TWO_PI * open_uniform(join(w[2], w[3])));
}

uint32_t rng_below(struct rng *rng, uint32_t n)
{
    assert(n > 0);
    /* Words whose product with n, modulo 2^32, is below 2^32 mod n are the surplus that would favour some
     * results (Lemire 2019). Further words of the ticket replace them, so that a call takes one ticket. */
    uint32_t surplus = (0u - n) % n;
    uint64_t ticket = rng_ticket(rng);
    for (uint64_t index = 0;; index++) {
        uint32_t w[4];
        rng_block(rng, ticket, index, w);
        for (int i = 0; i < 4; i++) {
            uint64_t product = (uint64_t)w[i] * n;
            if ((uint32_t)product >= surplus)
                return (uint32_t)(product >> 32);
        }
    }
}

uint64_t rng_episode_seed(uint64_t batch_seed, long lane, long episode)
{
    struct rng rng;
    uint32_t word[4];
    rng_seed(&rng, batch_seed, RNG_ENV);
    rng_block(&rng, (uint64_t)lane, (uint64_t)episode, word);
    return (uint64_t)word[0] << 32 | word[1];
}

uint64_t rng_evaluation_seed(uint64_t eval_seed)
{
    struct rng rng;
    rng_seed(&rng, eval_seed, RNG_EVAL_ENV);
    return rng_word64(&rng);
}
