/* test_baselines: whole updates of SAC, TD3 and DDPG against PyTorch; how they explore and evaluate; that
 * they learn. */
#include "learner.h"

#define ROWS 4000
static const char *const names[] = {"sac", "td3", "ddpg"};

/* Two updates: TD3's first one leaves the actor alone. Tensors: six of each network, moments, log alpha. */
static void test_updates(void **state)
{
    (void)state;
    static const char *const numbers[] = {"train/critic_loss", "train/q_mean", "train/actor_loss",
                                          "train/ent_coef_loss", NULL};
    FOR_KERNELS(k)
    {
        check_updates("ddpg", "ddpg.safetensors", k->name, numbers, 2, 4 * 6 + 2, 1e-5);
        check_updates("td3", "td3.safetensors", k->name, numbers, 2, 6 * 6 + 3, 1e-5);
        check_updates("sac", "sac.safetensors", k->name, numbers, 2, 5 * 6 + 4, 1e-5);
        check_updates("sac", "sac_variant.safetensors", k->name, numbers, 2, 5 * 6 + 4, 1e-5);
    }
}

/* ---------------------------------------------------------------- acting */
/* Before the warm-up ends actions are uniform: mean 0, mean square 1/3. */
static void test_warm_up(void **state)
{
    (void)state;
    float obs[3] = {0.3f, -0.2f, 0.5f}, action[2];
    for (size_t i = 0; i < COUNT(names); i++) {
        struct agent a;
        double sum = 0, squares = 0;
        agent_create(&a, names[i], "auto", 1, 2, NULL, "width=16 batch=36 replay=64");
        for (int n = 0; n < ROWS / 2; n++) {
            assert_int_equal(a.algo->act(a.self, action, obs, 1, DQS_ACT_EXPLORE, NULL), DQS_OK);
            for (int j = 0; j < 2; j++) {
                sum += action[j] / ROWS;
                squares += action[j] * action[j] / ROWS;
            }
        }
        assert_near(sum, 0, 5 * sqrt(1 / 3.0 / ROWS));
        assert_near(squares, 1 / 3.0, 5 * sqrt(4 / 45.0 / ROWS));
        agent_free(&a);
    }
}

/* Afterwards exploring is evaluating with noise: of a known size for TD3 and DDPG, on the inside of tanh for
 * SAC. A policy that only acts has no warm-up. */
static void test_exploration(void **state)
{
    (void)state;
    static float obs[ROWS * 3], evaluated[ROWS], again[ROWS], explored[ROWS];
    for (size_t i = 0; i < COUNT(names); i++) {
        bool sac = strcmp(names[i], "sac") == 0;
        struct agent a;
        double mean = 0, squares = 0, most = 0, sigma = sac ? exp(-1) : 0.05;
        agent_create(&a, names[i], "auto", 1, 1, &(struct algo_setup){.act_only = true},
                     sac ? "width=16 log_sigma_min=-1.00001 log_sigma_max=-1"
                         : "width=16 explore_noise=0.05");
        for (int n = 0; n < ROWS * 3; n++)
            obs[n] = 0.1f * (float)(n % 3);
        assert_int_equal(a.algo->act(a.self, evaluated, obs, ROWS, DQS_ACT_EVALUATE, NULL), DQS_OK);
        assert_int_equal(a.algo->act(a.self, explored, obs, ROWS, DQS_ACT_EXPLORE, NULL), DQS_OK);
        assert_int_equal(a.algo->act(a.self, again, obs, ROWS, DQS_ACT_EVALUATE, NULL), DQS_OK);
        assert_bits(names[i], evaluated, again, sizeof evaluated);
        for (int n = 0; n < ROWS; n++) {
            double noise = sac ? atanh(explored[n]) - atanh(evaluated[n]) : explored[n] - evaluated[n];
            mean += noise / ROWS;
            squares += noise * noise / ROWS;
            most = fmax(most, fabs(noise));
        }
        assert_near(mean, 0, 5 * sigma / sqrt(ROWS));
        assert_near(squares, sigma * sigma, 5 * sigma * sigma * sqrt(2.0 / ROWS));
        assert_true(most > 3 * sigma && most < 6 * sigma);
        agent_free(&a);
    }
}

/* ---------------------------------------------------------------- learning */
static void test_learning(void **state)
{
    (void)state;
    static const char settings[] = "width=32 batch=64 replay=2000 warmup=200 lr_actor=1e-3 lr_critic=3e-3";
    for (size_t i = 0; i < COUNT(names); i++) {
        double distance = distance_after(names[i], 4000, settings);
        if (!(distance < 0.1)) /* at random 0.5 */
            fail_msg("%s: %.3f from the best action", names[i], distance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_updates), cmocka_unit_test(test_warm_up),
                                       cmocka_unit_test(test_exploration), cmocka_unit_test(test_learning)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
