#include "ring.h"
#include <assert.h>
#include <string.h>

void ring_create(struct ring *ring, struct arena *arena, long capacity, int obs_dim, int act_dim)
{
    *ring = (struct ring){.obs_dim = obs_dim, .act_dim = act_dim, .capacity = capacity, .lanes = 1};
    ring->obs = arena_new(arena, float, capacity *obs_dim);
    ring->action = arena_new(arena, float, capacity *act_dim);
    ring->reward = arena_new(arena, float, capacity);
    ring->next_obs = arena_new(arena, float, capacity *obs_dim);
    ring->terminated = arena_new(arena, float, capacity);
}

void ring_batch_create(struct ring_batch *batch, struct arena *arena, int rows, int obs_dim, int act_dim)
{
    batch->rows = rows;
    batch->obs = arena_new(arena, float, rows *obs_dim);
    batch->action = arena_new(arena, float, rows *act_dim);
    batch->reward = arena_new(arena, float, rows);
    batch->next_obs = arena_new(arena, float, rows *obs_dim);
    batch->discount = arena_new(arena, float, rows);
    batch->slot = arena_new(arena, long, rows);
}

long ring_count(const struct ring *ring)
{
    return ring->written < ring->capacity ? ring->written : ring->capacity;
}

static void copy_row(float *to, long to_row, const float *from, long from_row, int n)
{
    memcpy(to + to_row * n, from + from_row * n, sizeof *to * (size_t)n);
}

void ring_push(struct ring *ring, const float *obs, const float *action, float reward, const float *next_obs,
               int terminated)
{
    long slot = ring->written++ % ring->capacity;
    copy_row(ring->obs, slot, obs, 0, ring->obs_dim);
    copy_row(ring->action, slot, action, 0, ring->act_dim);
    copy_row(ring->next_obs, slot, next_obs, 0, ring->obs_dim);
    ring->reward[slot] = reward;
    ring->terminated[slot] = terminated ? 1 : 0;
}

/* The slot of the transition after that in `slot`, -1 if there is none. It belongs to the same episode if it
 * starts in the very state where the other ended: no mark of episodes is needed. */
static long following(const struct ring *ring, long slot)
{
    size_t n = (size_t)ring->obs_dim;
    long next = (slot + ring->lanes) % ring->capacity,
         age = (ring->written - 1 - slot) % ring->capacity; /* transitions pushed since */
    if (ring->terminated[slot] != 0 || age < ring->lanes)
        return -1;
    return memcmp(ring->next_obs + (size_t)slot * n, ring->obs + (size_t)next * n, sizeof(float) * n) ? -1
                                                                                                      : next;
}

static void gather(const struct ring *ring, struct ring_batch *batch, int row, long slot, double gamma, int n)
{
    long last = slot;
    double reward = ring->reward[slot], discount = gamma;
    for (int i = 1; i < n; i++) {
        long next = following(ring, last);
        if (next < 0)
            break;
        last = next;
        reward += discount * ring->reward[last];
        discount *= gamma;
    }
    copy_row(batch->obs, row, ring->obs, slot, ring->obs_dim);
    copy_row(batch->action, row, ring->action, slot, ring->act_dim);
    copy_row(batch->next_obs, row, ring->next_obs, last, ring->obs_dim);
    batch->reward[row] = (float)reward;
    batch->discount[row] = (float)discount * (1 - ring->terminated[last]);
    batch->slot[row] = slot;
}

void ring_sample(const struct ring *ring, struct ring_batch *batch, double gamma, int n, struct rng *rng)
{
    uint64_t count = (uint64_t)ring_count(ring), ticket = rng_ticket(rng);
    assert(count > 0);
    uint32_t word[4];
    for (int r = 0; r < batch->rows; r++) {
        if (r % 2 == 0)
            rng_block(rng, ticket, (uint64_t)r / 2, word);
        uint64_t wide = (uint64_t)word[r % 2 * 2] << 32 | word[r % 2 * 2 + 1];
        long slot = (long)(((unsigned __int128)wide * count) >> 64); /* bias below count / 2^64 */
        gather(ring, batch, r, slot, gamma, n);
    }
}

void ring_visit(struct ring *ring, struct visitor *visitor)
{
    int mark = visit_enter(visitor, "replay/");
    size_t n = (size_t)ring->capacity;
    visit_matrix(visitor, "obs", VISIT_REPLAY, VISIT_F32, ring->obs, n, (size_t)ring->obs_dim);
    visit_matrix(visitor, "action", VISIT_REPLAY, VISIT_F32, ring->action, n, (size_t)ring->act_dim);
    visit_vector(visitor, "reward", VISIT_REPLAY, VISIT_F32, ring->reward, n);
    visit_matrix(visitor, "next_obs", VISIT_REPLAY, VISIT_F32, ring->next_obs, n, (size_t)ring->obs_dim);
    visit_vector(visitor, "terminated", VISIT_REPLAY, VISIT_F32, ring->terminated, n);
    visit_long(visitor, "written", VISIT_REPLAY, &ring->written);
    visit_leave(visitor, mark);
}

void ring_visit_lanes(struct ring *ring, struct visitor *visitor)
{
    visit_long(visitor, "lanes", VISIT_LEARN, &ring->lanes);
    ring->lanes = ring->lanes < 1 ? 1 : ring->lanes > ring->capacity ? ring->capacity : ring->lanes;
}
