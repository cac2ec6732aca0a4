/* kernels_impl: the inner loops, written once and compiled per instruction set (KERNELS_NAME: generic, avx2,
 * avx512). What each kernel means is said by the plain loops of kernels_ref.c. */
#include "kernels.h"
#include "cloud_impl.h"
#include "simd.h"
#include <cblas.h>
#if VW >= 8
#include "product.h"
#endif

#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

/* ---------------------------------------------------------------- products */
/* One to three rows: library calls cost more than the work, and after a ReLU half of the inputs are zero. The
 * others are listed first, so that the inner loop has no branch; it adds their rows of B into `vectors`
 * registers, a constant where called. */
enum { LISTED = 512 };

SIMD void add_listed(float *y, const float *x, const int *list, int count, const float *b, int ldb,
                     const int vectors)
{
    vf sum[4];
    for (int v = 0; v < vectors; v++)
        sum[v] = vf_load(y + v * VW);
    for (int i = 0; i < count; i++) {
        const float *row = b + (size_t)list[i] * ldb;
        vf xi = vf_all(x[list[i]]);
        for (int v = 0; v < vectors; v++)
            sum[v] += xi * vf_load(row + v * VW);
    }
    for (int v = 0; v < vectors; v++)
        vf_store(y + v * VW, sum[v]);
}

static void row_times_matrix(float *y, const float *x, const float *b, int n, int k, int ldb)
{
    int list[LISTED], count = 0, j = 0;
    for (int i = 0; i < k; i++) {
        list[count] = i;
        count += x[i] != 0;
    }
    for (; j + 4 * VW <= n; j += 4 * VW)
        add_listed(y + j, x, list, count, b + j, ldb, 4);
    for (; j + VW <= n; j += VW)
        add_listed(y + j, x, list, count, b + j, ldb, 1);
    for (; j < n; j++)
        for (int i = 0; i < count; i++)
            y[j] += x[list[i]] * b[(size_t)list[i] * ldb + j];
}

static void rows_times_matrix(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb,
                              int ldc, float beta)
{
    for (int r = 0; r < m; r++) {
        float *y = c + (size_t)r * ldc;
        if (beta == 0)
            memset(y, 0, sizeof *y * (size_t)n);
        for (int i = 0; i < k; i += LISTED)
            row_times_matrix(y, a + (size_t)r * lda + i, b + (size_t)i * ldb, n,
                             k - i < LISTED ? k - i : LISTED, ldb);
    }
}

/* Where vectors are narrow the library, which picks its own instructions, is faster. */
#if VW >= 8
static void gemm_nn(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta)
{
    if (m <= 3 && (beta == 0 || beta == 1))
        rows_times_matrix(c, a, b, m, n, k, lda, ldb, ldc, beta);
    else
        product(c, ldc, (struct matrix){a, lda, 1}, (struct matrix){b, ldb, 1}, m, n, k, beta);
}

static void gemm_tn(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta)
{
    product_tn(c, ldc, a, lda, b, ldb, m, n, k, beta);
}

static void pack(float *packed, const float *b, int k, int n, int ldb, bool transposed)
{
    product_pack(packed, transposed ? (struct matrix){b, 1, ldb} : (struct matrix){b, ldb, 1}, k, n);
}

