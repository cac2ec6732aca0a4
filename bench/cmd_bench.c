/* cmd_bench: `dqs bench` measures this machine and the inside of the library: the peak of its SGEMM, one DQS update beside
 * the SGEMM calls that it cannot do without, acting one observation at a time, and random numbers. Times are the best of
 * several repeats; compare ratios within one run. */
#include "algo.h"
#include "bench_envs.h"
#include "bench_update.h"
#include "clock.h"
#include "json.h"
#include "study.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cmd_bench(int argc, char **argv);

struct choice {
    int threads, obs_dim, act_dim, repeats;
    const char *preset, *kernels, *set[16];
    int sets;
    bool json;
};

static void usage(void)
{
    puts("usage: dqs bench [--threads N] [--preset P] [--obs N] [--act N] [--repeats N] [--kernels K] [--set "
         "key=value]... "
         "[--json]\n"
         "       dqs bench envs [TASK] [--threads N] [--repeats N] [--json]   steps/s of the MuJoCo tasks\n"
         "       dqs bench estimators [--quick]     score estimators against quadrature\n"
         "       dqs bench sampler [--quick]        samplers on a mixture of 40 Gaussians\n\n"
         "Measures SGEMM's peak, one DQS update of cheetah-run's size (17 observations, 6 actions) beside "
         "the SGEMM calls it\n"
         "needs, acting on one observation, and random normals.");
}

static bool read_choice(struct choice *c, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--json") == 0) {
            c->json = true;
            continue;
        }
        struct {
            const char *name;
            int *number;
            const char **text;
        } known[] = {{"--threads", &c->threads, NULL},
                     {"--obs", &c->obs_dim, NULL},
                     {"--act", &c->act_dim, NULL},
                     {"--repeats", &c->repeats, NULL},
                     {"--preset", NULL, &c->preset},
                     {"--kernels", NULL, &c->kernels},
                     {"--set", NULL, c->sets < 16 ? &c->set[c->sets] : NULL}};
        size_t n = 0, count = sizeof known / sizeof *known;
        while (n < count && strcmp(known[n].name, word) != 0)
            n++;
        if (n == count || !value || (!known[n].number && !known[n].text)) {
            fprintf(stderr, "dqs: bench: %s: %s; try dqs bench --help\n", word,
                    n == count ? "not known" : "needs a value");
            return false;
        }
        if (known[n].number && (*known[n].number = atoi(value)) < 1) {
            fprintf(stderr, "dqs: bench: %s %s: must be a positive number\n", word, value);
            return false;
        }
        if (known[n].text)
            *known[n].text = value;
        c->sets += n == count - 1;
        i++;
    }
    return true;
}

static void report(const struct choice *c, const struct bench_result *r, const char *kernels)
{
    double share = r->needed_gflop / (r->needed_ms * 1e-3) / r->peak_gflops;
    if (c->json) {
        struct json j = {0};
        json_open(&j, '{');
        struct {
            const char *key;
            double value;
        } rows[] = {{"threads", c->threads},
                    {"sgemm_peak_gflops", r->peak_gflops},
                    {"update_ms", r->update_ms},
                    {"needed_sgemm_ms", r->needed_ms},
                    {"needed_gflop", r->needed_gflop},
                    {"ratio", r->update_ms / r->needed_ms},
                    {"act_p50_us", r->act_p50_us},
                    {"act_p99_us", r->act_p99_us},
                    {"normals_per_second", r->normals_per_second}};
        json_key(&j, "preset");
        json_string(&j, c->preset);
        json_key(&j, "kernels");
        json_string(&j, kernels);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            json_key(&j, rows[i].key);
            json_number(&j, rows[i].value);
        }
        json_close(&j, '}');
        puts(j.text);
        json_free(&j);
        return;
    }
    printf("kernels %s, %d thread%s, preset %s, %d observations, %d actions\n", kernels, c->threads,
           c->threads > 1 ? "s" : "", c->preset, c->obs_dim, c->act_dim);
    printf("SGEMM peak, one thread          %8.1f GFLOP/s\n", r->peak_gflops);
    printf("one DQS update                  %8.2f ms\n", r->update_ms);
    printf("the SGEMM calls it needs        %8.2f ms on one thread (%.2f GFLOP, %.0f %% of peak)\n",
           r->needed_ms, r->needed_gflop, 100 * share);
    printf("ratio                           %8.2f\n", r->update_ms / r->needed_ms);
    printf("acting on one observation       %8.1f us (p50), %.1f us (p99)\n", r->act_p50_us, r->act_p99_us);
    printf("random normals                  %8.2f G/s on one thread\n", r->normals_per_second * 1e-9);
}

int cmd_bench(int argc, char **argv)
{
    struct choice c = {
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
    struct bench_result result;
    struct compute *compute = compute_create(c.threads, c.kernels, &error);
    if (!compute || bench_update(&result, compute, c.preset, c.set, c.sets, c.obs_dim, c.act_dim, c.repeats,
                                 &error) != DQS_OK) {
        fprintf(stderr, "dqs: bench: %s\n", error.message);
        compute_free(compute);
        return 2;
    }
    report(&c, &result, compute->k->name);
    compute_free(compute);
    return 0;
}
