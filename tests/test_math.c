/* test_math: every kernel of every instruction set this processor runs against the plain loops of `ref`,
 * and both against double precision; the random numbers against their definition and their distribution. */
#include "oracle.h"

static const int all_rows[] = {1, 3, 5, 64, 100}, all_widths[] = {16, 32, 48, 112, 256};
static const enum activation all_acts[] = {ACT_RELU, ACT_GELU, ACT_MISH, ACT_TANH};

static float *new_floats(size_t n)
{
    float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64 + 64);
    assert_non_null(x);
    return x;
}

/* From one store of normal numbers, entered at a place that depends on the seed. */
static float *new_normals(size_t n, uint64_t seed)
{
    enum { STORE = 65521 };
    static float store[STORE];
    float *x = new_floats(n);
    if (store[0] == 0)
        fill_normal(store, STORE, 1);
    for (size_t i = 0; i < n; i++)
        x[i] = store[(seed * 7919 + i) % STORE];
    return x;
}

static float *copy_of(const float *x, size_t n)
{
    return memcpy(new_floats(n), x, n * sizeof *x);
}

/* ---------------------------------------------------------------- products */
enum product { NN, TN, PACKED, PACKED_T };

/* A sum of k products in float, in any order, is off by at most k u sum |a b|, u = 2^-24; sqrt(k) is what
 * is seen. */
static void check_product(const struct kernels *k, enum product kind, int m, int n, int depth, int pad,
                          float beta)
{
    bool turned = kind == PACKED_T; /* b holds the transpose */
    int lda = (kind == TN ? m : depth) + pad, ldb = (turned ? depth : n) + pad, ldc = n + pad;
    size_t na = (size_t)(kind == TN ? depth : m) * lda, nb = (size_t)(turned ? n : depth) * ldb,
           nc = (size_t)m * ldc;
    float *a = new_normals(na, 1), *b = new_normals(nb, 2), *start = new_normals(nc, 3),
          *c = copy_of(start, nc);
    for (size_t i = 0; i < na; i += 3)
        a[i] = 0; /* as after a ReLU */
    if (beta == 0)
        for (int r = 0; r < m; r++)
            for (int j = 0; j < n; j++)
                c[(size_t)r * ldc + j] = NAN; /* must not be read */
    if (kind >= PACKED) {
        float *packed = new_floats(KERNELS_PACKED(depth, n));
        k->pack(packed, b, depth, n, ldb, turned);
        k->gemm_packed(c, a, packed, m, n, depth, lda, ldc, beta);
        free(packed);
    } else {
        (kind == NN ? k->gemm_nn : k->gemm_tn)(c, a, b, m, n, depth, lda, ldb, ldc, beta);
    }
    for (int r = 0; r < m; r++)
        for (int j = 0; j < ldc; j++) {
            size_t at = (size_t)r * ldc + j;
            double sum = beta == 0 ? 0 : (double)beta * start[at], size = fabs(sum);
            for (int i = 0; i < depth && j < n; i++) {
                double p = (double)a[kind == TN ? (size_t)i * lda + r : (size_t)r * lda + i] *
                           b[turned ? (size_t)j * ldb + i : (size_t)i * ldb + j];
                sum += p;
                size += fabs(p);
            }
            if (j < n)
                assert_near(c[at], sum, 6e-8 * (4 + sqrt(depth)) * size);
            else
                assert_true(c[at] == start[at]); /* beyond the row: untouched */
        }
    free(a), free(b), free(start), free(c);
}

static void test_products(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 16, 3},   {2, 33, 17},    {3, 48, 48},    {4, 7, 5}, {5, 1, 64},
                                   {64, 256, 9}, {100, 48, 112}, {17, 128, 256}, {1, 1, 1}, {23, 80, 300}};
    static const float betas[] = {0, 1, 0.5f};
    FOR_KERNELS(k)
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t b = 0; b < COUNT(betas); b++)
            for (int kind = NN; kind <= PACKED_T; kind++)
                for (int pad = 0; pad <= 5; pad += 5)
                    check_product(k, (enum product)kind, sizes[s][0], sizes[s][1], sizes[s][2], pad,
                                  betas[b]);
}