static void gemm_packed(float *c, const float *a, const float *packed, int m, int n, int k, int lda, int ldc,
                        float beta)
{
    product_packed(c, ldc, (struct matrix){a, lda, 1}, packed, m, n, k, beta);
}
#else
static void gemm_nn(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta)
{
    if (m <= 3 && (beta == 0 || beta == 1))
        rows_times_matrix(c, a, b, m, n, k, lda, ldb, ldc, beta);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

static void gemm_tn(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta)
{
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

static void pack(float *packed, const float *b, int k, int n, int ldb, bool transposed)
{
    for (int i = 0; i < k; i++)
        for (int j = 0; j < n; j++)
            packed[(size_t)i * n + j] = transposed ? b[(size_t)j * ldb + i] : b[(size_t)i * ldb + j];
}

static void gemm_packed(float *c, const float *a, const float *packed, int m, int n, int k, int lda, int ldc,
                        float beta)
{
    gemm_nn(c, a, packed, m, n, k, lda, n, ldc, beta);
}
#endif

/* ---------------------------------------------------------------- activations and their slopes */
SIMD vf activate(vf x, enum activation act)
{
    if (act == ACT_RELU)
        return vf_positive(x);
    if (act == ACT_TANH)
        return vf_tanh(x);
    if (act == ACT_GELU)
        return 0.5f * x * (1.0f + vf_tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
    vf e = vf_exp(vf_min(x, vf_all(20.0f))), w = e * (e + 2.0f); /* mish: tanh(log(1+e)) = w/(w+2) */
    return x * (w / (w + 2.0f));
}

SIMD vf slope(vf x, enum activation act)
{
    if (act == ACT_RELU)
        return (vf)((vi)vf_all(1.0f) & (x > 0));
    if (act == ACT_TANH) {
        vf t = vf_tanh(x);
        return 1.0f - t * t;
    }
    if (act == ACT_GELU) {
        vf t = vf_tanh(0.7978845608f * (x + 0.044715f * x * x * x));
        return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * 0.7978845608f * (1.0f + 0.134145f * x * x);
    }
    vf e = vf_exp(vf_min(x, vf_all(20.0f))), w = e * (e + 2.0f), t = w / (w + 2.0f);
    return t + x * (1.0f - t * t) * (e / (e + 1.0f));
}

/* ---------------------------------------------------------------- layers */
/* A row of `width` numbers, normalised if inv_std is given. Where width is a constant of KEPT vectors, as
 * called, the row stays in registers; any other is read again in each of the three passes. */
enum { KEPT = VW == 16 ? 16 : 8 };

SIMD vf biased(const float *pre, const float *bias, int j)
{
    return bias ? vf_load(pre + j) + vf_load(bias + j) : vf_load(pre + j);
}

SIMD void forward_row(float *pre, float *out, float *inv_std, const float *bias, const float *skip,
                      const int width, const bool kept, enum activation act)
{
    vf scale = vf_all(1.0f), mean = vf_all(0.0f), row[KEPT];
    for (int v = 0; kept && v < KEPT; v++)
        row[v] = biased(pre, bias, v * VW);
    if (inv_std) {
        vf sum = vf_all(0.0f), squares = vf_all(0.0f);
        for (int j = 0, v = 0; j < width; j += VW, v++)
            sum += kept ? row[v] : biased(pre, bias, j);
        mean = vf_all(vf_sum(sum) / (float)width);
        for (int j = 0, v = 0; j < width; j += VW, v++) {
            vf x = (kept ? row[v] : biased(pre, bias, j)) - mean;
            squares += x * x;
        }
        *inv_std = 1.0f / __builtin_sqrtf(vf_sum(squares) / (float)width + 1e-5f);
        scale = vf_all(*inv_std);
    }
    for (int j = 0, v = 0; j < width; j += VW, v++) {
        vf x = kept ? row[v] : biased(pre, bias, j);
        if (inv_std)
            x = (x - mean) * scale;
        if (out != pre)
            vf_store(pre + j, x);
        vf y = activate(x, act);
        if (skip)
            y += vf_load(skip + j);
        vf_store(out + j, y);
    }
}

SIMD void backward_row(float *dz, const float *d_out, const float *pre, const float *inv_std, int width,
                       enum activation act)
{
    if (!inv_std) {
        for (int j = 0; j < width; j += VW)
            vf_store(dz + j, vf_load(d_out + j) * slope(vf_load(pre + j), act));
        return;
    }
    vf sum = vf_all(0.0f), dot = vf_all(0.0f);
    for (int j = 0; j < width; j += VW) {
        vf x = vf_load(pre + j), d = vf_load(d_out + j) * slope(x, act);
        vf_store(dz + j, d);
        sum += d;
        dot += d * x;
    }
    vf mean = vf_all(vf_sum(sum) / (float)width), along = vf_all(vf_sum(dot) / (float)width),
       scale = vf_all(*inv_std);
    for (int j = 0; j < width; j += VW)
        vf_store(dz + j, (vf_load(dz + j) - mean - vf_load(pre + j) * along) * scale);
}

/* The activation is a constant in each copy of the row loop, so that its branches vanish. */
#define FOR_EACH_ACTIVATION(act, statement) \
    switch (act) {                          \
    case ACT_RELU: {                        \
        const enum activation A = ACT_RELU; \
        statement;                          \
    } break;                                \
    case ACT_GELU: {                        \
        const enum activation A = ACT_GELU; \
        statement;                          \
    } break;                                \
    case ACT_MISH: {                        \
        const enum activation A = ACT_MISH; \
        statement;                          \
    } break;                                \
    case ACT_TANH: {                        \
        const enum activation A = ACT_TANH; \
        statement;                          \
    } break;                                \
    }

static void layer_forward(float *pre, float *out, float *inv_std, const float *bias, const float *skip,
                          int rows, int width, enum activation act)
{
    FOR_EACH_ACTIVATION(
        act, for (int r = 0; r < rows; r++) {
            size_t at = (size_t)r * width;
            float *to = inv_std ? inv_std + r : NULL;
            const float *from = skip ? skip + at : NULL;
            if (width == KEPT * VW)
                forward_row(pre + at, out + at, to, bias, from, KEPT * VW, true, A);
            else
                forward_row(pre + at, out + at, to, bias, from, width, false, A);
        })
}

static void layer_backward(float *dz, const float *d_out, const float *pre, const float *inv_std, int rows,
                           int width, enum activation act)
{
    FOR_EACH_ACTIVATION(
        act, for (int r = 0; r < rows; r++) {
            size_t at = (size_t)r * width;
            backward_row(dz + at, d_out + at, pre + at, inv_std ? inv_std + r : NULL, width, A);
        })
}

static void add_inputs(float *z, const float *base, const int *owner, const float *x, const float *w,
                       int rows, int in, int width)
{
    for (int r = 0; r < rows; r++) {
        const float *from = base ? base + (size_t)(owner ? owner[r] : r) * width : NULL;
        float *to = z + (size_t)r * width;
        for (int j = 0; j < width;
             j += 2 * VW) { /* two accumulators; width is a multiple of 16 = 2 VW or VW */
            int two = j + VW < width;
            vf a = from ? vf_load(from + j) : vf_all(0.0f);
            vf b = from && two ? vf_load(from + j + VW) : vf_all(0.0f);
            for (int i = 0; i < in; i++) {
                vf xi = vf_all(x[(size_t)r * in + i]);
                const float *row = w + (size_t)i * width + j;
                a += xi * vf_load(row);
                if (two)
                    b += xi * vf_load(row + VW);
            }
            vf_store(to + j, a);
            if (two)
                vf_store(to + j + VW, b);
        }
    }
}

/* `count` dot products of one row, side by side; count is a constant where it is called. */
SIMD void project_some(float *y, const float *h, const float *w, const float *b, int width, const int count)
{
    vf sum[3];
    for (int o = 0; o < count; o++)
        sum[o] = vf_all(0.0f);
    for (int j = 0; j < width; j += VW) {
        vf x = vf_load(h + j);
        for (int o = 0; o < count; o++)
            sum[o] += x * vf_load(w + (size_t)o * width + j);
    }
    for (int o = 0; o < count; o++)
        y[o] = vf_sum(sum[o]) + (b ? b[o] : 0.0f);
}

static void project(float *y, const float *h, const float *w, const float *b, int rows, int width, int out)
{
    for (int r = 0; r < rows; r++, h += width, y += out) {
        int o = 0;
        for (; o + 3 <= out; o += 3)
            project_some(y + o, h, w + (size_t)o * width, b ? b + o : NULL, width, 3);
        for (; o < out; o++)
            project_some(y + o, h, w + (size_t)o * width, b ? b + o : NULL, width, 1);
    }
}

static void project_backward(float *dh, const float *dy, const float *w, int rows, int width, int out)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < width; j += VW) {
            vf sum = vf_all(0.0f);
            for (int o = 0; o < out; o++)
                sum += dy[(size_t)r * out + o] * vf_load(w + (size_t)o * width + j);
            vf_store(dh + (size_t)r * width + j, sum);
        }
}

static void column_sums(float *sums, const float *z, int rows, int n, int width)
{
    for (int j = 0; j < n; j++)
        sums[j] = 0;
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < n; j++)
            sums[j] += z[(size_t)r * width + j];
}

