/* test_nn: networks against a second implementation in double precision, finite differences and PyTorch;
 * optimisers against torch.optim; the normaliser and the embeddings against numpy. On every kernel set
 * this processor runs. */
#include "adam.h"
#include "embed.h"
#include "gradcheck.h"
#include "normaliser.h"
#include "oracle.h"

#define MOST_ROWS 100

/* A network with weights, a batch, and everything its backward pass fills. */
struct trial {
    struct arena arena;
    struct net net, gradient;
    struct tape tape, short_tape; /* short: only the gradient of the input */
    float *x, *y, *dy, *dx;
    int rows;
    unsigned char *side; /* of the ReLUs: [rows x hidden x width] */
    bool frozen;
};

static void trial_create(struct trial *t, struct net_spec spec, int rows, uint64_t seed)
{
    struct rng rng;
    *t = (struct trial){.rows = rows};
    net_create(&t->net, &t->arena, &spec);
    net_create(&t->gradient, &t->arena, &spec);
    tape_create(&t->tape, &t->arena, &spec, rows, TAPE_TRAIN);
    tape_create(&t->short_tape, &t->arena, &spec, rows, TAPE_INPUT_GRADIENT);
    t->x = arena_new(&t->arena, float, rows *spec.in);
    t->dx = arena_new(&t->arena, float, rows *spec.in);
    t->y = arena_new(&t->arena, float, rows *spec.out);
    t->dy = arena_new(&t->arena, float, rows *spec.out);
    t->side = arena_new(&t->arena, unsigned char, rows *spec.hidden *spec.width);
    rng_seed(&rng, seed, RNG_TEST);
    net_initialise(&t->net, NET_UNIFORM, 1, &rng);
    for (size_t i = 0; i < t->net.count; i++)
        t->net.params[i] *= 2.5f; /* far enough from linear */
    fill_normal(t->x, (size_t)(rows * spec.in), seed + 1);
    fill_normal(t->dy, (size_t)(rows * spec.out), seed + 2);
}

static void trial_run(struct trial *t, const struct compute *compute)
{
    struct net_pass pass = {&t->net, &t->tape, t->x, t->y, t->dy, &t->gradient, t->rows};
    net_forward(compute, &pass, 1);
    net_backward(compute, &pass, 1);
}

/* sum dy . y, in double: its gradient is what backward computes. */
static double trial_loss(void *context)
{
    struct trial *t = context;
    const struct net_spec *s = &t->net.spec;
    double loss = 0, y[s->out];
    for (int r = 0; r < t->rows; r++) {
        struct kinks kinks = {t->side + (size_t)r * s->hidden * s->width, t->frozen};
        reference_row(&t->net, y, t->x + r * s->in, kinks);
        for (int o = 0; o < s->out; o++)
            loss += y[o] * t->dy[r * s->out + o];
    }
    return loss;
}

static void input_gradient(struct trial *t, const struct compute *compute, struct tape *tape)
{
    const struct net_spec *s = &t->net.spec;
    const struct kernels *k = compute->k;
    net_pack(compute, (const struct net *[]){&t->net}, 1, true);
    net_part(k, &t->net, tape->pre[0], t->x, t->rows, 0, s->in, true);
    net_rest(k, &t->net, tape, t->y, 0, t->rows);
    net_back(k, &t->net, tape, t->dy, 0, t->rows);
    net_input_gradient(k, &t->net, tape, t->dx, 0, t->rows, 0, s->in);
}

#define FOR_SPECS(spec)                                                                        \
    for (int spec_i = 0; spec_i < 48; spec_i++)                                                \
        for (struct net_spec spec = {7, 3, 32, 1 + spec_i / 16, (enum activation)(spec_i % 4), \
                                     spec_i / 4 % 2, spec_i / 8 % 2},                          \
                             *once_ = &spec;                                                   \
             once_; once_ = NULL)

/* ---------------------------------------------------------------- forward and backward */
static void test_forward(void **state)
{
    (void)state;
    static const int all_rows[] = {1, 3, 64, MOST_ROWS};
    FOR_KERNELS(k)
    {
        struct compute *compute = compute_of(k->name, 1);
        FOR_SPECS(spec) for (size_t i = 0; i < COUNT(all_rows); i++)
        {
            struct trial t;
            trial_create(&t, spec, all_rows[i], 10);
            trial_run(&t, compute);
            for (int r = 0; r < t.rows; r++) {
                double y[3];
                reference_row(&t.net, y, t.x + r * spec.in, (struct kinks){0});
                for (int o = 0; o < 3; o++)
                    assert_near(t.y[r * 3 + o], y[o], 1e-5 * (1 + fabs(y[o])));
            }
            arena_free(&t.arena);
        }
        compute_free(compute);
    }
}

