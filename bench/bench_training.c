/* bench_training: a training loop on cheetah-run beside its parts, so that losses between them show. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "bench.h"
#include "clock.h"
#include "loop.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dqs_status choose(struct config *config, const struct bench_choice *choice, const char *folder,
                         dqs_error *error)
{
    char threads[20], key[64];
    snprintf(threads, sizeof threads, "%d", choice->threads);
    TRY(config_preset(config, choice->preset, error));
    const char *const pairs[][2] = {
        {"threads", threads}, {"kernels", choice->kernels}, {"out", folder},     {"warmup", "1000"},
        {"eval_every", "0"},  {"checkpoint_every", "0"},    {"steps", "1000000"}, {"action_repeat", "1"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        TRY(config_set(config, pairs[i][0], pairs[i][1], error));
    for (int i = 0; i < choice->sets; i++) {
        const char *value = strchr(choice->set[i], '=');
        snprintf(key, sizeof key, "%.*s", value ? (int)(value - choice->set[i]) : 0, choice->set[i]);
        TRY(config_set(config, key, value ? value + 1 : "", error));
    }
    return DQS_OK;
}

/* The run folder is flat. */
static void remove_folder(const char *folder)
{
    char path[1024];
    DIR *d = opendir(folder);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        snprintf(path, sizeof path, "%s/%.255s", folder, entry->d_name);
        unlink(path); /* the two dots cannot be unlinked */
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

static void keep_best(double *best, double *clock, int n)
{
    double now = clock_seconds(), ms = (now - *clock) * 1e3 / n;
    *best = *best == 0 || ms < *best ? ms : *best;
    *clock = clock_seconds();
}

/* n steps of the loop, then n times each of its parts and the updates that are due for n steps. */
static dqs_status measure(struct bench_training *t, struct run *run, int n, dqs_error *error)
{
    const struct env_batch *e = run->envs;
    const struct transitions seen = {e->n,      e->n,        run->obs,      run->action,
                                     e->reward, e->next_obs, e->terminated, e->truncated};
    double clock = clock_seconds();
    TRY(loop_run(run, run->count.step + n, error));
    keep_best(&t->loop_ms, &clock, n);
    for (int i = 0; i < n; i++)
        TRY(run->algo->act(run->self, run->action, e->obs, e->n, DQS_ACT_EXPLORE, error));
    keep_best(&t->act_ms, &clock, n);
    for (int i = 0; i < n; i++)
        TRY(env_batch_step(run->envs, run->action, error));
    keep_best(&t->env_ms, &clock, n);
    for (int i = 0; i < n; i++)
        run->algo->observe(run->self, &seen);
    keep_best(&t->observe_ms, &clock, n);
    while (run->algo->update_due(run->self))
        run->algo->update(run->self, &run->log);
    keep_best(&t->update_ms, &clock, n);
    return DQS_OK;
}

static dqs_status train(struct bench_training *t, const struct bench_choice *choice, struct config *config,
                        const char *folder, dqs_error *error)
{
    struct run *run;
    struct dqs_options o;
    TRY(bench_options(&o, choice, error));
    TRY(choose(config, choice, folder, error));
    TRY(run_create(&run, config, error));
    int n = bench_is_heavy(&o) ? 2 : 50;
    dqs_status status = loop_run(run, 1000 + 2, error); /* warm-up and two updates */
    for (int repeat = 0; repeat < choice->repeats && status == DQS_OK; repeat++)
        status = measure(t, run, n, error);
    run_free(run);
    return status;
}

dqs_status bench_training(struct bench_training *training, const struct bench_choice *choice,
                          dqs_error *error)
{
    const char *place = getenv("TMPDIR");
    char folder[512];
    struct config *config = NULL;
    *training = (struct bench_training){0};
    snprintf(folder, sizeof folder, "%.400s/dqs-bench-XXXXXX", place ? place : "/tmp");
    if (!mkdtemp(folder))
        return fail(error, DQS_E_IO, "%s: cannot be made; set TMPDIR to a folder that can be written",
                    folder);
    dqs_error inner = {0};
    dqs_status status = config_create(&config, "dqs", "cheetah-run", &inner);
    if (status == DQS_OK)
        status = train(training, choice, config, folder, &inner);
    config_free(config);
    remove_folder(folder);
    if (status == DQS_OK)
        training->there = true;
    else if (status == DQS_E_OPTION || status == DQS_E_UNKNOWN)
        return fail(error, status, "%s", inner.message);
    else /* most likely no MuJoCo: the rest is worth having */
        snprintf(training->absent, sizeof training->absent, "%.199s", inner.message);
    return DQS_OK;
}
