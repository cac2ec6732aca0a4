/* test_ppo: generalised advantages against their definition and by hand; the rollout; the reward normaliser;
 * one whole minibatch of PPO against PyTorch; when it updates, what it saves, how it stops; that it
 * learns. */
#include "adam.h"
#include "checkpoint.h"
#include "learner.h"
#include "normaliser.h"
#include "rollout.h"
#include "run.h"
#include <unistd.h>

/* ---------------------------------------------------------------- advantages */
/* gamma = lambda = 1/2, three steps, V 10 20 30, V of the last next observation 40, of the middle one 100. */
static void test_gae_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint8_t terminated, truncated; /* in the middle step */
        float advantage[3];
    } cases[] = {
        {0, 0, {-0.1875f, -4.75f, -7}}, /* delta 1, -3, -7; A_0 = 1 + (-3 - 7/4)/4 */
        {1, 0, {-3.5f, -18, -7}},       /* delta_1 = 2 - 20; A_0 = 1 - 18/4 */
        {0, 1, {9, 32, -7}},            /* delta_1 = 2 + 100/2 - 20; A_0 = 1 + 32/4 */
        {1, 1, {-3.5f, -18, -7}},       /* terminated wins */
    };
    static const float reward[] = {1, 2, 3}, value[] = {10, 20, 30}, final_value[] = {-1e6f, 100, 40};
    for (size_t c = 0; c < COUNT(cases); c++) {
        float advantage[3], ret[3];
        uint8_t terminated[] = {0, cases[c].terminated, 0}, truncated[] = {0, cases[c].truncated, 0};
        gae(advantage, ret, reward, value, final_value, terminated, truncated, 3, 1, 0.5, 0.5);
        for (int t = 0; t < 3; t++) {
            assert_near(advantage[t], cases[c].advantage[t], 0);
            assert_near(ret[t], cases[c].advantage[t] + value[t], 0);
        }
    }
}

/* A_t as the sum of (gamma lambda)^k delta_t+k to the end of the episode or of the rollout, each on its
 * own. */
static void test_gae_definition(void **state)
{
    (void)state;
    enum { STEPS = 40, ENVS = 3, ROWS = STEPS * ENVS };
    static const double pairs[][2] = {{0.97, 0.9}, {0.99, 1}, {0.9, 0}, {0, 0.95}, {1, 1}};
    float reward[ROWS], value[ROWS], final_value[ROWS], advantage[ROWS], ret[ROWS];
    uint8_t terminated[ROWS], truncated[ROWS];
    struct rng rng;
    rng_seed(&rng, 4, RNG_TEST);
    fill_normal(reward, ROWS, 1);
    fill_normal(value, ROWS, 2);
    fill_normal(final_value, ROWS, 3);
    for (int i = 0; i < ROWS; i++) {
        terminated[i] = rng_below(&rng, 8) == 0;
        truncated[i] = rng_below(&rng, 8) == 0;
    }
    for (size_t c = 0; c < COUNT(pairs); c++) {
        double gamma = pairs[c][0], lambda = pairs[c][1];
        gae(advantage, ret, reward, value, final_value, terminated, truncated, STEPS, ENVS, gamma, lambda);
        for (int i = 0; i < ROWS; i++) {
            double sum = 0, weight = 1;
            for (int k = i; k < ROWS; k += ENVS, weight *= gamma * lambda) {
                bool follows = k + ENVS < ROWS && !truncated[k] && !terminated[k];
                double next = terminated[k] ? 0 : follows ? value[k + ENVS] : final_value[k];
                sum += weight * (reward[k] + gamma * next - value[k]);
                if (terminated[k] || truncated[k])
                    break;
            }
            assert_near(advantage[i], sum, 1e-6 * (1 + fabs(sum)));
            assert_near(ret[i], sum + value[i], 1e-6 * (1 + fabs(sum)));
        }
    }
}