/* ---------------------------------------------------------------- parameters */
static void adam(float *p, float *m, float *v, const float *g, size_t n, float lr, float b1, float b2,
                 float eps, float decay, float c1, float c2)
{
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
        p[i] -= lr * (m[i] * c1 / (__builtin_sqrtf(v[i] * c2) + eps) + decay * p[i]);
    }
}

static void blend(float *target, const float *source, size_t n, float eta)
{
    for (size_t i = 0; i < n; i++)
        target[i] += eta * (source[i] - target[i]);
}

/* ---------------------------------------------------------------- random numbers */
/* VW blocks at once: word w of block first+i in out[w][i]. */
SIMD void philox(vu out[4], const uint32_t key[2], uint64_t ticket, uint64_t first)
{
    vu c0, c1, c2, c3;
    for (int i = 0; i < VW; i++) {
        uint64_t index = first + (uint64_t)i;
        c0[i] = (uint32_t)index;
        c1[i] = (uint32_t)(index >> 32);
        c2[i] = (uint32_t)ticket;
        c3[i] = (uint32_t)(ticket >> 32);
    }
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        vu h0, l0, h1, l1;
        vu_multiply(&h0, &l0, c0, 0xD2511F53u);
        vu_multiply(&h1, &l1, c2, 0xCD9E8D57u);
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

SIMD vf unit(vu word) /* the middle of one of 2^23 cells: never 0, never 1 */
{
    return __builtin_convertvector((vi)(word >> 9), vf) * 0x1p-23f + 0x1p-24f;
}

/* Word w of block i to out[4 i + w]. */
SIMD void scatter(float *out, size_t n, const vf value[4])
{
    vf even[2], odd[2], words[4];
    vf_zip(&even[0], &even[1], value[0], value[2]);
    vf_zip(&odd[0], &odd[1], value[1], value[3]);
    vf_zip(&words[0], &words[1], even[0], odd[0]);
    vf_zip(&words[2], &words[3], even[1], odd[1]);
    memcpy(out, words, sizeof *out * (n < 4 * VW ? n : 4 * VW));
}

static void uniforms(float *out, size_t n, const uint32_t key[2], uint64_t ticket, uint64_t first)
{
    for (size_t done = 0; done < n; done += 4 * VW) {
        vu word[4];
        vf value[4];
        philox(word, key, ticket, (first + done) / 4);
        for (int w = 0; w < 4; w++)
            value[w] = unit(word[w]);
        scatter(out + done, n - done, value);
    }
}

static void normals(float *out, size_t n, const uint32_t key[2], uint64_t ticket, uint64_t first)
{
    for (size_t done = 0; done < n; done += 4 * VW) {
        vu word[4];
        vf value[4];
        philox(word, key, ticket, (first + done) / 4);
        for (int w = 0; w < 4; w += 2) { /* Box-Muller: words (0,1) and (2,3) */
            vf radius = vf_sqrt(-2.0f * vf_log(unit(word[w]))), c, s;
            vf_circle(unit(word[w + 1]), &c, &s);
            value[w] = radius * c;
            value[w + 1] = radius * s;
        }
        scatter(out + done, n - done, value);
    }
}

static float softmax(float *w, int n)
{
    float max = w[0], padded[VW], rest[VW];
    for (int i = 1; i < n; i++)
        max = w[i] > max ? w[i] : max;
    vf sum = vf_all(0.0f);
    int i = 0;
    for (; i + VW <= n; i += VW) {
        vf e = vf_exp(vf_load(w + i) - max);
        vf_store(w + i, e);
        sum += e;
    }
    float total = vf_sum(sum);
    if (i < n) {
        for (int j = 0; j < VW; j++)
            padded[j] = i + j < n ? w[i + j] - max : -87.0f;
        vf_store(rest, vf_exp(vf_load(padded)));
        for (int j = 0; i + j < n; j++) {
            w[i + j] = rest[j];
            total += rest[j];
        }
    }
    for (int j = 0; j < n; j++)
        w[j] /= total;
    vf_store(rest, vf_log(vf_all(total)));
    return max + rest[0];
}

const struct kernels PASTE(kernels_, KERNELS_NAME) = {
    TEXT(KERNELS_NAME), gemm_nn,    gemm_tn, pack,             gemm_packed,  layer_forward,
    layer_backward,     add_inputs, project, project_backward, column_sums,  adam,
    blend,              uniforms,   normals, softmax,          cloud_values, cloud_pull,
};
