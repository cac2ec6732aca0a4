/* test_env_batch: the batch, the table and its plug-ins, and the public dqs_env functions. */
#include "gmm.h"
#include "maze.h"
#include "test_env_help.h"

#ifndef TEST_BINARY_DIR
#define TEST_BINARY_DIR "."
#endif

enum { MOST_ACTIONS = 64 };

/* A build without MuJoCo knows its tasks by name only. */
static bool usable(const dqs_env_type *type)
{
    dqs_env *env = NULL;
    dqs_status status = dqs_env_create(&env, type->name, NULL, NULL);
    dqs_env_free(env);
    return status != DQS_E_UNSUPPORTED;
}

/* MuJoCo 2 normalises quaternions anew whenever a state is set, which may change their last digit. */
static void assert_same_state(const double *one, const double *other, int n)
{
    if (!strstr(dqs_version(), "mujoco 2."))
        assert_memory_equal(one, other, sizeof *one * (size_t)n);
    for (int i = 0; i < n; i++)
        assert_near(one[i], other[i], 1e-12 * (1.0 + fabs(other[i])));
}

/* ---------------------------------------------------------------- batch */
static void test_state_is_exact_for_every_env(void **unused)
{
    (void)unused;
    for (int i = 0; env_table[i]; i++) {
        dqs_error error = {0};
        dqs_env *a = NULL, *b = NULL;
        if (!usable(env_table[i]))
            continue;
        assert_int_equal(dqs_env_create(&a, env_table[i]->name, NULL, &error), DQS_OK);
        assert_int_equal(dqs_env_create(&b, env_table[i]->name, NULL, &error), DQS_OK);
        const dqs_spec *spec = dqs_env_spec(a);
        float obs_a[256], obs_b[256], action[MOST_ACTIONS];
        double state[2000], again[2000];
        struct rng rng;
        rng_seed(&rng, 2, RNG_TEST);
        assert_true(spec->obs_dim <= 256 && spec->act_dim <= MOST_ACTIONS && spec->state_dim <= 2000 &&
                    spec->state_dim >= 2);
        dqs_env_reset(a, 77, obs_a, &error);
        dqs_env_reset(b, 78, obs_b, &error);
        dqs_outcome oa = {0}, ob = {0};
        for (int t = 0; t < 33; t++) {
            random_actions(action, spec->act_dim, &rng);
            assert_int_equal(dqs_env_step(a, action, obs_a, &oa, &error), DQS_OK);
        }
        assert_int_equal(dqs_env_get_state(a, state, &error), DQS_OK);
        assert_near(state[spec->state_dim - 1], 33.0, 0.0);
        if (spec->max_steps >= 1000) { /* the end is far: move it near */
            state[spec->state_dim - 1] = spec->max_steps - 60;
            assert_int_equal(dqs_env_set_state(a, state, obs_a, &error), DQS_OK);
        }
        assert_int_equal(dqs_env_set_state(b, state, obs_b, &error), DQS_OK);
        assert_memory_equal(obs_a, obs_b, sizeof(float) * (size_t)spec->obs_dim);
        while (!oa.truncated && !oa.terminated) {
            random_actions(action, spec->act_dim, &rng);
            assert_int_equal(dqs_env_step(a, action, obs_a, &oa, &error), DQS_OK);
            assert_int_equal(dqs_env_step(b, action, obs_b, &ob, &error), DQS_OK);
            assert_memory_equal(obs_a, obs_b, sizeof(float) * (size_t)spec->obs_dim);
            assert_memory_equal(&oa, &ob, sizeof oa);
        }
        assert_true(spec->terminates || (oa.truncated && !oa.terminated));
        assert_int_equal(dqs_env_step(a, action, obs_a, &oa, &error), DQS_E_USAGE);
        assert_says(&error, "dqs_env_reset");
        state[spec->state_dim - 1] = -1.0;
        assert_int_equal(dqs_env_set_state(b, state, obs_b, &error), DQS_E_USAGE);
        state[spec->state_dim - 1] = 5.0;
        assert_int_equal(dqs_env_set_state(b, state, obs_b, &error), DQS_OK);
        assert_int_equal(dqs_env_get_state(b, again, &error), DQS_OK);
        assert_same_state(state, again, spec->state_dim);
        dqs_env_free(a);
        dqs_env_free(b);
    }
}

