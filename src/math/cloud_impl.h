/* cloud_impl: cloud.h in the vocabulary of simd.h; included once by each copy of kernels_impl.c.
 *
 * Vectors lie along the points, so a unit's bias, weights and output weight are numbers, the sum over units
 * needs no shuffling, and what a unit has the same of at all points is found by looking along its row. Blocks
 * of CLOUD_ROWS units x 2 vectors stay in registers over the whole inner sum, as in product.h. */
#ifndef MATH_CLOUD_IMPL_H
#define MATH_CLOUD_IMPL_H

#include "cloud.h"
#include "simd.h"

enum { CLOUD_ROWS = VW == 16 ? 12 : 6 };

#if VW == 16
#define CLOUD_BLOCKS(statement, at, end)     \
    for (; (at) + 12 <= (end); (at) += 12) { \
        enum { ROWS = 12 };                  \
        statement;                           \
    }                                        \
    for (; (at) + 8 <= (end); (at) += 8) {   \
        enum { ROWS = 8 };                   \
        statement;                           \
    }                                        \
    for (; (at) + 4 <= (end); (at) += 4) {   \
        enum { ROWS = 4 };                   \
        statement;                           \
    }                                        \
    for (; (at) < (end); (at) += 1) {        \
        enum { ROWS = 1 };                   \
        statement;                           \
    }
#else
#define CLOUD_BLOCKS(statement, at, end)   \
    for (; (at) + 6 <= (end); (at) += 6) { \
        enum { ROWS = 6 };                 \
        statement;                         \
    }                                      \
    for (; (at) + 2 <= (end); (at) += 2) { \
        enum { ROWS = 2 };                 \
        statement;                         \
    }                                      \
    for (; (at) < (end); (at) += 1) {      \
        enum { ROWS = 1 };                 \
        statement;                         \
    }
#endif

/* ---------------------------------------------------------------- layer 1 */
/* z1 of one unit at VW points */
SIMD vf cloud_unit(const struct cloud_net *net, float base, const float *points, int unit)
{
    vf z = vf_all(base);
    for (int d = 0; d < net->dim; d++)
        z += net->w1[(size_t)d * net->width + unit] * vf_load(points + d * CLOUD_PANEL);
    return z;
}

/* Does z1 of this unit have one sign at all points? 1, -1; 0: no. */
static int cloud_unit_sign(const struct cloud *c, const struct cloud_net *net, float base, int unit)
{
    vf least = vf_all(3e38f), most = vf_all(-3e38f);
    for (int p = 0; p < c->panels; p++)
        for (int v = 0; v < CLOUD_PANEL; v += VW) {
            vf z = cloud_unit(net, base, c->points + (size_t)p * net->dim * CLOUD_PANEL + v, unit);
            least = vf_min(least, z);
            most = vf_max(most, z);
        }
    return vf_least(least) > 0 ? 1 : -vf_least(-most) <= 0 ? -1 : 0;
}

/* Centre of the points, and the largest distance from it. */
static float cloud_radius(const struct cloud *c, float *centre)
{
    int vectors = c->panels * CLOUD_PANEL / VW;
    vf most = vf_all(0.0f);
    for (int d = 0; d < c->dim; d++) {
        vf sum = vf_all(0.0f);
        for (int p = 0; p < c->panels; p++)
            for (int v = 0; v < CLOUD_PANEL; v += VW)
                sum += vf_load(c->points + ((size_t)p * c->dim + d) * CLOUD_PANEL + v);
        centre[d] = vf_sum(sum) / (float)(vectors * VW);
    }
    for (int p = 0; p < c->panels; p++)
        for (int v = 0; v < CLOUD_PANEL; v += VW) {
            vf squares = vf_all(0.0f);
            for (int d = 0; d < c->dim; d++) {
                vf x = vf_load(c->points + ((size_t)p * c->dim + d) * CLOUD_PANEL + v) - centre[d];
                squares += x * x;
            }
            most = vf_max(most, squares);
        }
    return 1.0001f * __builtin_sqrtf(-vf_least(-most));
}

/* The units of layer 1 into `open` and, positive everywhere, `on`; returns how many are on. By the ball round
 * the points where that decides, else by looking at every point. */
