/* test_learners: what must hold of every row of algo_table, whatever it learns: no memory taken after
 * creation, the same bits at any number of threads, a state that is complete, a policy that acts without its
 * learner, options that are refused in words, presets that can be read. */
#include "config.h"
#include "env.h"
#include "learner.h"
#include <stdatomic.h>

/* Small, and with batches that are not whole tiles. `wrong`: settings that create must refuse, and the key it
 * must name. */
static const struct small {
    const char *algo, *settings, *wrong[3];
} smalls[] = {
    {"dqs",
     "critic_width=48 score_width=64 embed=16 batch=140 warmup=200 replay=150 diag_states=0 squash=box "
     "estimator=shifted K=8 N=5 sigma_min=0.02 temperature=relative T_spread=2 corrector=2 "
     "corrector_target=3 "
     "particles=3 particles_target=2 noised=policy obs_octaves=2 max_grad_norm=1 weight_decay=0.01 "
     "average=0.3 bound_values=true",
     {"batch=141", "critic_width=40", "estimator=gradient"}},
    {"sac",
     "width=48 batch=140 warmup=200 replay=150 normalise_obs=true obs_octaves=2 actor_delay=2",
     {"batch=141", "width=40", "log_sigma_min=3"}},
    {"td3", "width=48 batch=140 warmup=200 replay=150 huber=1 max_grad_norm=1", {"batch=141", "width=40"}},
    {"ppo", "width=48 n_steps=72 batch=72 epochs=2 obs_octaves=1", {"batch=35", "width=40"}},
    {"ddpg", "width=48 batch=140 warmup=200 replay=150 n_critics=2", {"batch=141", "width=40"}},
    {"qsm", "width=48 batch=140 warmup=200 replay=150 embed=8", {"batch=141", "width=40"}},
    {"dacer",
     "width=48 batch=140 warmup=200 replay=150 embed=8 diffusion_steps=6 critic=dsac alpha_period=500",
     {"batch=141", "width=40"}},
    {"dipo",
     "width=48 batch=140 warmup=200 replay=150 embed=8 diffusion_steps=7 ascent_steps=4 writeback=true",
     {"batch=141", "width=40"}},
};

static const struct small *small_of(const struct algo *algo)
{
    for (size_t i = 0; i < COUNT(smalls); i++)
        if (strcmp(smalls[i].algo, algo->name) == 0)
            return &smalls[i];
    fail_msg("%s: has no row in the table of small settings", algo->name);
    return NULL;
}

#define FOR_ALGOS(small)                               \
    for (int algo_i = 0; algo_table[algo_i]; algo_i++) \
        for (const struct small *small = small_of(algo_table[algo_i]); small; small = NULL)

#define WARMUP 200 /* steps until all of them have begun to learn */

/* ---------------------------------------------------------------- counting allocations */
static atomic_long allocations;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(SANITIZED) /* the sanitizer owns malloc, and tells */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));

static void on_malloc(const volatile void *p, size_t n)
{
    (void)p, (void)n;
    atomic_fetch_add(&allocations, 1);
}

static void on_free(const volatile void *p)
{
    (void)p;
}

static void start_counting(void)
{
    static bool installed;
    if (!installed)
        assert_true(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
    installed = true;
}
#elif defined(__GLIBC__) /* definitions in the program come before the library's, for the BLAS too */
#define PUBLIC __attribute__((visibility("default")))
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

PUBLIC void *malloc(size_t n)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(n);
}

PUBLIC void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(n, size);
}

PUBLIC void *realloc(void *p, size_t n)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(p, n);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t n)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, n);
}

PUBLIC int posix_memalign(void **p, size_t alignment, size_t n)
{
    atomic_fetch_add(&allocations, 1);
    *p = __libc_memalign(alignment, n);
    return *p ? 0 : 12; /* ENOMEM */
}

static void start_counting(void)
{
}
#else
#define CANNOT_COUNT 1
#endif

