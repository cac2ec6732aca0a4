/* test_algo: the replay ring; one whole update of DQS against PyTorch; and what must hold of a learner
 * whatever it learns: the same bits at any number of threads, no memory taken after creation, and a golden
 * state for the plain kernels. */
#include "algo.h"
#include "dqs_options.h"
#include "oracle.h"
#include "ring.h"
#include <stdatomic.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

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

/* ---------------------------------------------------------------- the ring */
static void test_ring(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct ring ring;
    struct ring_batch batch;
    struct rng rng;
    ring_create(&ring, &arena, 10, 2, 1);
    ring_batch_create(&batch, &arena, 400, 2, 1);
    rng_seed(&rng, 1, RNG_REPLAY);
    for (int i = 0; i < 27; i++) { /* wraps round twice; the transition i can be told by each of its fields */
        float obs[2] = {(float)i, (float)-i}, next[2] = {(float)i + 0.5f, (float)-i - 0.5f},
              action = (float)i / 100;
        ring_push(&ring, obs, &action, (float)i * 10, next, i % 3 == 0);
        assert_int_equal(ring_count(&ring), i < 9 ? i + 1 : 10);
        ring_sample(&ring, &batch, &rng);
        for (int r = 0; r < batch.rows; r++) {
            int j = (int)batch.obs[2 * r];
            assert_in_range(j, i < 10 ? 0 : i - 9, i); /* the last ten and no older */
            assert_true(batch.obs[2 * r + 1] == (float)-j && batch.action[r] == (float)j / 100);
            assert_true(batch.next_obs[2 * r] == (float)j + 0.5f &&
                        batch.next_obs[2 * r + 1] == (float)-j - 0.5f);
            assert_true(batch.reward[r] == (float)j * 10 && batch.terminated[r] == (float)(j % 3 == 0));
        }
    }
    assert_int_equal(ring.written, 27);
    arena_free(&arena);
}

static void check_uniform(int filled, int rows)
{
    struct arena arena = {0};
    struct ring ring;
    struct ring_batch batch;
    struct rng rng;
    double counts[64] = {0}, pairs[64] = {0}, chi = 0, chi_pairs = 0, zero = 0;
    int batches = 200000 / rows;
    ring_create(&ring, &arena, 64, 1, 1);
    ring_batch_create(&batch, &arena, rows, 1, 1);
    rng_seed(&rng, 2, RNG_REPLAY);
    for (int i = 0; i < filled; i++) {
        float obs = (float)i, next = 0, action = 0;
        ring_push(&ring, &obs, &action, 0, &next, 0);
    }
    for (int b = 0; b < batches; b++) {
        ring_sample(&ring, &batch, &rng);
        for (int r = 0; r < rows; r++) {
            counts[(int)batch.obs[r]]++;
            if (r % 2) /* neighbours come from one block of the generator: their difference is uniform too */
                pairs[((int)batch.obs[r] - (int)batch.obs[r - 1] + filled) % filled]++;
        }
        zero += batch.obs[0] == 0; /* the first of a batch is not special */
    }
    double expected = (double)batches * rows / filled, expected_pairs = (double)batches * (rows / 2) / filled;
    for (int i = 0; i < filled; i++) {
        chi += (counts[i] - expected) * (counts[i] - expected) / expected;
        chi_pairs += (pairs[i] - expected_pairs) * (pairs[i] - expected_pairs) / expected_pairs;
    }
    assert_true(chi < chi_square_limit(filled - 1));
    assert_true(chi_pairs < chi_square_limit(filled - 1));
    assert_near(zero / batches, 1.0 / filled, 5 * sqrt(1.0 / filled / batches));
    arena_free(&arena);
}

static void test_ring_uniform(void **state)
{
    (void)state;
    check_uniform(64, 128);
    check_uniform(37, 33);
}

/* ---------------------------------------------------------------- a learner on random transitions */
struct agent {
    struct arena arena;
    struct compute *compute;
    struct dqs_options options;
    struct algo_setup setup;
    void *self;
};