static int cloud_sort(struct cloud *c, const struct cloud_net *net, const float *base, int *on)
{
    float centre[net->dim], *z = c->room, *reach = c->room + net->width, radius = cloud_radius(c, centre);
    int w = net->width, ons = 0;
    for (int u = 0; u < w; u += VW) {
        vf at = vf_load(base + u), squares = vf_all(0.0f);
        for (int d = 0; d < net->dim; d++) {
            vf weight = vf_load(net->w1 + (size_t)d * w + u);
            at += centre[d] * weight;
            squares += weight * weight;
        }
        vf_store(z + u, at);
        vf_store(reach + u, radius * vf_sqrt(squares) + 1e-6f * vf_max(at, -at));
    }
    c->opens = 0;
    for (int u = 0; u < w; u++) {
        int sign = z[u] > reach[u] ? 1 : z[u] < -reach[u] ? -1 : cloud_unit_sign(c, net, base[u], u);
        if (sign == 0)
            c->open[c->opens++] = u;
        else if (sign > 0)
            on[ons++] = u;
    }
    return ons;
}

/* constant [width] = b2 + sum over `on` of base[u] W2[u], fold [dim x width] = sum of W1[d][u] W2[u]: a few
 * columns at a time. */
SIMD void cloud_fold_columns(struct cloud *c, const struct cloud_net *net, const float *base, const int *on,
                             int ons, int j, const int vectors)
{
    enum { TOGETHER = 7 }; /* rows: the constant and some dimensions */
    int w = net->width;
    for (int first = -1; first < net->dim; first += TOGETHER) {
        int rows = net->dim - first < TOGETHER ? net->dim - first : TOGETHER;
        const float *factor[TOGETHER];
        vf sum[TOGETHER][2];
        for (int r = 0; r < TOGETHER; r++) {
            int d = first + (r < rows ? r : rows - 1);
            factor[r] = d < 0 ? base : net->w1 + (size_t)d * w;
            for (int v = 0; v < vectors; v++)
                sum[r][v] = d < 0 ? vf_load(net->b2 + j + v * VW) : vf_all(0.0f);
        }
        for (int i = 0; i < ons; i++) {
            const float *row = net->w2 + (size_t)on[i] * w + j;
            vf x[2];
            for (int v = 0; v < vectors; v++)
                x[v] = vf_load(row + v * VW);
            for (int r = 0; r < TOGETHER; r++)
                for (int v = 0; v < vectors; v++)
                    sum[r][v] += factor[r][on[i]] * x[v];
        }
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                vf_store((first + r < 0 ? c->constant : c->fold + (size_t)(first + r) * w) + j + v * VW,
                         sum[r][v]);
    }
}

static void cloud_fold(struct cloud *c, const struct cloud_net *net, const float *base, int count)
{
    int *on = c->list, ons = cloud_sort(c, net, base, on), w = net->width, j = 0;
    c->folded = count > 3 * (net->dim + 1); /* else the map costs more than it saves */
    if (!c->folded) {
        memcpy(c->constant, net->b2, sizeof *c->constant * (size_t)w);
        for (int i = 0; i < ons; i++)
            c->open[c->opens++] = on[i];
        return;
    }
    for (; j + 2 * VW <= w; j += 2 * VW)
        cloud_fold_columns(c, net, base, on, ons, j, 2);
    for (; j < w; j += VW)
        cloud_fold_columns(c, net, base, on, ons, j, 1);
}

/* ---------------------------------------------------------------- values */
/* ROWS units of layer 2 at one panel: q [PANEL] += their share; their signs. */
SIMD void cloud_block(const struct cloud *c, const struct cloud_net *net, float *q, uint32_t *sign,
                      const float *points, int j, const int rows)
{
    const float *hidden = c->hidden, *row = net->w2_transposed + (size_t)j * net->width;
    ptrdiff_t w = net->width;
    int dims = c->folded ? net->dim : 0, opens = c->opens;
    for (int r = 0; r < rows; r++)
        sign[j + r] = 0;
    for (int p = 0; p < CLOUD_PANEL; p += 2 * VW) {
        vf sum[CLOUD_ROWS][2];
        for (int r = 0; r < rows; r++)
            sum[r][0] = sum[r][1] = vf_all(c->constant[j + r]);
        for (int d = 0; d < dims; d++) {
            const float *a = c->fold + (size_t)d * w + j;
            vf x0 = vf_load(points + d * CLOUD_PANEL + p), x1 = vf_load(points + d * CLOUD_PANEL + p + VW);
            for (int r = 0; r < rows; r++) {
                sum[r][0] += a[r] * x0;
                sum[r][1] += a[r] * x1;
            }
        }
        for (int i = 0; i < opens; i++) {
            const float *a = row + c->open[i];
            vf x0 = vf_load(hidden + i * CLOUD_PANEL + p), x1 = vf_load(hidden + i * CLOUD_PANEL + p + VW);
            for (int r = 0; r < rows; r++) {
                sum[r][0] += a[r * w] * x0;
                sum[r][1] += a[r * w] * x1;
            }
        }
        vf q0 = vf_load(q + p), q1 = vf_load(q + p + VW);
        for (int r = 0; r < rows; r++) {
            q0 += net->w3[j + r] * vf_positive(sum[r][0]);
            q1 += net->w3[j + r] * vf_positive(sum[r][1]);
            sign[j + r] |= (vf_signs(sum[r][0]) | vf_signs(sum[r][1]) << VW) << p;
        }
        vf_store(q + p, q0);
        vf_store(q + p + VW, q1);
    }
}

