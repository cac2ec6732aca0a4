/* test_baselines: whole updates of SAC, TD3 and DDPG against PyTorch; how they explore and evaluate. */
#include "learner.h"

static const char *const numbers[] = {"train/critic_loss", "train/q_mean", "train/actor_loss",
                                      "train/ent_coef_loss", NULL};

/* Two updates: TD3's first one leaves the actor alone. Tensors: six of each network, moments, log alpha. */
static void test_updates(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    {
        check_updates("ddpg", "ddpg.safetensors", k->name, numbers, 2, 4 * 6 + 2);
        check_updates("td3", "td3.safetensors", k->name, numbers, 2, 6 * 6 + 3);
        check_updates("sac", "sac.safetensors", k->name, numbers, 2, 5 * 6 + 4);
        check_updates("sac", "sac_variant.safetensors", k->name, numbers, 2, 5 * 6 + 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_updates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
