/* test_algo: the replay ring; one whole update of DQS against PyTorch; the same bits at any number of threads
 * in each of its forms, and a golden state for the plain kernels. test_learners.c has what must hold of every
 * learner. */
#include "learner.h"
#include "ring.h"
#ifdef __GLIBC__
#include <gnu/libc-version.h>
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
        ring_sample(&ring, &batch, 0.9, 1, &rng);
        for (int r = 0; r < batch.rows; r++) {
            int j = (int)batch.obs[2 * r];
            assert_in_range(j, i < 10 ? 0 : i - 9, i); /* the last ten and no older */
            assert_true(batch.obs[2 * r + 1] == (float)-j && batch.action[r] == (float)j / 100);
            assert_true(batch.next_obs[2 * r] == (float)j + 0.5f &&
                        batch.next_obs[2 * r + 1] == (float)-j - 0.5f);
            assert_true(batch.reward[r] == (float)j * 10 && batch.discount[r] == (j % 3 ? 0.9f : 0));
        }
    }
    assert_int_equal(ring.written, 27);
    arena_free(&arena);
}

/* Two environments push in turn; an episode of environment e is a walk e, e+10, e+20 ... of the one number
 * that is observed. A row of n steps sums the rewards of its own walk, and stops where the walk, or what is
 * stored of it, does. */
static void test_ring_n_step(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct ring ring;
    struct ring_batch batch;
    struct rng rng;
    enum { LENGTH = 5, CAPACITY = 22, PUSHED = 40, N = 3 };
    const double gamma = 0.5;
    ring_create(&ring, &arena, CAPACITY, 1, 1);
    ring_batch_create(&batch, &arena, 2000, 1, 1);
    ring.lanes = 2;
    rng_seed(&rng, 1, RNG_REPLAY);
    for (int i = 0; i < PUSHED; i++) { /* lane 0 is cut off every LENGTH steps, lane 1 dies then */
        int lane = i % 2, t = i / 2;
        float obs = (float)(1000 * (t / LENGTH) + 10 * (t % LENGTH) + lane), next = obs + 10, action = 0;
        ring_push(&ring, &obs, &action, (float)(1 + t), &next, lane == 1 && t % LENGTH == LENGTH - 1);
    }
    ring_sample(&ring, &batch, gamma, N, &rng);
    for (int r = 0; r < batch.rows; r++) {
        int code = (int)batch.obs[r], lane = code % 10, t = code / 1000 * LENGTH + code % 1000 / 10,
            steps = 0;
        double reward = 0, discount = 1;
        while (steps < N && (steps == 0 || (t + steps) % LENGTH) && 2 * (t + steps) + lane < PUSHED) {
            reward += discount * (1 + t + steps);
            discount *= gamma;
            steps++;
        }
        bool dies = lane == 1 && (t + steps) % LENGTH == 0;
        assert_true(batch.reward[r] == (float)reward);
        assert_true(batch.next_obs[r] == (float)(code + 10 * steps));
        assert_true(batch.discount[r] == (dies ? 0 : (float)discount));
    }
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
        ring_sample(&ring, &batch, 0.9, 1, &rng);
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

/* ---------------------------------------------------------------- same bits */
static uint64_t hash_after(const char *kernels, int threads, int act_dim, const char *settings, int updates)
{
    struct agent a;
    struct rng rng;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, "dqs", kernels, threads, act_dim, NULL, settings);
    agent_live(&a, 200, &rng);
    for (int i = 0; i < updates; i++) {
        agent_live(&a, 1, &rng);
        a.algo->update(a.self, NULL);
    }
    uint64_t hash = agent_hash(&a);
    agent_free(&a);
    return hash;
}

/* Small, and with batches that are not whole tiles. */
#define SMALL "critic_width=48 score_width=64 embed=16 batch=140 warmup=200 replay=150 diag_states=0 "
#define SMALL_BOX                                                                                            \
    SMALL "squash=box estimator=shifted K=8 N=5 sigma_min=0.02 temperature=relative T_spread=2 corrector=2 " \
          "corrector_target=3 particles=3 particles_target=3 noised=policy obs_octaves=2 max_grad_norm=1 "   \
          "weight_decay=0.01 "
#define SMALL_PAPER                                                                         \
    SMALL "squash=paper estimator=gradient K=40 N=6 sampler=euler-maruyama sigma_min=0.05 " \
          "critic_layernorm=false "                                                         \
          "score_activation=gelu init=orthogonal temperature=fixed "