static void cloud_values(struct cloud *c, float *q, const struct cloud_net *net, const float *base,
                         const float *y, int count)
{
    int w = net->width;
    cloud_fill(c, y, count);
    cloud_fold(c, net, base, count);
    for (int p = 0; p < c->panels; p++) {
        const float *points = c->points + (size_t)p * net->dim * CLOUD_PANEL;
        uint32_t *sign1 = c->sign1 + (size_t)p * w, *sign2 = c->sign2 + (size_t)p * w;
        float value[CLOUD_PANEL] = {0};
        for (int i = 0; i < c->opens; i++) {
            sign1[i] = 0;
            for (int v = 0; v < CLOUD_PANEL; v += VW) {
                vf z = cloud_unit(net, base[c->open[i]], points + v, c->open[i]);
                sign1[i] |= vf_signs(z) << v;
                vf_store(c->hidden + i * CLOUD_PANEL + v, vf_positive(z));
            }
        }
        int j = 0;
        CLOUD_BLOCKS(cloud_block(c, net, value, sign2, points, j, ROWS), j, w)
        int n = count - p * CLOUD_PANEL < CLOUD_PANEL ? count - p * CLOUD_PANEL : CLOUD_PANEL;
        for (int i = 0; i < n; i++)
            q[p * CLOUD_PANEL + i] = value[i] + net->b3;
    }
}

/* ---------------------------------------------------------------- the weighted sum of gradients */
/* Drops the points of no weight: their bits in every word of `sign`, so that the others lie close. Returns
 * the panels left. */
static int cloud_squeeze(struct cloud *c, uint32_t *sign, int units, const uint32_t *keep)
{
    int w = c->width, panels = 0, filled = 0;
    uint32_t *to = sign;
    for (int p = 0; p < c->panels; p++) {
        int n = __builtin_popcount(keep[p]);
        if (n == 0)
            continue;
        const uint32_t *from = sign + (size_t)p * w;
        uint64_t low = filled ? (UINT64_C(1) << filled) - 1 : 0;
        bool full = filled + n >= CLOUD_PANEL;
        for (int i = 0; i < units; i++) {
            uint64_t bits = (to[i] & low) | (uint64_t)bits_squeeze(from[i], keep[p]) << filled;
            to[i] = (uint32_t)bits;
            if (full && filled + n > CLOUD_PANEL)
                to[w + i] = (uint32_t)(bits >> CLOUD_PANEL); /* a panel that has been read */
        }
        filled += n;
        if (full) {
            filled -= CLOUD_PANEL;
            to += w;
            panels++;
        }
    }
    return panels + (filled > 0);
}

/* Weights other than zero, close together and filled up with zeros; a bit for each in keep. Returns how
 * many. */
static int cloud_keep(float *kept, uint32_t *keep, const float *weight, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (i % CLOUD_PANEL == 0)
            keep[i / CLOUD_PANEL] = 0;
        if (weight[i] == 0)
            continue;
        keep[i / CLOUD_PANEL] |= UINT32_C(1) << i % CLOUD_PANEL;
        kept[n++] = weight[i];
    }
    for (int i = n; i % CLOUD_PANEL; i++)
        kept[i] = 0;
    return n;
}

/* ROWS open units of layer 1: at one panel, what reaches them from layer 2's open units (in c->hidden, times
 * w3) and from those that are on (`steady`), where they are positive, times the points' weights. */
SIMD void cloud_back_block(const struct cloud *c, const struct cloud_net *net, float *sums,
                           const float *steady, const uint32_t *sign1, const float *weight, const int *open2,
                           int opens2, int at, const int rows)
{
    const float *row[CLOUD_ROWS], *hidden = c->hidden;
    for (int r = 0; r < rows; r++)
        row[r] = net->w2 + (size_t)c->open[at + r] * net->width;
    for (int p = 0; p < CLOUD_PANEL; p += 2 * VW) {
        vf sum[CLOUD_ROWS][2];
        for (int r = 0; r < rows; r++)
            sum[r][0] = sum[r][1] = vf_all(steady[at + r]);
        for (int i = 0; i < opens2; i++) {
            int j = open2[i];
            vf x0 = vf_load(hidden + i * CLOUD_PANEL + p), x1 = vf_load(hidden + i * CLOUD_PANEL + p + VW);
            for (int r = 0; r < rows; r++) {
                sum[r][0] += row[r][j] * x0;
                sum[r][1] += row[r][j] * x1;
            }
        }
        vf w0 = vf_load(weight + p), w1 = vf_load(weight + p + VW);
        for (int r = 0; r < rows; r++) {
            uint32_t bits = sign1[at + r] >> p;
            float *to = sums + (size_t)(at + r) * VW;
            vf_store(to, vf_load(to) + sum[r][0] * vf_where(bits, w0) + sum[r][1] * vf_where(bits >> VW, w1));
        }
    }
}

