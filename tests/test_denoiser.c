/* test_denoiser: schedules, DDPM draws and back-propagation through them, beside PyTorch and finite
 * differences; mixtures of Gaussians beside scikit-learn. */
#include "denoiser.h"
#include "gradcheck.h"
#include "mixture_em.h"
#include "oracle.h"

/* ---------------------------------------------------------------- schedules */
static void check_schedule(const struct fixture *f, const char *name, enum vp_kind kind, int steps)
{
    struct arena arena = {0};
    struct vp vp;
    size_t n;
    const float *table = fixture_floats(f, &arena, &n, "schedule/%s", name);
    assert_int_equal(n, 6 * steps);
    vp_create(&vp, &arena, kind, steps);
    for (int t = 0; t < steps; t++) {
        const struct vp_level *l = &vp.level[t];
        const double values[] = {l->beta, l->alpha, l->alpha_bar, l->mean_x0, l->mean_x, l->std};
        for (int i = 0; i < 6; i++)
            assert_near(values[i], table[i * steps + t], 1e-6 * fabs(table[i * steps + t]) + 1e-12);
        assert_near(l->x0_x * sqrt(l->alpha_bar), 1, 1e-12);
        assert_near(l->x0_e, sqrt((1 - l->alpha_bar) / l->alpha_bar), 1e-9 * l->x0_e);
        assert_true(t == 0 || l->beta > vp.level[t - 1].beta);
    }
    /* No noise is left to take away from x_0. */
    assert_near(vp.level[0].mean_x0, 1, 1e-12);
    assert_true(vp.level[0].mean_x == 0 && vp.level[0].std == 0);
    arena_free(&arena);
}

static void test_schedules(void **state)
{
    (void)state;
    /* As published, to the digits that were. */
    static const double beta5[] = {.1959, .4588, .6358, .7549, .8350},
                        bar5[] = {.8041, .4352, .1585, .0389, .0064};
    struct arena arena = {0};
    struct fixture f;
    struct vp vp;
    vp_create(&vp, &arena, VP_EXPONENTIAL, 5);
    for (int t = 0; t < 5; t++) {
        assert_near(vp.level[t].beta, beta5[t], 5e-5);
        assert_near(vp.level[t].alpha_bar, bar5[t], 5e-5);
    }
    vp_create(&vp, &arena, VP_EXPONENTIAL, 20);
    assert_near(vp.level[0].beta, .0172, 5e-5);
    assert_near(vp.level[19].beta, .3859, 5e-5);
    assert_near(vp.level[19].alpha_bar, .0064, 5e-5);
    vp_create(&vp, &arena, VP_COSINE, 100);
    assert_true(vp.level[99].beta == 0.999);
    fixture_open(&f, "denoiser.safetensors");
    check_schedule(&f, "vp5", VP_EXPONENTIAL, 5);
    check_schedule(&f, "vp20", VP_EXPONENTIAL, 20);
    check_schedule(&f, "cosine100", VP_COSINE, 100);
    fixture_close(&f);
    arena_free(&arena);
}

/* Mean and variance of noised points are what abar says, and the noise can be taken out again. */
static void test_noise(void **state)
{
    (void)state;
    enum { ROWS = 40000, DIM = 2, STEPS = 5 };
    struct arena arena = {0};
    struct compute *compute = compute_of("auto", 1);
    struct denoiser d;
    struct denoiser_options o = {3,           DIM,  16,   1, 4,    STEPS, 4,    ACT_MISH, VP_EXPONENTIAL,
                                 DDPM_CLIP_X, 1e-3, 1e-8, 0, true, false, false};
    struct rng rng;
    int *level = arena_new(&arena, int, ROWS);
    float *x = arena_new(&arena, float, ROWS *DIM), *e = arena_new(&arena, float, ROWS *DIM),
          *a0 = arena_new(&arena, float, ROWS *DIM);
    double count[STEPS] = {0}, sum[STEPS] = {0}, squares[STEPS] = {0};
    denoiser_create(&d, &arena, &o, compute);
    rng_seed(&rng, 3, RNG_TEST);
    for (int i = 0; i < ROWS * DIM; i++)
        a0[i] = 0.7f;
    denoiser_noise(&d, level, x, e, a0, ROWS, &rng);
    for (int r = 0; r < ROWS; r++) {
        assert_in_range(level[r], 0, STEPS - 1);
        const struct vp_level *l = &d.ddpm.vp.level[level[r]];
        for (int i = r * DIM; i < (r + 1) * DIM; i++) {
            count[level[r]]++;
            sum[level[r]] += x[i];
            squares[level[r]] += (double)x[i] * x[i];
            assert_near(l->x0_x * x[i] - l->x0_e * e[i], 0.7, 1e-5 * l->x0_x);
        }
    }
    for (int t = 0; t < STEPS; t++) {
        const struct vp_level *l = &d.ddpm.vp.level[t];
        double mean = sum[t] / count[t], variance = squares[t] / count[t] - mean * mean;
        assert_near(count[t] / DIM, ROWS / STEPS, 5 * sqrt(ROWS / STEPS));
        assert_near(mean, 0.7 * sqrt(l->alpha_bar), 5 / sqrt(count[t]));
        assert_near(variance, 1 - l->alpha_bar, 5 * sqrt(2 / count[t]));
    }
    compute_free(compute);
    arena_free(&arena);
}

