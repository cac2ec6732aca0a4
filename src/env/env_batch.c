/* env_batch: steps equal environments together, resets what has ended, keeps the true final observation.
 * Lanes share nothing, so they may run on any thread in any order without a change in the results. */
#include "env.h"
#include "rng.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static void take_arrays(struct env_batch *batch, struct arena *arena)
{
    int n = batch->n, obs_dim = batch->spec.obs_dim;
    batch->obs = arena_new(arena, float, n *obs_dim);
    batch->next_obs = arena_new(arena, float, n *obs_dim);
    batch->action = arena_new(arena, float, n * batch->spec.act_dim);
    batch->reward = arena_new(arena, float, n);
    batch->terminated = arena_new(arena, uint8_t, n);
    batch->truncated = arena_new(arena, uint8_t, n);
    batch->episode_step = arena_new(arena, long, n);
    batch->episode = arena_new(arena, long, n);
    batch->episode_return = arena_new(arena, double, n);
    batch->finished_return = arena_new(arena, double, n);
    batch->finished_length = arena_new(arena, long, n);
    batch->made = arena_new(arena, int, n);
    batch->state = arena_new(arena, double, n *(batch->spec.state_dim ? batch->spec.state_dim : 1));
    batch->errors = arena_new(arena, dqs_error, n);
}

dqs_status env_batch_create(struct env_batch **batch, struct arena *arena, const dqs_env_type *type,
                            const char *options, int n, uint64_t seed, struct pool *pool, dqs_error *error)
{
    assert(n >= 1);
    *batch = NULL;
    TRY(env_check_type(type, error));
    struct env_batch *b = arena_new(arena, struct env_batch, 1);
    b->type = type;
    b->repeat = 1;
    b->seed = seed;
    b->pool = pool;
    b->self = arena_new(arena, void *, n);
    for (b->n = 0; b->n < n; b->n++) {
        dqs_spec spec;
        dqs_status status = env_open(type, &b->self[b->n], &spec, options, error);
        bool first = b->n == 0;
        if (status == DQS_OK && !first &&
            (spec.obs_dim != b->spec.obs_dim || spec.act_dim != b->spec.act_dim ||
             spec.state_dim != b->spec.state_dim)) {
            type->close(b->self[b->n]);
            status = fail(error, DQS_E_ENV,
                          "%s: two instances have different dimensions; open must always give the "
                          "same",
                          type->name);
        }
        if (status != DQS_OK) {
            env_batch_close(b);
            return status;
        }
        if (first)
            b->spec = spec;
    }
    take_arrays(b, arena);
    *batch = b;
    return DQS_OK;
}

void env_batch_close(struct env_batch *batch)
{
    if (!batch)
        return;
    for (int i = 0; i < batch->n; i++)
        batch->type->close(batch->self[i]);
    batch->n = 0;
}

static void run_lanes(struct env_batch *batch, pool_fn *lane)
{
    if (batch->pool && batch->n > 1) {
        pool_run(batch->pool, batch->n, lane, batch);
        return;
    }
    for (int i = 0; i < batch->n; i++)
        lane(batch, i, 0);
}

/* The lowest failing lane speaks, whichever thread failed first. */
static dqs_status first_failure(const struct env_batch *batch, dqs_error *error)
{
    for (int i = 0; i < batch->n; i++) {
        const dqs_error *e = &batch->errors[i];
        if (e->status != DQS_OK)
            return fail(error, e->status, "%.400s (lane %d, episode %ld)", e->message, i, batch->episode[i]);
    }
    return DQS_OK;
}

static float *lane_obs(float *rows, const struct env_batch *batch, int lane)
{
    return rows + (size_t)lane * (size_t)batch->spec.obs_dim;
}

/* Begins the episode that episode[lane] names. */
static dqs_status begin_episode(struct env_batch *b, int lane)
{
    b->episode_step[lane] = 0;
    b->episode_return[lane] = 0.0;
    return env_reset(b->type, b->self[lane], lane_obs(b->obs, b, lane), &b->spec,
                     rng_episode_seed(b->seed, lane, b->episode[lane]), &b->errors[lane]);
}

static void reset_lane(void *context, int lane, int thread)
{
    struct env_batch *b = context;
    (void)thread;
    b->errors[lane].status = DQS_OK;
    b->episode[lane] = 0;
    b->finished_return[lane] = NAN;
    b->finished_length[lane] = 0;
    b->terminated[lane] = b->truncated[lane] = 0;
    b->reward[lane] = 0.0f;
    (void)begin_episode(b, lane);
}

