/* bench_peak: what one thread of this machine can do at most, measured. */
#include "bench.h"
#include "clock.h"
#include <cblas.h>
#include <string.h>

/* ---------------------------------------------------------------- multiply-adds on registers */
/* Twelve sums cover the latency of two units; the loop touches no memory. One copy per instruction set, by
 * attribute, so that the file itself is compiled for any processor of the family. */
#define FMA_SUMS 12
#define FMA_LOOP(name, lanes, target)                                                            \
    typedef float name##_vector __attribute__((vector_size(4 * (lanes))));                       \
    target static double name(long rounds, volatile float *seed)                                 \
    {                                                                                            \
        name##_vector times = *seed - (name##_vector){0}, plus = times, sum[FMA_SUMS];           \
        for (int i = 0; i < FMA_SUMS; i++)                                                       \
            sum[i] = (float)i - (name##_vector){0};                                              \
        double start = clock_seconds();                                                          \
        for (long r = 0; r < rounds; r++)                                                        \
            for (int i = 0; i < FMA_SUMS; i++)                                                   \
                sum[i] = sum[i] * times + plus;                                                  \
        for (int i = 1; i < FMA_SUMS; i++)                                                       \
            sum[0] += sum[i];                                                                    \
        *seed = sum[0][0] > 1e30f ? 0.25f : 0.5f; /* the sums are looked at, so they are made */ \
        return 2e-9 * FMA_SUMS * (lanes) * (double)rounds / (clock_seconds() - start);           \
    }

#if defined(__x86_64__)
FMA_LOOP(fma_avx512, 16, __attribute__((target("avx512f,fma"))))
FMA_LOOP(fma_avx2, 8, __attribute__((target("avx2,fma"))))
#endif
FMA_LOOP(fma_generic, 4, )

static void fma_peak(struct bench_peak *peak, int repeats)
{
    double (*loop)(long, volatile float *) = fma_generic;
    volatile float seed = 0.5f;
    peak->instructions = "generic";
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        loop = fma_avx512;
        peak->instructions = "avx512";
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        loop = fma_avx2;
        peak->instructions = "avx2";
    }
#endif
    for (int i = 0; i < 4 * repeats; i++) {
        double rate = loop(1000000, &seed);
        peak->fma_gflops = rate > peak->fma_gflops ? rate : peak->fma_gflops;
    }
}

/* ---------------------------------------------------------------- products */
enum { SIDE = 256, MOST_ROWS = 2048 };

struct operands {
    const struct kernels *k;
    float *a, *b, *packed, *c;
};

static void by_library(const struct operands *o, int rows)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, SIDE, SIDE, 1, o->a, SIDE, o->b, SIDE, 0,
                o->c, SIDE);
}

static void by_kernels(const struct operands *o, int rows)
{
    o->k->gemm_packed(o->c, o->a, o->packed, rows, SIDE, SIDE, SIDE, SIDE, 0);
}

/* Both in turn, so that they see the same machine. */
static void product_peaks(struct bench_peak *peak, const struct operands *o, int repeats)
{
    static const int shapes[] = {256, 1024, 2048};
    void (*const ways[])(const struct operands *, int) = {by_library, by_kernels};
    double *best[] = {&peak->sgemm_gflops, &peak->product_gflops};
    for (int repeat = 0; repeat < 4 * repeats; repeat++)
        for (int s = 0; s < 3; s++)
            for (int w = 0; w < 2; w++) {
                double start = clock_seconds();
                for (int i = 0; i < MOST_ROWS / shapes[s]; i++)
                    ways[w](o, shapes[s]);
                double rate = 2e-9 * MOST_ROWS * SIDE * SIDE / (clock_seconds() - start);
                *best[w] = rate > *best[w] ? rate : *best[w];
            }
}