static void set_options(struct dqs_options *options, const char *settings)
{
    char text[2000], *rest = text;
    snprintf(text, sizeof text, "%s", settings);
    for (char *token; (token = strsep(&rest, " "));) {
        char *value = strchr(token, '=');
        dqs_error error = {0};
        if (!value)
            continue;
        *value++ = 0;
        const struct option *row = option_find(dqs_option_table, token);
        if (!row || option_set(row, options, value, &error) != DQS_OK)
            fail_msg("%s: %s", token, row ? error.message : "no such option");
    }
}

static void agent_create(struct agent *a, const char *kernels, int threads, int act_dim, bool terminates,
                         const char *settings)
{
    dqs_error error = {0};
    *a = (struct agent){.compute = compute_of(kernels, threads)};
    option_defaults(dqs_option_table, &a->options);
    set_options(&a->options, settings);
    a->setup = (struct algo_setup){.compute = a->compute,
                                   .options = &a->options,
                                   .obs_dim = 3,
                                   .act_dim = act_dim,
                                   .n_envs = 1,
                                   .total_steps = 1000,
                                   .seed = 5,
                                   .terminates = terminates,
                                   .max_rows = 64};
    const struct algo *algo = algo_find("dqs");
    if (algo->create(&a->self, &a->arena, &a->setup, &error) != DQS_OK)
        fail_msg("%s", error.message);
}

static void agent_free(struct agent *a)
{
    arena_free(&a->arena);
    compute_free(a->compute);
}

/* Acts on random observations, and sees what it did rewarded at random. */
static void agent_live(struct agent *a, int steps, struct rng *rng)
{
    const struct algo *algo = algo_find("dqs");
    int d = a->setup.act_dim;
    for (int i = 0; i < steps; i++) {
        float obs[3], next[3], action[8], reward = (float)rng_normal(rng);
        uint8_t terminated = rng_below(rng, 10) == 0, truncated = rng_below(rng, 10) == 0;
        for (int j = 0; j < 3; j++) {
            obs[j] = (float)rng_normal(rng);
            next[j] = (float)rng_normal(rng);
        }
        assert_int_equal(algo->act(a->self, action, obs, 1, DQS_ACT_EXPLORE, NULL), DQS_OK);
        for (int j = 0; j < d; j++)
            assert_true(action[j] >= -1 && action[j] <= 1);
        algo->observe(a->self, &(struct transitions){1, obs, action, &reward, next, &terminated, &truncated});
    }
}

/* FNV-1a over names and bytes of everything the learner visits. */
static void hash_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    uint64_t *hash = context;
    size_t n = visit_type_size(type);
    const unsigned char *bytes = data;
    (void)kind;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    for (; *name; name++)
        *hash = (*hash ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001B3);
}

static uint64_t agent_hash(struct agent *a)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    struct visitor visitor = {.tensor = hash_tensor, .context = &hash};
    algo_find("dqs")->visit(a->self, &visitor);
    return hash;
}

static uint64_t hash_after(const char *kernels, int threads, int act_dim, const char *settings, int updates)
{
    const struct algo *algo = algo_find("dqs");
    struct agent a;
    struct rng rng;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, kernels, threads, act_dim, false, settings);
    agent_live(&a, 200, &rng);
    for (int i = 0; i < updates; i++) {
        agent_live(&a, 1, &rng);
        algo->update(a.self, NULL);
    }
    uint64_t hash = agent_hash(&a);
    agent_free(&a);
    return hash;
}

/* Small, and with batches that are not whole tiles. */
#define SMALL "critic_width=48 score_width=64 embed=16 batch=140 warmup=200 replay=150 diag_states=0 "
#define SMALL_BOX                                                                                            \
    SMALL "squash=box estimator=shifted K=8 N=5 sigma_min=0.02 temperature=relative T_spread=2 corrector=2 " \
          "corrector_target=3 particles=3 noised=policy obs_octaves=2 max_grad_norm=1 weight_decay=0.01 "
#define SMALL_PAPER                                                                         \
    SMALL "squash=paper estimator=gradient K=40 N=6 sampler=euler-maruyama sigma_min=0.05 " \
          "critic_layernorm=false "                                                         \
          "score_activation=gelu init=orthogonal temperature=fixed "
#define SMALL_LATENT                                                                                       \
    SMALL "squash=latent estimator=mixture K=7 N=4 sampler=flow-heun temperature=auto loss_weight=lambda " \
          "score_hidden=3 "