/* FNV-1a over everything a step gives out. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t batch_hash(const char *name, int threads)
{
    enum { LANES = 7 };
    struct arena arena = {0};
    struct pool *pool = threads ? pool_create(threads) : NULL;
    struct env_batch *b = batch_of(&arena, name, "", LANES, pool);
    dqs_error error = {0};
    struct rng rng;
    float action[LANES * MOST_ACTIONS];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int steps = b->spec.max_steps < 1000 ? 450 : 30; /* MuJoCo's tasks are long, and slower */
    rng_seed(&rng, 1, RNG_TEST);
    for (int t = 0; t < steps; t++) {
        random_actions(action, LANES * b->spec.act_dim, &rng);
        assert_int_equal(env_batch_step(b, action, &error), DQS_OK);
        hash = hash_bytes(hash, b->obs, sizeof(float) * (size_t)(LANES * b->spec.obs_dim));
        hash = hash_bytes(hash, b->next_obs, sizeof(float) * (size_t)(LANES * b->spec.obs_dim));
        hash = hash_bytes(hash, b->reward, sizeof(float) * LANES);
        hash = hash_bytes(hash, b->truncated, LANES);
        hash = hash_bytes(hash, b->episode_return, sizeof(double) * LANES);
    }
    env_batch_close(b);
    if (pool)
        pool_free(pool);
    arena_free(&arena);
    return hash;
}

static void test_batch_same_at_any_pool_size(void **unused)
{
    (void)unused;
    for (int i = 0; env_table[i]; i++) {
        if (!usable(env_table[i]))
            continue;
        uint64_t serial = batch_hash(env_table[i]->name, 0);
        for (int threads = 1; threads <= 3; threads++)
            assert_true(batch_hash(env_table[i]->name, threads) == serial);
    }
}

static void test_batch_resets_and_keeps_final_observation(void **unused)
{
    (void)unused;
    enum { LANES = 3 };
    struct arena arena = {0};
    dqs_error error = {0};
    struct env_batch *b = batch_of(&arena, "gmm", "", LANES, NULL);
    float action[LANES * 2], previous[LANES * 2];
    double sum[LANES] = {0};
    for (int i = 0; i < LANES * 2; i++)
        action[i] = i % 2 ? 0.0f : 1.0f;
    for (int t = 1; t <= 250; t++) {
        memcpy(previous, b->obs, sizeof previous);
        assert_int_equal(env_batch_step(b, action, &error), DQS_OK);
        for (int i = 0; i < LANES; i++) {
            float moved = fminf(previous[2 * i] + 1.0f, 50.0f);
            assert_float_equal(b->next_obs[2 * i], moved, 1e-4f); /* the true result, also at the end */
            assert_int_equal(b->terminated[i], 0);
            assert_int_equal(b->truncated[i], t % 100 == 0);
            assert_int_equal(b->episode_step[i], t % 100);
            assert_int_equal(b->episode[i], t / 100);
            sum[i] += b->reward[i];
            if (t % 100 == 0) {
                assert_near(b->finished_return[i], sum[i], 1e-2);
                assert_int_equal(b->finished_length[i], 100);
                assert_near(b->episode_return[i], 0.0, 0.0);
                assert_true(fabsf(b->obs[2 * i + 1] - b->next_obs[2 * i + 1]) > 1e-3f); /* a new start */
                sum[i] = 0.0;
            } else {
                assert_true(isnan(b->finished_return[i]));
                assert_memory_equal(b->obs + 2 * i, b->next_obs + 2 * i, 2 * sizeof(float));
            }
        }
    }
    env_batch_close(b);
    arena_free(&arena);
    assert_true(rng_episode_seed(1, 0, 0) != rng_episode_seed(1, 0, 1));
    assert_true(rng_episode_seed(1, 0, 1) != rng_episode_seed(1, 1, 0));
    assert_true(rng_episode_seed(1, 0, 0) != rng_episode_seed(2, 0, 0));
}