/* ---------------------------------------------------------------- clouds */
static void cloud_rates(struct bench_peak *peak, const struct kernels *k, int repeats)
{
    enum { DIM = 6, POINTS = 1000 };
    struct arena arena = {0};
    struct cloud cloud;
    const uint32_t key[2] = {3, 4};
    float *w1 = arena_new(&arena, float, DIM *SIDE), *w2 = arena_new(&arena, float, SIDE *SIDE),
          *w2_t = arena_new(&arena, float, SIDE *SIDE), *narrow = arena_new(&arena, float, 3 * SIDE),
          *y = arena_new(&arena, float, POINTS *DIM), *q = arena_new(&arena, float, POINTS),
          *weight = arena_new(&arena, float, POINTS), sum[DIM];
    k->normals(w1, DIM * SIDE, key, 0, 0);
    k->normals(w2, SIDE * SIDE, key, 1, 0);
    k->normals(narrow, 3 * SIDE, key, 2, 0);
    k->normals(y, POINTS * DIM, key, 3, 0);
    for (int i = 0; i < SIDE * SIDE; i++)
        w2_t[i % SIDE * SIDE + i / SIDE] = w2[i];
    for (int i = 0; i < POINTS; i++)
        weight[i] = 1.0f / POINTS;
    struct cloud_net net = {DIM, SIDE, w1, w2, w2_t, narrow, narrow + SIDE, 0};
    cloud_create(&cloud, &arena, POINTS, DIM, SIDE);
    for (int i = 0; i < 8 * repeats; i++) {
        double start = clock_seconds();
        k->cloud_values(&cloud, q, &net, narrow + 2 * SIDE, y, POINTS);
        double middle = clock_seconds();
        k->cloud_pull(&cloud, sum, &net, weight, POINTS);
        double forward = 2e-9 * POINTS * SIDE * (SIDE + DIM) / (middle - start),
               backward = 2e-9 * POINTS * SIDE * SIDE / (clock_seconds() - middle);
        peak->cloud_gflops = forward > peak->cloud_gflops ? forward : peak->cloud_gflops;
        peak->pull_gflops = backward > peak->pull_gflops ? backward : peak->pull_gflops;
    }
    arena_free(&arena);
}

/* ---------------------------------------------------------------- normals */
static double normals_rate(const struct kernels *k, float *out, int repeats)
{
    enum { COUNT = 1 << 19, PIECE = 1 << 15 }; /* pieces stay in the cache, as where they are used */
    const uint32_t key[2] = {1, 2};
    double best = 0;
    for (int repeat = 0; repeat < repeats; repeat++) {
        double start = clock_seconds();
        for (int i = 0; i < COUNT / PIECE; i++)
            k->normals(out, PIECE, key, (uint64_t)repeat, (uint64_t)i * PIECE);
        double rate = COUNT / (clock_seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

dqs_status bench_peak(struct bench_peak *peak, const struct bench_choice *choice, dqs_error *error)
{
    struct compute *compute;
    TRY(compute_create(&compute, 1, choice->kernels, error));
    struct arena arena = {0};
    struct operands o = {.k = compute->k,
                         .a = arena_new(&arena, float, MOST_ROWS *SIDE),
                         .b = arena_new(&arena, float, SIDE *SIDE),
                         .packed = arena_new(&arena, float, KERNELS_PACKED(SIDE, SIDE)),
                         .c = arena_new(&arena, float, MOST_ROWS *SIDE)};
    for (int i = 0; i < MOST_ROWS * SIDE; i++)
        o.a[i] = 0.01f * (float)(i % 17);
    for (int i = 0; i < SIDE * SIDE; i++)
        o.b[i] = 0.01f * (float)(i % 13);
    o.k->pack(o.packed, o.b, SIDE, SIDE, SIDE, false);
    *peak = (struct bench_peak){0};
    fma_peak(peak, choice->repeats);
    product_peaks(peak, &o, choice->repeats);
    cloud_rates(peak, o.k, choice->repeats);
    peak->normals_per_second = normals_rate(o.k, o.c, choice->repeats);
    arena_free(&arena);
    compute_free(compute);
    return DQS_OK;
}