/* Every layer kind: weights, biases and inputs against central differences of the double implementation.
 * The floor is 5 % of the largest entry: smaller entries are sums that cancel. */
static void test_gradients(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    {
        struct compute *compute = compute_of(k->name, 1);
        FOR_SPECS(spec)
        {
            struct trial t;
            trial_create(&t, spec, 5, 20 + (uint64_t)spec_i);
            trial_run(&t, compute);
            trial_loss(&t);
            t.frozen = true;
            for (int l = 0; l <= spec.hidden; l++) {
                float *w = net_weight(&t.net, l), *b = net_bias(&t.net, l);
                float *dw = net_weight(&t.gradient, l), *db = net_bias(&t.gradient, l);
                size_t nw = (size_t)(b - w), nb = (size_t)(l == spec.hidden ? spec.out : spec.width);
                double worst = gradcheck(trial_loss, &t, w, dw, nw, 24, 1e-4, 0.05 * largest(dw, nw));
                assert_near(worst, 0, 1e-5);
                worst = gradcheck(trial_loss, &t, b, db, nb, l == spec.hidden ? 3 : 12, 1e-4,
                                  0.05 * largest(db, nb));
                assert_near(worst, 0, 1e-5);
            }
            size_t n = (size_t)(t.rows * spec.in);
            input_gradient(&t, compute, &t.tape);
            assert_near(gradcheck(trial_loss, &t, t.x, t.dx, n, (int)n, 1e-4, 0.05 * largest(t.dx, n)), 0,
                        1e-5);
            float *kept = arena_new(&t.arena, float, n);
            memcpy(kept, t.dx, n * sizeof *kept);
            /* the tape that keeps two layers of gradients must give the same */
            input_gradient(&t, compute, &t.short_tape);
            assert_bits("input gradient of the short tape", t.dx, kept, n * sizeof *kept);
            arena_free(&t.arena);
        }
        compute_free(compute);
    }
}

/* The first layer by parts, and the gradient of one part. */
static void test_parts(void **state)
{
    (void)state;
    struct net_spec spec = {7, 2, 48, 2, ACT_GELU, true, true};
    FOR_KERNELS(k)
    {
        struct trial t;
        struct compute *compute = compute_of(k->name, 1);
        trial_create(&t, spec, 9, 30);
        input_gradient(&t, compute, &t.tape);
        compute_free(compute);
        float left[9 * 4], right[9 * 3], base[9 * 48], y[9 * 2], part[9 * 3], expected[9 * 3];
        for (int r = 0; r < 9; r++) {
            memcpy(left + r * 4, t.x + r * 7, sizeof *left * 4);
            memcpy(right + r * 3, t.x + r * 7 + 4, sizeof *right * 3);
            memcpy(expected + r * 3, t.dx + r * 7 + 4, sizeof *right * 3);
        }
        net_part(k, &t.net, base, left, 9, 0, 4, true);
        k->add_inputs(t.short_tape.pre[0], base, NULL, right, net_weight(&t.net, 0) + 4 * 48, 9, 3, 48);
        net_rest(k, &t.net, &t.short_tape, y, 0, 9);
        assert_arrays("y by parts", y, t.y, 9 * 2, 3e-6);
        net_back(k, &t.net, &t.short_tape, t.dy, 0, 9);
        net_input_gradient(k, &t.net, &t.short_tape, part, 0, 9, 4, 3);
        assert_arrays("dx of a part", part, expected, 9 * 3, 1e-5);
        net_part(k, &t.net, base, right, 9, 4, 3, false); /* the other part alone, without bias */
        struct tape infer;
        tape_create(&infer, &t.arena, &spec, 9, TAPE_INFER);
        k->add_inputs(infer.pre[0], base, NULL, left, net_weight(&t.net, 0), 9, 4, 48);
        for (int i = 0; i < 9 * 48; i++)
            infer.pre[0][i] += net_bias(&t.net, 0)[i % 48];
        net_rest(k, &t.net, &infer, y, 0, 9); /* outputs in place of inputs */
        assert_arrays("y in place", y, t.y, 9 * 2, 3e-6);
        arena_free(&t.arena);
    }
}