/* A visitor that copies the state out of a batch, or into one: what a checkpoint does. */
struct box {
    unsigned char bytes[1 << 16];
    size_t used;
    bool in;
};

static void box_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                       const size_t *shape, void *data)
{
    struct box *box = context;
    size_t size = visit_type_size(type);
    (void)name, (void)kind;
    for (int i = 0; i < rank; i++)
        size *= shape[i];
    assert_true(box->used + size <= sizeof box->bytes);
    memcpy(box->in ? data : box->bytes + box->used, box->in ? (void *)(box->bytes + box->used) : data, size);
    box->used += size;
}

static void test_batch_saves_and_restores(void **unused)
{
    (void)unused;
    enum { LANES = 4 };
    static struct box box;
    for (int i = 0; env_table[i]; i++) {
        if (!usable(env_table[i]))
            continue;
        struct arena arena = {0};
        dqs_error error = {0};
        struct env_batch *a = batch_of(&arena, env_table[i]->name, "", LANES, NULL);
        struct env_batch *b = batch_of(&arena, env_table[i]->name, "", LANES, NULL);
        float action[LANES * MOST_ACTIONS];
        int before = a->spec.max_steps < 1000 ? 130 : 20, after = a->spec.max_steps < 1000 ? 700 : 20;
        struct rng rng;
        rng_seed(&rng, 4, RNG_TEST);
        for (int t = 0; t < before; t++) {
            random_actions(action, LANES * a->spec.act_dim, &rng);
            env_batch_step(a, action, &error);
        }
        box = (struct box){.in = false};
        env_batch_capture(a);
        env_batch_visit(a, &(struct visitor){.tensor = box_tensor, .context = &box});
        box.in = true;
        box.used = 0;
        env_batch_visit(b, &(struct visitor){.tensor = box_tensor, .context = &box});
        assert_int_equal(env_batch_restore(b, &error), DQS_OK);
        for (int t = 0; t < after; t++) { /* over episode ends */
            size_t bytes = sizeof(float) * (size_t)(LANES * a->spec.obs_dim);
            assert_memory_equal(a->obs, b->obs, bytes);
            random_actions(action, LANES * a->spec.act_dim, &rng);
            assert_int_equal(env_batch_step(a, action, &error), DQS_OK);
            assert_int_equal(env_batch_step(b, action, &error), DQS_OK);
            assert_memory_equal(a->next_obs, b->next_obs, bytes);
            assert_memory_equal(a->reward, b->reward, sizeof(float) * LANES);
            assert_memory_equal(a->truncated, b->truncated, LANES);
            assert_memory_equal(a->finished_return, b->finished_return, sizeof(double) * LANES);
        }
        env_batch_close(a);
        env_batch_close(b);
        arena_free(&arena);
    }
}

/* ---------------------------------------------------------------- a task that goes wrong on request */
enum trouble {
    TROUBLE_NONE,
    TROUBLE_OBS,
    TROUBLE_REWARD,
    TROUBLE_HUGE_REWARD,
    TROUBLE_STATUS,
    TROUBLE_RESET
};
struct broken {
    enum trouble trouble;
    int steps, at;
};

static dqs_status broken_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    (void)options, (void)error;
    struct broken *b = calloc(1, sizeof *b);
    *b = *(const struct broken *)user;
    *self = b;
    *spec = (dqs_spec){.obs_dim = 3, .act_dim = 1};
    return DQS_OK;
}

static dqs_status broken_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct broken *b = self;
    (void)seed, (void)error;
    obs[0] = obs[1] = obs[2] = b->trouble == TROUBLE_RESET ? -INFINITY : 0.0f;
    b->steps = 0;
    return DQS_OK;
}

