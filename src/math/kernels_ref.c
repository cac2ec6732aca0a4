/* kernels_ref: what each kernel means, in plain loops and libm. Slow and exact; `--kernels ref` runs
 * everything on it. Compiled without contraction to fused multiply-adds, so that its bits do not depend on
 * the compiler's mood. */
#include "kernels.h"
#include "rng.h"
#include <math.h>

static void gemm_nn(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta)
{
    for (int r = 0; r < m; r++) {
        float *y = c + (size_t)r * ldc;
        for (int j = 0; j < n; j++)
            y[j] = beta == 0 ? 0 : beta * y[j];
        for (int i = 0; i < k; i++)
            for (int j = 0; j < n; j++)
                y[j] += a[(size_t)r * lda + i] * b[(size_t)i * ldb + j];
    }
}

static void gemm_tn(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta)
{
    for (int r = 0; r < m; r++) {
        float *y = c + (size_t)r * ldc;
        for (int j = 0; j < n; j++)
            y[j] = beta == 0 ? 0 : beta * y[j];
        for (int i = 0; i < k; i++)
            for (int j = 0; j < n; j++)
                y[j] += a[(size_t)i * lda + r] * b[(size_t)i * ldb + j];
    }
}

/* Row-major, whatever it was. */
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

static float gelu_inner(float x)
{
    return tanhf(0.7978845608f * (x + 0.044715f * x * x * x));
}

static float activate(float x, enum activation act)
{
    switch (act) {
    case ACT_RELU:
        return x > 0 ? x : 0;
    case ACT_GELU:
        return 0.5f * x * (1 + gelu_inner(x));
    case ACT_MISH:
        return x * tanhf(x > 20 ? x : log1pf(expf(x)));
    case ACT_TANH:
        return tanhf(x);
    }
    return 0;
}

static float slope(float x, enum activation act)
{
    float t;
    switch (act) {
    case ACT_RELU:
        return x > 0 ? 1 : 0;
    case ACT_GELU:
        t = gelu_inner(x);
        return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.7978845608f * (1 + 0.134145f * x * x);
    case ACT_MISH:
        t = tanhf(x > 20 ? x : log1pf(expf(x)));
        return t + x * (1 - t * t) / (1 + expf(-x));
    case ACT_TANH:
        t = tanhf(x);
        return 1 - t * t;
    }
    return 0;
}

static void layer_forward(float *pre, float *out, float *inv_std, const float *bias, const float *skip,
                          int rows, int width, enum activation act)
{
    for (int r = 0; r < rows; r++) {
        float *x = pre + (size_t)r * width, *y = out + (size_t)r * width;
        for (int j = 0; bias && j < width; j++)
            x[j] += bias[j];
        if (inv_std) {
            float mean = 0, variance = 0;
            for (int j = 0; j < width; j++)
                mean += x[j] / (float)width;
            for (int j = 0; j < width; j++)
                variance += (x[j] - mean) * (x[j] - mean) / (float)width;
            inv_std[r] = 1 / sqrtf(variance + 1e-5f);
            for (int j = 0; j < width; j++)
                x[j] = (x[j] - mean) * inv_std[r];
        }
        for (int j = 0; j < width; j++)
            y[j] = activate(x[j], act) + (skip ? skip[(size_t)r * width + j] : 0);
    }
}

/* Through the normalisation: x^ = (x - mean)/std gives dx = (d - mean(d) - x^ mean(d x^)) / std. */
static void layer_backward(float *dz, const float *d_out, const float *pre, const float *inv_std, int rows,
                           int width, enum activation act)
{
    for (int r = 0; r < rows; r++) {
        const float *x = pre + (size_t)r * width;
        float *d = dz + (size_t)r * width, mean = 0, along = 0;
        for (int j = 0; j < width; j++) {
            d[j] = d_out[(size_t)r * width + j] * slope(x[j], act);
            mean += d[j] / (float)width;
            along += d[j] * x[j] / (float)width;
        }
        for (int j = 0; inv_std && j < width; j++)
            d[j] = (d[j] - mean - x[j] * along) * inv_std[r];
    }
}

static void add_inputs(float *z, const float *base, const int *owner, const float *x, const float *w,
                       int rows, int in, int width)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < width; j++) {
            float sum = base ? base[(size_t)(owner ? owner[r] : r) * width + j] : 0;
            for (int i = 0; i < in; i++)
                sum += x[(size_t)r * in + i] * w[(size_t)i * width + j];
            z[(size_t)r * width + j] = sum;
        }
}

static void project(float *y, const float *h, const float *w, const float *b, int rows, int width, int out)
{
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            float sum = b ? b[o] : 0;
            for (int j = 0; j < width; j++)
                sum += h[(size_t)r * width + j] * w[(size_t)o * width + j];
            y[(size_t)r * out + o] = sum;
        }
}

