#include "bench_update.h"
#include "algo.h"
#include "clock.h"
#include "dqs_options.h"
#include "score_target.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the products an update needs */
enum product { NN, NT, TN };

struct needs {
    const struct kernels *k;
    float *a, *b, *c;
    bool run; /* do them, or only count */
    double gflop;
};

static void multiply(struct needs *n, enum product kind, int rows, int columns, int inner)
{
    n->gflop += 2e-9 * rows * columns * inner;
    if (!n->run)
        return;
    if (kind == NN)
        n->k->gemm_nn(n->c, n->a, n->b, rows, columns, inner, inner, columns, columns, 0);
    else if (kind == NT)
        n->k->gemm_nt(n->c, n->a, n->b, rows, columns, inner, inner, inner, columns, 0);
    else
        n->k->gemm_tn(n->c, n->a, n->b, rows, columns, inner, rows, columns, columns, 0);
}

/* Hidden layers above the first, and the output. */
static void rest_forward(struct needs *n, int rows, int width, int hidden, int out)
{
    for (int l = 1; l < hidden; l++)
        multiply(n, NN, rows, width, width);
    multiply(n, NN, rows, out, width);
}

static void train_net(struct needs *n, int rows, int in, int width, int hidden, int out)
{
    multiply(n, NN, rows, width, in);
    rest_forward(n, rows, width, hidden, out);
    multiply(n, TN, out, width, rows);
    multiply(n, NN, rows, width, out);
    for (int l = 1; l < hidden; l++) {
        multiply(n, NT, rows, width, width);
        multiply(n, TN, width, width, rows);
    }
    multiply(n, TN, in, width, rows);
}

/* Both critics at `rows` actions whose states' part is known already. */
static void twin_at_actions(struct needs *n, const struct dqs_options *o, int rows, int act_dim,
                            bool gradient)
{
    int w = (int)o->critic_width, hidden = (int)o->critic_hidden;
    for (int i = 0; i < 2; i++) {
        multiply(n, NN, rows, w, act_dim);
        rest_forward(n, rows, w, hidden, 1);
        for (int l = 1; gradient && l < hidden; l++)
            multiply(n, NT, rows, w, w);
        if (gradient)
            multiply(n, NT, rows, act_dim, w);
    }
}

static void needed_products(struct needs *n, const struct dqs_options *o, int F, int d)
{
    int B = (int)o->batch, w = (int)o->score_width, W = (int)o->critic_width, E = 2 * (int)o->embed;
    bool gradients = o->estimator == SCORE_GRADIENT || o->estimator == SCORE_MIXTURE;
    multiply(n, NN, B, w, F); /* a' ~ pi(s'): the state's part once, then N steps */
    multiply(n, NN, (int)o->N + 1, w, E);
    for (int step = 0; step < o->N; step++) {
        multiply(n, NN, B * (int)o->particles, w, d);
        rest_forward(n, B * (int)o->particles, w, (int)o->score_hidden, d);
    }
    for (int i = 0; i < 2 && o->corrector_target > 0; i++)
        multiply(n, NN, B, W, F);
    for (int c = 0; o->corrector_target > 0 && c <= o->corrector_target; c++)
        twin_at_actions(n, o, B, d, true);
    for (int i = 0; i < 2; i++) { /* the targets' values, the critics' fit, the states' part of the energy */
        multiply(n, NN, B, W, F + d);
        rest_forward(n, B, W, (int)o->critic_hidden, 1);
        train_net(n, B, F + d, W, (int)o->critic_hidden, 1);
        multiply(n, NN, B, W, F);
    }
    if (o->estimator == SCORE_SHIFTED)
        twin_at_actions(n, o, B, d, true);
    twin_at_actions(n, o, B * (int)o->K, d, gradients);
    train_net(n, B, F + d + E, w, (int)o->score_hidden, d);
}

/* ---------------------------------------------------------------- timing */
static double best_sgemm_gflops(struct needs *n)
{
    double best = 0;
    for (int rows = 128; rows <= 1024; rows *= 2)
        for (int repeat = 0; repeat < 5; repeat++) {
            double start = clock_seconds();
            for (int i = 0; i < 4096 / rows; i++)
                multiply(n, NN, rows, 256, 256);
            double rate = 2e-9 * 4096 * 256 * 256 / (clock_seconds() - start);
            best = rate > best ? rate : best;
        }
    return best;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fill_replay(const struct algo *algo, void *self, int obs_dim, int act_dim, long rows,
                        struct rng *rng)
{
    float obs[obs_dim], next[obs_dim], action[act_dim], reward;
    uint8_t no = 0;
    for (long r = 0; r < rows; r++) {
        for (int i = 0; i < obs_dim; i++) {
            obs[i] = (float)rng_normal(rng);
            next[i] = (float)rng_normal(rng);
        }
        for (int i = 0; i < act_dim; i++)
            action[i] = (float)(2 * rng_uniform(rng) - 1);
        reward = (float)rng_uniform(rng);
        algo->observe(self, &(struct transitions){1, obs, action, &reward, next, &no, &no});
    }
}

static dqs_status choose(struct dqs_options *o, const char *preset, const char *const *settings, int n,
                         dqs_error *error)
{
    option_defaults(dqs_option_table, o);
    char words[1024] = "warmup=1000 replay=4096 diag_states=0";
    bool found = strcmp(preset, "default") == 0;
    for (const struct option_preset *row = dqs_preset_table; row->preset; row++)
        if (strcmp(row->preset, preset) == 0 && !row->env) {
            snprintf(words, sizeof words, "%s warmup=1000 replay=4096", row->settings);
            found = true;
        }
    if (!found)
        return fail(error, DQS_E_UNKNOWN, "preset %s: not known; try default, quick, paper or authors",
                    preset);
    for (int i = 0; i < n; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), " %s", settings[i]);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        const struct option *row = NULL;
        if (value) {
            *value++ = 0;
            row = option_find(dqs_option_table, word);
        }
        if (!row)
            return fail(error, DQS_E_OPTION, "%s: no such option; see dqs options", word);
        TRY(option_set(row, o, value, error));
    }
    return DQS_OK;
}

