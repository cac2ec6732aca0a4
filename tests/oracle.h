/* oracle: what the numerical tests share: fixtures, comparisons, the list of kernels this processor runs,
 * and a network in double precision, written apart from src/nn, that can freeze the kinks of ReLU for
 * finite differences. */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include "compute.h"
#include "file.h"
#include "net.h"
#include "safetensors.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef FIXTURES
#define FIXTURES "tests/fixtures"
#endif
#define ORACLE __attribute__((unused)) static
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---------------------------------------------------------------- comparisons */
ORACLE void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) /* NaN fails */
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, expected);
}

ORACLE double largest(const float *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

/* Every |a - b| within `tolerance` of the largest |b|. */
ORACLE void assert_arrays(const char *what, const float *a, const float *b, size_t n, double tolerance)
{
    double size = largest(b, n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= tolerance * size))
            fail_msg("%s[%zu]: %.9g is not within %g of %.9g (largest %.9g)", what, i, (double)a[i],
                     tolerance * size, (double)b[i], size);
}

ORACLE void assert_bits(const char *what, const void *a, const void *b, size_t bytes)
{
    if (memcmp(a, b, bytes) != 0)
        fail_msg("%s: other bits", what);
}

/* Upper end of chi-square with `df` degrees of freedom that is passed once in about 30000 times (Wilson-
 * Hilferty). */
ORACLE double chi_square_limit(int df)
{
    double t = 2.0 / (9.0 * df), root = 1 - t + 4.0 * sqrt(t);
    return df * root * root * root;
}

/* ---------------------------------------------------------------- kernels */
/* The thread sanitizer is slow, and a race does not ask for the instruction set. */
#if defined(__SANITIZE_THREAD__)
static const char *const kernel_names[] = {"auto"};
#else
static const char *const kernel_names[] = {"ref", "generic", "avx2", "avx512"};
#endif

/* NULL where this processor does not run them. */
ORACLE const struct kernels *kernels_named(const char *name)
{
    const struct kernels *k = NULL;
    return kernels_select(&k, name, NULL) == DQS_OK ? k : NULL;
}

#define FOR_KERNELS(k)                                                    \
    for (size_t kernel_i = 0; kernel_i < COUNT(kernel_names); kernel_i++) \
        for (const struct kernels *k = kernels_named(kernel_names[kernel_i]); k; k = NULL)

ORACLE struct compute *compute_of(const char *kernels, int threads)
{
    dqs_error error = {0};
    struct compute *compute;
    if (compute_create(&compute, threads, kernels, &error) != DQS_OK)
        fail_msg("%s", error.message);
    return compute;
}

/* ---------------------------------------------------------------- numbers for tests */
ORACLE void fill_normal(float *x, size_t n, uint64_t seed)
{
    struct rng rng;
    rng_seed(&rng, seed, RNG_TEST);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)rng_normal(&rng);
}

/* ---------------------------------------------------------------- fixtures */
struct fixture {
    char *bytes;
    struct safetensors file;
};

ORACLE void fixture_open(struct fixture *f, const char *name)
{
    char path[1024];
    dqs_error error = {0};
    size_t size;
    snprintf(path, sizeof path, "%s/%s", FIXTURES, name);
    if (file_read(path, &f->bytes, &size, &error) != DQS_OK ||
        safetensors_parse(f->bytes, size, &f->file, &error) != DQS_OK)
        fail_msg("%s: %s", path, error.message);
}

ORACLE void fixture_close(struct fixture *f)
{
    safetensors_close(&f->file);
    free(f->bytes);
}

/* A copy, aligned; `n` (may be NULL) receives the count. */
ORACLE float *fixture_floats(const struct fixture *f, struct arena *arena, size_t *n, const char *format, ...)
{
    char name[200];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    const struct safetensors_tensor *t = safetensors_find(&f->file, name);
    if (!t || t->type != VISIT_F32)
        fail_msg("%s: not in the fixture", name);
    float *copy = arena_take(arena, t->bytes);
    memcpy(copy, t->data, t->bytes);
    if (n)
        *n = t->bytes / sizeof *copy;
    return copy;
}

/* ---------------------------------------------------------------- a network in double precision */
ORACLE double reference_act(double x, enum activation act)
{
    switch (act) {
    case ACT_RELU:
        return x > 0 ? x : 0;
    case ACT_GELU:
        return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case ACT_MISH:
        return x * tanh(x > 30 ? x : log1p(exp(x)));
    case ACT_TANH:
        return tanh(x);
    }
    return NAN;
}

/* Which side of its kink each ReLU was on. `frozen`: stay there, whatever the sign. */
struct kinks {
    unsigned char *side; /* [hidden x width], or NULL */
    bool frozen;
};

ORACLE void reference_row(const struct net *net, double *y, const float *x, struct kinks kinks)
{
    const struct net_spec *s = &net->spec;
    int w = s->width;
    double h[w], z[w];
    for (int l = 0; l < s->hidden; l++) {
        const float *W = net_weight(net, l), *b = net_bias(net, l);
        double mean = 0, variance = 0;
        for (int j = 0; j < w; j++) {
            z[j] = b[j];
            for (int i = 0; i < (l ? w : s->in); i++)
                z[j] += (l ? h[i] : x[i]) * W[i * w + j];
            mean += z[j] / w;
        }
        for (int j = 0; j < w; j++)
            variance += (z[j] - mean) * (z[j] - mean) / w;
        for (int j = 0; j < w; j++) {
            double v = s->layernorm ? (z[j] - mean) / sqrt(variance + 1e-5) : z[j],
                   a = reference_act(v, s->act);
            if (kinks.side && s->act == ACT_RELU) {
                unsigned char *side = &kinks.side[l * w + j];
                *side = kinks.frozen ? *side : v > 0;
                a = *side ? v : 0;
            }
            h[j] = a + (l && s->residual ? h[j] : 0);
        }
    }
    for (int o = 0; o < s->out; o++) {
        y[o] = net_bias(net, s->hidden)[o];
        for (int j = 0; j < w; j++)
            y[o] += h[j] * net_weight(net, s->hidden)[o * w + j];
    }
}

#endif