/* ---------------------------------------------------------------- memory */
static void test_no_allocations(void **state)
{
    (void)state;
#if defined(CANNOT_COUNT)
    skip();
#else
    float obs[64 * 3], action[64 * 2];
    start_counting();
    long before = atomic_load(&allocations);
    char *volatile copy = strdup("counted");
    free(copy);
    assert_true(atomic_load(&allocations) > before); /* the counter counts, inside libraries too */
    fill_normal(obs, COUNT(obs), 3);
    FOR_ALGOS(small)
    {
        struct agent a;
        struct rng rng;
        struct log_sink log = {0};
        rng_seed(&rng, 9, RNG_TEST);
        agent_create(&a, small->algo, "auto", 2, 2, NULL, small->settings);
        bool exact = a.algo->act(a.self, action, obs, 1, DQS_ACT_EXACT, NULL) == DQS_OK;
        assert_true(agent_learn(&a, WARMUP + 8, &rng, &log) > 0); /* libraries may set themselves up once */
        size_t used = a.arena.used;
        before = atomic_load(&allocations);
        for (int i = 0; i < 300; i++) {
            agent_learn(&a, 1, &rng, &log);
            assert_int_equal(a.algo->act(a.self, action, obs, 64, DQS_ACT_EVALUATE, NULL), DQS_OK);
            if (exact)
                assert_int_equal(a.algo->act(a.self, action, obs, i % 100 ? 1 : 64, DQS_ACT_EXACT, NULL),
                                 DQS_OK);
        }
        assert_int_equal(atomic_load(&allocations) - before, 0);
        assert_int_equal(a.arena.used, used);
        for (int i = 0; i < log.count; i++)
            assert_true(isfinite(log_mean(&log, log.rows[i].name)));
        agent_free(&a);
    }
#endif
}

/* ---------------------------------------------------------------- bits */
static uint64_t hash_after(const struct small *small, const char *kernels, int threads, int steps)
{
    struct agent a;
    struct rng rng;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, small->algo, kernels, threads, 2, NULL, small->settings);
    agent_learn(&a, WARMUP + steps, &rng, NULL);
    uint64_t hash = agent_hash(&a);
    agent_free(&a);
    return hash;
}

static void test_threads(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    FOR_ALGOS(small)
    {
        int steps = k == &kernels_ref ? 4 : 20; /* the plain loops are slow */
        uint64_t one = hash_after(small, k->name, 1, steps);
        assert_true(one == hash_after(small, k->name, 2, steps));
        assert_true(one == hash_after(small, k->name, 3, steps));
        assert_true(one != hash_after(small, k->name, 1, steps - 1)); /* the hash sees a step */
    }
}

/* What visit names is the whole state: a learner with another past that receives it goes on with the same
 * bits. */
static void test_resume(void **state)
{
    (void)state;
    FOR_ALGOS(small)
    {
        struct agent a, b;
        struct rng rng, other;
        struct kept kept;
        rng_seed(&rng, 9, RNG_TEST);
        rng_seed(&other, 10, RNG_TEST);
        agent_create(&a, small->algo, "auto", 1, 2, NULL, small->settings);
        agent_create(&b, small->algo, "auto", 1, 2, NULL, small->settings);
        agent_learn(&a, WARMUP + 11, &rng, NULL);
        agent_learn(&b, WARMUP + 7, &other, NULL);
        agent_keep(&a, &kept);
        agent_restore(&b, &kept);
        assert_int_equal(kept.restored, kept.count);
        other = rng;
        assert_true(agent_learn(&a, 10, &rng, NULL) > 0);
        agent_learn(&b, 10, &other, NULL);
        if (agent_hash(&a) != agent_hash(&b))
            fail_msg("%s: goes on with other bits", small->algo);
        arena_free(&kept.arena);
        agent_free(&a);
        agent_free(&b);
    }
}

/* ---------------------------------------------------------------- acting */
static void test_act_only(void **state)
{
    (void)state;
    float obs[300 * 3], learner[300 * 2], policy[300 * 2];
    fill_normal(obs, COUNT(obs), 3);
    FOR_ALGOS(small)
    {
        struct agent a, b;
        struct rng rng;
        struct kept kept;
        rng_seed(&rng, 9, RNG_TEST);
        agent_create(&a, small->algo, "auto", 2, 2, NULL, small->settings);
        agent_create(&b, small->algo, "auto", 1, 2, &(struct algo_setup){.act_only = true}, small->settings);
        assert_true(b.arena.used < a.arena.used);
        agent_learn(&a, WARMUP + 20, &rng, NULL);
        agent_keep(&a, &kept);
        agent_restore(&b, &kept);
        for (int i = 0; i < 2; i++) { /* more rows than a batch; then one */
            int rows = i ? 1 : 300;
            assert_int_equal(a.algo->act(a.self, learner, obs, rows, DQS_ACT_EVALUATE, NULL), DQS_OK);
            assert_int_equal(b.algo->act(b.self, policy, obs, rows, DQS_ACT_EVALUATE, NULL), DQS_OK);
            assert_bits(small->algo, learner, policy, sizeof(float) * 2 * (size_t)rows);
        }
        arena_free(&kept.arena);
        agent_free(&a);
        agent_free(&b);
    }
}