/* ---------------------------------------------------------------- the rollout */
static void test_rollout(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rollout r;
    struct rollout_batch batch;
    uint8_t none[2] = {0}, second[2] = {0, 1};
    rollout_create(&r, &arena, 3, 2, 2, 1);
    rollout_batch_create(&batch, &arena, 2, 2, 1);
    for (int t = 0; t < 3; t++) {
        assert_false(rollout_full(&r));
        assert_int_equal(rollout_at(&r), 2 * t);
        float x = (float)t, wrong[4] = {99, 99, 99, 99}, obs[4] = {x, x + 10, x + 20, x + 30};
        rollout_begin(&r, wrong, wrong, wrong);
        rollout_begin(&r, obs, (float[]){x, -x}, (float[]){x / 10, x / 20});
        rollout_end(&r, (float[]){x, 2 * x}, (float[]){5, 6}, t == 1 ? second : none, none);
    }
    assert_true(rollout_full(&r));
    for (int i = 0; i < 6; i++)
        r.value[i] = (float)i;
    rollout_advantages(&r, 0.5, 1);
    assert_near(r.ret[3], 2, 0);             /* its reward, and nothing after */
    assert_near(r.ret[2], 1 + 0.5 * 4.5, 0); /* r_1 + gamma (r_2 + gamma V) */
    rollout_gather(&r, &batch, (long[]){3, 0});
    assert_true(batch.obs[0] == 21 && batch.obs[1] == 31 && batch.obs[2] == 0 && batch.obs[3] == 10);
    assert_true(batch.action[0] == -1 && batch.value[0] == 3 && batch.ret[0] == 2);
    assert_near(batch.log_prob[0], 0.05, 1e-7);
    rollout_clear(&r);
    assert_int_equal(rollout_at(&r), 0);
    arena_free(&arena);
}

static void test_shuffle(void **state)
{
    (void)state;
    enum { N = 6, TIMES = 6000 };
    double counts[N][N] = {{0}}, chi = 0;
    struct rng rng;
    rng_seed(&rng, 4, RNG_TEST);
    for (int k = 0; k < TIMES; k++) {
        long order[N];
        unsigned seen = 0;
        shuffle(order, N, &rng);
        for (int i = 0; i < N; i++) {
            counts[i][order[i]]++;
            seen |= 1u << order[i];
        }
        assert_int_equal(seen, (1u << N) - 1);
    }
    for (int i = 0; i < N * N; i++)
        chi += pow(counts[i / N][i % N] - TIMES / N, 2) / (TIMES / N);
    assert_true(chi < chi_square_limit((N - 1) * (N - 1)));
}

/* ---------------------------------------------------------------- normalisers */
static void test_reward_normaliser(void **state)
{
    (void)state;
    enum { STEPS = 200, ENVS = 2 };
    struct arena arena = {0};
    struct reward_normaliser on, off;
    struct rng rng;
    double G[ENVS] = {0}, seen[STEPS * ENVS], gamma = 0.9;
    int n = 0, clipped = 0;
    rng_seed(&rng, 4, RNG_TEST);
    reward_normaliser_create(&on, &arena, ENVS, gamma, true);
    reward_normaliser_create(&off, &arena, ENVS, gamma, false);
    for (int t = 0; t < STEPS; t++) {
        float reward[ENVS], scaled[ENVS], plain[ENVS];
        uint8_t terminated[ENVS], truncated[ENVS];
        double mean = 0, variance = 0;
        for (int i = 0; i < ENVS; i++) {
            reward[i] = (float)(5 + rng_normal(&rng) + (t == 150 ? 1000 : 0));
            terminated[i] = rng_below(&rng, 9) == 0;
            truncated[i] = rng_below(&rng, 9) == 0;
            seen[n++] = G[i] = reward[i] + gamma * G[i];
        }
        for (int i = 0; i < n; i++)
            mean += seen[i] / n;
        for (int i = 0; i < n; i++)
            variance += (seen[i] - mean) * (seen[i] - mean) / n;
        reward_normaliser_step(&on, scaled, reward, terminated, truncated);
        reward_normaliser_step(&off, plain, reward, terminated, truncated);
        for (int i = 0; i < ENVS; i++) { /* the mean of the rewards stays */
            double expected = fmin(10, reward[i] / sqrt(variance + 1e-6));
            assert_near(scaled[i], expected, 1e-5 * expected);
            assert_true(plain[i] == reward[i]);
            clipped += expected == 10;
            G[i] = terminated[i] || truncated[i] ? 0 : G[i];
        }
    }
    assert_true(clipped > 0 && clipped < STEPS / 2);
    arena_free(&arena);
}

