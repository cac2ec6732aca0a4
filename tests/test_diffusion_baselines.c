/* test_diffusion_baselines: whole updates of QSM, DACER and DIPO against PyTorch; their noise; what only one
 * of them has; that they learn. */
#include "learner.h"

/* Two updates: DACER's second one leaves the actor alone. Tensors: six of each network, moments; kappa;
 * improved actions. */
static void test_updates(void **state)
{
    (void)state;
    static const char *const numbers[] = {"train/critic_loss", "train/q_mean", "train/actor_loss", NULL};
    FOR_KERNELS(k)
    {
        check_updates("qsm", "qsm.safetensors", k->name, numbers, 2, 5 * 6 + 3, 1e-5);
        check_updates("dacer", "dacer.safetensors", k->name, numbers, 2, 5 * 6 + 3, 1e-5);
        check_updates("dacer", "dacer_dsac.safetensors", k->name, numbers, 2, 5 * 6 + 4, 1e-5);
        check_updates("dipo", "dipo.safetensors", k->name, numbers, 2, 6 * 6 + 4, 1e-5);
    }
}

/* ---------------------------------------------------------------- acting */
#define ROWS 2000

static void act_once(const char *algo, const char *settings, dqs_act_mode mode, float *action)
{
    static float obs[ROWS * 3];
    struct agent a;
    agent_create(&a, algo, "auto", 1, 1, &(struct algo_setup){.act_only = true}, settings);
    fill_normal(obs, COUNT(obs), 4);
    assert_int_equal(a.algo->act(a.self, action, obs, ROWS, mode, NULL), DQS_OK);
    agent_free(&a);
}

/* Exploring adds noise of a known size to what is drawn, evaluating none; DIPO never does. */
static void test_exploration(void **state)
{
    (void)state;
    static const struct {
        const char *algo, *with, *without;
        double sigma;
    } cases[] = {
        {"qsm", "width=16 batch=2000 explore_noise=0.05", "width=16 batch=2000 explore_noise=0", 0.05},
        {"dacer", "width=16 batch=2000 alpha=5 noise=0.01", "width=16 batch=2000 alpha=5 noise=0", 0.05}};
    static float with[ROWS], without[ROWS];
    for (size_t i = 0; i < COUNT(cases); i++) {
        double squares = 0, n = 0;
        act_once(cases[i].algo, cases[i].with, DQS_ACT_EXPLORE, with);
        act_once(cases[i].algo, cases[i].without, DQS_ACT_EXPLORE, without);
        for (int r = 0; r < ROWS; r++)
            if (fabsf(without[r]) < 0.7f) { /* far from the clip */
                squares += pow(with[r] - without[r], 2);
                n++;
            }
        assert_true(n > ROWS / 10);
        assert_near(squares / n, pow(cases[i].sigma, 2), 5 * pow(cases[i].sigma, 2) * sqrt(2 / n));
        act_once(cases[i].algo, cases[i].with, DQS_ACT_EVALUATE, with);
        act_once(cases[i].algo, cases[i].without, DQS_ACT_EVALUATE, without);
        assert_bits(cases[i].algo, with, without, sizeof with);
    }
    act_once("dipo", "width=16 batch=2000 eval_noise=0", DQS_ACT_EXPLORE, with);
    act_once("dipo", "width=16 batch=2000 eval_noise=1", DQS_ACT_EXPLORE, without);
    assert_bits("exploring", with, without, sizeof with);
    act_once("dipo", "width=16 batch=2000 eval_noise=0", DQS_ACT_EVALUATE, with);
    act_once("dipo", "width=16 batch=2000 eval_noise=1", DQS_ACT_EVALUATE, without);
    assert_true(memcmp(with, without, sizeof with) != 0);
}

/* ---------------------------------------------------------------- one algorithm's own */
struct named {
    const char *name;
    void *data;
    size_t bytes;
};

static void find_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct named *wanted = context;
    (void)kind;
    if (strcmp(name, wanted->name) == 0) {
        wanted->data = data;
        wanted->bytes = tensor_bytes(type, rank, shape);
    }
}

static struct named tensor_of(struct agent *a, const char *name)
{
    struct named wanted = {.name = name};
    a->algo->visit(a->self, &(struct visitor){.tensor = find_tensor, .context = &wanted});
    return wanted;
}