static void test_exact(void **state)
{
    (void)state;
    FOR_ALGOS(small)
    {
        float obs[3] = {0}, action[4];
        dqs_error error = {0};
        struct agent a;
        agent_create(&a, small->algo, "auto", 1, 4, NULL,
                     small->settings); /* too many dimensions for a grid */
        assert_int_equal(a.algo->act(a.self, action, obs, 1, DQS_ACT_EXACT, &error), DQS_E_UNSUPPORTED);
        assert_non_null(strstr(error.message, "exact"));
        agent_free(&a);
    }
}

/* T log mean exp(Q/T) of the same critics falls from the best action's value to the mean as T grows. */
static void test_soft_value(void **state)
{
    (void)state;
    static const struct {
        const char *algo, *settings, *temperature;
    } rows[] = {{"dqs", "critic_width=48 score_width=64 embed=16 batch=140 temperature=fixed", "T"},
                {"sac", "width=48 batch=140 temperature=fixed", "alpha"}};
    static const char *const temperatures[] = {"0.001", "0.01", "0.1", "100"};
    enum { STATES = 150, KINDS = COUNT(temperatures) }; /* more than a batch */
    float obs[STATES * 3], value[KINDS][STATES];
    fill_normal(obs, COUNT(obs), 3);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct agent a;
        dqs_error error = {0};
        for (int k = 0; k < KINDS; k++) {
            char settings[200];
            snprintf(settings, sizeof settings, "%s %s=%s", rows[i].settings, rows[i].temperature,
                     temperatures[k]);
            agent_create(&a, rows[i].algo, "auto", 1, 2, NULL, settings);
            assert_int_equal(a.algo->soft_value(a.self, value[k], obs, STATES, &error), DQS_OK);
            agent_free(&a);
        }
        for (int k = 1; k < KINDS; k++)
            for (int s = 0; s < STATES; s++)
                assert_true(value[k][s] < value[k - 1][s] && value[k][s] > value[k - 1][s] - 5);
        agent_create(&a, rows[i].algo, "auto", 1, 4, NULL, rows[i].settings);
        assert_int_equal(a.algo->soft_value(a.self, value[0], obs, 1, &error), DQS_E_UNSUPPORTED);
        agent_free(&a);
    }
    struct agent policy; /* that of sac has no critics */
    agent_create(&policy, "sac", "auto", 1, 2, &(struct algo_setup){.act_only = true}, rows[1].settings);
    assert_int_equal(policy.algo->soft_value(policy.self, value[0], obs, 1, NULL), DQS_E_UNSUPPORTED);
    agent_free(&policy);
}

/* ---------------------------------------------------------------- options */
static void test_refusals(void **state)
{
    (void)state;
    FOR_ALGOS(small)
    for (size_t i = 0; i < COUNT(small->wrong) && small->wrong[i]; i++) {
        char settings[2000], key[100];
        dqs_error error = {0};
        struct agent a;
        snprintf(settings, sizeof settings, "%s %s", small->settings, small->wrong[i]);
        snprintf(key, sizeof key, "%.*s", (int)strcspn(small->wrong[i], "="), small->wrong[i]);
        assert_int_equal(agent_try(&a, small->algo, "auto", 1, 2, NULL, settings, &error), DQS_E_OPTION);
        assert_non_null(strstr(error.message, key));
        agent_free(&a);
    }
}

/* A task that the row is for: of that name, or the first of that family. */
static const char *task_of_row(const struct option_preset *row)
{
    if (!row->env || env_find(row->env))
        return row->env;
    for (int i = 0; env_table[i]; i++)
        if (env_family(env_table[i]) && strcmp(env_family(env_table[i]), row->env) == 0)
            return env_table[i]->name;
    return row->env;
}

static void test_presets(void **state)
{
    (void)state;
    for (int i = 0; algo_table[i]; i++) {
        bool paper = false;
        for (const struct option_preset *p = algo_table[i]->presets; p->preset; p++) {
            const char *preset = strcmp(p->preset, "*") == 0 ? "default" : p->preset;
            dqs_error error = {0};
            struct config *config;
            if (config_create(&config, algo_table[i]->name, task_of_row(p), &error) != DQS_OK ||
                config_preset(config, preset, &error) != DQS_OK)
                fail_msg("%s, %s: %s", algo_table[i]->name, preset, error.message);
            config_free(config);
            paper = paper || strcmp(p->preset, "paper") == 0;
        }
        assert_true(paper);
    }
}

int main(void)
{
#if defined(__SANITIZE_THREAD__) /* which is slow, and looks at one thing */
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    (void)test_no_allocations, (void)test_resume, (void)test_act_only, (void)test_exact,
        (void)test_soft_value, (void)test_refusals, (void)test_presets;
#else
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocations), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_resume),         cmocka_unit_test(test_act_only),
        cmocka_unit_test(test_exact),          cmocka_unit_test(test_soft_value),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_presets),
    };
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