static void test_clip_gradients(void **state)
{
    (void)state;
    float a[19], b[2] = {3, -4};
    for (int i = 0; i < 19; i++)
        a[i] = i == 18 ? 12 : 0;
    float *const both[] = {a, b};
    const size_t n[] = {19, 2};
    assert_near(clip_gradients(both, n, 2, 0), 13, 1e-12); /* 0: as they are */
    assert_near(clip_gradients(both, n, 2, 20), 13, 1e-12);
    assert_true(a[18] == 12 && b[1] == -4);
    assert_near(clip_gradients(both, n, 2, 6.5), 13, 1e-12);
    assert_near(a[18], 6, 1e-6);
    assert_near(b[0], 1.5, 1e-6);
}

/* ---------------------------------------------------------------- one minibatch against PyTorch */
/* Tensors of the fixture under a prefix, in place of the learner's, or compared with them. */
struct part {
    const struct fixture *fixture;
    struct arena *arena;
    const char *prefix;
    int seen;
};

static float *of_part(struct part *p, const char *name, size_t *n)
{
    char text[200];
    snprintf(text, sizeof text, "%s%s", p->prefix, name);
    if (!safetensors_find(&p->fixture->file, text))
        return NULL;
    p->seen++;
    return fixture_floats(p->fixture, p->arena, n, "%s", text);
}

static void load_part(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                      const size_t *shape, void *data)
{
    size_t n;
    float *values = of_part(context, name, &n);
    (void)kind;
    if (values)
        assert_int_equal(n * sizeof *values, tensor_bytes(type, rank, shape));
    if (values)
        memcpy(data, values, n * sizeof *values);
}

/* Parameters within a part of the learning rate (1e-3), all else within 1e-5 of the largest. */
static void compare_part(void *context, const char *name, enum visit_kind kind, enum visit_type type,
                         int rank, const size_t *shape, void *data)
{
    struct part *p = context;
    size_t n;
    float *values = of_part(p, name, &n);
    bool parameter = strcmp(p->prefix, "after/") == 0 && !strstr(name, "_adam/m");
    (void)kind, (void)type, (void)rank, (void)shape;
    if (values)
        assert_arrays(name, data, values, n, parameter ? 2e-5 : 1e-5);
}

static int visit_part(struct agent *a, struct part part, const char *prefix,
                      void (*tensor)(void *, const char *, enum visit_kind, enum visit_type, int,
                                     const size_t *, void *))
{
    part.prefix = prefix;
    a->algo->visit(a->self, &(struct visitor){.tensor = tensor, .context = &part});
    return part.seen;
}

