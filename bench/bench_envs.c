/* bench_envs: `dqs bench envs`, control steps a second of every MuJoCo task beside a bare loop of mj_step
 * with the same number of physics steps. Both follow the same trajectory (same start, same actions) in turns
 * of a few milliseconds, so that a busy machine is busy for both. Speeds are those of the best turns, the
 * ratio is the median of pairs of turns. */
#include "bench_envs.h"
#include "clock.h"
#include "env.h"
#include "json.h"
#include "rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_MUJOCO
#include "dmc.h"

enum { STEPS = 200, MOST_REPEATS = 1000 };

struct bench_row {
    const char *name;
    double bare_us, ours_us;  /* per control step, one thread */
    double ratio;             /* of their times */
    double batch_steps_per_s; /* of 16 lanes on `threads` threads */
};

struct bench_task {
    const dqs_env_type *type;
    struct dmc *dmc;
    dqs_spec spec;
    float *action, *mapped, *obs; /* STEPS x act_dim in the box */
    double *start;
};

static double play_ours(struct bench_task *t, dqs_error *error)
{
    dqs_outcome outcome;
    if (t->type->set_state(t->dmc, t->start, t->obs, error) != DQS_OK)
        return -1.0;
    double from = clock_seconds();
    for (int i = 0; i < STEPS; i++)
        if (env_step(t->type, t->dmc, t->mapped, t->obs, &outcome, &t->spec, t->action + i * t->spec.act_dim,
                     i + 1, error) != DQS_OK)
            return -1.0;
    return clock_seconds() - from;
}