#define SMALL_LATENT                                                                                       \
    SMALL "squash=latent estimator=mixture K=7 N=4 sampler=flow-heun temperature=auto loss_weight=lambda " \
          "score_hidden=3 "
#define SMALL_CLIP \
    SMALL "squash=clip estimator=gradient K=4 N=6 temperature=fixed T=0.02 T_target=0.5 particles=3 "

static void test_threads(void **state)
{
    (void)state;
    static const struct {
        int act_dim;
        const char *settings;
    } cases[] = {{2, SMALL_BOX}, {3, SMALL_PAPER}, {1, SMALL_LATENT}, {2, SMALL_CLIP}};
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

/* ---------------------------------------------------------------- averages */
static const float *kept_floats(const struct kept *kept, const char *name, size_t *n)
{
    for (int i = 0; i < kept->count; i++)
        if (strcmp(kept->rows[i].name, name) == 0) {
            *n = kept->rows[i].bytes / sizeof(float);
            return kept->rows[i].data;
        }
    fail_msg("%s: was not kept", name);
    return NULL;
}

/* Averages are what the option says, training and exploring go on as without them, and evaluation does
 * not. */
static void test_averages(void **state)
{
    (void)state;
    static const char *const names[] = {"score/0.weight", "critic0/1.weight", "critic1/out.bias"};
    enum { UPDATES = 16 };
    double mean[COUNT(names)][64 * 64] = {{0}};
    struct agent plain, averaged;
    struct rng rng, other;
    float obs[3] = {0.1f, -0.2f, 0.3f}, by_plain[2], by_averages[2];
    char name[100];
    rng_seed(&rng, 9, RNG_TEST);
    rng_seed(&other, 9, RNG_TEST);
    agent_create(&plain, "dqs", "auto", 1, 2, NULL, SMALL_CLIP);
    agent_create(&averaged, "dqs", "auto", 1, 2, NULL, SMALL_CLIP "average=0.25");
    agent_live(&plain, 200, &rng);
    agent_live(&averaged, 200, &other);
    plain.algo->act(plain.self, by_plain, obs, 1, DQS_ACT_EVALUATE, NULL);
    averaged.algo->act(averaged.self, by_averages, obs, 1, DQS_ACT_EVALUATE, NULL);
    assert_bits("before the first update", by_plain, by_averages, sizeof by_plain);
    for (int u = 0; u < UPDATES; u++) {
        struct kept without, with;
        agent_live(&plain, 1, &rng);
        agent_live(&averaged, 1, &other);
        plain.algo->update(plain.self, NULL);
        averaged.algo->update(averaged.self, NULL);
        agent_keep(&plain, &without);
        agent_keep(&averaged, &with);
        for (int i = 0; i < without.count; i++) {
            size_t n = 0;
            assert_bits(without.rows[i].name, kept_floats(&with, without.rows[i].name, &n),
                        without.rows[i].data, without.rows[i].bytes);
        }
        for (size_t i = 0; i < COUNT(names); i++) {
            size_t n = 0;
            const float *now = kept_floats(&without, names[i], &n);
            double share = fmax(0.25, 4.0 / (u + 4));
            snprintf(name, sizeof name, "average/%s", names[i]);
            const float *average = kept_floats(&with, name, &n);
            for (size_t j = 0; j < n; j++) {
                mean[i][j] += share * (now[j] - mean[i][j]);
                assert_near(average[j], mean[i][j], 1e-6);
            }
        }
        arena_free(&without.arena);
        arena_free(&with.arena);
        plain.algo->act(plain.self, by_plain, obs, 1, DQS_ACT_EVALUATE, NULL);
        averaged.algo->act(averaged.self, by_averages, obs, 1, DQS_ACT_EVALUATE, NULL);
        bool same = memcmp(by_plain, by_averages, sizeof by_plain) == 0;
        assert_true(same == (u == 0)); /* after one update the average is the network */
    }
    agent_free(&plain);
    agent_free(&averaged);
}

/* ---------------------------------------------------------------- networks that begin anew */
static long kept_long(const struct kept *kept, const char *name)
{
    for (int i = 0; i < kept->count; i++)
        if (strcmp(kept->rows[i].name, name) == 0)
            return *(const long *)kept->rows[i].data;
    fail_msg("%s: was not kept", name);
    return 0;
}

static double furthest(const float *a, const float *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)a[i] - b[i]));
    return most;
}

/* After 205 and 410 steps: new weights, each time others, optimisers that know nothing; and a state that is complete
 * between the two. */