/* ---------------------------------------------------------------- layers */
struct layer_case {
    int rows, width;
    bool norm, bias, skip, alias;
    enum activation act;
};

static void check_forward(const struct kernels *k, struct layer_case c)
{
    size_t n = (size_t)c.rows * c.width;
    float *input = new_normals(n, 4), *bias = new_normals((size_t)c.width, 5), *skip = new_normals(n, 6);
    float *std = new_floats((size_t)c.rows), *std_ref = new_floats((size_t)c.rows);
    float *pre = copy_of(input, n), *pre_ref = copy_of(input, n), *out_ref = new_floats(n);
    float *out = c.alias ? pre : new_floats(n);
    const float *b = c.bias ? bias : NULL, *s = c.skip ? skip : NULL;
    k->layer_forward(pre, out, c.norm ? std : NULL, b, s, c.rows, c.width, c.act);
    kernels_ref.layer_forward(pre_ref, out_ref, c.norm ? std_ref : NULL, b, s, c.rows, c.width, c.act);
    assert_arrays("out", out, out_ref, n, 1e-6);
    if (!c.alias)
        assert_arrays("pre", pre, pre_ref, n, 1e-6);
    if (c.norm)
        assert_arrays("1/std", std, std_ref, (size_t)c.rows, 1e-6);

    float *d_out = new_normals(n, 7), *dz = new_floats(n), *dz_ref = new_floats(n);
    kernels_ref.layer_backward(dz_ref, d_out, pre_ref, c.norm ? std_ref : NULL, c.rows, c.width, c.act);
    k->layer_backward(dz, d_out, pre_ref, c.norm ? std_ref : NULL, c.rows, c.width, c.act);
    assert_arrays("dz", dz, dz_ref, n, 1e-6);
    k->layer_backward(d_out, d_out, pre_ref, c.norm ? std_ref : NULL, c.rows, c.width, c.act); /* in place */
    assert_bits("dz in place", d_out, dz, n * sizeof *dz);
    if (!c.alias)
        free(out);
    free(input), free(bias), free(skip), free(std), free(std_ref), free(pre), free(pre_ref), free(out_ref);
    free(d_out), free(dz), free(dz_ref);
}

static void test_layers(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    for (size_t r = 0; r < COUNT(all_rows); r++)
        for (size_t w = 0; w < COUNT(all_widths); w++)
            for (size_t a = 0; a < COUNT(all_acts); a++)
                for (int bits = 0; bits < 16; bits++)
                    check_forward(k, (struct layer_case){all_rows[r], all_widths[w], bits & 1, bits & 2,
                                                         bits & 4, bits & 8, all_acts[a]});
}

/* The plain loops themselves, in double: normalisation of one row, with and without bias. */
static void test_ref_normalisation(void **state)
{
    (void)state;
    enum { W = 48 };
    float pre[W], out[W], bias[W], inverse;
    double mean = 0, variance = 0, x[W];
    fill_normal(pre, W, 8);
    fill_normal(bias, W, 9);
    for (int j = 0; j < W; j++)
        mean += (x[j] = (double)pre[j] + bias[j]) / W;
    for (int j = 0; j < W; j++)
        variance += (x[j] - mean) * (x[j] - mean) / W;
    kernels_ref.layer_forward(pre, out, &inverse, bias, NULL, 1, W, ACT_TANH);
    assert_near(inverse, 1 / sqrt(variance + 1e-5), 1e-6);
    for (int j = 0; j < W; j++)
        assert_near(out[j], tanh((x[j] - mean) / sqrt(variance + 1e-5)), 1e-6);
}