static void time_update(struct bench_result *r, const struct algo *algo, void *self, struct needs *n,
                        const struct dqs_options *o, int obs_dim, int act_dim, int repeats)
{
    int F = obs_dim * (1 + 2 * (int)o->obs_octaves), count = o->K * o->N > 10000 ? 1 : 20;
    r->update_ms = r->needed_ms = 1e30;
    n->run = true;
    for (int repeat = 0; repeat < repeats; repeat++) { /* in turn, so that both see the same machine */
        double start = clock_seconds();
        for (int i = 0; i < count; i++)
            algo->update(self, NULL);
        double middle = clock_seconds();
        n->gflop = 0;
        for (int i = 0; i < count; i++)
            needed_products(n, o, F, act_dim);
        double end = clock_seconds();
        r->update_ms =
            (middle - start) * 1e3 / count < r->update_ms ? (middle - start) * 1e3 / count : r->update_ms;
        r->needed_ms =
            (end - middle) * 1e3 / count < r->needed_ms ? (end - middle) * 1e3 / count : r->needed_ms;
        r->needed_gflop = n->gflop / count;
    }
}

static void time_acting(struct bench_result *r, const struct algo *algo, void *self, int obs_dim, int act_dim)
{
    enum { TIMES = 400 };
    double us[TIMES];
    float obs[obs_dim], action[act_dim];
    memset(obs, 0, sizeof obs);
    for (int i = 0; i < TIMES; i++) {
        double start = clock_seconds();
        algo->act(self, action, obs, 1, DQS_ACT_EVALUATE, NULL);
        us[i] = (clock_seconds() - start) * 1e6;
    }
    qsort(us, TIMES, sizeof *us, ascending);
    r->act_p50_us = us[TIMES / 2];
    r->act_p99_us = us[TIMES * 99 / 100];
}

static double normals_rate(const struct needs *n)
{
    enum { COUNT = 1 << 20 };
    uint32_t key[2] = {1, 2};
    double best = 0;
    for (int repeat = 0; repeat < 5; repeat++) {
        double start = clock_seconds();
        for (int i = 0; i < 16; i++) /* in pieces that stay in the cache, as they are used */
            n->k->normals(n->c, COUNT / 16, key, (uint64_t)repeat, (uint64_t)i * (COUNT / 16));
        double rate = COUNT / (clock_seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

dqs_status bench_update(struct bench_result *result, const struct compute *compute, const char *preset,
                        const char *const *settings, int n_settings, int obs_dim, int act_dim, int repeats,
                        dqs_error *error)
{
    struct dqs_options options;
    TRY(choose(&options, preset, settings, n_settings, error));
    const struct algo *algo = algo_find("dqs");
    struct algo_setup setup = {.compute = compute,
                               .options = &options,
                               .obs_dim = obs_dim,
                               .act_dim = act_dim,
                               .n_envs = 1,
                               .total_steps = 100000,
                               .seed = 1,
                               .max_rows = 1};
    struct arena arena = {0};
    struct rng rng;
    void *self;
    dqs_status status = algo->create(&self, &arena, &setup, error);
    if (status == DQS_OK) {
        size_t most = (size_t)(options.batch * (options.K + options.particles) + 1024) *
                      (size_t)(options.critic_width + options.score_width + 1024);
        struct needs needs = {.k = compute->k, .run = true};
        float **buffers[] = {&needs.a, &needs.b, &needs.c};
        for (int i = 0; i < 3; i++)
            *buffers[i] = arena_new(&arena, float, most);
        rng_seed(&rng, 1, RNG_TEST);
        for (size_t i = 0; i < most; i++)
            needs.a[i] = needs.b[i] = 0.01f * (float)(i % 17);
        fill_replay(algo, self, obs_dim, act_dim, 2000, &rng);
        result->peak_gflops = best_sgemm_gflops(&needs);
        time_update(result, algo, self, &needs, &options, obs_dim, act_dim, repeats);
        time_acting(result, algo, self, obs_dim, act_dim);
        result->normals_per_second = normals_rate(&needs);
    }
    arena_free(&arena);
    return status;
}