static void check_torch_net(const struct fixture *f, const struct compute *compute, int i)
{
    char name[32];
    struct trial t;
    int64_t s[8];
    snprintf(name, sizeof name, "net%d/spec", i);
    const struct safetensors_tensor *spec = safetensors_find(&f->file, name);
    assert_non_null(spec);
    assert_int_equal(spec->bytes, sizeof s);
    memcpy(s, spec->data, sizeof s);
    trial_create(&t,
                 (struct net_spec){(int)s[0], (int)s[1], (int)s[2], (int)s[3], (enum activation)s[4],
                                   s[5] != 0, s[6] != 0},
                 (int)s[7], 1);
    size_t n;
    float *params = fixture_floats(f, &t.arena, &n, "net%d/params", i),
          *x = fixture_floats(f, &t.arena, NULL, "net%d/x", i);
    assert_int_equal(n, t.net.count);
    memcpy(t.net.params, params, n * sizeof *params);
    t.dy = fixture_floats(f, &t.arena, NULL, "net%d/dy", i);
    t.x = x;
    trial_run(&t, compute);
    size_t outs = (size_t)(t.rows * t.net.spec.out), ins = (size_t)(t.rows * t.net.spec.in);
    assert_arrays("y", t.y, fixture_floats(f, &t.arena, NULL, "net%d/y", i), outs, 1e-5);
    assert_arrays("gradient", t.gradient.params, fixture_floats(f, &t.arena, NULL, "net%d/gradient", i), n,
                  1e-5);
    net_input_gradient(compute->k, &t.net, &t.tape, t.dx, 0, t.rows, 0, t.net.spec.in);
    assert_arrays("dx", t.dx, fixture_floats(f, &t.arena, NULL, "net%d/dx", i), ins, 1e-5);
    arena_free(&t.arena);
}

static void test_torch_nets(void **state)
{
    (void)state;
    struct fixture f;
    int64_t nets;
    fixture_open(&f, "nn.safetensors");
    memcpy(&nets, safetensors_find(&f.file, "nets")->data, sizeof nets);
    assert_int_equal(nets, 12);
    FOR_KERNELS(k)
    {
        struct compute *compute = compute_of(k->name, 1);
        for (int i = 0; i < nets; i++)
            check_torch_net(&f, compute, i);
        compute_free(compute);
    }
    fixture_close(&f);
}

/* Two nets of different sizes and batches side by side: the same bits at 1, 2 and 3 threads, and as one at
 * a time. */
static void test_threads(void **state)
{
    (void)state;
    struct net_spec spec[2] = {{7, 3, 160, 2, ACT_GELU, true, false}, {5, 1, 48, 3, ACT_RELU, false, true}};
    FOR_KERNELS(k)
    {
        struct trial first[2];
        for (int threads = 1; threads <= 3; threads++) {
            struct compute *compute = compute_of(k->name, threads);
            struct trial t[2];
            struct net_pass pass[2];
            for (int i = 0; i < 2; i++) {
                trial_create(&t[i], spec[i], i ? 67 : 200, 40);
                pass[i] = (struct net_pass){&t[i].net, &t[i].tape,     t[i].x,   t[i].y,
                                            t[i].dy,   &t[i].gradient, t[i].rows};
            }
            net_forward(compute, pass, 2);
            net_backward(compute, pass, 2);
            for (int i = 0; i < 2; i++) {
                if (threads == 1) {
                    trial_create(&first[i], spec[i], t[i].rows, 40);
                    trial_run(&first[i], compute);
                }
                assert_bits("y", t[i].y, first[i].y, sizeof(float) * (size_t)(t[i].rows * spec[i].out));
                assert_bits("gradient", t[i].gradient.params, first[i].gradient.params,
                            sizeof(float) * t[i].net.count);
                arena_free(&t[i].arena);
            }
            compute_free(compute);
        }
        arena_free(&first[0].arena);
        arena_free(&first[1].arena);
    }
}