static void check_inputs(const struct kernels *k, int rows, int width, int in)
{
    size_t n = (size_t)rows * width;
    float *base = new_normals(n, 10), *x = new_normals((size_t)rows * in, 11),
          *w = new_normals((size_t)in * width, 12);
    float *z = new_floats(n), *z_ref = new_floats(n);
    int owner[100];
    for (int r = 0; r < rows; r++)
        owner[r] = (r * 7 + 3) % rows;
    for (int kind = 0; kind < 3; kind++) {
        k->add_inputs(z, kind ? base : NULL, kind == 2 ? owner : NULL, x, w, rows, in, width);
        kernels_ref.add_inputs(z_ref, kind ? base : NULL, kind == 2 ? owner : NULL, x, w, rows, in, width);
        assert_arrays("add_inputs", z, z_ref, n, 1e-6);
    }
    free(base), free(x), free(w), free(z), free(z_ref);
}

static void check_outputs(const struct kernels *k, int rows, int width, int out)
{
    size_t n = (size_t)rows * width, m = (size_t)rows * out;
    float *h = new_normals(n, 13), *w = new_normals((size_t)out * width, 14),
          *b = new_normals((size_t)out, 15);
    float *y = new_floats(m), *y_ref = new_floats(m), *dh = new_floats(n), *dh_ref = new_floats(n);
    k->project(y, h, w, b, rows, width, out);
    kernels_ref.project(y_ref, h, w, b, rows, width, out);
    assert_arrays("project", y, y_ref, m, 2e-6);
    k->project_backward(dh, y_ref, w, rows, width, out);
    kernels_ref.project_backward(dh_ref, y_ref, w, rows, width, out);
    assert_arrays("project_backward", dh, dh_ref, n, 1e-6);
    for (int part = 1; part <= width;
         part += 15) { /* some columns of a wider matrix; the rest of sums untouched */
        float *sums = new_floats((size_t)width + 1), *sums_ref = new_floats((size_t)width);
        sums[part] = 12345;
        k->column_sums(sums, h, rows, part, width);
        kernels_ref.column_sums(sums_ref, h, rows, part, width);
        assert_arrays("column_sums", sums, sums_ref, (size_t)part, 1e-6);
        assert_true(sums[part] == 12345);
        free(sums), free(sums_ref);
    }
    free(h), free(w), free(b), free(y), free(y_ref), free(dh), free(dh_ref);
}

static void test_ends(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 6, 21};
    FOR_KERNELS(k)
    for (size_t r = 0; r < COUNT(all_rows); r++)
        for (size_t w = 0; w < COUNT(all_widths); w++)
            for (size_t i = 0; i < COUNT(sizes); i++) {
                check_inputs(k, all_rows[r], all_widths[w], sizes[i]);
                check_outputs(k, all_rows[r], all_widths[w], sizes[i]);
            }
}

static void test_parameters(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 3, 16, 37, 1000};
    FOR_KERNELS(k)
    for (size_t c = 0; c < COUNT(counts); c++) {
        size_t n = counts[c];
        float *p = new_normals(n, 16), *m = new_normals(n, 17), *v = new_normals(n, 18),
              *g = new_normals(n, 19);
        for (size_t i = 0; i < n; i++)
            v[i] *= v[i];
        float *p_ref = copy_of(p, n), *m_ref = copy_of(m, n), *v_ref = copy_of(v, n);
        k->adam(p, m, v, g, n, 1e-2f, 0.9f, 0.999f, 1e-8f, 0.1f, 3, 20);
        kernels_ref.adam(p_ref, m_ref, v_ref, g, n, 1e-2f, 0.9f, 0.999f, 1e-8f, 0.1f, 3, 20);
        assert_arrays("adam p", p, p_ref, n, 3e-7);
        assert_arrays("adam m", m, m_ref, n, 3e-7);
        assert_arrays("adam v", v, v_ref, n, 3e-7);
        k->blend(p, g, n, 0.005f);
        kernels_ref.blend(p_ref, g, n, 0.005f);
        assert_arrays("blend", p, p_ref, n, 3e-7);
        free(p), free(m), free(v), free(g), free(p_ref), free(m_ref), free(v_ref);
    }
}