/* ---------------------------------------------------------------- draws */
struct world {
    struct arena arena;
    struct compute *compute;
    struct fixture f;
    struct denoiser d;
    float *features, *d_action, *action;
    int rows, act_dim;
};

enum { FEATURES = 5, ROWS = 70, DIM = 2, EMBED = 8, WIDTH = 32 };

static void load_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    const char *which = *(const char **)((void **)context)[1];
    struct world *w = ((void **)context)[0];
    size_t n, size = 1;
    (void)kind, (void)type;
    for (int i = 0; i < rank; i++)
        size *= shape[i];
    const float *values = fixture_floats(&w->f, &w->arena, &n, "%s/%s", which, name);
    assert_int_equal(n, size);
    memcpy(data, values, sizeof *values * n);
}

static void world_open(struct world *w, const char *kernels, int threads, const char *which,
                       enum vp_kind schedule, int steps, enum ddpm_kind sampler)
{
    struct denoiser_options o = {
        FEATURES, DIM,     WIDTH, 2,    EMBED, steps, ROWS,  ACT_MISH,
        schedule, sampler, 1e-3,  1e-8, 0,     false, false, sampler == DDPM_CLIP_X0};
    *w = (struct world){.compute = compute_of(kernels, threads), .rows = ROWS, .act_dim = DIM};
    fixture_open(&w->f, "denoiser.safetensors");
    denoiser_create(&w->d, &w->arena, &o, w->compute);
    void *context[] = {w, &which};
    net_visit(&w->d.net, &(struct visitor){.tensor = load_tensor, .context = context}, "", VISIT_POLICY);
    w->features = fixture_floats(&w->f, &w->arena, NULL, "features");
    w->d_action = fixture_floats(&w->f, &w->arena, NULL, "d_action");
    w->action = arena_new(&w->arena, float, ROWS *DIM);
}

static void world_close(struct world *w)
{
    fixture_close(&w->f);
    compute_free(w->compute);
    arena_free(&w->arena);
}

static const struct {
    const char *name;
    enum vp_kind schedule;
    int steps;
    enum ddpm_kind sampler;
} kinds[] = {{"qsm", VP_EXPONENTIAL, 5, DDPM_CLIP_X},
             {"dacer", VP_EXPONENTIAL, 20, DDPM_CLIP_X0},
             {"dipo", VP_COSINE, 12, DDPM_CLIP_X0}};

static void test_draws(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct world w;
        struct rng rng;
        world_open(&w, k->name, 1, kinds[i].name, kinds[i].schedule, kinds[i].steps, kinds[i].sampler);
        for (int quiet = 0; quiet < 2; quiet++) {
            const float *expected =
                fixture_floats(&w.f, &w.arena, NULL, "%s/%s", kinds[i].name, quiet ? "quiet" : "action");
            rng_seed(&rng, 5, RNG_TARGET);
            denoiser_draw(&w.d, &w.d.net, w.action, w.features, ROWS, quiet ? 0 : 1, &rng);
            assert_arrays(kinds[i].name, w.action, expected, ROWS * DIM, 2e-5);
            assert_int_equal(rng.ticket, kinds[i].steps);
            for (int j = 0; j < ROWS * DIM; j++)
                assert_true(w.action[j] >= -1 && w.action[j] <= 1);
        }
        world_close(&w);
    }
}

/* A row's action does not depend on how many others are drawn with it, but for the way few rows are
 * multiplied. */
static void test_draw_rows(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    {
        struct world w;
        struct rng rng;
        float few[2 * DIM];
        world_open(&w, k->name, 1, "dacer", VP_EXPONENTIAL, 20, DDPM_CLIP_X0);
        rng_seed(&rng, 5, RNG_TARGET);
        denoiser_draw(&w.d, &w.d.net, w.action, w.features, ROWS, 1, &rng);
        rng_seed(&rng, 5, RNG_TARGET);
        denoiser_draw(&w.d, &w.d.net, few, w.features, 2, 1, &rng);
        assert_arrays("few rows", few, w.action, 2 * DIM, 1e-5);
        world_close(&w);
    }
}