static dqs_status broken_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                              dqs_error *error)
{
    struct broken *b = self;
    bool now = ++b->steps == b->at && action[0] > 0.0f; /* the test says by the action in which lanes */
    (void)error;
    obs[0] = obs[1] = 0.0f;
    obs[2] = now && b->trouble == TROUBLE_OBS ? NAN : 0.0f;
    outcome->reward = now && b->trouble == TROUBLE_REWARD        ? INFINITY
                      : now && b->trouble == TROUBLE_HUGE_REWARD ? 1e300
                                                                 : 0.0;
    return now && b->trouble == TROUBLE_STATUS ? DQS_E_ENV : DQS_OK;
}

static void test_bad_numbers_are_named(void **unused)
{
    (void)unused;
    static const struct {
        enum trouble trouble;
        dqs_status status;
        const char *says[4];
    } cases[] = {
        {TROUBLE_OBS, DQS_E_NUMERIC, {"broken", "entry 2 of the observation is", "step 3", "lane 1"}},
        {TROUBLE_REWARD, DQS_E_NUMERIC, {"broken", "reward is inf", "step 3", "lane 1"}},
        {TROUBLE_HUGE_REWARD, DQS_E_NUMERIC, {"broken", "reward is 1e+300", "step 3", "lane 1"}},
        {TROUBLE_STATUS, DQS_E_ENV, {"broken", "step failed", "lane 1", ""}},
    };
    const float quiet[4] = {-1, -1, -1, -1}, loud[4] = {-1, 1, -1, 1};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int threads = 1; threads <= 3; threads++) {
            struct broken user = {cases[i].trouble, 0, 3};
            dqs_env_type type = {.size = sizeof type,
                                 .name = "broken",
                                 .user = &user,
                                 .open = broken_open,
                                 .close = free,
                                 .reset = broken_reset,
                                 .step = broken_step};
            struct arena arena = {0};
            struct pool *pool = pool_create(threads);
            struct env_batch *b;
            dqs_error error = {0};
            assert_int_equal(env_batch_create(&b, &arena, &type, "", 4, 1, pool, &error), DQS_OK);
            assert_int_equal(env_batch_reset(b, &error), DQS_OK);
            assert_int_equal(env_batch_step(b, quiet, &error), DQS_OK);
            assert_int_equal(env_batch_step(b, quiet, &error), DQS_OK);
            assert_int_equal(env_batch_step(b, loud, &error), cases[i].status);
            for (int k = 0; k < 4; k++)
                assert_says(&error, cases[i].says[k]);
            assert_int_equal(env_batch_step(b, (float[]){0, 0, NAN, 0}, &error), DQS_E_NUMERIC);
            assert_says(&error, "action");
            assert_says(&error, "lane 2");
            env_batch_close(b);
            pool_free(pool);
            arena_free(&arena);
        }
    struct broken user = {TROUBLE_RESET, 0, 0};
    dqs_env_type type = {.size = sizeof type,
                         .name = "broken",
                         .user = &user,
                         .open = broken_open,
                         .close = free,
                         .reset = broken_reset,
                         .step = broken_step};
    struct arena arena = {0};
    struct env_batch *b;
    dqs_error error = {0};
    assert_int_equal(env_batch_create(&b, &arena, &type, "", 2, 1, NULL, &error), DQS_OK);
    assert_int_equal(env_batch_reset(b, &error), DQS_E_NUMERIC);
    assert_says(&error, "step 0");
    env_batch_close(b);
    type.step = NULL;
    assert_int_equal(env_batch_create(&b, &arena, &type, "", 2, 1, NULL, &error), DQS_E_USAGE);
    assert_says(&error, "step");
    arena_free(&arena);
}