static void test_threads(void **state)
{
    (void)state;
    static const struct {
        int act_dim;
        const char *settings;
    } cases[] = {{2, SMALL_BOX}, {3, SMALL_PAPER}, {1, SMALL_LATENT}};
    FOR_KERNELS(k)
    for (size_t c = 0; c < COUNT(cases); c++) {
        int d = cases[c].act_dim, updates = k == &kernels_ref ? 4 : 20; /* the plain loops are slow */
        uint64_t one = hash_after(k->name, 1, d, cases[c].settings, updates);
        assert_true(one == hash_after(k->name, 2, d, cases[c].settings, updates));
        assert_true(one == hash_after(k->name, 3, d, cases[c].settings, updates));
        assert_true(one !=
                    hash_after(k->name, 1, d, cases[c].settings, updates - 1)); /* the hash sees updates */
    }
}

static void test_no_allocations(void **state)
{
    (void)state;
#if defined(CANNOT_COUNT)
    skip();
#else
    const struct algo *algo = algo_find("dqs");
    struct agent a;
    struct rng rng;
    struct log_sink log = {0};
    float obs[64 * 3], action[64 * 2];
    start_counting();
    long before = atomic_load(&allocations);
    char *volatile copy = strdup("counted");
    free(copy);
    assert_true(atomic_load(&allocations) > before); /* the counter counts, inside libraries too */
    rng_seed(&rng, 9, RNG_TEST);
    fill_normal(obs, COUNT(obs), 3);
    agent_create(&a, "auto", 2, 2, false, SMALL_BOX "critic_width=32 score_width=32 batch=36");
    agent_live(&a, 200, &rng);
    algo->update(a.self, &log); /* libraries may set themselves up once */
    size_t used = a.arena.used;
    before = atomic_load(&allocations);
    for (int i = 0; i < 1000; i++) {
        agent_live(&a, 1, &rng);
        algo->update(a.self, &log);
        assert_int_equal(algo->act(a.self, action, obs, 64, DQS_ACT_EVALUATE, NULL), DQS_OK);
        assert_int_equal(algo->act(a.self, action, obs, i % 100 ? 1 : 64, DQS_ACT_EXACT, NULL), DQS_OK);
    }
    assert_int_equal(atomic_load(&allocations) - before, 0);
    assert_int_equal(a.arena.used, used);
    assert_true(isfinite(log_mean(&log, "train/critic_loss")) &&
                isfinite(log_mean(&log, "train/actor_loss")));
    agent_free(&a);
#endif
}

/* ---------------------------------------------------------------- golden state */
/* The plain kernels without fused operations give the same bits with every compiler, but their exp, tanh,
 * ... are libm's: the hash holds for one version of it. To refresh after a wanted change of the
 * arithmetic: run this test, and copy the two values it prints. The mean square of all parameters moves
 * little with the libm and is checked everywhere. */
#define GOLDEN_LIBC "2.36"
#define GOLDEN_HASH UINT64_C(0xD71919A35EA03377)
#define GOLDEN_SQUARE 0.00798979381

struct square {
    double sum, n;
};

static void add_squares(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct square *square = context;
    size_t n = 1;
    (void)name;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    if (kind != VISIT_POLICY || type != VISIT_F32)
        return;
    for (size_t i = 0; i < n; i++)
        square->sum += ((float *)data)[i] * ((float *)data)[i];
    square->n += (double)n;
}

static void test_golden(void **state)
{
    (void)state;
    const struct algo *algo = algo_find("dqs");
    struct square square = {0};
    struct visitor visitor = {.tensor = add_squares, .context = &square};
    struct agent a;
    struct rng rng;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, "ref", 1, 2, false, SMALL_BOX);
    agent_live(&a, 200, &rng);
    for (int i = 0; i < 10; i++)
        algo->update(a.self, NULL);
    algo->visit(a.self, &visitor);
    uint64_t hash = agent_hash(&a);
    double mean = square.sum / square.n;
    if (hash != GOLDEN_HASH)
        print_message("golden: hash 0x%016llX, mean square %.9g\n", (unsigned long long)hash, mean);
    agent_free(&a);
    assert_near(mean, GOLDEN_SQUARE, 1e-3 * GOLDEN_SQUARE);