static void check_minibatch(const char *name, const char *kernels)
{
    static const char *const numbers[] = {"train/policy_gradient_loss",
                                          "train/value_loss",
                                          "train/entropy_loss",
                                          "train/loss",
                                          "train/approx_kl",
                                          "train/clip_fraction",
                                          "train/std",
                                          "train/learning_rate",
                                          "train/explained_variance"};
    enum { STEPS = 12, ENVS = 2, WEIGHTS = 2 * 6 + 1 };
    struct fixture f;
    struct arena arena = {0};
    struct agent a;
    struct log_sink log = {0};
    fixture_open(&f, name);
    agent_create(&a, "ppo", kernels, 1, 2, &(struct algo_setup){.n_envs = ENVS},
                 safetensors_metadata(&f.file, "options"));
    struct part part = {&f, &arena, "", 0};
    assert_int_equal(visit_part(&a, part, "old/", load_part), WEIGHTS);
    float *obs = fixture_floats(&f, &arena, NULL, "steps/obs"),
          *next = fixture_floats(&f, &arena, NULL, "steps/next_obs"),
          *reward = fixture_floats(&f, &arena, NULL, "steps/reward"),
          *terminated = fixture_floats(&f, &arena, NULL, "steps/terminated"),
          *truncated = fixture_floats(&f, &arena, NULL, "steps/truncated"),
          *expected = fixture_floats(&f, &arena, NULL, "action");
    for (int t = 0; t < STEPS; t++) {
        float action[ENVS * 2];
        uint8_t ends[2][ENVS];
        for (int i = 0; i < ENVS; i++) {
            ends[0][i] = terminated[ENVS * t + i] != 0;
            ends[1][i] = truncated[ENVS * t + i] != 0;
        }
        assert_false(a.algo->update_due(a.self));
        assert_int_equal(a.algo->act(a.self, action, obs + 6 * t, ENVS, DQS_ACT_EXPLORE, NULL), DQS_OK);
        assert_arrays("action", action, expected + 4 * t, 4, 1e-5);
        a.algo->observe(a.self, &(struct transitions){ENVS, ENVS, obs + 6 * t, action, reward + 2 * t, next + 6 * t,
                                                      ends[0], ends[1]});
    }
    assert_int_equal(visit_part(&a, part, "", compare_part), 7); /* the rollout */
    assert_int_equal(visit_part(&a, part, "before/", load_part), WEIGHTS);
    a.algo->update(a.self, &log);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        double wanted = fixture_floats(&f, &arena, NULL, "log/%s", numbers[i])[0];
        /* advantages have unit spread and mean 0: the losses are what is left of terms of order 1 */
        assert_near(log_mean(&log, numbers[i]), wanted, 1e-6 + 1e-5 * fabs(wanted));
    }
    assert_int_equal(visit_part(&a, part, "after/", compare_part), WEIGHTS + 3);
    agent_free(&a);
    arena_free(&arena);
    fixture_close(&f);
}

static void test_minibatch(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    {
        check_minibatch("ppo.safetensors", k->name);
        check_minibatch("ppo_variant.safetensors", k->name);
    }
}

/* ---------------------------------------------------------------- when it updates */
#define SMALL "width=16 n_steps=24 batch=8 epochs=3 "

static int updates_of(struct agent *a, struct log_sink *log)
{
    int n = 0;
    for (; a->algo->update_due(a->self); n++)
        a->algo->update(a->self, log);
    return n;
}

static void test_schedule(void **state)
{
    (void)state;
    struct agent a;
    struct rng rng;
    struct log_sink log = {0};
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, "ppo", "auto", 1, 2, NULL, SMALL "lr=1e-3"); /* of 1000 steps */
    assert_int_equal(agent_learn(&a, 23, &rng, &log), 0);         /* nothing is uniform, nothing is due */
    assert_int_equal(agent_learn(&a, 1, &rng, &log), 9);
    assert_near(log_mean(&log, "train/learning_rate"), 1e-3, 1e-12);
    assert_near(log_mean(&log, "train/n_updates"), 9, 0);
    assert_int_equal(agent_learn(&a, 24, &rng, &log), 9);
    assert_near(log_mean(&log, "train/learning_rate"), 1e-3 * (1 - 0.024), 1e-12);
    agent_learn(&a, 30 * 24, &rng, &log);
    agent_learn(&a, 20 * 24, &rng, &log); /* past the end of the run it stays at 0 */
    assert_near(log_mean(&log, "train/learning_rate"), 0, 0);
    agent_free(&a);

    /* By updates, where their number is what ends the run. */
    agent_create(&a, "ppo", "auto", 1, 2, &(struct algo_setup){.total_updates = 18}, SMALL "lr=1e-3");
    agent_learn(&a, 24, &rng, &log);
    assert_near(log_mean(&log, "train/learning_rate"), 1e-3, 1e-12);
    agent_live(&a, 24, &rng);
    for (int i = 0; i < 5; i++) /* one rate for a whole rollout */
        a.algo->update(a.self, &log);
    assert_near(log_mean(&log, "train/learning_rate"), 0.5e-3, 1e-12);
    /* Acting on gives the rest of the rollout up. */
    agent_live(&a, 1, &rng);
    assert_false(a.algo->update_due(a.self));
    assert_int_equal(agent_learn(&a, 23, &rng, &log), 9);
    agent_free(&a);
}