/* ---------------------------------------------------------------- table and plug-ins */
static void test_names(void **unused)
{
    (void)unused;
    const dqs_env_type *type;
    void *handle;
    dqs_error error = {0};
    assert_ptr_equal(env_find("Maze_Small"), &maze_small_type);
    assert_ptr_equal(env_find("GMM"), &gmm_type);
    assert_null(env_find("maze-"));
    assert_null(env_find("maz"));
    assert_null(env_find(""));
    assert_int_equal(env_load(&type, &handle, "ant", &error), DQS_E_UNKNOWN);
    assert_says(&error, "'ant'");
    assert_says(&error, "dqs envs");
    assert_int_equal(env_load(&type, &handle, "walker-fly", &error), DQS_E_UNKNOWN);
    assert_says(&error, "walker-run");
    assert_int_equal(env_load(&type, &handle, "dm_control/cheetah-walk-v0", &error), DQS_E_UNKNOWN);
    assert_says(&error, "near it: cheetah-run;");
    static const char *const spellings[] = {"cheetah_run", "Cheetah-Run", "dm_control/cheetah-run-v0"};
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(env_find(spellings[i]), env_find("cheetah-run"));
    const char *doc = NULL;
    int count = 0;
    for (; dqs_env_name(count, &doc); count++)
        assert_true(env_find(dqs_env_name(count, NULL)) && doc && doc[0]);
    assert_true(count > 4 + 8);
    assert_null(dqs_env_name(-1, NULL));
    assert_null(dqs_env_name(count + 1, NULL));
}

static void test_plugins(void **unused)
{
    (void)unused;
    dqs_error error = {0};
    dqs_env *env = NULL;
    assert_int_equal(dqs_env_create(&env, "./no-such-file.so", NULL, &error), DQS_E_IO);
    assert_says(&error, "no-such-file.so");
    assert_int_equal(dqs_env_create(&env, "no-such-file.so", NULL, &error), DQS_E_IO);
    assert_int_equal(dqs_env_create(&env, TEST_BINARY_DIR "/plugin_nosymbol.so", NULL, &error), DQS_E_FORMAT);
    assert_says(&error, "dqs_plugin");
    assert_int_equal(dqs_env_create(&env, TEST_BINARY_DIR "/plugin_badsize.so", NULL, &error), DQS_E_FORMAT);
    assert_says(&error, "size");
    assert_null(env);
    if (dqs_env_create(&env, TEST_BINARY_DIR "/plugin_counter.so", NULL, &error) != DQS_OK)
        fail_msg("%s", error.message);
    float obs[3];
    dqs_outcome outcome;
    double state[4];
    assert_int_equal(dqs_env_spec(env)->state_dim, 0);
    assert_int_equal(dqs_env_step(env, (float[]){0, 0}, obs, &outcome, &error), DQS_E_USAGE);
    assert_int_equal(dqs_env_reset(env, 1, obs, &error), DQS_OK);
    assert_int_equal(dqs_env_get_state(env, state, &error), DQS_E_UNSUPPORTED);
    /* Lopsided bounds [-3,1] and [0,10]; beyond the box is clipped. */
    static const float box[5] = {-1.0f, 1.0f, 0.0f, 0.5f, -7.0f};
    static const double first[5] = {-3.0, 1.0, -1.0, 0.0, -3.0}, second[5] = {0.0, 10.0, 5.0, 7.5, 0.0};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(dqs_env_step(env, (float[]){box[i], box[i]}, obs, &outcome, &error), DQS_OK);
        assert_near(obs[1], first[i], 0.0);
        assert_near(obs[2], second[i], 0.0);
        assert_int_equal(outcome.terminated, i == 4);
        assert_int_equal(outcome.truncated, 0);
    }
    assert_int_equal(dqs_env_step(env, box, obs, &outcome, &error), DQS_E_USAGE);
    dqs_env_free(env);
    dqs_env_free(NULL);
}

static void test_termination_in_a_batch(void **unused)
{
    (void)unused;
    const dqs_env_type *type;
    void *handle;
    dqs_error error = {0};
    struct arena arena = {0};
    struct env_batch *b;
    assert_int_equal(env_load(&type, &handle, TEST_BINARY_DIR "/plugin_counter.so", &error), DQS_OK);
    assert_int_equal(env_batch_create(&b, &arena, type, NULL, 2, 1, NULL, &error), DQS_OK);
    assert_int_equal(env_batch_reset(b, &error), DQS_OK);
    for (int t = 1; t <= 7; t++) {
        assert_int_equal(env_batch_step(b, (float[]){0, 0, 0, 0}, &error), DQS_OK);
        assert_int_equal(b->terminated[1], t == 5);
        assert_int_equal(b->truncated[1], 0);
        if (t == 5) {
            assert_near(b->finished_return[1], 15.0, 0.0);
            assert_near(b->next_obs[3], 5.0, 0.0);
            assert_near(b->obs[3], 0.0, 0.0);
        }
    }
    /* Without a saved state a restored batch goes on with the next episode. */
    env_batch_capture(b);
    assert_int_equal(env_batch_restore(b, &error), DQS_OK);
    assert_int_equal(b->episode[0], 2);
    assert_int_equal(b->episode_step[0], 0);
    assert_near(b->obs[0], 0.0, 0.0);
    env_batch_close(b);
    arena_free(&arena);
    env_unload(handle);
}