static void project_backward(float *dh, const float *dy, const float *w, int rows, int width, int out)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < width; j++) {
            float sum = 0;
            for (int o = 0; o < out; o++)
                sum += dy[(size_t)r * out + o] * w[(size_t)o * width + j];
            dh[(size_t)r * width + j] = sum;
        }
}

static void column_sums(float *sums, const float *z, int rows, int n, int width)
{
    for (int j = 0; j < n; j++) {
        sums[j] = 0;
        for (int r = 0; r < rows; r++)
            sums[j] += z[(size_t)r * width + j];
    }
}

static void adam(float *p, float *m, float *v, const float *g, size_t n, float lr, float b1, float b2,
                 float eps, float decay, float c1, float c2)
{
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
        p[i] -= lr * (m[i] * c1 / (sqrtf(v[i] * c2) + eps) + decay * p[i]);
    }
}

static void blend(float *target, const float *source, size_t n, float eta)
{
    for (size_t i = 0; i < n; i++)
        target[i] += eta * (source[i] - target[i]);
}

static float unit(uint32_t word)
{
    return (float)(word >> 9) * 0x1p-23f + 0x1p-24f;
}

static void uniforms(float *out, size_t n, const uint32_t key[2], uint64_t ticket, uint64_t first)
{
    struct rng rng = {{key[0], key[1]}, 0};
    for (size_t i = 0; i < n; i++) {
        uint32_t word[4];
        rng_block(&rng, ticket, (first + i) / 4, word);
        out[i] = unit(word[i % 4]);
    }
}

static void normals(float *out, size_t n, const uint32_t key[2], uint64_t ticket, uint64_t first)
{
    struct rng rng = {{key[0], key[1]}, 0};
    for (size_t i = 0; i < n; i++) {
        uint32_t word[4];
        rng_block(&rng, ticket, (first + i) / 4, word);
        const uint32_t *pair = word + (i & 2);
        float radius = sqrtf(-2 * logf(unit(pair[0]))), angle = 6.283185307f * unit(pair[1]);
        out[i] = radius * (i & 1 ? sinf(angle) : cosf(angle));
    }
}

static float softmax(float *w, int n)
{
    float max = w[0], sum = 0;
    for (int i = 1; i < n; i++)
        max = w[i] > max ? w[i] : max;
    for (int i = 0; i < n; i++)
        sum += w[i] = expf(w[i] - max);
    for (int i = 0; i < n; i++)
        w[i] /= sum;
    return max + logf(sum);
}

/* ---------------------------------------------------------------- clouds */
static bool has_bit(const uint32_t *sign, int point, int unit, int width)
{
    return sign[(size_t)(point / CLOUD_PANEL) * (size_t)width + (size_t)unit] >> point % CLOUD_PANEL & 1;
}

static void set_bit(uint32_t *sign, int point, int unit, int width, bool on)
{
    uint32_t *word = &sign[(size_t)(point / CLOUD_PANEL) * (size_t)width + (size_t)unit],
             bit = UINT32_C(1) << point % CLOUD_PANEL;
    *word = on ? *word | bit : *word & ~bit;
}

static void cloud_values(struct cloud *c, float *q, const struct cloud_net *net, const float *base,
                         const float *y, int count)
{
    int w = net->width;
    float *h = c->room, *z = c->room + w;
    for (int i = 0; i < count; i++) {
        for (int u = 0; u < w; u++) {
            float sum = base[u];
            for (int d = 0; d < net->dim; d++)
                sum += y[i * net->dim + d] * net->w1[(size_t)d * w + u];
            set_bit(c->sign1, i, u, w, sum > 0);
            h[u] = sum > 0 ? sum : 0;
        }
        gemm_nn(z, h, net->w2, 1, w, w, w, w, w, 0);
        q[i] = net->b3;
        for (int j = 0; j < w; j++) {
            float sum = z[j] + net->b2[j];
            set_bit(c->sign2, i, j, w, sum > 0);
            q[i] += sum > 0 ? sum * net->w3[j] : 0;
        }
    }
}

static void cloud_pull(struct cloud *c, float *sum, const struct cloud_net *net, const float *weight,
                       int count)
{
    int w = net->width;
    for (int d = 0; d < net->dim; d++)
        sum[d] = 0;
    for (int i = 0; i < count; i++)
        for (int u = 0; u < w && weight[i] != 0; u++) {
            float through = 0;
            for (int j = 0; j < w && has_bit(c->sign1, i, u, w); j++)
                through += has_bit(c->sign2, i, j, w) ? net->w2[(size_t)u * w + j] * net->w3[j] : 0;
            for (int d = 0; d < net->dim; d++)
                sum[d] += weight[i] * net->w1[(size_t)d * w + u] * through;
        }
}

const struct kernels kernels_ref = {
    "ref",          gemm_nn,    gemm_tn, pack,             gemm_packed,  layer_forward,
    layer_backward, add_inputs, project, project_backward, column_sums,  adam,
    blend,          uniforms,   normals, softmax,          cloud_values, cloud_pull,
};
