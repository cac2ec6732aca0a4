/* learner: any row of algo_table on random transitions, its state as a hash or kept in memory, and whole
 * updates of it held against a fixture. */
#ifndef TESTS_LEARNER_H
#define TESTS_LEARNER_H

#include "algo.h"
#include "oracle.h"

struct agent {
    const struct algo *algo;
    struct arena arena;
    struct compute *compute;
    void *options;
    struct algo_setup setup;
    void *self;
};

/* "key=value key=value"; the status and message of the first that is refused. */
ORACLE dqs_status set_options(const struct algo *algo, void *options, const char *settings, dqs_error *error)
{
    char text[2000], *rest = text;
    snprintf(text, sizeof text, "%s", settings);
    for (char *token; (token = strsep(&rest, " "));) {
        char *value = strchr(token, '=');
        if (!value)
            continue;
        *value++ = 0;
        const struct option *row = option_find(algo->options, token);
        if (!row)
            fail_msg("%s: %s has no such option", token, algo->name);
        TRY(option_set(row, options, value, error));
    }
    return DQS_OK;
}

ORACLE dqs_status agent_try(struct agent *a, const char *algo, const char *kernels, int threads, int act_dim,
                            const struct algo_setup *also, const char *settings, dqs_error *error)
{
    *a = (struct agent){.algo = algo_find(algo), .compute = compute_of(kernels, threads)};
    a->options = arena_take(&a->arena, a->algo->options_size);
    option_defaults(a->algo->options, a->options);
    a->setup = (struct algo_setup){.compute = a->compute,
                                   .options = a->options,
                                   .obs_dim = 3,
                                   .act_dim = act_dim,
                                   .n_envs = also && also->n_envs ? also->n_envs : 1,
                                   .total_steps = 1000,
                                   .total_updates = also ? also->total_updates : 0,
                                   .seed = 5,
                                   .terminates = also && also->terminates,
                                   .act_only = also && also->act_only,
                                   .max_rows = 64};
    TRY(set_options(a->algo, a->options, settings, error));
    return a->algo->create(&a->self, &a->arena, &a->setup, error);
}

/* `also` (may be NULL): terminates, act_only, n_envs, total_updates. */
ORACLE void agent_create(struct agent *a, const char *algo, const char *kernels, int threads, int act_dim,
                         const struct algo_setup *also, const char *settings)
{
    dqs_error error = {0};
    if (agent_try(a, algo, kernels, threads, act_dim, also, settings, &error) != DQS_OK)
        fail_msg("%s: %s", algo, error.message);
}

ORACLE void agent_free(struct agent *a)
{
    arena_free(&a->arena);
    compute_free(a->compute);
}

/* Acts on random observations, and sees what it did rewarded at random. */
ORACLE void agent_live(struct agent *a, int steps, struct rng *rng)
{
    int d = a->setup.act_dim;
    for (int i = 0; i < steps; i++) {
        float obs[3], next[3], action[8], reward = (float)rng_normal(rng);
        uint8_t terminated = rng_below(rng, 10) == 0, truncated = rng_below(rng, 10) == 0;
        for (int j = 0; j < 3; j++) {
            obs[j] = (float)rng_normal(rng);
            next[j] = (float)rng_normal(rng);
        }
        assert_int_equal(a->algo->act(a->self, action, obs, 1, DQS_ACT_EXPLORE, NULL), DQS_OK);
        for (int j = 0; j < d; j++)
            assert_true(action[j] >= -1 && action[j] <= 1);
        a->algo->observe(a->self,
                         &(struct transitions){1, 1, obs, action, &reward, next, &terminated, &truncated});
    }
}

/* The same, with the updates that are due; returns how many. */
ORACLE int agent_learn(struct agent *a, int steps, struct rng *rng, struct log_sink *log)
{
    int updates = 0;
    for (int i = 0; i < steps; i++) {
        agent_live(a, 1, rng);
        for (; a->algo->update_due(a->self); updates++)
            a->algo->update(a->self, log);
    }
    return updates;
}

