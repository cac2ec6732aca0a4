/* gmm_metrics: maximum mean discrepancy to exact samples with its noise floor, and mode coverage. The double
 * sum over 5000 x 5000 pairs is the only heavy thing: it is written in blocks of 16 points that compilers
 * turn into vectors. */
#include "gmm_metrics.h"
#include "arena.h"
#include "gmm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 16
static const float far_away = 1e15f; /* padding: kernel to every real point is nothing */
static const uint64_t exact_seed = 40;

struct points { /* columns, padded to whole blocks */
    float *x, *y;
    int n, blocks;
};

static struct points points_take(struct arena *arena, const float *xy, int n)
{
    struct points p = {.n = n, .blocks = (n + BLOCK - 1) / BLOCK};
    p.x = arena_new(arena, float, p.blocks *BLOCK);
    p.y = arena_new(arena, float, p.blocks *BLOCK);
    for (int i = 0; i < p.blocks * BLOCK; i++) {
        p.x[i] = i < n ? xy[2 * i] : far_away;
        p.y[i] = i < n ? xy[2 * i + 1] : far_away;
    }
    return p;
}

/* exp(-t) for t >= 0 to 2e-7 relative; beyond 80 it stays at 1e-35. Free of calls and branches so that it
 * vectorises: the limit is taken on the bits, which for positive floats are in the same order. */