/* ---------------------------------------------------------------- parameters */
static void test_initialise(void **state)
{
    (void)state;
    struct net_spec spec = {9, 4, 64, 2, ACT_RELU, false, false};
    struct arena arena = {0};
    struct net net;
    struct rng rng;
    net_create(&net, &arena, &spec);
    assert_int_equal(net.count, 9 * 64 + 64 + 64 * 64 + 64 + 4 * 64 + 4);
    rng_seed(&rng, 3, RNG_INIT);
    net_initialise(&net, NET_UNIFORM, 0.1f, &rng);
    const double bounds[] = {1 / sqrt(9), 1 / sqrt(64), 0.1 / sqrt(64)};
    for (int l = 0; l <= 2; l++) {
        size_t n = (l < 2 ? net_weight(&net, l + 1) : net.params + net.count) - net_weight(&net, l);
        double squares = 0, most = largest(net_weight(&net, l), n);
        for (size_t i = 0; i < n; i++)
            squares += net_weight(&net, l)[i] * net_weight(&net, l)[i] / (double)n;
        assert_true(most <= bounds[l] * (1 + 1e-6) && most > 0.97 * bounds[l]);
        assert_near(squares / (bounds[l] * bounds[l]), 1.0 / 3, 0.06);
    }
    net_initialise(&net, NET_ORTHOGONAL, 0.1f, &rng);
    const int rows[] = {9, 64, 4};
    for (int l = 0; l <= 2;
         l++) { /* W W^T = 2 scale^2 I, in the layout in which the shorter side is the rows */
        const float *w = net_weight(&net, l);
        double size = l == 2 ? 0.02 : 2;
        for (int a = 0; a < rows[l]; a++)
            for (int b = 0; b < rows[l]; b++) {
                double dot = 0;
                for (int j = 0; j < 64; j++)
                    dot += (double)w[a * 64 + j] * w[b * 64 + j];
                assert_near(dot / size, a == b, 1e-5);
            }
        assert_true(largest(net_bias(&net, l), l == 2 ? 4 : 64) == 0);
    }
    arena_free(&arena);
}

/* torch's AdamW shrinks the parameter by 1 - lr decay and then takes Adam's step; ours subtracts lr decay
 * p, p from before the step, together with it. That is the same number in real arithmetic. Betas are
 * floats in the kernel: 1 - 0.999f is off by 1.3e-5 of itself, so the second moment is, and the step by
 * half of that. Entries near 0 need an absolute part. */
static void check_optimiser(const struct fixture *f, const struct compute *compute, const char *name)
{
    struct arena arena = {0};
    struct adam adam;
    size_t n;
    float *p = fixture_floats(f, &arena, &n, "%s/start", name),
          *gradients = fixture_floats(f, &arena, NULL, "%s/gradients", name);
    float *after = fixture_floats(f, &arena, NULL, "%s/after", name),
          *norms = fixture_floats(f, &arena, NULL, "%s/norms", name);
    const float *o = fixture_floats(f, &arena, NULL, "%s/options", name);
    adam_create(&adam, &arena, n, o[0], o[1]);
    for (int step = 0; step < 20; step++) {
        double norm = adam_step(compute, &adam, p, gradients + (size_t)step * n, o[2]);
        for (size_t i = 0; i < n; i++) {
            double expected = after[(size_t)step * n + i];
            assert_near(p[i], expected, 1e-5 * fabs(expected) + 1e-6);
        }
        if (o[2] > 0)
            assert_near(norm, norms[step], 1e-5 * norms[step]);
    }
    assert_int_equal(adam.t, 20);
    arena_free(&arena);
}

static void test_optimisers(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, "nn.safetensors");
    FOR_KERNELS(k)
    for (int threads = 1; threads <= 2; threads++) {
        struct compute *compute = compute_of(k->name, threads);
        check_optimiser(&f, compute, "adam");
        check_optimiser(&f, compute, "adamw");
        check_optimiser(&f, compute, "clipped");
        compute_free(compute);
    }
    fixture_close(&f);
}

/* More parameters than one block: the same bits at any number of threads, and as one call of the kernel. */
static void test_adam_blocks(void **state)
{
    (void)state;
    enum { N = 50001 };
    FOR_KERNELS(k)
    {
        struct arena arena = {0};
        struct adam adam;
        float *p = arena_new(&arena, float, N), *m = arena_new(&arena, float, N),
              *v = arena_new(&arena, float, N);
        float *g = arena_new(&arena, float, N), *q = arena_new(&arena, float, N);
        fill_normal(p, N, 50);
        fill_normal(g, N, 51);
        k->adam(p, m, v, g, N, 1e-3f, 0.9f, 0.999f, 1e-8f, 0, (float)(1 / (1 - 0.9)),
                (float)(1 / (1 - 0.999)));
        for (int threads = 1; threads <= 3; threads++) {
            struct compute *compute = compute_of(k->name, threads);
            adam_create(&adam, &arena, N, 1e-3, 0);
            fill_normal(q, N, 50);
            adam_step(compute, &adam, q, g, 0);
            assert_bits("adam", p, q, sizeof *p * N);
            compute_free(compute);
        }
        arena_free(&arena);
    }
}