/* One step from a random state with reward -|a - 0.6 tanh(2 s)|^2: the best action is known. Returns the mean
 * distance of each coordinate from it. */
ORACLE double distance_after(const char *algo, int steps, const char *settings)
{
    struct agent a;
    struct rng rng;
    double distance = 0;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, algo, "auto", 1, 2, NULL, settings);
    for (int i = 0; i < steps + 200; i++) {
        float obs[3], action[2], reward = 0;
        uint8_t terminated = 1, truncated = 0;
        bool learned = i >= steps;
        for (int j = 0; j < 3; j++)
            obs[j] = (float)(2 * rng_uniform(&rng) - 1);
        a.algo->act(a.self, action, obs, 1, learned ? DQS_ACT_EVALUATE : DQS_ACT_EXPLORE, NULL);
        for (int j = 0; j < 2; j++) {
            float miss = action[j] - 0.6f * tanhf(2 * obs[j]);
            reward -= miss * miss;
            distance += learned ? fabsf(miss) / 400 : 0;
        }
        if (learned)
            continue;
        a.algo->observe(a.self, &(struct transitions){1, 1, obs, action, &reward, obs, &terminated, &truncated});
        while (a.algo->update_due(a.self))
            a.algo->update(a.self, NULL);
    }
    agent_free(&a);
    return distance;
}

/* ---------------------------------------------------------------- its state */
ORACLE size_t tensor_bytes(enum visit_type type, int rank, const size_t *shape)
{
    size_t n = visit_type_size(type);
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

/* FNV-1a over names and bytes of everything the learner visits. */
ORACLE void hash_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    uint64_t *hash = context;
    size_t n = tensor_bytes(type, rank, shape);
    const unsigned char *bytes = data;
    (void)kind;
    for (; *name; name++)
        *hash = (*hash ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001B3);
}

ORACLE uint64_t agent_hash(struct agent *a)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    a->algo->visit(a->self, &(struct visitor){.tensor = hash_tensor, .context = &hash});
    return hash;
}

/* What a checkpoint would hold, by name. */
struct kept {
    struct arena arena;
    int count, restored;
    struct {
        char name[160];
        size_t bytes;
        void *data;
    } rows[200];
};

ORACLE void keep_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct kept *k = context;
    size_t n = tensor_bytes(type, rank, shape);
    (void)kind;
    assert_true((size_t)k->count < COUNT(k->rows));
    for (int i = 0; i < k->count; i++)
        assert_string_not_equal(k->rows[i].name, name);
    snprintf(k->rows[k->count].name, sizeof k->rows[0].name, "%s", name);
    k->rows[k->count].bytes = n;
    k->rows[k->count].data = memcpy(arena_take(&k->arena, n), data, n);
    k->count++;
}

ORACLE void restore_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type,
                           int rank, const size_t *shape, void *data)
{
    struct kept *k = context;
    (void)kind;
    for (int i = 0; i < k->count; i++)
        if (strcmp(k->rows[i].name, name) == 0) {
            assert_int_equal(k->rows[i].bytes, tensor_bytes(type, rank, shape));
            memcpy(data, k->rows[i].data, k->rows[i].bytes);
            k->restored++;
            return;
        }
    fail_msg("%s: was not kept", name);
}

ORACLE void agent_keep(struct agent *a, struct kept *kept)
{
    memset(kept, 0, sizeof *kept);
    a->algo->visit(a->self, &(struct visitor){.tensor = keep_tensor, .context = kept});
}

ORACLE void agent_restore(struct agent *a, struct kept *kept)
{
    a->algo->visit(a->self, &(struct visitor){.tensor = restore_tensor, .context = kept});
}

/* ---------------------------------------------------------------- updates against a fixture */
struct compare {
    const struct fixture *fixture;
    struct arena *arena;
    double tolerance; /* of gradients and logged numbers, relative */
    int seen;
};

