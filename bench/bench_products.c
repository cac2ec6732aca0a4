/* bench_products: the matrix products an update cannot do without, as a list: to be counted, and to be done
 * by the library for comparison. A part of the first layer that many rows share (the state's, the time's)
 * counts once; of twin critics combined by their minimum only the smaller one is differentiated. Activations,
 * normalisation, softmax, Adam and random numbers are no products. */
#include "bench.h"
#include "sampler.h"
#include "score_target.h"
#include "temperature.h"
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <string.h>

#define ROWS 1024 /* the library gets so many rows at a time: more would leave the cache */

struct net_shape {
    int in, width, hidden, out;
};

static void add(struct bench_products *p, const char *phase, enum bench_product kind, double rows,
                int columns, double inner, double times)
{
    if (rows == 0 || columns == 0 || inner == 0 || times == 0)
        return;
    assert(p->count < BENCH_PRODUCTS);
    p->rows[p->count++] = (struct bench_product_row){phase, kind, (int)rows, columns, (int)inner, (int)times};
}

/* Rows with `in` inputs of their own, to the output. */
static void add_forward(struct bench_products *p, const char *phase, const struct net_shape *s, int in,
                        double rows, double times)
{
    add(p, phase, BENCH_NN, rows, s->width, in, times);
    add(p, phase, BENCH_NN, rows, s->width, s->width, times * (s->hidden - 1));
    add(p, phase, BENCH_NN, rows, s->out, s->width, times);
}

/* Back to `in` of the inputs; 0: to the first hidden layer. */
static void add_back(struct bench_products *p, const char *phase, const struct net_shape *s, int in,
                     double rows, double times)
{
    add(p, phase, BENCH_NN, rows, s->width, s->out, times);
    add(p, phase, BENCH_NT, rows, s->width, s->width, times * (s->hidden - 1));
    add(p, phase, BENCH_NT, rows, in, s->width, times);
}

static void add_fit(struct bench_products *p, const char *phase, const struct net_shape *s, int rows,
                    int times)
{
    add_forward(p, phase, s, s->in, rows, times);
    add_back(p, phase, s, 0, rows, times);
    add(p, phase, BENCH_TN, s->out, s->width, rows, times);
    add(p, phase, BENCH_TN, s->width, s->width, rows, times * (s->hidden - 1));
    add(p, phase, BENCH_TN, s->in, s->width, rows, times);
}

/* Both critics at actions of known states, and the gradient for them. */
static void add_energy(struct bench_products *p, const char *phase, const struct dqs_options *o,
                       const struct net_shape *critic, int d, double rows, bool gradient, double times)
{
    add_forward(p, phase, critic, d, rows, 2 * times);
    if (gradient)
        add_back(p, phase, critic, d, rows, times * (o->energy_critics == DQS_CRITICS_MIN ? 1 : 2));
}

static void add_draw(struct bench_products *p, const struct dqs_options *o, const struct net_shape *score,
                     const struct net_shape *critic, int F, int d)
{
    double B = (double)o->batch, N = (double)o->N, P = (double)o->particles_target,
           steps = (double)o->corrector_target;
    if (o->gamma == 0 && o->noised != DQS_NOISED_POLICY)
        return;
    add(p, "policy", BENCH_NN, B, score->width, F, 1);
    add(p, "policy", BENCH_NN, N + 1, score->width, 2 * (double)o->embed, 1);
    add_forward(p, "policy", score, d, B * P, o->sampler == SAMPLER_FLOW_HEUN ? 2 * N - 1 : N);
    if (P > 1 || steps > 0)
        add(p, "policy", BENCH_NN, B, critic->width, F, 2);
    if (P > 1)
        add_energy(p, "policy", o, critic, d, B * P, false, 1);
    if (steps > 0)
        add_energy(p, "policy", o, critic, d, B, true, steps + 1);
}