/* Too far: SB3 leaves before the step, CleanRL after the epoch. */
static void test_target_kl(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        int updates;
    } cases[] = {{SMALL "target_kl=1e-9 lr=0.01", 2}, /* the first minibatch still has ratios of 1 */
                 {SMALL "target_kl=1e-9 lr=0.01 kl_stop=epoch", 3},
                 {SMALL "target_kl=1000 lr=0.01", 9},
                 {SMALL "target_kl=1000 lr=0.01 kl_stop=epoch", 9}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct agent a;
        struct rng rng;
        struct kept first, second;
        rng_seed(&rng, 9, RNG_TEST);
        agent_create(&a, "ppo", "auto", 1, 2, NULL, cases[c].settings);
        agent_live(&a, 24, &rng);
        a.algo->update(a.self, NULL);
        agent_keep(&a, &first);
        assert_int_equal(1 + updates_of(&a, NULL), cases[c].updates);
        agent_keep(&a, &second);
        assert_string_equal(first.rows[0].name, "policy/0.weight");
        assert_true((memcmp(first.rows[0].data, second.rows[0].data, first.rows[0].bytes) == 0) == (c == 0));
        arena_free(&first.arena);
        arena_free(&second.arena);
        agent_free(&a);
    }
}

/* Evaluation is the mean, without noise, and leaves no trace in the learner; exploring spreads by sigma
 * around it. */
static void test_acting(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    static float obs[ROWS * 3], mean[ROWS * 2], again[ROWS * 2], drawn[ROWS * 2];
    struct agent a;
    struct rng rng;
    struct kept kept;
    double sum = 0, squares = 0;
    for (int i = 0; i < ROWS * 3; i++)
        obs[i] = 0.1f * (float)(i % 3);
    rng_seed(&rng, 9, RNG_TEST);
    agent_create(&a, "ppo", "auto", 1, 2, NULL, SMALL "log_sigma=-2");
    agent_learn(&a, 24, &rng, NULL);
    uint64_t before = agent_hash(&a);
    assert_int_equal(a.algo->act(a.self, mean, obs, ROWS, DQS_ACT_EVALUATE, NULL), DQS_OK);
    assert_int_equal(a.algo->act(a.self, again, obs, ROWS, DQS_ACT_EVALUATE, NULL), DQS_OK);
    assert_bits("evaluation", mean, again, sizeof mean);
    assert_true(agent_hash(&a) == before);
    agent_keep(&a, &kept);
    agent_free(&a);

    agent_create(&a, "ppo", "auto", 1, 2, &(struct algo_setup){.act_only = true}, SMALL);
    agent_restore(&a, &kept);
    assert_int_equal(a.algo->act(a.self, drawn, obs, ROWS, DQS_ACT_EXPLORE, NULL), DQS_OK);
    for (int i = 0; i < ROWS * 2; i++) {
        sum += (drawn[i] - mean[i]) / (ROWS * 2);
        squares += pow(drawn[i] - mean[i], 2) / (ROWS * 2);
    }
    assert_near(sum, 0, 5 * exp(-2) / sqrt(ROWS * 2));
    assert_near(sqrt(squares), exp(-2), 0.1 * exp(-2)); /* log sigma has learned a little, too */
    arena_free(&kept.arena);
    agent_free(&a);
}

/* The first layer's weights are orthogonal with gain sqrt 2; the heads have lengths 0.01 and 1; biases are
 * 0. */
