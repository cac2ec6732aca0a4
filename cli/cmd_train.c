/* cmd_train: dqs train. */
#include "args.h"
#include "cmd.h"
#include "drive.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words {
    const char *env, *algo, *preset, *config;
    const char *steps, *seed, *threads, *out, *init_from, *kernels; /* options with a flag of their own */
    struct args_list set;
    bool json, quiet;
};

static const char about[] =
    "Learns the task ENV (a name of 'dqs envs', the path of a plug-in .so, or gym:ID for an\n"
    "environment of Gymnasium, if Python has it) and keeps configuration, metrics, checkpoints and\n"
    "the policy in a run folder, runs/ENV/ALGO/PRESET-sSEED unless --out says otherwise.\n"
    "Values come from the preset, then the config file, then the flags, then --set. Ctrl-C or\n"
    "SIGTERM saves and says how to go on. Ends with one line of results; with --json, one\n"
    "JSON line on stdout.";

static const char examples[] =
    "  dqs train gmm\n"
    "  dqs train pendulum --steps 10000 --seed 3\n"
    "  dqs train pendulum --algo sac --set lr_actor=1e-3\n"
    "  dqs train maze-small --set eval_every=2000 --threads 2\n"
    "  dqs train pendulum --preset quick --steps 1500 --json --quiet\n"
    "  dqs train --config runs/gmm/dqs/default-s0/config.yaml --seed 1 --out runs/again\n"
    "  dqs train maze --init-from runs/maze-small/dqs/default-s0\n"
    "  dqs train --env ./my_env.so --preset quick\n"
    "  dqs train --env gym:Pendulum-v1 --preset quick --steps 10000\n"
    "'dqs options ALGO' lists what --set knows.\n";

static dqs_status set_pair(dqs_config *config, const char *pair, dqs_error *error)
{
    char key[128];
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof key) {
        error->status = DQS_E_USAGE;
        snprintf(error->message, sizeof error->message,
                 "--set %.100s: write it as key=value; 'dqs options' lists the keys", pair);
        return DQS_E_USAGE;
    }
    snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
    return dqs_config_set(config, key, equals + 1, error);
}

static dqs_status configure(dqs_config *config, const struct words *w, dqs_error *error)
{
    const struct {
        const char *key, *value;
    } flags[] = {
        {"steps", w->steps}, {"seed", w->seed},           {"threads", w->threads},
        {"out", w->out},     {"init_from", w->init_from}, {"kernels", w->kernels},
    };
    dqs_status status = DQS_OK;
    if (w->preset)
        status = dqs_config_preset(config, w->preset, error);
    if (status == DQS_OK && w->config)
        status = dqs_config_file(config, w->config, error);
    for (size_t i = 0; status == DQS_OK && i < sizeof flags / sizeof *flags; i++)
        if (flags[i].value)
            status = dqs_config_set(config, flags[i].key, flags[i].value, error);
    for (int i = 0; status == DQS_OK && i < w->set.count; i++)
        status = set_pair(config, w->set.items[i], error);
    return status;
}

static int train(const char *env, const struct words *w)
{
    dqs_config *config = NULL;
    dqs_run *run = NULL;
    dqs_error error = {.status = DQS_OK};
    dqs_status status = dqs_config_create(&config, w->algo, env, &error);
    if (status == DQS_OK)
        status = configure(config, w, &error);
    if (status == DQS_OK)
        status = dqs_run_create(&run, config, &error);
    int code = status == DQS_OK ? drive_to_end(run, w->json, w->quiet) : complain_error(&error);
    dqs_run_free(run);
    dqs_config_free(config);
    return code;
}

int cmd_train(int argc, char **argv)
{
    struct words w = {.algo = NULL}; /* the config file may still name one */
    const char *env = NULL;
    const struct args_flag flags[] = {
        {"--env", "ENV", "the task, by flag instead of by word", .text = &w.env},
        {"--algo", "A", "the algorithm ('dqs algos'; default: dqs)", .text = &w.algo},
        {"--preset", "P", "a named set of values: default, paper, quick, or another of 'dqs algos'",
         .text = &w.preset},
        {"--steps", "N", "environment steps in total", .text = &w.steps},
        {"--seed", "S", "of everything random", .text = &w.seed},
        {"--threads", "N", "worker threads, 0: all cores; the results are the same", .text = &w.threads},
        {"--out", "DIR", "the run folder", .text = &w.out},
        {"--config", "FILE", "values from a YAML file, such as another run's config.yaml", .text = &w.config},
        {"--init-from", "RUN", "start from the networks of another run", .text = &w.init_from},
        {"--kernels", "K", "which numerical kernels to use", .text = &w.kernels},
        {"--set", "KEY=VALUE", "any option; may be given many times", .list = &w.set},
        {"--json", NULL, "one JSON line on stdout, everything else on stderr", .on = &w.json},
        {"--quiet", NULL, "no progress, only the result", .on = &w.quiet},
        {0},
    };
    const struct args_spec spec = {.verb = "train",
                                   .usage = "ENV [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 0,
                                   .most = 1,
                                   .settings = true};
    int code = args_parse(&spec, argc, argv, &env, NULL);
    if (code < 0 && env && w.env)
        code = complain(EXIT_USAGE, "train: ENV and --env name a task each; leave one out");
    if (code < 0 && !env && !w.env && !w.config)
        code = complain(EXIT_USAGE, "train: missing ENV; usage: dqs train ENV [options]");
    if (code < 0)
        code = train(env ? env : w.env, &w);
    args_list_free(&w.set);
    return code;
}