static void test_draw_gradient(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    for (size_t i = 1; i < COUNT(kinds); i++) {
        struct world w;
        struct rng rng;
        float plain[ROWS * DIM];
        size_t n;
        world_open(&w, k->name, 1, kinds[i].name, kinds[i].schedule, kinds[i].steps, kinds[i].sampler);
        const float *expected = fixture_floats(&w.f, &w.arena, &n, "%s/gradient", kinds[i].name);
        assert_int_equal(n, w.d.net.count);
        rng_seed(&rng, 5, RNG_TARGET);
        denoiser_draw(&w.d, &w.d.net, plain, w.features, ROWS, 1, &rng);
        rng_seed(&rng, 5, RNG_TARGET);
        denoiser_draw_taped(&w.d, w.action, w.features, ROWS, &rng);
        assert_bits("taped draw", w.action, plain, sizeof plain);
        denoiser_draw_back(&w.d, w.d_action, ROWS);
        assert_arrays(kinds[i].name, w.d.gradient.params, expected, n, 1e-5);
        world_close(&w);
    }
}

static double weighted_actions(void *context)
{
    struct world *w = context;
    struct rng rng;
    double sum = 0;
    rng_seed(&rng, 5, RNG_TARGET);
    net_changed(&w->d.net);
    denoiser_draw(&w->d, &w->d.net, w->action, w->features, ROWS, 1, &rng);
    for (int i = 0; i < ROWS * DIM; i++)
        sum += (double)w->d_action[i] * w->action[i];
    return sum;
}

/* Moves of the weights so small that no clip changes sides leave too little of a float: the worst entries are
 * those whose gradient is next to nothing, so the floor is a part of the largest. */
static void test_draw_gradient_by_differences(void **state)
{
    (void)state;
    struct world w;
    struct rng rng;
    world_open(&w, "auto", 1, "dacer", VP_EXPONENTIAL, 20, DDPM_CLIP_X0);
    rng_seed(&rng, 5, RNG_TARGET);
    denoiser_draw_taped(&w.d, w.action, w.features, ROWS, &rng);
    denoiser_draw_back(&w.d, w.d_action, ROWS);
    double floor = 0.05 * largest(w.d.gradient.params, w.d.net.count);
    double error =
        gradcheck(weighted_actions, &w, w.d.net.params, w.d.gradient.params, w.d.net.count, 150, 2e-4, floor);
    assert_true(error < 0.02);
    /* The check can fail: with one step's part missing it does. */
    memset(w.d.dy, 0, sizeof(float) * ROWS * DIM);
    memset(w.d.tape.dz[0], 0, sizeof(float) * ROWS * WIDTH);
    memset(w.d.tape.dz[1], 0, sizeof(float) * ROWS * WIDTH);
    struct net_pass pass = {&w.d.net, &w.d.tape, w.d.x, w.d.y, w.d.dy, &w.d.gradient, 20 * ROWS};
    net_gradients(w.compute, &pass, 1);
    assert_true(gradcheck(weighted_actions, &w, w.d.net.params, w.d.gradient.params, w.d.net.count, 150, 2e-4,
                          floor) > 0.02);
    world_close(&w);
}

static void test_draw_threads(void **state)
{
    (void)state;
    float action[3][ROWS * DIM];
    float *gradient[3];
    struct arena arena = {0};
    size_t bytes = 0;
    for (int threads = 1; threads <= 3; threads++) {
        struct world w;
        struct rng rng;
        world_open(&w, "auto", threads, "dipo", VP_COSINE, 12, DDPM_CLIP_X0);
        rng_seed(&rng, 5, RNG_TARGET);
        denoiser_draw_taped(&w.d, action[threads - 1], w.features, ROWS, &rng);
        denoiser_draw_back(&w.d, w.d_action, ROWS);
        bytes = sizeof(float) * w.d.net.count;
        gradient[threads - 1] = arena_take(&arena, bytes);
        memcpy(gradient[threads - 1], w.d.gradient.params, bytes);
        world_close(&w);
    }
    for (int i = 1; i < 3; i++) {
        assert_bits("actions", action[0], action[i], sizeof action[0]);
        assert_bits("gradient", gradient[0], gradient[i], bytes);
    }
    arena_free(&arena);
}

/* ---------------------------------------------------------------- mixtures */
static const char *const mixtures[] = {"apart", "line", "overlapping", "tilted", "edge", "point"};