/* The counter rewards 1, 2, 3, ... and ends with its fifth step. */
static void test_held_actions(void **unused)
{
    (void)unused;
    const dqs_env_type *type;
    void *handle;
    dqs_error error = {0};
    struct arena arena = {0};
    struct env_batch *b;
    assert_int_equal(env_load(&type, &handle, TEST_BINARY_DIR "/plugin_counter.so", &error), DQS_OK);
    assert_int_equal(env_batch_create(&b, &arena, type, NULL, 2, 1, NULL, &error), DQS_OK);
    assert_int_equal(b->repeat, 1);
    b->repeat = 3;
    assert_int_equal(env_batch_reset(b, &error), DQS_OK);
    for (int episode = 0; episode < 2; episode++) {
        assert_int_equal(env_batch_step(b, (float[]){0, 0, 0, 0}, &error), DQS_OK);
        assert_int_equal(b->made[1], 3);
        assert_near(b->reward[1], 2.0, 0.0);
        assert_near(b->next_obs[3], 3.0, 0.0);
        assert_int_equal(b->terminated[1], 0);
        assert_int_equal(b->episode_step[1], 3);
        assert_int_equal(env_batch_step(b, (float[]){0, 0, 0, 0}, &error), DQS_OK);
        assert_int_equal(b->made[1], 2); /* not into the next episode */
        assert_near(b->reward[1], 3.0, 0.0); /* (4 + 5 + 0)/3: what comes after an end is 0 */
        assert_near(b->next_obs[3], 5.0, 0.0);
        assert_int_equal(b->terminated[1], 1);
        assert_near(b->finished_return[1], 15.0, 0.0);
        assert_int_equal(b->finished_length[1], 5);
    }
    env_batch_close(b);
    arena_free(&arena);
    env_unload(handle);
}

static void test_truncated_yields_to_terminated(void **unused)
{
    (void)unused;
    /* In the goal from the first step, with limit 1 and terminate: both would apply. */
    const dqs_env_type *type = env_find("maze-small");
    dqs_error error = {0};
    void *self;
    dqs_spec spec;
    float obs[4], mapped[2];
    dqs_outcome outcome;
    assert_int_equal(env_open(type, &self, &spec, "limit=1,terminate=1", &error), DQS_OK);
    assert_int_equal(type->set_state(self, (double[]){-2, 2, 0, 0, 2}, obs, &error), DQS_OK);
    assert_int_equal(env_step(type, self, mapped, obs, &outcome, &spec, (float[]){0, 0}, 1, &error), DQS_OK);
    assert_int_equal(outcome.terminated, 1);
    assert_int_equal(outcome.truncated, 0);
    assert_int_equal(type->set_state(self, (double[]){0, 0, 0, 0, 2}, obs, &error), DQS_OK);
    assert_int_equal(env_step(type, self, mapped, obs, &outcome, &spec, (float[]){0, 0}, 1, &error), DQS_OK);
    assert_int_equal(outcome.terminated, 0);
    assert_int_equal(outcome.truncated, 1);
    type->close(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_is_exact_for_every_env),
        cmocka_unit_test(test_batch_same_at_any_pool_size),
        cmocka_unit_test(test_batch_resets_and_keeps_final_observation),
        cmocka_unit_test(test_batch_saves_and_restores),
        cmocka_unit_test(test_bad_numbers_are_named),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_plugins),
        cmocka_unit_test(test_termination_in_a_batch),
        cmocka_unit_test(test_held_actions),
        cmocka_unit_test(test_truncated_yields_to_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