/* -------------------------------------------------------- elementary functions, through the kernels */
/* w[i]/w[0] of a softmax over {0, x} is exp(x); n shorter and longer than a vector take different ways. */
static void test_exp(void **state)
{
    (void)state;
    enum { N = 2001 };
    float *w = new_floats(N), pair[2];
    FOR_KERNELS(k)
    {
        for (int i = 0; i < N; i++)
            w[i] = -86.0f * (float)i / (N - 1);
        k->softmax(w, N);
        for (int i = 0; i < N; i++) {
            float x = -86.0f * (float)i / (N - 1);
            assert_near((double)w[i] / w[0] / exp(x), 1, 5e-7); /* 3e-7 and two roundings */
            pair[0] = 0, pair[1] = x;
            k->softmax(pair, 2);
            assert_near((double)pair[1] / pair[0] / exp(x), 1, 5e-7);
        }
    }
    free(w);
}

static void test_softmax(void **state)
{
    (void)state;
    static const float scales[] = {0, 1e-3f, 1, 30, 2000};
    FOR_KERNELS(k)
    for (int n = 1; n <= 1000; n += n < 40 ? 1 : 137)
        for (size_t s = 0; s < COUNT(scales); s++) {
            float *w = new_normals((size_t)n, (uint64_t)n);
            for (int i = 0; i < n; i++)
                w[i] = w[i] * scales[s] + 1500;
            double max = -INFINITY, sum = 0, total = 0;
            for (int i = 0; i < n; i++)
                max = fmax(max, w[i]);
            float *input = copy_of(w, (size_t)n), log_sum = k->softmax(w, n);
            for (int i = 0; i < n; i++)
                sum += exp(input[i] - max);
            for (int i = 0; i < n; i++) {
                assert_near(w[i], exp(input[i] - max) / sum,
                            (1e-6 + 1e-8 * n) * exp(input[i] - max) / sum + 1e-37);
                total += w[i];
            }
            assert_near(total, 1, 1e-6 + 1e-8 * n); /* sums of floats, one after the other in ref */
            assert_near(log_sum, max + log(sum), 3e-7 * fabs(max + log(sum)));
            free(w), free(input);
        }
}

/* softmax over n zeros returns log n. */
static void test_log(void **state)
{
    (void)state;
    static float w[5000];
    FOR_KERNELS(k)
    for (int n = 1; n <= 5000; n += n < 50 ? 1 : 61) {
        memset(w, 0, sizeof w);
        assert_near(k->softmax(w, n), log(n), 3e-7 * log(n));
    }
}

static double reference_slope(double x, enum activation act)
{
    if (act == ACT_RELU)
        return x > 0;
    double step = 1e-5;
    return (reference_act(x + step, act) - reference_act(x - step, act)) / (2 * step);
}

/* Relative accuracy of tanh, which is less just above the joint of its two formulas at 0.1; gelu and mish
 * end in x times something near 0 or 1, so their errors are relative to |x|. */
static void test_activations(void **state)
{
    (void)state;
    enum { N = 16000 };
    float *x = new_floats(N), *pre = new_floats(N), *y = new_floats(N), *one = new_floats(N),
          *d = new_floats(N);
    for (int i = 0; i < N; i++) {
        float size = expf(-12.0f + 16.0f * (float)(i / 2) / (N / 2)); /* 6e-6 .. 55 */
        x[i] = i % 2 ? -size : size;
        one[i] = 1;
    }
    x[0] = 0;
    FOR_KERNELS(k)
    for (size_t a = 0; a < COUNT(all_acts); a++) {
        memcpy(pre, x, N * sizeof *x);
        k->layer_forward(pre, y, NULL, NULL, NULL, N / 16, 16, all_acts[a]);
        k->layer_backward(d, one, pre, NULL, N / 16, 16, all_acts[a]);
        for (int i = 0; i < N; i++) {
            double expected = reference_act(x[i], all_acts[a]);
            double size = all_acts[a] == ACT_TANH ? fabs(expected) : fmax(fabs(expected), fabs((double)x[i]));
            assert_near(y[i], expected, 3e-7 * size);
            assert_near(d[i], reference_slope(x[i], all_acts[a]), 3e-6);
        }
    }
    free(x), free(pre), free(y), free(one), free(d);
}