static void test_mixture_climb(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, "denoiser.safetensors");
    for (size_t i = 0; i < COUNT(mixtures); i++) {
        struct arena arena = {0};
        struct mixture_em m;
        size_t n, labelled;
        const float *labels = fixture_floats(&f, &arena, &labelled, "mixture/%s/labels", mixtures[i]),
                    *x = fixture_floats(&f, &arena, &n, "mixture/%s/x", mixtures[i]),
                    *weights = fixture_floats(&f, &arena, NULL, "mixture/%s/weights", mixtures[i]),
                    *means = fixture_floats(&f, &arena, NULL, "mixture/%s/means", mixtures[i]),
                    *numbers = fixture_floats(&f, &arena, NULL, "mixture/%s/numbers", mixtures[i]);
        int dim = (int)(n / labelled);
        mixture_create(&m, &arena, (int)labelled, dim);
        for (size_t r = 0; r < labelled; r++)
            m.rho[r * MIXTURE_PARTS + (size_t)labels[r]] = 1;
        double likelihood = mixture_climb(&m, x);
        assert_near(likelihood, numbers[0], 1e-6 * (1 + fabs(numbers[0])));
        assert_near(mixture_entropy(&m), numbers[1], 1e-6 * (1 + fabs(numbers[1])));
        assert_int_equal(m.rounds, (int)numbers[2]);
        for (int c = 0; c < MIXTURE_PARTS; c++)
            assert_near(m.weight[c], weights[c], 1e-6);
        for (int j = 0; j < MIXTURE_PARTS * dim; j++)
            assert_near(m.mean[j], means[j], 1e-6);
        arena_free(&arena);
    }
    fixture_close(&f);
}

/* From its own starts it comes to where scikit-learn comes: always where the data have three clusters, in the
 * best of ten starts where they have not. (On the edge of the box the likelihood has many singular peaks:
 * nothing to compare.) */
static void test_mixture_start(void **state)
{
    (void)state;
    static const char *const names[] = {"apart", "line", "overlapping", "tilted"};
    struct fixture f;
    struct rng rng;
    fixture_open(&f, "denoiser.safetensors");
    rng_seed(&rng, 2, RNG_TEST);
    for (size_t i = 0; i < COUNT(names); i++) {
        struct arena arena = {0};
        struct mixture_em m;
        size_t n, labelled;
        fixture_floats(&f, &arena, &labelled, "mixture/%s/labels", names[i]);
        const float *x = fixture_floats(&f, &arena, &n, "mixture/%s/x", names[i]),
                    *best = fixture_floats(&f, &arena, NULL, "mixture/%s/best", names[i]);
        double likelihood = -INFINITY, entropy = 0;
        bool clear = strcmp(names[i], "tilted") != 0;
        mixture_create(&m, &arena, (int)labelled, (int)(n / labelled));
        for (uint64_t start = 0; start < 10; start++) {
            uint32_t words[4];
            rng_block(&rng, i, start, words);
            mixture_start(&m, x, words);
            double reached = mixture_climb(&m, x);
            assert_true(reached > best[0] - (clear ? 1e-5 : 0.05));
            if (reached > likelihood) {
                likelihood = reached;
                entropy = mixture_entropy(&m);
            }
        }
        assert_near(likelihood, best[0], clear ? 1e-5 : 2e-3);
        assert_near(entropy, best[1], clear ? 1e-4 : 0.02);
        arena_free(&arena);
    }
    fixture_close(&f);
}

/* Parts that lie apart: the bound is the entropy, which is known. */
static void test_mixture_entropy(void **state)
{
    (void)state;
    enum { N = 6000 };
    struct arena arena = {0};
    struct mixture_em m;
    float *x = arena_new(&arena, float, N);
    const uint32_t words[4] = {1u << 31, 1u << 30, 1u << 29, 0};
    fill_normal(x, N, 8);
    for (int i = 0; i < N; i++)
        x[i] = 0.02f * x[i] + (float)(i % 3 - 1) * 0.8f;
    mixture_create(&m, &arena, N, 1);
    mixture_start(&m, x, words);
    mixture_climb(&m, x);
    assert_near(mixture_entropy(&m), log(3) + 0.5 * log(2 * 3.14159265358979 * 2.718281828459 * 4e-4), 0.02);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules),     cmocka_unit_test(test_noise),
        cmocka_unit_test(test_draws),         cmocka_unit_test(test_draw_rows),
        cmocka_unit_test(test_draw_gradient), cmocka_unit_test(test_draw_gradient_by_differences),
        cmocka_unit_test(test_draw_threads),  cmocka_unit_test(test_mixture_climb),
        cmocka_unit_test(test_mixture_start), cmocka_unit_test(test_mixture_entropy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