/* Layer 2 by its signs at the kept points: reach[j] = w3[j] times the weight of the points where unit j is
 * positive; the units with both signs into open2, `level` [width] = w3 of those that are on. Returns how many
 * are open. */
static int cloud_sort2(const struct cloud *c, const struct cloud_net *net, float *reach, float *level,
                       int *open2, const float *weight, int kept)
{
    int w = net->width, panels = (kept + CLOUD_PANEL - 1) / CLOUD_PANEL, opens2 = 0;
    uint32_t last = kept % CLOUD_PANEL ? (UINT32_C(1) << kept % CLOUD_PANEL) - 1 : UINT32_MAX;
    vf total = vf_all(0.0f);
    for (int i = 0; i < panels * CLOUD_PANEL; i += VW)
        total += vf_load(weight + i);
    float all = vf_sum(total);
    for (int j = 0; j < w; j++) {
        uint32_t any = 0, missing = 0;
        for (int p = 0; p < panels; p++) {
            uint32_t bits = c->sign2[(size_t)p * w + j], there = p == panels - 1 ? last : UINT32_MAX;
            any |= bits & there;
            missing |= ~bits & there;
        }
        reach[j] = any ? net->w3[j] * all : 0;
        level[j] = any && !missing ? net->w3[j] : 0;
        if (!any || !missing)
            continue;
        vf sum = vf_all(0.0f);
        for (int p = 0; p < panels; p++)
            for (int v = 0; v < CLOUD_PANEL; v += VW)
                sum += vf_where(c->sign2[(size_t)p * w + j] >> v, vf_load(weight + p * CLOUD_PANEL + v));
        reach[j] = net->w3[j] * vf_sum(sum);
        open2[opens2++] = j;
    }
    return opens2;
}

static void cloud_pull(struct cloud *c, float *sum, const struct cloud_net *net, const float *weight,
                       int count)
{
    int w = net->width, *open2 = c->list;
    float *reach = c->room, *level = c->room + w, *steady = c->room + 2 * w, *sums = c->room + 3 * w * 16;
    float kept[(size_t)c->panels * CLOUD_PANEL];
    uint32_t keep[c->panels];
    memset(sum, 0, sizeof *sum * (size_t)net->dim);
    int n = cloud_keep(kept, keep, weight, count), panels = c->panels;
    if (n == 0)
        return;
    if (n < count) {
        panels = cloud_squeeze(c, c->sign1, c->opens, keep);
        cloud_squeeze(c, c->sign2, w, keep);
    }
    int opens2 = cloud_sort2(c, net, reach, level, open2, kept, n);
    for (int i = 0; i < c->opens; i++) {
        const float *row = net->w2 + (size_t)c->open[i] * w;
        vf dot = vf_all(0.0f);
        for (int j = 0; j < w; j += VW)
            dot += vf_load(row + j) * vf_load(level + j);
        steady[i] = vf_sum(dot);
    }
    memset(sums, 0, sizeof *sums * (size_t)(c->opens * VW));
    for (int p = 0; p < panels; p++) {
        const uint32_t *sign2 = c->sign2 + (size_t)p * w;
        for (int i = 0; i < opens2; i++)
            for (int v = 0; v < CLOUD_PANEL; v += VW)
                vf_store(c->hidden + i * CLOUD_PANEL + v,
                         vf_where(sign2[open2[i]] >> v, vf_all(net->w3[open2[i]])));
        int at = 0;
        CLOUD_BLOCKS(cloud_back_block(c, net, sums, steady, c->sign1 + (size_t)p * w, kept + p * CLOUD_PANEL,
                                      open2, opens2, at, ROWS),
                     at, c->opens)
    }
    for (int d = 0; d < net->dim; d++) { /* W1^T, once */
        vf folded = vf_all(0.0f);
        for (int j = 0; c->folded && j < w; j += VW)
            folded += vf_load(c->fold + (size_t)d * w + j) * vf_load(reach + j);
        sum[d] = vf_sum(folded);
    }
    for (int i = 0; i < c->opens; i++) {
        float through = vf_sum(vf_load(sums + (size_t)i * VW));
        for (int d = 0; d < net->dim; d++)
            sum[d] += net->w1[(size_t)d * w + c->open[i]] * through;
    }
}

#endif
