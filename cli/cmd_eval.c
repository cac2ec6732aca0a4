/* cmd_eval: dqs eval. */
#include "args.h"
#include "budget.h"
#include "cmd.h"
#include "file.h"
#include "result.h"
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Measures the policy of the last checkpoint in the folder RUN, or of a file there, such as\n"
    "RUN/best.safetensors, which is what 'dqs export RUN' takes: mean and spread of the return\n"
    "over fresh episodes, and the task's own numbers. The learner is not changed; the episodes\n"
    "are kept for 'dqs plot'.\n"
    "Modes: evaluate (as in training's evaluations), explore (as the learner acts), exact\n"
    "(actions drawn from exp(Q/T) on a grid; two action dimensions at most).\n"
    "With --steps-budget: return and time for an action by the number of sampling steps, one\n"
    "observation at a time on one core, so that steps can be chosen by latency.";

static const char examples[] = "  dqs eval runs/gmm/dqs/default-s0\n"
                               "  dqs eval runs/gmm/dqs/default-s0 --mode exact --episodes 1000\n"
                               "  dqs eval runs/gmm/dqs/default-s0/best.safetensors\n"
                               "  dqs eval runs/pendulum/dqs/default-s0 --episodes 20 --seed 7 --json\n"
                               "  dqs eval runs/pendulum/dqs/default-s0 --steps-budget 1,2,4,8\n";

static const struct {
    const char *name;
    dqs_act_mode mode;
} modes[] = {{"evaluate", DQS_ACT_EVALUATE}, {"explore", DQS_ACT_EXPLORE}, {"exact", DQS_ACT_EXACT}};

static bool mode_find(const char *name, dqs_act_mode *mode)
{
    struct args_nearest nearest = {.word = name};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!strcmp(modes[i].name, name)) {
            *mode = modes[i].mode;
            return true;
        }
        args_offer(&nearest, modes[i].name);
    }
    if (nearest.best)
        complain(EXIT_USAGE, "--mode: no mode '%s'; did you mean %s?", name, nearest.best);
    else
        complain(EXIT_USAGE, "--mode: no mode '%s'; there are evaluate, explore and exact", name);
    return false;
}

/* A file of a run stands for the run with the policy in it. Returns that file, or NULL for a folder. */
static const char *split(char *folder, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    bool file = file_exists(path) && !file_is_folder(path);
    if (!file)
        snprintf(folder, size, "%s", path);
    else if (slash)
        snprintf(folder, size, "%.*s", slash > path ? (int)(slash - path) : 1, path);
    else
        snprintf(folder, size, ".");
    return file ? path : NULL;
}

static int evaluate(const char *folder, const char *policy, long episodes, const char *mode_name,
                    dqs_act_mode mode, const char *seed, bool json)
{
    dqs_run *run = NULL;
    dqs_evaluation evaluation;
    dqs_error error = {.status = DQS_OK};
    dqs_status status = dqs_run_resume(&run, folder, 0, 0, &error);
    if (status == DQS_OK && policy)
        status = dqs_run_show_policy(run, policy, &error);
    /* The run is ours alone and never saved: its configuration may differ from the recorded one. */
    if (status == DQS_OK && seed)
        status = dqs_config_set((dqs_config *)dqs_run_config(run), "eval_seed", seed, &error);
    if (status == DQS_OK)
        status = dqs_run_evaluate(run, (int)episodes, mode, &evaluation, &error);
    if (status != DQS_OK) {
        dqs_run_free(run);
        return complain_error(&error);
    }
    double played = evaluation.episodes * evaluation.mean_length;
    struct result result = {.run = run,
                            .evaluation = &evaluation,
                            .seconds = evaluation.seconds,
                            .mode = mode_name,
                            .steps = evaluation.step};
    result.steps_per_second = evaluation.seconds > 0 ? played / evaluation.seconds : 0;
    result_print(&result, json);
    dqs_run_free(run);
    return EXIT_OK;
}

int cmd_eval(int argc, char **argv)
{
    char folder[1200];
    const char *path, *policy = NULL, *episodes_text = NULL, *mode_name = "evaluate", *seed_text = NULL,
                      *budget = NULL;
    struct args_list set = {0};
    bool json = false;
    const struct args_flag flags[] = {
        {"--episodes", "E", "how many (default: the run's final_episodes)", .text = &episodes_text},
        {"--mode", "M", "evaluate (default), explore or exact", .text = &mode_name},
        {"--seed", "S", "of the episodes (default: the run's eval_seed)", .text = &seed_text},
        {"--steps-budget", "LIST", "by sampling steps (default: " BUDGET_STEPS "; 10 episodes each)",
         .text = &budget, .otherwise = BUDGET_STEPS},
        {"--set", "key=value", "with --steps-budget: another option for acting, such as corrector=0",
         .list = &set},
        {"--json", NULL, "one JSON line on stdout, everything else on stderr", .on = &json},
        {0},
    };
    const struct args_spec spec = {.verb = "eval",
                                   .usage = "RUN [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = 1};
    int code = args_parse(&spec, argc, argv, &path, NULL);
    long episodes = 0, checked;
    dqs_act_mode mode;
    if (code < 0 && ((episodes_text && !args_long("--episodes", episodes_text, 1, 100000, &episodes)) ||
                     (seed_text && !args_long("--seed", seed_text, 0, 9000000000000000L, &checked)) ||
                     !mode_find(mode_name, &mode)))
        code = EXIT_USAGE;
    if (code < 0 && budget && mode != DQS_ACT_EVALUATE)
        code = complain(EXIT_USAGE, "--steps-budget: goes with mode evaluate; leave --mode out");
    if (code < 0 && set.count > 0 && !budget)
        code =
            complain(EXIT_USAGE,
                     "--set: goes with --steps-budget, as in --steps-budget 6 --set corrector=0; what a run "
                     "learned with is as it was, train anew to change it");
    if (code < 0)
        policy = split(folder, sizeof folder, path);
    if (code < 0 && budget) {
        char *settings = args_list_join(&set);
        code = settings ? budget_print(folder, policy, budget, settings, episodes, seed_text, json)
                        : complain(EXIT_FAILED, "eval: out of memory");
        free(settings);
    }
    args_list_free(&set);
    return code >= 0 ? code : evaluate(folder, policy, episodes, mode_name, mode, seed_text, json);
}
