/* ring: the last `capacity` transitions, each with its true next observation (never the one after a
 * reset). */
#ifndef REPLAY_RING_H
#define REPLAY_RING_H

#include "arena.h"
#include "rng.h"
#include "visit.h"

struct ring {
    int obs_dim, act_dim;
    long capacity, written;                  /* written grows for ever; the next slot is written % capacity */
    float *obs, *action, *reward, *next_obs; /* [capacity x .] */
    float *terminated;                       /* 1 where nothing follows */
    long lanes; /* environments that push in turn: what follows a transition lies so many slots on */
};

/* A minibatch, gathered. [rows x .] */
struct ring_batch {
    int rows;
    float *obs, *action, *reward, *next_obs;
    float *discount; /* what a value at next_obs is worth: gamma^n, 0 where nothing follows */
    long *slot;      /* where in the ring each row was */
};

void ring_create(struct ring *ring, struct arena *arena, long capacity, int obs_dim, int act_dim);
void ring_batch_create(struct ring_batch *batch, struct arena *arena, int rows, int obs_dim, int act_dim);
long ring_count(const struct ring *ring);
void ring_push(struct ring *ring, const float *obs, const float *action, float reward, const float *next_obs,
               int terminated);
/* Uniformly with replacement over what is filled. Each row spans up to n transitions of an episode, fewer
 * where it ends or the ring does: reward is the discounted sum, next_obs the last one's. */
void ring_sample(const struct ring *ring, struct ring_batch *batch, double gamma, int n, struct rng *rng);
void ring_visit(struct ring *ring, struct visitor *visitor);
void ring_visit_lanes(struct ring *ring, struct visitor *visitor);

#endif