/* ---------------------------------------------------------------- random numbers */
static const uint32_t key[2] = {0x12345678, 0x9ABCDEF0};

/* Exactly the middle of one of 2^23 cells: so never 0, never 1. */
static void test_uniform_words(void **state)
{
    (void)state;
    enum { N = 403 };
    static const uint64_t tickets[] = {0, 7, UINT64_C(0x500000009)},
                          firsts[] = {0, 4, 1000, UINT64_C(0x3FFFFFFF8)};
    struct rng rng = {{key[0], key[1]}, 0};
    float u[N];
    FOR_KERNELS(k)
    for (size_t t = 0; t < COUNT(tickets); t++)
        for (size_t f = 0; f < COUNT(firsts); f++) { /* the last one crosses 2^32 blocks */
            k->uniforms(u, N, key, tickets[t], firsts[f]);
            for (int i = 0; i < N; i++) {
                uint32_t word[4];
                rng_block(&rng, tickets[t], (firsts[f] + (uint64_t)i) / 4, word);
                assert_true((double)u[i] == ((double)(word[i % 4] >> 9) + 0.5) * 0x1p-23);
            }
        }
}

/* Words (0,1) and (2,3) of a block make a pair: radius sqrt(-2 log u), angle 2 pi u. So this is also the
 * test of log near 1 and near 0, of the square root and of the circle. */
static void test_normal_pairs(void **state)
{
    (void)state;
    enum { N = 200000 };
    float *u = new_floats(N), *z = new_floats(N);
    FOR_KERNELS(k)
    {
        k->uniforms(u, N, key, 3, 0);
        k->normals(z, N, key, 3, 0);
        for (int i = 0; i < N; i += 2) {
            double radius = sqrt(-2 * log(u[i])), angle = 2 * acos(-1) * u[i + 1];
            assert_near(z[i], radius * cos(angle), 5e-7 * radius);
            assert_near(z[i + 1], radius * sin(angle), 5e-7 * radius);
            assert_near(hypot(z[i], z[i + 1]) / radius, 1, 5e-7);
        }
    }
    free(u), free(z);
}

