#include "rollout.h"
#include <assert.h>
#include <string.h>

void rollout_create(struct rollout *r, struct arena *arena, long n_steps, int n_envs, int obs_dim,
                    int act_dim)
{
    *r = (struct rollout){.obs_dim = obs_dim, .act_dim = act_dim, .n_envs = n_envs, .n_steps = n_steps};
    long n = rollout_rows(r);
    float **columns[] = {&r->log_prob, &r->value, &r->reward, &r->final_value, &r->advantage, &r->ret};
    r->obs = arena_new(arena, float, n *obs_dim);
    r->action = arena_new(arena, float, n *act_dim);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = arena_new(arena, float, n);
    r->terminated = arena_new(arena, uint8_t, n);
    r->truncated = arena_new(arena, uint8_t, n);
}

void rollout_batch_create(struct rollout_batch *batch, struct arena *arena, int rows, int obs_dim,
                          int act_dim)
{
    batch->rows = rows;
    batch->obs = arena_new(arena, float, rows *obs_dim);
    batch->action = arena_new(arena, float, rows *act_dim);
    batch->log_prob = arena_new(arena, float, rows);
    batch->value = arena_new(arena, float, rows);
    batch->advantage = arena_new(arena, float, rows);
    batch->ret = arena_new(arena, float, rows);
}

bool rollout_full(const struct rollout *r)
{
    return r->filled == r->n_steps;
}

long rollout_rows(const struct rollout *r)
{
    return r->n_steps * r->n_envs;
}

long rollout_at(const struct rollout *r)
{
    return r->filled * r->n_envs;
}

void rollout_clear(struct rollout *r)
{
    r->filled = 0;
}

void rollout_begin(struct rollout *r, const float *obs, const float *action, const float *log_prob)
{
    assert(!rollout_full(r));
    size_t at = (size_t)rollout_at(r), n = (size_t)r->n_envs, o = (size_t)r->obs_dim, d = (size_t)r->act_dim;
    memcpy(r->obs + at * o, obs, sizeof *obs * n * o);
    memcpy(r->action + at * d, action, sizeof *action * n * d);
    memcpy(r->log_prob + at, log_prob, sizeof *log_prob * n);
}

void rollout_end(struct rollout *r, const float *reward, const float *final_value, const uint8_t *terminated,
                 const uint8_t *truncated)
{
    assert(!rollout_full(r));
    size_t at = (size_t)rollout_at(r), n = (size_t)r->n_envs;
    memcpy(r->reward + at, reward, sizeof *reward * n);
    memcpy(r->final_value + at, final_value, sizeof *final_value * n);
    memcpy(r->terminated + at, terminated, n);
    memcpy(r->truncated + at, truncated, n);
    r->filled++;
}

void gae(float *advantage, float *ret, const float *reward, const float *value, const float *final_value,
         const uint8_t *terminated, const uint8_t *truncated, long n_steps, int n_envs, double gamma,
         double lambda)
{
    for (int i = 0; i < n_envs; i++) {
        double following = 0; /* A_t+1 */
        for (long t = n_steps - 1; t >= 0; t--) {
            long at = t * n_envs + i;
            bool over = terminated[at] || truncated[at], last = t == n_steps - 1;
            double beyond = terminated[at] ? 0
                            : over || last ? (double)final_value[at]
                                           : (double)value[at + n_envs];
            double delta = reward[at] + gamma * beyond - value[at];
            following = delta + (over ? 0 : gamma * lambda * following);
            advantage[at] = (float)following;
            ret[at] = (float)(following + value[at]);
        }
    }
}

void rollout_advantages(struct rollout *r, double gamma, double lambda)
{
    assert(rollout_full(r));
    gae(r->advantage, r->ret, r->reward, r->value, r->final_value, r->terminated, r->truncated, r->n_steps,
        r->n_envs, gamma, lambda);
}

double rollout_explained_variance(const struct rollout *r)
{
    long n = rollout_rows(r);
    double ret = 0, error = 0, ret_squares = 0, error_squares = 0;
    for (long i = 0; i < n; i++) {
        ret += r->ret[i] / (double)n;
        error += ((double)r->ret[i] - r->value[i]) / (double)n;
    }
    for (long i = 0; i < n; i++) {
        double e = (double)r->ret[i] - r->value[i] - error;
        ret_squares += (r->ret[i] - ret) * (r->ret[i] - ret);
        error_squares += e * e;
    }
    return 1 - error_squares / ret_squares;
}

void rollout_gather(const struct rollout *r, struct rollout_batch *batch, const long *rows)
{
    size_t o = (size_t)r->obs_dim, d = (size_t)r->act_dim;
    for (size_t i = 0; i < (size_t)batch->rows; i++) {
        size_t from = (size_t)rows[i];
        memcpy(batch->obs + i * o, r->obs + from * o, sizeof(float) * o);
        memcpy(batch->action + i * d, r->action + from * d, sizeof(float) * d);
        batch->log_prob[i] = r->log_prob[from];
        batch->value[i] = r->value[from];
        batch->advantage[i] = r->advantage[from];
        batch->ret[i] = r->ret[from];
    }
}

void rollout_visit(struct rollout *r, struct visitor *v)
{
    int mark = visit_enter(v, "rollout/");
    size_t n = (size_t)rollout_rows(r);
    struct {
        const char *name;
        float *data;
    } columns[] = {{"log_prob", r->log_prob},       {"value", r->value},         {"reward", r->reward},
                   {"final_value", r->final_value}, {"advantage", r->advantage}, {"return", r->ret}};
    visit_matrix(v, "obs", VISIT_REPLAY, VISIT_F32, r->obs, n, (size_t)r->obs_dim);
    visit_matrix(v, "action", VISIT_REPLAY, VISIT_F32, r->action, n, (size_t)r->act_dim);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        visit_vector(v, columns[i].name, VISIT_REPLAY, VISIT_F32, columns[i].data, n);
    visit_vector(v, "terminated", VISIT_REPLAY, VISIT_U8, r->terminated, n);
    visit_vector(v, "truncated", VISIT_REPLAY, VISIT_U8, r->truncated, n);
    visit_long(v, "filled", VISIT_REPLAY, &r->filled);
    if (r->filled > r->n_steps) /* the visitor may have been a reader of a stranger's file */
        r->filled = r->n_steps;
    visit_leave(v, mark);
}

void shuffle(long *order, long n, struct rng *rng)
{
    for (long i = 0; i < n; i++) { /* Fisher and Yates, from the inside */
        long j = (long)rng_below(rng, (uint32_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}