#if defined(__GLIBC__) && defined(__x86_64__)
    if (strcmp(gnu_get_libc_version(), GOLDEN_LIBC) == 0 && __builtin_cpu_supports("fma"))
        assert_true(hash == GOLDEN_HASH);
#endif
}

/* ---------------------------------------------------------------- one update against PyTorch */
struct compare {
    const struct fixture *fixture;
    struct arena *arena;
    int seen;
};

static const char *wanted(const struct compare *c, const char *when, const char *name, char text[200])
{
    snprintf(text, 200, "%s/%s", when, name);
    return safetensors_find(&c->fixture->file, text) ? text : NULL;
}

/* Puts the fixture's weights in place of the learner's own. */
static void load_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct compare *c = context;
    char text[200];
    size_t n, size = 1;
    (void)kind, (void)type;
    if (!wanted(c, "before", name, text))
        return;
    for (int i = 0; i < rank; i++)
        size *= shape[i];
    const float *values = fixture_floats(c->fixture, c->arena, &n, "%s", text);
    assert_int_equal(n, size);
    memcpy(data, values, n * sizeof *values);
    c->seen++;
}

/* Adam's m after the first step is a tenth of the gradient. It is compared tightly; the step itself,
 * g/(|g| + eps), blows up rounding where a gradient is next to nothing, so parameters are compared to a
 * part of the learning rate. */
static void compare_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type,
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
        assert_near(*(double *)data, values[0], 2e-5 * values[0]);
    else if (strstr(name, "_adam/m"))
        assert_arrays(name, data, values, n, 2e-5);
    else
        assert_arrays(name, data, values, n, 5e-5);
}

static void check_update(const char *name, const char *kernels)
{
    const struct algo *algo = algo_find("dqs");
    static const char *const numbers[] = {"train/critic_loss", "train/q_mean", "train/score_ess",
                                          "train/actor_loss", "train/entropy_per_dim"};
    struct fixture f;
    struct arena arena = {0};
    struct agent a;
    struct log_sink log = {0};
    size_t rows;
    fixture_open(&f, name);
    bool terminates = fixture_floats(&f, &arena, NULL, "terminates")[0] != 0;
    agent_create(&a, kernels, 1, 2, terminates, safetensors_metadata(&f.file, "options"));
    struct compare compare = {&f, &arena, 0};
    algo->visit(a.self, &(struct visitor){.tensor = load_tensor, .context = &compare});
    assert_int_equal(compare.seen, 5 * 6); /* nets, layers' weights and biases */
    float *obs = fixture_floats(&f, &arena, NULL, "transitions/obs"),
          *next = fixture_floats(&f, &arena, NULL, "transitions/next_obs");
    float *action = fixture_floats(&f, &arena, NULL, "transitions/action"),
          *over = fixture_floats(&f, &arena, NULL, "transitions/terminated");
    float *reward = fixture_floats(&f, &arena, &rows, "transitions/reward");
    for (size_t r = 0; r < rows; r++) { /* truncation must not matter */
        uint8_t terminated = over[r] != 0, truncated = r % 2;
        algo->observe(a.self, &(struct transitions){1, obs + 3 * r, action + 2 * r, reward + r, next + 3 * r,
                                                    &terminated, &truncated});
    }
    algo->update(a.self, &log);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char text[200];
        snprintf(text, sizeof text, "log/%s", numbers[i]);
        if (!safetensors_find(&f.file, text))
            continue;
        double expected = fixture_floats(&f, &arena, NULL, "%s", text)[0];
        assert_near(log_mean(&log, numbers[i]), expected, 2e-5 * fabs(expected));
    }
    compare.seen = 0;
    algo->visit(a.self, &(struct visitor){.tensor = compare_tensor, .context = &compare});
    assert_true(compare.seen >= 5 * 6 + 3);
    agent_free(&a);
    arena_free(&arena);
    fixture_close(&f);
}

static void test_update_paper(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    check_update("dqs_paper.safetensors", k->name);
}

static void test_update_latent(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    check_update("dqs_latent.safetensors", k->name);
}

static void test_update_box(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    check_update("dqs_box.safetensors", k->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),           cmocka_unit_test(test_ring_uniform),
        cmocka_unit_test(test_update_paper),   cmocka_unit_test(test_update_latent),
        cmocka_unit_test(test_update_box),     cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_allocations), cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
