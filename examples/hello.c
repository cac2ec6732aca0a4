/* hello: trains Diffusion Q-Sampling on the pendulum, evaluates it, and prints how well it swings.
 *
 *     hello [run folder] [steps]        (runs/hello, 4000 steps: about a minute)
 */
#include <dqs.h>
#include <stdio.h>

/* Called a few times a second while the run learns; `evaluation` is there when one was just made. */
static void report(void *user, const dqs_progress *progress, const dqs_evaluation *evaluation)
{
    (void)user;
    if (evaluation)
        printf("step %5ld  mean return %8.1f\n", progress->step, evaluation->mean);
}

static dqs_status hello(const char *folder, const char *steps, dqs_error *error)
{
    dqs_config *config = NULL;
    dqs_run *run = NULL;
    dqs_evaluation result;

    /* Every call says whether it worked; after the first that did not, the rest is passed over. */
    dqs_status status = dqs_config_create(&config, "dqs", "pendulum", error);
    if (status == DQS_OK)
        status = dqs_config_preset(config, "quick", error); /* small networks: this is a greeting */
    if (status == DQS_OK)
        status = dqs_config_set(config, "out", folder, error);
    if (status == DQS_OK)
        status = dqs_config_set(config, "steps", steps, error);
    if (status == DQS_OK)
        status = dqs_config_set(config, "eval_every", "1000", error);
    if (status == DQS_OK)
        status = dqs_config_set(config, "final_episodes", "20", error);

    if (status == DQS_OK)
        status = dqs_run_create(&run, config, error);
    if (status == DQS_OK) {
        dqs_run_watch(run, report, NULL);
        status = dqs_run_step(run, -1, error); /* to the end */
    }
    if (status == DQS_OK)
        status = dqs_run_evaluate(run, 20, DQS_ACT_EVALUATE, &result, error);
    if (status == DQS_OK)
        printf("20 episodes: mean return %.1f, worst %.1f, best %.1f (0 is perfect); policy in %s\n",
               result.mean, result.min, result.max, dqs_run_dir(run));

    dqs_run_free(run);
    dqs_config_free(config);
    return status;
}

int main(int argc, char **argv)
{
    dqs_error error;
    printf("dqs %s\n", dqs_version());
    if (hello(argc > 1 ? argv[1] : "runs/hello", argc > 2 ? argv[2] : "4000", &error) != DQS_OK) {
        fprintf(stderr, "hello: %s\n", error.message);
        return 1;
    }
    return 0;
}