static void test_initial_weights(void **state)
{
    (void)state;
    struct agent a;
    struct kept kept;
    int checked = 0;
    agent_create(&a, "ppo", "auto", 1, 2, NULL, "width=32");
    agent_keep(&a, &kept);
    for (int i = 0; i < kept.count; i++) {
        const char *name = kept.rows[i].name;
        const float *w = kept.rows[i].data;
        size_t n = kept.rows[i].bytes / sizeof *w;
        double squares = 0;
        for (size_t j = 0; j < n; j++)
            squares += (double)w[j] * w[j];
        double expected = strstr(name, "bias")                     ? 0
                          : strcmp(name, "policy/0.weight") == 0   ? 2 * 3
                          : strcmp(name, "value/1.weight") == 0    ? 2 * 32
                          : strcmp(name, "policy/out.weight") == 0 ? 2 * 1e-4
                          : strcmp(name, "value/out.weight") == 0  ? 1
                                                                   : -1;
        if (expected >= 0 && strchr(name, '/') && ++checked)
            assert_near(squares, expected, 1e-5 * expected);
    }
    assert_int_equal(checked, 6 + 4);
    arena_free(&kept.arena);
    agent_free(&a);
}

/* ---------------------------------------------------------------- going on */
static void visit_agent(void *object, struct visitor *visitor)
{
    struct agent *a = object;
    a->algo->visit(a->self, visitor);
}

/* Saved after `steps` steps and `updates` updates, in a file, and taken up by another learner. */
static void check_resume(int steps, int updates, bool between)
{
    char path[] = "/tmp/test_ppo_XXXXXX";
    struct agent a, b;
    struct rng rng, other;
    dqs_error error = {0};
    float obs[3] = {0.5f, -0.3f, 2}, action[2], again[2];
    const char *settings = SMALL "target_kl=0.05";
    close(mkstemp(path));
    rng_seed(&rng, 9, RNG_TEST);
    rng_seed(&other, 10, RNG_TEST);
    agent_create(&a, "ppo", "auto", 1, 2, NULL, settings);
    agent_create(&b, "ppo", "auto", 2, 2, NULL, settings);
    agent_learn(&b, 31, &other, NULL);
    agent_learn(&a, steps - 1, &rng, NULL);
    agent_live(&a, 1, &rng);
    for (int i = 0; i < updates; i++)
        a.algo->update(a.self, NULL);
    assert_int_equal(a.algo->update_due(a.self), updates > 0);
    if (between) /* act and observe */
        assert_int_equal(a.algo->act(a.self, action, obs, 1, DQS_ACT_EXPLORE, NULL), DQS_OK);
    struct checkpoint_part saved[] = {{visit_agent, &a}, {NULL, NULL}},
                           loaded[] = {{visit_agent, &b}, {NULL, NULL}};
    const struct safetensors_pair none[] = {{NULL, NULL}};
    assert_int_equal(checkpoint_save(path, saved, CHECKPOINT_ALL, none, &error), DQS_OK);
    assert_int_equal(checkpoint_load(path, loaded, CHECKPOINT_ALL, &error), DQS_OK);
    assert_true(agent_hash(&a) == agent_hash(&b));
    if (between) {
        float reward = 1;
        uint8_t no = 0;
        struct transitions t = {1, 1, obs, action, &reward, obs, &no, &no};
        a.algo->observe(a.self, &t);
        b.algo->observe(b.self, &t);
    }
    other = rng;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(updates_of(&a, NULL), updates_of(&b, NULL));
        assert_true(agent_hash(&a) == agent_hash(&b));
        agent_live(&a, 11, &rng);
        agent_live(&b, 11, &other);
        a.algo->act(a.self, action, obs, 1, DQS_ACT_EVALUATE, NULL);
        b.algo->act(b.self, again, obs, 1, DQS_ACT_EVALUATE, NULL);
        assert_bits("action", action, again, sizeof action);
    }
    assert_true(agent_hash(&a) == agent_hash(&b));
    unlink(path);
    agent_free(&a);
    agent_free(&b);
}

static void test_resume(void **state)
{
    (void)state;
    check_resume(24 + 10, 0, false); /* in mid-rollout */
    check_resume(24 + 10, 0, true);
    check_resume(48, 1, false); /* in the first epoch */
    check_resume(48, 5, false); /* in the second */
}

/* ---------------------------------------------------------------- whole runs */
static char base[] = "/tmp/test_ppo_runs_XXXXXX";