static inline float exp_minus(float t)
{
    const int32_t limit = 0x42a00000; /* 80.0f */
    int32_t bits;
    float scale;
    memcpy(&bits, &t, sizeof bits);
    bits = bits < limit ? bits : limit;
    memcpy(&t, &bits, sizeof t);
    float e = t * -1.44269504f;
    int32_t whole = (int32_t)(e - 0.5f);
    float f = e - (float)whole; /* in [-1/2, 1/2]: Taylor series of 2^f */
    float p = 0.00961812911f + f * (0.00133335581f + f * 0.000154035304f);
    p = 1.0f + f * (0.693147181f + f * (0.240226507f + f * (0.0555041087f + f * p)));
    bits = (whole + 127) * (1 << 23);
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* Adds the kernel of (x, y) to each of one block of points; scale = 1/(2 b^2). */
static inline void add_block(float sum0[BLOCK], float sum1[BLOCK], float x, float y, const float *px,
                             const float *py, float scale0, float scale1)
{
    for (int l = 0; l < BLOCK; l++) {
        float dx = px[l] - x, dy = py[l] - y, d2 = dx * dx + dy * dy;
        sum0[l] += exp_minus(d2 * scale0);
        sum1[l] += exp_minus(d2 * scale1);
    }
}

/* Sums of (x, y) against the blocks first .. last-1, added in a fixed order. */
static void add_row(double total[2], float x, float y, const struct points *p, int first, int last,
                    const float scale[2], double weight)
{
    float sum0[BLOCK] = {0}, sum1[BLOCK] = {0};
    double row[2] = {0.0, 0.0};
    for (int k = first; k < last; k++)
        add_block(sum0, sum1, x, y, p->x + k * BLOCK, p->y + k * BLOCK, scale[0], scale[1]);
    for (int l = 0; l < BLOCK; l++) {
        row[0] += sum0[l];
        row[1] += sum1[l];
    }
    total[0] += weight * row[0];
    total[1] += weight * row[1];
}

/* Mean kernel between two sets. */
static void mean_cross(double mean[2], const struct points *a, const struct points *b, const float scale[2])
{
    double total[2] = {0.0, 0.0};
    for (int i = 0; i < a->n; i++)
        add_row(total, a->x[i], a->y[i], b, 0, b->blocks, scale, 1.0);
    for (int k = 0; k < 2; k++)
        mean[k] = total[k] / ((double)a->n * b->n);
}

/* Mean kernel within a set, diagonal included. Blocks beyond a point's own count for their mirror images too.
 */
static void mean_within(double mean[2], const struct points *a, const float scale[2])
{
    double total[2] = {0.0, 0.0};
    for (int i = 0; i < a->n; i++) {
        int own = i / BLOCK;
        add_row(total, a->x[i], a->y[i], a, own, own + 1, scale, 1.0);
        add_row(total, a->x[i], a->y[i], a, own + 1, a->blocks, scale, 2.0);
    }
    for (int k = 0; k < 2; k++)
        mean[k] = total[k] / ((double)a->n * a->n);
}

static double mmd_of(double aa, double bb, double ab)
{
    return sqrt(fmax(0.0, aa + bb - 2.0 * ab));
}

static void scales_of(float scale[2], const double bandwidth[2])
{
    for (int k = 0; k < 2; k++)
        scale[k] = (float)(0.5 / (bandwidth[k] * bandwidth[k]));
}

void gmm_mmd(double mmd[2], const float *a, int n, const float *b, int m, const double bandwidth[2])
{
    struct arena arena = {0};
    struct points pa = points_take(&arena, a, n), pb = points_take(&arena, b, m);
    double aa[2], bb[2], ab[2];
    float scale[2];
    scales_of(scale, bandwidth);
    mean_within(aa, &pa, scale);
    mean_within(bb, &pb, scale);
    mean_cross(ab, &pa, &pb, scale);
    for (int k = 0; k < 2; k++)
        mmd[k] = mmd_of(aa[k], bb[k], ab[k]);
    arena_free(&arena);
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Median distance between points of both sets together, of at most 250 evenly spread points from each. */
static double median_distance(struct arena *arena, const float *a, const float *b, int n)
{
    int take = n < 250 ? n : 250, count = 0;
    float *xy = arena_new(arena, float, 4 * take);
    float *d2 = arena_new(arena, float, take *(2 * take - 1));
    for (int i = 0; i < take; i++) {
        size_t from = 2 * (size_t)((long)i * n / take);
        memcpy(xy + 2 * i, a + from, 2 * sizeof(float));
        memcpy(xy + 2 * (take + i), b + from, 2 * sizeof(float));
    }
    for (int i = 0; i < 2 * take; i++)
        for (int j = 0; j < i; j++) {
            float dx = xy[2 * i] - xy[2 * j], dy = xy[2 * i + 1] - xy[2 * j + 1];
            d2[count++] = dx * dx + dy * dy;
        }
    qsort(d2, (size_t)count, sizeof *d2, compare_floats);
    double median = sqrt(d2[count / 2]);
    return median > 1e-6 ? median : 1e-6; /* all points equal: any width will do, but not zero */
}

static void measure_modes(struct gmm_metrics *out, const float *xy, int n)
{
    const double(*means)[2] = gmm_means();
    int nearest[GMM_MODES] = {0};
    int covered[GMM_MODES] = {0};
    for (int i = 0; i < n; i++) {
        int best = 0;
        double best_d2 = INFINITY;
        for (int k = 0; k < GMM_MODES; k++) {
            double dx = xy[2 * i] - means[k][0], dy = xy[2 * i + 1] - means[k][1], d2 = dx * dx + dy * dy;
            covered[k] |= d2 <= 9.0;
            if (d2 < best_d2) {
                best_d2 = d2;
                best = k;
            }
        }
        nearest[best]++;
    }
    out->modes = 0;
    out->mode_entropy = 0.0;
    for (int k = 0; k < GMM_MODES; k++) {
        double p = (double)nearest[k] / n;
        out->modes += covered[k];
        out->mode_entropy -= p > 0.0 ? p * log(p) / log(GMM_MODES) : 0.0;
    }
}

/* Means over `pairs` pairs of exact sets: of the given points against the first of a pair, and of the first
 * against the second. One set alone can be unlucky, at a wide kernel by a factor of two. */
static void measure_mmd(struct gmm_metrics *out, struct arena *arena, const float *xy, int n, int pairs)
{
    struct points given = points_take(arena, xy, n);
    float *exact = arena_new(arena, float, 2 * n), *other = arena_new(arena, float, 2 * n), scale[2];
    double bandwidth[2] = {1.0, 0.0}, within[2], mmd[2] = {0.0, 0.0}, lowest[2] = {0.0, 0.0};
    struct rng rng;
    rng_seed(&rng, exact_seed, RNG_EVAL_ENV);
    for (int i = 0; i < pairs; i++) {
        double aa[2], bb[2], ab[2], ga[2];
        gmm_sample(exact, n, &rng);
        gmm_sample(other, n, &rng);
        if (i == 0) {
            bandwidth[1] = median_distance(arena, xy, exact, n);
            scales_of(scale, bandwidth);
            mean_within(within, &given, scale);
        }
        struct points a = points_take(arena, exact, n), b = points_take(arena, other, n);
        mean_within(aa, &a, scale);
        mean_within(bb, &b, scale);
        mean_cross(ab, &a, &b, scale);
        mean_cross(ga, &given, &a, scale);
        for (int k = 0; k < 2; k++) {
            mmd[k] += mmd_of(within[k], aa[k], ga[k]) / pairs;
            lowest[k] += mmd_of(aa[k], bb[k], ab[k]) / pairs;
        }
    }
    out->bandwidth = bandwidth[1];
    out->mmd = mmd[0];
    out->mmd_floor = lowest[0];
    out->mmd_median = mmd[1];
    out->mmd_median_floor = lowest[1];
}

void gmm_measure(struct gmm_metrics *out, const float *xy, int n)
{
    struct arena arena = {0};
    measure_mmd(out, &arena, xy, n, n <= 1000 ? 10 : 3); /* small sets scatter more and cost less */
    measure_modes(out, xy, n);
    arena_free(&arena);
}

int gmm_metrics_summarise(const dqs_trace *trace, dqs_number *out, int capacity)
{
    if (trace->episodes < 1)
        return 0;
    struct arena arena = {0};
    struct gmm_metrics m;
    float *last = arena_new(&arena, float, 2 * trace->episodes);
    for (int e = 0; e < trace->episodes; e++)
        memcpy(last + 2 * e, trace->obs + ((size_t)e * (size_t)trace->stride + (size_t)trace->length[e]) * 2,
               2 * sizeof(float));
    gmm_measure(&m, last, trace->episodes);
    arena_free(&arena);
    const struct {
        const char *name;
        double value;
    } rows[] = {{"mmd", m.mmd},
                {"mmd_floor", m.mmd_floor},
                {"mmd_median", m.mmd_median},
                {"mmd_median_floor", m.mmd_median_floor},
                {"modes", m.modes},
                {"mode_entropy", m.mode_entropy}};
    int count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && count < capacity; i++, count++) {
        snprintf(out[count].name, sizeof out[count].name, "%s", rows[i].name);
        out[count].value = rows[i].value;
    }
    return count;
}