dqs_status env_batch_reset(struct env_batch *batch, dqs_error *error)
{
    run_lanes(batch, reset_lane);
    return first_failure(batch, error);
}

static void step_lane(void *context, int lane, int thread)
{
    struct env_batch *b = context;
    size_t obs_bytes = sizeof(float) * (size_t)b->spec.obs_dim;
    size_t action_at = (size_t)lane * (size_t)b->spec.act_dim;
    float *obs = lane_obs(b->obs, b, lane), *next_obs = lane_obs(b->next_obs, b, lane);
    dqs_outcome outcome = {0};
    double reward = 0;
    (void)thread;
    b->errors[lane].status = DQS_OK;
    b->made[lane] = 0;
    while (b->made[lane] < b->repeat && !outcome.terminated && !outcome.truncated) {
        if (env_step(b->type, b->self[lane], b->action + action_at, next_obs, &outcome, &b->spec,
                     b->box_action + action_at, b->episode_step[lane] + 1, &b->errors[lane]) != DQS_OK)
            return;
        b->made[lane]++;
        b->episode_step[lane]++;
        reward += outcome.reward;
    }
    b->episode_return[lane] += reward;
    /* After an end come no rewards, and the mean of a held action has them as 0; a cut-off step is never
     * asked for. */
    b->reward[lane] = (float)(reward / (outcome.terminated ? b->repeat : b->made[lane]));
    b->terminated[lane] = (uint8_t)outcome.terminated;
    b->truncated[lane] = (uint8_t)outcome.truncated;
    b->finished_return[lane] = NAN;
    b->finished_length[lane] = 0;
    if (!outcome.terminated && !outcome.truncated) {
        memcpy(obs, next_obs, obs_bytes);
        return;
    }
    b->finished_return[lane] = b->episode_return[lane];
    b->finished_length[lane] = b->episode_step[lane];
    b->episode[lane]++;
    (void)begin_episode(b, lane);
}

dqs_status env_batch_step(struct env_batch *batch, const float *box_action, dqs_error *error)
{
    batch->box_action = box_action;
    run_lanes(batch, step_lane);
    batch->box_action = NULL;
    return first_failure(batch, error);
}

/* What the last step gave out (reward, next_obs, finished_*) is not state: the next step overwrites it
 * unread. */
void env_batch_visit(struct env_batch *batch, struct visitor *visitor)
{
    size_t n = (size_t)batch->n;
    if (batch->spec.state_dim > 0)
        visit_matrix(visitor, "state", VISIT_LEARN, VISIT_F64, batch->state, n,
                     (size_t)batch->spec.state_dim);
    visit_matrix(visitor, "obs", VISIT_LEARN, VISIT_F32, batch->obs, n, (size_t)batch->spec.obs_dim);
    visit_vector(visitor, "episode_step", VISIT_LEARN, VISIT_I64, batch->episode_step, n);
    visit_vector(visitor, "episode", VISIT_LEARN, VISIT_I64, batch->episode, n);
    visit_vector(visitor, "episode_return", VISIT_LEARN, VISIT_F64, batch->episode_return, n);
    visit_vector(visitor, "seed", VISIT_LEARN, VISIT_I64, &batch->seed, 1);
}

void env_batch_capture(struct env_batch *batch)
{
    for (int i = 0; batch->spec.state_dim > 0 && i < batch->n; i++)
        batch->type->get_state(batch->self[i], batch->state + (size_t)i * (size_t)batch->spec.state_dim);
}

dqs_status env_batch_restore(struct env_batch *batch, dqs_error *error)
{
    for (int i = 0; i < batch->n; i++) {
        dqs_error *inner = &batch->errors[i];
        memset(inner, 0, sizeof *inner);
        batch->finished_return[i] = NAN;
        batch->finished_length[i] = 0;
        if (batch->spec.state_dim == 0) { /* the interrupted episode is lost, its successor is not */
            batch->episode[i]++;
            (void)begin_episode(batch, i);
            continue;
        }
        inner->status =
            batch->type->set_state(batch->self[i], batch->state + (size_t)i * (size_t)batch->spec.state_dim,
                                   lane_obs(batch->obs, batch, i), inner);
        if (inner->status != DQS_OK && !inner->message[0])
            fail(inner, inner->status, "%s: set_state failed without a message", batch->type->name);
    }
    return first_failure(batch, error);
}
