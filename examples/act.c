/* act: loads a trained policy and lets it act, step by step. This is all a robot needs of the library: after
 * the load nothing is allocated.
 *
 *     act [run folder or policy.safetensors] [episodes]        (runs/hello, 3 episodes)
 */
#include <dqs.h>
#include <stdio.h>
#include <stdlib.h>

/* One episode; *total is its return. */
static dqs_status episode(dqs_env *env, dqs_policy *policy, uint64_t seed, float *obs, float *action,
                          double *total, dqs_error *error)
{
    dqs_outcome outcome = {0};
    dqs_status status = dqs_env_reset(env, seed, obs, error);
    *total = 0;
    for (long t = 0; status == DQS_OK && !outcome.terminated && !outcome.truncated; t++) {
        if (t % dqs_policy_action_repeat(policy) == 0) /* it learned to hold its actions for so many steps */
            status = dqs_policy_act(policy, obs, action, error);
        if (status == DQS_OK)
            status = dqs_env_step(env, action, obs, &outcome, error); /* obs now holds the next observation */
        if (status == DQS_OK)
            *total += outcome.reward;
    }
    return status;
}

static dqs_status act(const char *path, int episodes, dqs_error *error)
{
    dqs_env *env = NULL;
    dqs_policy *policy = NULL;
    float *obs = NULL, *action = NULL;
    double total;

    dqs_status status = dqs_env_create(&env, "pendulum", NULL, error);
    if (status == DQS_OK)
        status = dqs_policy_load(&policy, path, error);
    if (status == DQS_OK && dqs_policy_obs_dim(policy) != dqs_env_spec(env)->obs_dim) {
        snprintf(error->message, sizeof error->message, "%s: this policy was not trained on the pendulum",
                 path);
        status = DQS_E_MISMATCH;
    }
    if (status == DQS_OK) {
        obs = malloc(sizeof *obs * (size_t)dqs_policy_obs_dim(policy));
        action = malloc(sizeof *action * (size_t)dqs_policy_act_dim(policy));
        if (!obs || !action) {
            snprintf(error->message, sizeof error->message, "out of memory");
            status = DQS_E_MEMORY;
        } else {
            dqs_policy_seed(policy, 1); /* a diffusion policy draws its actions: same seed, same actions */
        }
    }
    for (int e = 0; status == DQS_OK && e < episodes; e++) {
        status = episode(env, policy, (uint64_t)e, obs, action, &total, error);
        if (status == DQS_OK)
            printf("episode %d: return %.1f\n", e, total);
    }

    free(action);
    free(obs);
    dqs_policy_free(policy);
    dqs_env_free(env);
    return status;
}

int main(int argc, char **argv)
{
    dqs_error error;
    if (act(argc > 1 ? argv[1] : "runs/hello", argc > 2 ? atoi(argv[2]) : 3, &error) != DQS_OK) {
        fprintf(stderr, "act: %s\n", error.message);
        return 1;
    }
    return 0;
}