static void test_pieces(void **state)
{
    (void)state;
    enum { N = 1003 };
    float whole[2][N], piece[2][N + 4];
    struct rng rng;
    rng_seed(&rng, 1, RNG_TEST);
    FOR_KERNELS(k)
    {
        k->uniforms(whole[0], N, key, 5, 16);
        k->normals(whole[1], N, key, 5, 16);
        for (int round = 0; round < 200; round++) {
            size_t first = 4 * (size_t)rng_below(&rng, N / 4),
                   n = 1 + (size_t)rng_below(&rng, (uint32_t)(N - first));
            for (int kind = 0; kind < 2; kind++) {
                piece[kind][n] = -99;
                (kind ? k->normals : k->uniforms)(piece[kind], n, key, 5, 16 + first);
                assert_bits("piece", piece[kind], whole[kind] + first, n * sizeof(float));
                assert_true(piece[kind][n] == -99); /* nothing written beyond */
            }
        }
    }
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

static double same(double u)
{
    return u;
}

/* sqrt(n) times the Kolmogorov-Smirnov distance: above 2.23 once in 10000 times. Sorts x. */
static double kolmogorov(float *x, int n, double (*cdf)(double))
{
    double most = 0;
    qsort(x, (size_t)n, sizeof *x, by_size);
    for (int i = 0; i < n; i++) {
        double p = cdf(x[i]);
        most = fmax(most, fmax(p - (double)i / n, (i + 1.0) / n - p));
    }
    return sqrt(n) * most;
}

/* Moments of a million draws, within four standard errors: z .. z^4 have the variances 1, 2, 15, 96. */
static void test_distributions(void **state)
{
    (void)state;
    enum { N = 1000000 };
    float *x = new_floats(N);
    double n = N;
    FOR_KERNELS(k)
    {
        double m[5] = {0}, pairs = 0;
        k->normals(x, N, key, 11, 0);
        for (int i = 0; i < N; i++) {
            double z = x[i];
            m[1] += z / n, m[2] += z * z / n, m[3] += z * z * z / n, m[4] += z * z * z * z / n;
            pairs += i ? z * x[i - 1] / n : 0;
        }
        assert_near(m[1], 0, 4 * sqrt(1 / n));
        assert_near(m[2], 1, 4 * sqrt(2 / n));
        assert_near(m[3], 0, 4 * sqrt(15 / n));
        assert_near(m[4], 3, 4 * sqrt(96 / n));
        assert_near(pairs, 0, 4 * sqrt(1 / n));
        assert_true(kolmogorov(x, N, normal_cdf) < 2.23);
        k->uniforms(x, N, key, 12, 0);
        for (int i = 0; i < N; i++)
            assert_true(x[i] > 0 && x[i] < 1);
        assert_true(kolmogorov(x, N, same) < 2.23);
    }
    free(x);
}

/* ---------------------------------------------------------------- clouds */
/* Values and the weighted gradient in double precision. `shaky` counts units so close to 0 that float may see
 * another sign. */
static void cloud_truth(double *q, double *sum, int *shaky, const struct cloud_net *net, const float *base,
                        const float *y, const float *weight, int count)
{
    int w = net->width;
    double *h = calloc((size_t)w, sizeof *h), *g = calloc((size_t)w, sizeof *g);
    *shaky = 0;
    for (int d = 0; d < net->dim; d++)
        sum[d] = 0;
    for (int i = 0; i < count; i++) {
        q[i] = net->b3;
        memset(g, 0, sizeof *g * (size_t)w);
        for (int u = 0; u < w; u++) {
            double z = base[u];
            for (int d = 0; d < net->dim; d++)
                z += (double)y[i * net->dim + d] * net->w1[d * w + u];
            h[u] = z > 0 ? z : 0;
            *shaky += fabs(z) < 1e-5;
        }
        for (int j = 0; j < w; j++) {
            double z = net->b2[j];
            for (int u = 0; u < w; u++)
                z += h[u] * net->w2[u * w + j];
            *shaky += fabs(z) < 1e-5;
            if (z <= 0)
                continue;
            q[i] += z * net->w3[j];
            for (int u = 0; u < w; u++)
                g[u] += h[u] > 0 ? (double)net->w2[u * w + j] * net->w3[j] : 0;
        }
        for (int d = 0; d < net->dim; d++)
            for (int u = 0; u < w; u++)
                sum[d] += weight[i] * g[u] * net->w1[d * w + u];
    }
    free(h);
    free(g);
}

/* Points spread by `spread` round one place; of their weights `share` is not zero. */
static int check_cloud(int width, int dim, int count, float spread, double share)
{
    struct arena arena = {0};
    struct cloud cloud;
    int shaky, open = -1;
    size_t w = (size_t)width, d = (size_t)dim, n = (size_t)count;
    float *w1 = new_normals(d * w, 11), *w2 = new_normals(w * w, 12), *w2t = new_floats(w * w),
          *b2 = new_normals(w, 13), *w3 = new_normals(w, 14), *base = new_normals(w, 15),
          *y = new_normals(n * d, 16), *weight = new_normals(n, 17), *place = new_normals(d, 18);
    for (size_t i = 0; i < w * w; i++)
        w2t[i % w * w + i / w] = w2[i] /= sqrtf((float)width);
    for (size_t i = 0; i < n * d; i++)
        y[i] = place[i % d] + spread * y[i];
    for (size_t i = 0; i < n; i++)
        weight[i] = (double)i / (double)n < share || i == n - 1 ? fabsf(weight[i]) / (float)n : 0;
    struct cloud_net net = {dim, width, w1, w2, w2t, b2, w3, 0.5f};
    float *q = new_floats(n), *sum = new_floats(d);
    double *true_q = calloc(n, sizeof *true_q), *true_sum = calloc(d, sizeof *true_sum);
    cloud_truth(true_q, true_sum, &shaky, &net, base, y, weight, count);
    cloud_create(&cloud, &arena, count, dim, width);
    FOR_KERNELS(k)
    {
        k->cloud_values(&cloud, q, &net, base, y, count);
        if (k != &kernels_ref)
            open = cloud.opens;
        k->cloud_pull(&cloud, sum, &net, weight, count);
        double size = sqrt((double)width), norm = 0;
        for (int r = 0; r < count; r++)
            assert_near(q[r], true_q[r], 2e-5 * size);
        for (int r = 0; r < dim; r++)
            norm += true_sum[r] * true_sum[r];
        for (int r = 0; r < dim; r++) /* a unit on the edge takes one point's share of the sum with it */
            assert_near(sum[r], true_sum[r], 1e-4 * sqrt(norm) + 1e-4 + shaky * size / count);
    }
    arena_free(&arena);
    float *all[] = {w1, w2, w2t, b2, w3, base, y, weight, place, q, sum};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(true_q);
    free(true_sum);
    return open;
}

static void test_clouds(void **state)
{
    (void)state;
    static const int counts[] = {1, 31, 32, 33, 100, 300}, dims[] = {1, 6, 21}, widths[] = {16, 48, 256};
    static const float spreads[] = {0, 1e-3f, 0.1f, 1, 5};
    for (int w = 0; w < 3; w++)
        for (int d = 0; d < 3; d++)
            for (int c = 0; c < 6; c++) {
                if (widths[w] == 256 && counts[c] % 100 && dims[d] != 6)
                    continue; /* slow in double */
                for (int s = 0; s < 5; s++)
                    check_cloud(widths[w], dims[d], counts[c], spreads[s], (w + d + c + s) % 3 * 0.5);
            }
    /* Points close together: no unit of layer 1 is left; far apart: nearly all are. */
    assert_int_equal(check_cloud(256, 6, 300, 0, 1), 0);
    assert_in_range(check_cloud(256, 6, 300, 0.01f, 1), 1, 30);
    assert_in_range(check_cloud(256, 6, 300, 5, 1), 200, 256);
}

static void test_selection(void **state)
{
    (void)state;
    const struct kernels *k = NULL;
    dqs_error error = {0};
    assert_int_equal(kernels_select(&k, "auto", &error), DQS_OK);
    assert_ptr_not_equal(k, &kernels_ref);
    assert_int_equal(kernels_select(&k, "ref", &error), DQS_OK);
    assert_ptr_equal(k, &kernels_ref);
    assert_int_equal(kernels_select(&k, "abacus", &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "abacus"));
    assert_non_null(strstr(error.message, "generic"));
    struct compute *none;
    assert_int_equal(compute_create(&none, 1, "abacus", &error), DQS_E_OPTION);
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),          cmocka_unit_test(test_layers),
        cmocka_unit_test(test_ref_normalisation), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_parameters),        cmocka_unit_test(test_exp),
        cmocka_unit_test(test_softmax),           cmocka_unit_test(test_log),
        cmocka_unit_test(test_activations),       cmocka_unit_test(test_uniform_words),
        cmocka_unit_test(test_normal_pairs),      cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_distributions),     cmocka_unit_test(test_clouds),
        cmocka_unit_test(test_selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