static void test_begin_anew(void **state)
{
    (void)state;
    static const char *const names[] = {"score/0.weight", "critic0/1.weight", "target1/1.weight",
                                        "average/critic1/0.weight"};
    struct agent a, b;
    struct rng rng, other = {0};
    struct kept before[COUNT(names)] = {0}, middle = {0};
    int known = 0;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, "dqs", "auto", 1, 2, NULL, SMALL_CLIP "reset_first=205 reset_settle=0 average=0.25");
    agent_create(&b, "dqs", "auto", 1, 2, NULL, SMALL_CLIP "reset_first=205 reset_settle=0 average=0.25");
    agent_live(&a, 200, &rng);
    for (int step = 201; step <= 420; step++) {
        struct kept kept;
        agent_live(&a, 1, &rng);
        a.algo->update(a.self, NULL);
        agent_keep(&a, &kept);
        int since = step < 205 ? step - 200 : step < 410 ? step - 204 : step - 409;
        assert_int_equal(kept_long(&kept, "critic0_adam/t"), since);
        assert_int_equal(kept_long(&kept, "critic1_adam/t"), since);
        assert_int_equal(kept_long(&kept, "score_adam/t"), since);
        if (step != 201 && step != 204 && step != 205 && step != 410) {
            if (step == 300) {
                middle = kept;
                other = rng;
            } else {
                arena_free(&kept.arena);
            }
            continue;
        }
        for (int k = 0; k < known; k++)
            for (size_t i = 0; i < COUNT(names); i++) {
                size_t n = 0;
                const float *now = kept_floats(&kept, names[i], &n),
                            *then = kept_floats(&before[k], names[i], &n);
                assert_true((furthest(now, then, n) > 0.05) ==
                            (step > 204)); /* an update moves it by 0.001 */
            }
        before[known++] = kept;
    }
    agent_restore(&b, &middle);
    for (int step = 301; step <= 420; step++) {
        agent_live(&b, 1, &other);
        b.algo->update(b.self, NULL);
    }
    assert_true(agent_hash(&a) == agent_hash(&b));
    for (int k = 0; k < known; k++)
        arena_free(&before[k].arena);
    arena_free(&middle.arena);
    agent_free(&a);
    agent_free(&b);
}

static void update_after_a_step(struct agent *a, struct rng *rng, struct kept *kept)
{
    agent_live(a, 1, rng);
    a->algo->update(a->self, NULL);
    agent_keep(a, kept);
}

/* Beginnings that were due before the first update are one, with nothing from before to act. */
static void test_begin_in_warmup(void **state)
{
    (void)state;
    struct agent a;
    struct rng rng;
    struct kept kept;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, "dqs", "auto", 1, 2, NULL, SMALL_CLIP "reset_first=20 average=0.25");
    agent_live(&a, 200, &rng);
    for (int u = 1; u <= 3; u++) {
        size_t n = 0;
        agent_live(&a, 1, &rng);
        a.algo->update(a.self, NULL);
        agent_keep(&a, &kept);
        assert_int_equal(kept_long(&kept, "reset/count"), 4); /* after 20, 40, 80 and 160 steps */
        assert_int_equal(kept_long(&kept, "reset/updates"), 0);
        assert_int_equal(kept_long(&kept, "critic0_adam/t"), u);
        const float *now = kept_floats(&kept, "critic0/1.weight", &n),
                    *acting = kept_floats(&kept, "average/critic0/1.weight", &n);
        assert_true(furthest(now, acting, n) < 0.01);
        arena_free(&kept.arena);
    }
    agent_free(&a);
}

/* For so many updates the averages from before are what acts; then, to the bit, those that a learner has who
 * shows its new networks at once. Nothing else differs, and the state is complete in the meantime. */