/* Samples per state: K, or K_low where the noise is small enough that all of them are shifted. */
static double samples(const struct dqs_options *o)
{
    if (o->estimator != SCORE_SHIFTED)
        return (double)o->K;
    double r = o->sigma_max / o->sigma_min, low = o->sigma_low / o->sigma_min;
    double share = fmin(1, log1p(low * low) / (2 * log(r)));
    return share * (double)o->K_low + (1 - share) * (double)o->K;
}

static void add_scores(struct bench_products *p, const struct dqs_options *o, const struct net_shape *critic,
                       int F, int d)
{
    bool gradients = o->estimator == SCORE_GRADIENT || o->estimator == SCORE_MIXTURE;
    double B = (double)o->batch;
    add(p, "score", BENCH_NN, B, critic->width, F, 2);
    add_energy(p, "score", o, critic, d, B * samples(o), gradients, 1);
    if (o->estimator == SCORE_SHIFTED)
        add_energy(p, "score", o, critic, d, B, true, 1);
}

void bench_products_list(struct bench_products *p, const struct dqs_options *o, int F, int d)
{
    struct net_shape critic = {F + d, (int)o->critic_width, (int)o->critic_hidden, 1};
    struct net_shape score = {F + d + 2 * (int)o->embed, (int)o->score_width, (int)o->score_hidden, d};
    bool probes = o->temperature == TEMPERATURE_RELATIVE || o->temperature == TEMPERATURE_AUTO;
    int B = (int)o->batch;
    p->count = 0;
    add_draw(p, o, &score, &critic, F, d);
    add_forward(p, "target", &critic, critic.in, B, 2);
    add_fit(p, "critic", &critic, B, 2);
    add_scores(p, o, &critic, F, d);
    add_fit(p, "actor", &score, B, 1);
    if (probes) /* of 32 states 16 or 64 actions, every fourth update */
        add_energy(p, "temperature", o, &critic, d, (B < 32 ? B : 32) * (d <= 2 ? 16 : 4), false, 1);
}

double bench_products_gflop(const struct bench_products *p, const char *phase)
{
    double sum = 0;
    for (int i = 0; i < p->count; i++) {
        const struct bench_product_row *r = &p->rows[i];
        if (strcmp(r->phase, phase) == 0)
            sum += 2e-9 * r->rows * r->columns * r->inner * r->times;
    }
    return sum;
}

/* ---------------------------------------------------------------- by the library */
static int rows_at_once(const struct bench_product_row *r)
{
    return r->kind == BENCH_TN || r->rows < ROWS ? r->rows : ROWS;
}

void bench_products_prepare(struct bench_products *p, struct arena *arena)
{
    size_t most[3] = {0};
    float **buffers[] = {&p->a, &p->b, &p->c};
    for (int i = 0; i < p->count; i++) {
        const struct bench_product_row *r = &p->rows[i];
        size_t m = (size_t)rows_at_once(r), n = (size_t)r->columns, k = (size_t)r->inner;
        size_t sizes[3] = {m * k, k * n, m * n};
        for (int b = 0; b < 3; b++)
            most[b] = sizes[b] > most[b] ? sizes[b] : most[b];
    }
    for (int b = 0; b < 3; b++) {
        *buffers[b] = arena_new(arena, float, most[b]);
        for (size_t i = 0; b < 2 && i < most[b]; i++)
            (*buffers[b])[i] = 0.01f * (float)(i % 17);
    }
}

static void multiply(const struct bench_products *p, enum bench_product kind, int m, int n, int k)
{
    cblas_sgemm(CblasRowMajor, kind == BENCH_TN ? CblasTrans : CblasNoTrans,
                kind == BENCH_NT ? CblasTrans : CblasNoTrans, m, n, k, 1, p->a, kind == BENCH_TN ? m : k,
                p->b, kind == BENCH_NT ? k : n, 0, p->c, n);
}

void bench_products_run(const struct bench_products *p)
{
    for (int i = 0; i < p->count; i++) {
        const struct bench_product_row *r = &p->rows[i];
        int most = rows_at_once(r);
        for (int time = 0; time < r->times; time++)
            for (int row = 0; row < r->rows; row += most)
                multiply(p, r->kind, r->rows - row < most ? r->rows - row : most, r->columns, r->inner);
    }
}