static double play_bare(struct bench_task *t, dqs_error *error)
{
    const struct mujoco_api *mj = t->dmc->mj;
    mjModel *m = t->dmc->m;
    mjData *d = t->dmc->d;
    if (t->type->set_state(t->dmc, t->start, t->obs, error) != DQS_OK)
        return -1.0;
    double from = clock_seconds();
    for (int i = 0; i < STEPS; i++) {
        for (int j = 0; j < t->spec.act_dim; j++) {
            double low = t->spec.act_low[j], high = t->spec.act_high[j];
            d->ctrl[j] =
                (float)(0.5 * (low + high) + 0.5 * (high - low) * t->action[i * t->spec.act_dim + j]);
        }
        for (int n = 0; n < t->dmc->task->substeps; n++)
            mj->mj_step(m, d);
    }
    return clock_seconds() - from;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static dqs_status time_single(struct bench_row *row, struct bench_task *t, int repeats, dqs_error *error)
{
    double ratios[MOST_REPEATS];
    repeats = repeats < MOST_REPEATS ? repeats : MOST_REPEATS;
    row->bare_us = row->ours_us = INFINITY;
    for (int i = 0; i < repeats; i++) {
        double bare = play_bare(t, error), ours = play_ours(t, error);
        if (bare < 0 || ours < 0)
            return DQS_E_ENV;
        row->bare_us = fmin(row->bare_us, 1e6 * bare / STEPS);
        row->ours_us = fmin(row->ours_us, 1e6 * ours / STEPS);
        ratios[i] = ours / bare;
    }
    qsort(ratios, (size_t)repeats, sizeof *ratios, compare);
    row->ratio = ratios[repeats / 2];
    return DQS_OK;
}

static dqs_status time_batch(struct bench_row *row, struct bench_task *t, int threads, int repeats,
                             dqs_error *error)
{
    struct env_batch *batch = NULL;
    struct arena arena = {0};
    struct pool *pool = pool_create(threads);
    int lanes = 16; /* as in an evaluation */
    dqs_status status = pool ? env_batch_create(&batch, &arena, t->type, "", lanes, 1, pool, error)
                             : fail(error, DQS_E_MEMORY, "bench: out of memory");
    float *actions = calloc((size_t)(lanes * t->spec.act_dim), sizeof *actions);
    if (status == DQS_OK)
        status = env_batch_reset(batch, error);
    double best = INFINITY;
    for (int i = 0; status == DQS_OK && i < repeats; i++) {
        double from = clock_seconds();
        for (int s = 0; status == DQS_OK && s < STEPS; s++) {
            for (int lane = 0; lane < lanes; lane++)
                memcpy(actions + lane * t->spec.act_dim,
                       t->action + ((s + 17 * lane) % STEPS) * t->spec.act_dim,
                       (size_t)t->spec.act_dim * sizeof *actions);
            status = env_batch_step(batch, actions, error);
        }
        best = fmin(best, clock_seconds() - from);
    }
    row->batch_steps_per_s = lanes * STEPS / best;
    if (batch)
        env_batch_close(batch);
    free(actions);
    pool_free(pool);
    arena_free(&arena);
    return status;
}

static dqs_status bench_task(struct bench_row *row, const dqs_env_type *type, int threads, int repeats,
                             dqs_error *error)
{
    struct bench_task t = {.type = type};
    void *self = NULL;
    struct rng rng;
    TRY(env_open(type, &self, &t.spec, "", error));
    t.dmc = self;
    rng_seed(&rng, 1, RNG_TEST);
    t.action = calloc((size_t)(STEPS * t.spec.act_dim), sizeof *t.action);
    t.mapped = calloc((size_t)t.spec.act_dim, sizeof *t.mapped);
    t.obs = calloc((size_t)t.spec.obs_dim, sizeof *t.obs);
    t.start = calloc((size_t)t.spec.state_dim, sizeof *t.start);
    dqs_status status =
        t.action && t.mapped && t.obs && t.start ? DQS_OK : fail(error, DQS_E_MEMORY, "bench: out of memory");
    for (int i = 0; status == DQS_OK && i < STEPS * t.spec.act_dim; i++)
        t.action[i] = (float)(2.0 * rng_uniform(&rng) - 1.0);
    if (status == DQS_OK)
        status = type->reset(self, 1, t.obs, error);
    if (status == DQS_OK) {
        type->get_state(self, t.start);
        row->name = type->name;
        status = time_single(row, &t, repeats, error);
    }
    if (status == DQS_OK)
        status = time_batch(row, &t, threads, repeats, error);
    type->close(self);
    free(t.action), free(t.mapped), free(t.obs), free(t.start);
    return status;
}

static void print_rows(const struct bench_row *rows, int n, int threads, bool json)
{
    struct json j = {0};
    if (json)
        json_open(&j, '[');
    else
        printf("%-26s %12s %12s %7s %14s\n", "task", "steps/s", "bare mj_step", "ratio",
               threads == 1 ? "batch, 1 thread" : "batch, threads");
    for (int i = 0; i < n; i++) {
        const struct bench_row *r = &rows[i];
        if (!json) {
            printf("%-26s %12.0f %12.0f %7.3f %14.0f\n", r->name, 1e6 / r->ours_us, 1e6 / r->bare_us,
                   r->ratio, r->batch_steps_per_s);
            continue;
        }
        json_open(&j, '{');
        json_key(&j, "task");
        json_string(&j, r->name);
        json_key(&j, "steps_per_second");
        json_number(&j, 1e6 / r->ours_us);
        json_key(&j, "bare_steps_per_second");
        json_number(&j, 1e6 / r->bare_us);
        json_key(&j, "ratio");
        json_number(&j, r->ratio);
        json_key(&j, "batch_steps_per_second");
        json_number(&j, r->batch_steps_per_s);
        json_close(&j, '}');
    }
    if (json) {
        json_close(&j, ']');
        puts(j.text);
        json_free(&j);
    }
}

int bench_envs(int threads, int repeats, const char *only, bool json)
{
    static struct bench_row rows[256];
    int n = 0;
    for (int i = 0; env_table[i]; i++) {
        dqs_error error = {0};
        if (env_table[i]->open != dmc_open || (only && !strstr(env_table[i]->name, only)))
            continue;
        if (bench_task(&rows[n], env_table[i], threads, repeats, &error) != DQS_OK) {
            fprintf(stderr, "dqs: bench: %s\n", error.message);
            return 2;
        }
        n++;
    }
    print_rows(rows, n, threads, json);
    return 0;
}
#else
int bench_envs(int threads, int repeats, const char *only, bool json)
{
    (void)threads, (void)repeats, (void)only, (void)json;
    fprintf(stderr, "dqs: bench: this program was built without MuJoCo; type `make mujoco`, then `make`\n");
    return 2;
}
#endif
