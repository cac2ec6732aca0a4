/* cmd_bench: `dqs bench` measures this machine and the inside of the library: peaks, one DQS update by
 * phases, acting, threads, a whole training loop. bench_report.c lists what comes out. */
#include "bench.h"
#include "bench_envs.h"
#include "study.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cmd_bench(int argc, char **argv);

static void usage(void)
{
    puts("usage: dqs bench [--preset P] [--threads N] [--obs N] [--act N] [--repeats N] [--kernels K]\n"
         "                 [--set key=value]... [--only PART] [--json] [--save] [--fixture FOLDER]\n"
         "       dqs bench envs [TASK] [--threads N] [--repeats N] [--json]   steps/s of the MuJoCo tasks\n"
         "       dqs bench estimators [--quick]     score estimators against quadrature\n"
         "       dqs bench sampler [--quick]        samplers on a mixture of 40 Gaussians\n\n"
         "Measures the peaks of one thread, one DQS update of cheetah-run's size (17 observations, 6 "
         "actions) by "
         "phases and\n"
         "at 1 .. N threads, acting, and a training loop on cheetah-run. Times are the best of the repeats "
         "(5).\n\n"
         "  --only PART       peak, update, acting or training alone\n"
         "  --save            also into bench/results/, one file per machine, threads and preset\n"
         "  --fixture FOLDER  no measuring: a learner before and after one update, for bench/peers/");
}

static bool is_part(const char *word)
{
    static const char *const parts[] = {"peak", "update", "acting", "training"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(word, parts[i]) == 0)
            return true;
    return false;
}

static bool refuse(const char *word, const char *why)
{
    fprintf(stderr, "dqs: bench: %s: %s; try dqs bench --help\n", word, why);
    return false;
}

/* A word and its value; false, with a message, if that makes no sense. */
static bool read_pair(struct bench_choice *c, const char *word, const char *value)
{
    struct {
        const char *name;
        int *number;
        const char **text;
    } known[] = {{"--threads", &c->threads, NULL}, {"--obs", &c->obs_dim, NULL},
                 {"--act", &c->act_dim, NULL},     {"--repeats", &c->repeats, NULL},
                 {"--preset", NULL, &c->preset},   {"--kernels", NULL, &c->kernels},
                 {"--only", NULL, &c->only},       {"--fixture", NULL, &c->fixture},
                 {"--set", NULL, &c->set[c->sets]}};
    size_t n = 0, count = sizeof known / sizeof *known;
    while (n < count && strcmp(known[n].name, word) != 0)
        n++;
    if (n == count)
        return refuse(word, "not known");
    if (!value)
        return refuse(word, "needs a value");
    if (known[n].text)
        *known[n].text = value;
    if (known[n].number && (*known[n].number = atoi(value)) < 1)
        return refuse(word, "must be a positive number");
    if (known[n].text == &c->only && !is_part(value))
        return refuse(value, "not a part; choose peak, update, acting or training");
    if (n == count - 1 && ++c->sets == BENCH_SETS)
        return refuse(word, "too many of them");
    return true;
}

static bool read_choice(struct bench_choice *c, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            c->json = true;
        else if (strcmp(argv[i], "--save") == 0)
            c->save = true;
        else if (!read_pair(c, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
            return false;
        else
            i++;
    return true;
}

static bool wants(const struct bench_choice *c, const char *part)
{
    return !c->only || strcmp(c->only, part) == 0;
}

static dqs_status measure(struct bench *b, const struct bench_choice *c, dqs_error *error)
{
    if (wants(c, "peak"))
        TRY(bench_peak(&b->peak, c, error));
    if (wants(c, "update"))
        TRY(bench_update(&b->update, c, error));
    if (wants(c, "acting"))
        TRY(bench_acting(b->acting, c, error));
    if (wants(c, "training"))
        TRY(bench_training(&b->training, c, error));
    return DQS_OK;
}

static dqs_status bench_all(const struct bench_choice *c, dqs_error *error)
{
    const struct kernels *kernels;
    struct bench b = {0};
    char path[1024] = "";
    struct dqs_options options;
    TRY(kernels_select(&kernels, c->kernels, error));
    TRY(bench_options(&options, c, error)); /* refused before anything is measured */
    if (c->fixture)
        return bench_fixture(c, error);
    TRY(measure(&b, c, error));
    char *json = bench_json(&b, c, kernels->name);
    dqs_status status = c->save ? bench_save(json, c, path, error) : DQS_OK;
    if (c->json)
        puts(json);
    else
        bench_print(&b, c, kernels->name);
    if (*path)
        fprintf(stderr, "dqs: bench: saved as %s\n", path);
    free(json);
    return status;
}

int cmd_bench(int argc, char **argv)
{
    struct bench_choice c = {
        .threads = 1, .obs_dim = 17, .act_dim = 6, .repeats = 5, .preset = "default", .kernels = "auto"};
    if (argc > 1 && strcmp(argv[1], "estimators") == 0)
        return study_estimator(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "sampler") == 0)
        return study_sampler(argc - 1, argv + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage();
        return 0;
    }
    bool envs = argc > 1 && strcmp(argv[1], "envs") == 0;
    const char *only = envs && argc > 2 && argv[2][0] != '-' ? argv[2] : NULL;
    int words = envs + (only != NULL);
    if (!read_choice(&c, argc - words, argv + words))
        return 2;
    if (envs)
        return bench_envs(c.threads, c.repeats, only, c.json);
    dqs_error error = {0};
    if (bench_all(&c, &error) != DQS_OK) {
        fprintf(stderr, "dqs: bench: %s\n", error.message);
        return 2;
    }
    return 0;
}