static void test_polyak(void **state)
{
    (void)state;
    struct net_spec spec = {3, 2, 16, 1, ACT_RELU, false, false};
    FOR_KERNELS(k)
    {
        struct compute *compute = compute_of(k->name, 1);
        struct trial a, b;
        trial_create(&a, spec, 1, 60);
        trial_create(&b, spec, 1, 61);
        float kept[200];
        assert_true(a.net.count <= 200);
        memcpy(kept, a.net.params, sizeof *kept * a.net.count);
        polyak_blend(compute, &a.net, &b.net, 0.005);
        for (size_t i = 0; i < a.net.count; i++)
            assert_near(a.net.params[i], 0.995 * kept[i] + 0.005 * b.net.params[i],
                        1e-7 * (1 + fabs((double)kept[i])));
        polyak_blend(compute, &a.net, &b.net, 1);
        assert_arrays("blend 1", a.net.params, b.net.params, a.net.count, 1e-7);
        arena_free(&a.arena);
        arena_free(&b.arena);
        compute_free(compute);
    }
}

/* ---------------------------------------------------------------- inputs */
static void test_normaliser(void **state)
{
    (void)state;
    struct fixture f;
    struct arena arena = {0};
    struct normaliser norm, off;
    size_t n;
    fixture_open(&f, "nn.safetensors");
    float *x = fixture_floats(&f, &arena, &n, "normaliser/x"), *y = arena_new(&arena, float, n);
    float *mean = fixture_floats(&f, &arena, NULL, "normaliser/mean");
    float *variance = fixture_floats(&f, &arena, NULL, "normaliser/variance");
    float *expected = fixture_floats(&f, &arena, NULL, "normaliser/y");
    normaliser_create(&norm, &arena, 3, true);
    normaliser_apply(&norm, y, x, 50); /* knows nothing yet: only clips */
    assert_near(y[0], fmin(10, fmax(-10, x[0])), 0);
    normaliser_learn(&norm, x, 1);
    normaliser_learn(&norm, x + 3, 30); /* in pieces */
    normaliser_learn(&norm, x + 3 * 31, 19);
    assert_true(norm.count == 50);
    for (int i = 0; i < 3; i++) {
        assert_near(norm.mean[i], mean[i], 1e-6 * fabs((double)mean[i]) + 1e-7);
        assert_near(norm.m2[i] / norm.count, variance[i], 1e-6 * variance[i]);
    }
    normaliser_apply(&norm, y, x, 50);
    for (size_t i = 0; i < n; i++) /* the third entry is 1 +- 1e-3: its subtraction leaves 4 digits */
        assert_near(y[i], expected[i], i % 3 == 2 ? 2e-4 : 1e-5);
    assert_true(largest(y, n) <= 10 && expected[7 * 3] > 6);
    normaliser_apply(&norm, x, x, 50); /* in place */
    assert_bits("in place", x, y, n * sizeof *x);
    normaliser_create(&off, &arena, 3, false);
    normaliser_learn(&off, x, 50);
    normaliser_apply(&off, y, x, 50);
    assert_bits("off", x, y, n * sizeof *x);
    arena_free(&arena);
    fixture_close(&f);
}

static void test_embeddings(void **state)
{
    (void)state;
    static const int sizes[] = {2, 7, 32};
    struct fixture f;
    struct arena arena = {0};
    size_t n;
    float out[64];
    fixture_open(&f, "nn.safetensors");
    float *u = fixture_floats(&f, &arena, &n, "embed/u");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        float *expected = fixture_floats(&f, &arena, NULL, "embed/%d", sizes[s]);
        for (size_t i = 0; i < n; i++) {
            embed_sinusoid(out, u[i], sizes[s]);
            for (int j = 0; j < sizes[s];
                 j++) /* angles up to 30 |u| in float, from frequencies good to 1.2e-6 */
                assert_near(out[j], expected[i * (size_t)sizes[s] + (size_t)j],
                            1e-6 + 1.2e-6 * 30 * fabs((double)u[i]));
        }
    }
    float *x = fixture_floats(&f, &arena, NULL, "octaves/x"),
          *y = fixture_floats(&f, &arena, &n, "octaves/y");
    assert_int_equal(n, 3 * (1 + 2 * 4));
    embed_octaves(out, x, 3, 4);
    assert_arrays("octaves", out, y, n, 1e-6);
    arena_free(&arena);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),    cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_parts),      cmocka_unit_test(test_torch_nets),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_initialise),
        cmocka_unit_test(test_optimisers), cmocka_unit_test(test_adam_blocks),
        cmocka_unit_test(test_polyak),     cmocka_unit_test(test_normaliser),
        cmocka_unit_test(test_embeddings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