static int make_base(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static const char *folder(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static void ok(dqs_status status, const dqs_error *error)
{
    if (status != DQS_OK)
        fail_msg("status %d: %s", status, error->message);
}

static struct run *start(const char *env, const char *name, const char *settings)
{
    struct config *config;
    struct run *run;
    dqs_error error = {0};
    char text[400], *save = NULL;
    ok(config_create(&config, "ppo", env, &error), &error);
    snprintf(text, sizeof text, "eval_every=0 checkpoint_every=0 threads=1 %s", settings);
    for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(pair, '=');
        *equals = 0;
        ok(config_set(config, pair, equals + 1, &error), &error);
    }
    ok(config_set(config, "out", folder(name), &error), &error);
    ok(run_create(&run, config, &error), &error);
    config_free(config);
    return run;
}

static uint64_t hash_learner(struct run *run)
{
    struct checkpoint_part part[] = {run->parts[2], {NULL, NULL}};
    return checkpoint_hash(part, CHECKPOINT_ALL);
}

#define TINY \
    "final_episodes=2 width=16 n_envs=2 n_steps=100 batch=20 epochs=4 steps=1000 " /* 40 updates a rollout */

static void test_run_resumes(void **state)
{
    (void)state;
    dqs_error error = {0};
    struct run *whole = start("pendulum", "whole", TINY), *run = start("pendulum", "parts", TINY);
    ok(run_train(whole, -1, &error), &error);
    assert_int_equal(whole->count.updates, 5 * 40);
    ok(run_train(run, 530, &error), &error);
    ok(run_save(run, &error), &error);
    run_free(run);
    ok(run_resume(&run, folder("parts"), NULL, NULL, 0, 2, &error), &error);
    ok(run_train(run, -1, &error), &error);
    assert_true(hash_learner(run) == hash_learner(whole));
    run_free(run);
    run_free(whole);
}

/* A limit on updates stops in the middle of a rollout's, and a higher limit goes on from there. */
static void test_stop_updates(void **state)
{
    (void)state;
    dqs_error error = {0};
    struct run *whole = start("pendulum", "limited-whole", TINY "stop_updates=150 anneal_lr=false"),
               *run = start("pendulum", "limited", TINY "stop_updates=90 anneal_lr=false");
    ok(run_train(whole, -1, &error), &error);
    assert_int_equal(whole->count.updates, 150);
    ok(run_train(run, -1, &error), &error);
    assert_true(run_done(run));
    assert_int_equal(run->count.updates, 90);
    assert_int_equal(run->count.step, 600); /* where the third rollout was full */
    ok(run_train(run, -1, &error), &error); /* nothing is left to do */
    assert_int_equal(run->count.updates, 90);
    run_free(run);

    ok(run_resume(&run, folder("limited"), NULL, NULL, 0, 0, &error), &error);
    assert_true(run_done(run));
    run->config->value.run.stop_updates = 150;
    ok(run_train(run, -1, &error), &error);
    assert_int_equal(run->count.updates, 150);
    assert_true(hash_learner(run) == hash_learner(whole));
    run_free(run);
    run_free(whole);
}

/* Learning: swings up in a fifth of the preset's steps on one seed; docs/results.md has the rest. */
static void test_learns(void **state)
{
    (void)state;
    dqs_error error = {0};
    struct run *run = start("pendulum", "learns", "steps=80000 final_episodes=50");
    ok(run_train(run, -1, &error), &error);
    if (!(run->evaluation.mean > -250))
        fail_msg("pendulum: %.1f after 80000 steps", run->evaluation.mean);
    run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gae_by_hand),
        cmocka_unit_test(test_gae_definition),
        cmocka_unit_test(test_rollout),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_reward_normaliser),
        cmocka_unit_test(test_clip_gradients),
        cmocka_unit_test(test_minibatch),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_target_kl),
        cmocka_unit_test(test_acting),
        cmocka_unit_test(test_initial_weights),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_run_resumes),
        cmocka_unit_test(test_stop_updates),
        cmocka_unit_test(test_learns),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
