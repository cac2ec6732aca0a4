#include "ring.h"
#include <assert.h>
#include <string.h>

void ring_create(struct ring *ring, struct arena *arena, long capacity, int obs_dim, int act_dim)
{
    *ring = (struct ring){.obs_dim = obs_dim, .act_dim = act_dim, .capacity = capacity};
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
    batch->terminated = arena_new(arena, float, rows);
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

void ring_sample(const struct ring *ring, struct ring_batch *batch, struct rng *rng)
{
    uint64_t count = (uint64_t)ring_count(ring), ticket = rng_ticket(rng);
    assert(count > 0);
    uint32_t word[4];
    for (int r = 0; r < batch->rows; r++) {
        if (r % 2 == 0)
            rng_block(rng, ticket, (uint64_t)r / 2, word);
        uint64_t wide = (uint64_t)word[r % 2 * 2] << 32 | word[r % 2 * 2 + 1];
        long slot = (long)(((unsigned __int128)wide * count) >> 64); /* bias below count / 2^64 */
        copy_row(batch->obs, r, ring->obs, slot, ring->obs_dim);
        copy_row(batch->action, r, ring->action, slot, ring->act_dim);
        copy_row(batch->next_obs, r, ring->next_obs, slot, ring->obs_dim);
        batch->reward[r] = ring->reward[slot];
        batch->terminated[r] = ring->terminated[slot];
        batch->slot[r] = slot;
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