ORACLE const char *wanted(const struct compare *c, const char *when, const char *name, char text[200])
{
    snprintf(text, 200, "%s/%s", when, name);
    return safetensors_find(&c->fixture->file, text) ? text : NULL;
}

/* Puts the fixture's weights in place of the learner's own. */
ORACLE void load_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct compare *c = context;
    char text[200];
    size_t n;
    (void)kind;
    if (!wanted(c, "before", name, text))
        return;
    const float *values = fixture_floats(c->fixture, c->arena, &n, "%s", text);
    assert_int_equal(n * sizeof *values, tensor_bytes(type, rank, shape));
    memcpy(data, values, n * sizeof *values);
    c->seen++;
}

/* Adam's m after the first step is a tenth of the gradient. It is compared tightly; the step itself,
 * g/(|g| + eps), blows up rounding where a gradient is next to nothing, so parameters are compared to a
 * part of the learning rate. */
ORACLE void compare_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type,
                           int rank, const size_t *shape, void *data)
{
    struct compare *c = context;
    char text[200];
    size_t n;
    (void)kind, (void)rank, (void)shape;
    if (!wanted(c, "after", name, text))
        return;
    const float *values = fixture_floats(c->fixture, c->arena, &n, "%s", text);
    c->seen++;
    if (type == VISIT_F64)
        assert_near(*(double *)data, values[0], c->tolerance * values[0]);
    else if (strstr(name, "_adam/m"))
        assert_arrays(name, data, values, n, c->tolerance);
    else
        assert_arrays(name, data, values, n, 5e-5);
}

/* The learner begins with the fixture's weights, sees its transitions, and updates `updates` times; then its
 * parameters, moments and the named numbers it logged are those of the fixture. At least `tensors` are
 * compared. */
ORACLE void check_updates(const char *algo, const char *name, const char *kernels, const char *const *numbers,
                          int updates, int tensors, double tolerance)
{
    struct fixture f;
    struct arena arena = {0};
    struct agent a;
    struct log_sink log = {0};
    size_t rows;
    fixture_open(&f, name);
    bool terminates =
        safetensors_find(&f.file, "terminates") && fixture_floats(&f, &arena, NULL, "terminates")[0] != 0;
    agent_create(&a, algo, kernels, 1, 2, &(struct algo_setup){.terminates = terminates},
                 safetensors_metadata(&f.file, "options"));
    struct compare compare = {&f, &arena, tolerance, 0};
    a.algo->visit(a.self, &(struct visitor){.tensor = load_tensor, .context = &compare});
    assert_true(compare.seen >= 6 * 2); /* weights and biases of three layers */
    float *obs = fixture_floats(&f, &arena, NULL, "transitions/obs"),
          *next = fixture_floats(&f, &arena, NULL, "transitions/next_obs");
    float *action = fixture_floats(&f, &arena, NULL, "transitions/action"),
          *over = fixture_floats(&f, &arena, NULL, "transitions/terminated");
    float *reward = fixture_floats(&f, &arena, &rows, "transitions/reward");
    for (size_t r = 0; r < rows; r++) { /* truncation must not matter */
        uint8_t terminated = over[r] != 0, truncated = r % 2;
        a.algo->observe(a.self, &(struct transitions){1, 1, obs + 3 * r, action + 2 * r, reward + r,
                                                      next + 3 * r, &terminated, &truncated});
    }
    for (int i = 0; i < updates; i++)
        a.algo->update(a.self, &log);
    for (; *numbers; numbers++) {
        char text[200];
        snprintf(text, sizeof text, "log/%s", *numbers);
        if (!safetensors_find(&f.file, text))
            continue;
        double expected = fixture_floats(&f, &arena, NULL, "%s", text)[0];
        assert_near(log_mean(&log, *numbers), expected, tolerance * fabs(expected));
    }
    compare.seen = 0;
    a.algo->visit(a.self, &(struct visitor){.tensor = compare_tensor, .context = &compare});
    assert_true(compare.seen >= tensors);
    agent_free(&a);
    arena_free(&arena);
    fixture_close(&f);
}

#endif