static void test_settle(void **state)
{
    (void)state;
    enum { BEGIN = 205, SETTLE = 20, SAVED = 215 };
    static const char *const acting = "average/critic1/0.weight", *const coming = "coming/critic1/0.weight",
                             *const learning = "critic1/0.weight";
    struct agent patient, hasty, resumed;
    struct rng rng, other, later = {0};
    struct kept old = {0}, saved = {0};
    rng_seed(&rng, 9, RNG_TEST);
    rng_seed(&other, 9, RNG_TEST);
    agent_create(&patient, "dqs", "auto", 1, 2, NULL,
                 SMALL_CLIP "reset_first=205 reset_settle=20 average=0.25");
    agent_create(&resumed, "dqs", "auto", 1, 2, NULL,
                 SMALL_CLIP "reset_first=205 reset_settle=20 average=0.25");
    agent_create(&hasty, "dqs", "auto", 1, 2, NULL, SMALL_CLIP "reset_first=205 reset_settle=0 average=0.25");
    agent_live(&patient, 200, &rng);
    agent_live(&hasty, 200, &other);
    for (int step = 201; step <= BEGIN + 2 * SETTLE; step++) {
        struct kept mine, its;
        size_t n = 0;
        update_after_a_step(&patient, &rng, &mine);
        update_after_a_step(&hasty, &other, &its);
        bool settling = step >= BEGIN && step < BEGIN + SETTLE;
        const float *shown = kept_floats(&mine, acting, &n), *fresh = kept_floats(&its, acting, &n);
        size_t bytes = n * sizeof(float);
        if (settling) {
            assert_bits("from before", shown, kept_floats(&old, acting, &n), bytes);
            assert_bits("to come", kept_floats(&mine, coming, &n), fresh, bytes);
            assert_true(furthest(shown, fresh, n) > 0.05);
        } else {
            assert_bits("acting", shown, fresh, bytes);
        }
        assert_bits("learning", kept_floats(&mine, learning, &n), kept_floats(&its, learning, &n), bytes);
        arena_free(&its.arena);
        if (step == BEGIN - 1)
            old = mine;
        else if (step == SAVED) {
            saved = mine;
            later = rng;
        } else
            arena_free(&mine.arena);
    }
    agent_restore(&resumed, &saved);
    for (int step = SAVED + 1; step <= BEGIN + 2 * SETTLE; step++) {
        agent_live(&resumed, 1, &later);
        resumed.algo->update(resumed.self, NULL);
    }
    assert_true(agent_hash(&resumed) == agent_hash(&patient));
    arena_free(&old.arena);
    arena_free(&saved.arena);
    agent_free(&patient);
    agent_free(&resumed);
    agent_free(&hasty);
}

/* ---------------------------------------------------------------- bounds */
/* Target critics that have lost all measure: the targets stay within what rewards of 4 at most can add up
 * to. */
static void test_bound_values(void **state)
{
    (void)state;
    static const float wilds[] = {1e4f, -1e4f, NAN};
    for (int i = 0; i < 2 * (int)COUNT(wilds); i++) {
        bool bound = i % 2;
        float wild = wilds[i / 2];
        struct agent a;
        struct rng rng;
        struct kept kept;
        struct log_sink log = {0};
        size_t n = 0;
        rng_seed(&rng, 9, RNG_TEST);
        agent_create(&a, "dqs", "auto", 1, 2, NULL,
                     bound ? SMALL_CLIP "bound_values=true" : SMALL_CLIP "bound_values=false");
        agent_live(&a, 200, &rng);
        agent_keep(&a, &kept);
        memcpy((float *)kept_floats(&kept, "target0/out.bias", &n), &wild, sizeof wild);
        memcpy((float *)kept_floats(&kept, "target1/out.bias", &n), &wild, sizeof wild);
        if (bound) /* as after taking the replay of another run: the rewards in it count */
            memset((float *)kept_floats(&kept, "reward_range", &n), 0, 2 * sizeof(double));
        agent_restore(&a, &kept);
        a.algo->update(a.self, &log);
        double error = sqrt(log_mean(&log, "train/critic_loss"));
        if (isnan(wild))
            assert_true(isnan(error)); /* for the guard to see */
        else
            assert_true(bound ? error > 100 && error < 400 : error > 8000);
        arena_free(&kept.arena);
        agent_free(&a);
    }
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
    struct square square = {0};
    struct visitor visitor = {.tensor = add_squares, .context = &square};
    struct agent a;
    struct rng rng;
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, "dqs", "ref", 1, 2, NULL, SMALL_BOX);
    agent_live(&a, 200, &rng);
    for (int i = 0; i < 10; i++)
        a.algo->update(a.self, NULL);
    a.algo->visit(a.self, &visitor);
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
static void check_update(const char *name, const char *kernels)
{
    static const char *const numbers[] = {"train/critic_loss", "train/q_mean",          "train/score_ess",
                                          "train/actor_loss",  "train/entropy_per_dim", NULL};
    /* six tensors of each network, and the moments */
    check_updates("dqs", name, kernels, numbers, 1, 5 * 6 + 3, 2e-5);
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

static void test_update_clip(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    check_update("dqs_clip.safetensors", k->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_ring_n_step),
        cmocka_unit_test(test_ring_uniform),
        cmocka_unit_test(test_update_paper),
        cmocka_unit_test(test_update_latent),
        cmocka_unit_test(test_update_box),
        cmocka_unit_test(test_update_clip),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_averages),
        cmocka_unit_test(test_bound_values),
        cmocka_unit_test(test_begin_anew),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_begin_in_warmup),
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