/* DACER's alpha goes down where the policy has more entropy than wanted and up where less, at the first
 * update and then once a period. A denoiser that always sees far too much noise draws the corner of the box,
 * and nothing else. */
static void test_alpha(void **state)
{
    (void)state;
    for (int corner = 0; corner < 2; corner++) {
        struct agent a;
        struct rng rng;
        struct log_sink sink = {0};
        rng_seed(&rng, 9, RNG_TEST);
        agent_create(&a, "dacer", "auto", 1, 2, NULL,
                     "width=16 batch=32 replay=64 warmup=20 alpha=0.5 lr_alpha=0.1 alpha_period=3");
        agent_live(&a, 30, &rng);
        float *log_alpha = tensor_of(&a, "log_alpha").data, *bias = tensor_of(&a, "actor/out.bias").data;
        for (int i = 0; corner && i < 2; i++)
            bias[i] = 1000;
        for (int i = 0; i < 6; i++) {
            a.algo->update(a.self, &sink);
            assert_near(log_alpha[0], log(0.5) + (corner ? 0.1 : -0.1) * (i / 3 + 1), 2e-3);
        }
        assert_near(log_mean(&sink, "train/ent_coef"), exp(log_alpha[0]), 1e-6);
        assert_true(corner == (log_mean(&sink, "train/entropy_loss") > 2 * 0.9));
        agent_free(&a);
    }
}

/* DIPO without write-back starts every ascent from the actions as they were taken: the first update is the
 * same, later ones are not; and the replay itself is never changed. */
static void test_writeback(void **state)
{
    (void)state;
    struct agent on, off;
    struct rng rng;
    static const char settings[] = "width=16 batch=32 replay=24 warmup=20 diffusion_steps=5";
    char text[200];
    snprintf(text, sizeof text, "%s writeback=true", settings);
    agent_create(&on, "dipo", "auto", 1, 2, NULL, text);
    agent_create(&off, "dipo", "auto", 1, 2, NULL, settings);
    rng_seed(&rng, 9, RNG_TEST);
    agent_live(&on, 30, &rng); /* the ring wraps round */
    rng_seed(&rng, 9, RNG_TEST);
    agent_live(&off, 30, &rng);
    struct named here = tensor_of(&on, "actor/0.weight"), there = tensor_of(&off, "actor/0.weight"),
                 improved = tensor_of(&on, "replay/improved"), taken = tensor_of(&on, "replay/action"),
                 plain = tensor_of(&off, "replay/action");
    assert_null(tensor_of(&off, "replay/improved").data);
    assert_bits("before", improved.data, taken.data, taken.bytes);
    on.algo->update(on.self, NULL);
    off.algo->update(off.self, NULL);
    assert_bits("first update", here.data, there.data, here.bytes);
    assert_true(memcmp(improved.data, taken.data, taken.bytes) != 0);
    on.algo->update(on.self, NULL);
    off.algo->update(off.self, NULL);
    assert_true(memcmp(here.data, there.data, here.bytes) != 0);
    assert_bits("replay", taken.data, plain.data, taken.bytes);
    agent_free(&on);
    agent_free(&off);
}

/* ---------------------------------------------------------------- learning */
static void test_learning(void **state)
{
    (void)state;
    static const struct {
        const char *algo, *settings;
    } cases[] = {{"qsm", "M_q=1 explore_noise=0.2"},
                 {"dacer", "alpha_period=0 alpha=1 diffusion_steps=10"},
                 {"dacer", "alpha_period=0 alpha=1 diffusion_steps=10 critic=dsac"},
                 {"dipo", "diffusion_steps=10 max_grad_norm=2"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char settings[300];
        snprintf(settings, sizeof settings,
                 "width=32 batch=64 replay=2000 warmup=200 lr_actor=1e-3 lr_critic=3e-3 embed=8 %s",
                 cases[i].settings);
        double distance = distance_after(cases[i].algo, 4000, settings);
        if (!(distance < 0.15)) /* at random 0.5 */
            fail_msg("%s %s: %.3f from the best action", cases[i].algo, cases[i].settings, distance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates),   cmocka_unit_test(test_exploration), cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_writeback), cmocka_unit_test(test_learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
