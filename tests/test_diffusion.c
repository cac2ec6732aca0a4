/* test_diffusion: schedule, cut Gaussians, score target and samplers against closed forms and quadrature.
 * (The corrector is in test_density.) */
#include "diffusion_policy.h"
#include "oracle.h"
#include "score_target.h"
#include "truncnorm.h"

static const double pi = 3.14159265358979323846;

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

static double normal_density(double z)
{
    return exp(-0.5 * z * z) / sqrt(2 * pi);
}

/* ---------------------------------------------------------------- schedule */
static void test_schedule(void **state)
{
    (void)state;
    const struct schedule all[] = {{0.01, 1}, {0.02, 3}, {1e-5, 1}};
    for (size_t i = 0; i < COUNT(all); i++) {
        const struct schedule *s = &all[i];
        double low = s->sigma_min * s->sigma_min, high = s->sigma_max * s->sigma_max, step = 1e-5;
        assert_true(schedule_h(s, 0) == 0);
        assert_near(schedule_h(s, 1), high - low, 1e-12 * high);
        assert_near(schedule_h(s, 0.5), s->sigma_min * s->sigma_max - low, 1e-12 * high);
        for (double t = 0.1; t < 1; t += 0.2) {
            double slope = (schedule_h(s, t + step) - schedule_h(s, t - step)) / (2 * step);
            assert_near(schedule_g2(s, t), slope, 1e-6 * slope);
        }
        /* So small a t that r^2t - 1 would be lost to rounding. */
        assert_near(schedule_h(s, 1e-12) / (schedule_g2(s, 0) * 1e-12), 1, 1e-9);
    }
}

/* ---------------------------------------------------------------- one dimension, cut to the box */
static void test_normal_inverse(void **state)
{
    (void)state;
    for (double p = 0.5; p > 1e-15; p *= 0.93) {
        double z = normal_inverse(p), exact = z;
        for (int i = 0; i < 4; i++) /* Newton on log P: the tail is nearly a parabola there */
            exact -= (log(normal_below(exact)) - log(p)) * normal_below(exact) / normal_density(exact);
        assert_near(z, exact, 3e-7);
        if (p > 1e-9)
            assert_near(normal_inverse(1 - p), -exact, 3e-7);
    }
}

static void check_truncnorm(double centre, double std)
{
    enum { N = 20000 };
    struct truncnorm t;
    double total = 0, below = 0;
    truncnorm_prepare(&t, centre, std);
    for (int i = 0; i < N; i++) { /* the density integrates to 1 */
        double y = (2 * i + 1.0) / N - 1;
        total += exp(truncnorm_log_density(&t, y)) / (std * sqrt(2 * pi)) * 2 / N;
    }
    assert_near(total, 1, 1e-4);
    for (double u = 0.01; u < 1; u += 0.07) { /* the sample at u has the share u of the mass on its side */
        double y = truncnorm_sample(&t, u), share = t.flip ? 1 - u : u;
        assert_true(y >= -1 && y <= 1);
        below = 0;
        for (int i = 0; i < N; i++) {
            double v = -1 + (y + 1) * (i + 0.5) / N;
            below += exp(truncnorm_log_density(&t, v)) / (std * sqrt(2 * pi)) * (y + 1) / N;
        }
        assert_near(below, share, 2e-4);
    }
}

static void test_truncnorm(void **state)
{
    (void)state;
    static const double cases[][2] = {{0, 0.3}, {0.9, 0.1}, {-0.97, 0.02}, {1.1, 0.05},  {-1.2, 0.06},
                                      {0.4, 1}, {1.5, 3},   {-1.02, 0.01}, {0.999, 1e-2}};
    for (size_t i = 0; i < COUNT(cases); i++)
        check_truncnorm(cases[i][0], cases[i][1]);
    struct truncnorm t; /* far outside, the edge is all that matters, and nothing is NaN */
    truncnorm_prepare(&t, 50, 0.01);
    for (double u = 0.001; u < 1; u += 0.1)
        assert_near(truncnorm_sample(&t, u), 1, 0.05);
    assert_true(isfinite(truncnorm_log_density(&t, 0.99)));
}

/* ---------------------------------------------------------------- the score target */
/* Two round modes and a long one, all well inside the box. */
static const struct {
    double weight, mean[2], inverse[3]; /* of the covariance: xx, xy, yy */
} parts[] = {
    {0.5, {-0.4, -0.2}, {44.4444, 0, 44.4444}},
    {0.3, {0.4, -0.3}, {44.4444, 0, 44.4444}},
    {0.2, {0.1, 0.4}, {62.5, 37.5, 62.5}}, /* standard deviations 0.2 and 0.1, turned */
};

static void mixture_eval(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                         int thread)
{
    (void)self, (void)owner, (void)thread;
    for (int r = 0; r < rows; r++) {
        double p = 0, g[2] = {0, 0};
        for (size_t i = 0; i < COUNT(parts); i++) {
            const double *A = parts[i].inverse;
            double dx = parts[i].mean[0] - y[2 * r], dy = parts[i].mean[1] - y[2 * r + 1];
            double px = A[0] * dx + A[1] * dy, py = A[1] * dx + A[2] * dy;
            double q =
                parts[i].weight * sqrt(A[0] * A[2] - A[1] * A[1]) * exp(-0.5 * (px * dx + py * dy)) + 1e-300;
            p += q;
            g[0] += q * px;
            g[1] += q * py;
        }
        logp[r] = (float)log(p);
        for (int j = 0; grad && j < 2; j++)
            grad[2 * r + j] = (float)(g[j] / p);
    }
}

static void uniform_eval(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                         int thread)
{
    (void)self, (void)y, (void)owner, (void)thread;
    memset(logp, 0, sizeof *logp * (size_t)rows);
    if (grad)
        memset(grad, 0, sizeof *grad * 2 * (size_t)rows);
}

/* E[y - x]/h under p(y) N(y; x, h), midpoints of [-half, half]^2 within 7 sigma of x. */
static void quadrature(const struct energy *e, double S[2], const float *x, double h, double half)
{
    enum { N = 300 };
    double low[2], step[2], sum = 0, moment[2] = {0, 0}, reach = 7 * sqrt(h);
    for (int j = 0; j < 2; j++) {
        low[j] = fmax(-half, x[j] - reach);
        step[j] = (fmin(half, x[j] + reach) - low[j]) / N;
    }
    for (int i = 0; i < N * N; i++) {
        float y[2] = {(float)(low[0] + step[0] * (i / N + 0.5)), (float)(low[1] + step[1] * (i % N + 0.5))},
              logp;
        int owner = 0;
        e->eval(e->self, &logp, NULL, y, &owner, 1, 0);
        double dx = y[0] - x[0], dy = y[1] - x[1], w = exp(logp - 0.5 * (dx * dx + dy * dy) / h);
        sum += w;
        moment[0] += w * dx;
        moment[1] += w * dy;
    }
    S[0] = moment[0] / sum / h;
    S[1] = moment[1] / sum / h;
}

enum { STATES = 32 };

/* S [STATES x 2] in tiles of `piece` states (0: as many as fit). */
static void estimate(const struct kernels *k, const struct energy *e, float *S, const float *x,
                     const float *h, enum score_form form, int K, bool box, int piece)
{
    struct arena arena = {0};
    struct score_scratch scratch;
    struct score_options o = {
        .form = form, .K = K, .K_low = K / 2, .sigma_low = 0.05, .mode_width = 0.15, .box = box};
    struct rng rng;
    float ess[STATES];
    rng_seed(&rng, 3, RNG_TEST);
    score_scratch_create(&scratch, &arena, &o, 2);
    int most = piece > 0 ? piece : scratch.states;
    for (int at = 0; at < STATES; at += most) {
        int n = STATES - at < most ? STATES - at : most;
        score_tile(&o, k, e, S, ess, x, h, at, n, &rng, 5, &scratch, 0);
    }
    for (int i = 0; i < STATES; i++)
        assert_true(ess[i] >= 0.999f && ess[i] <= (float)K * 1.001f);
    arena_free(&arena);
}

static void make_states(float *x, float *h, double sigma, uint64_t seed)
{
    fill_normal(x, 2 * STATES, seed);
    for (int i = 0; i < STATES; i++) {
        h[i] = (float)(sigma * sigma);
        for (int j = 0; j < 2; j++)
            x[2 * i + j] = (float)(parts[i % 3].mean[j] + sqrt(0.02 + sigma * sigma) * x[2 * i + j]);
    }
}

/* Root mean square of sigma (S - exact) per dimension. */
static double error_of(const float *S, const double *exact, const float *h)
{
    double squares = 0;
    for (int i = 0; i < 2 * STATES; i++)
        squares += h[i / 2] * pow(S[i] - exact[i], 2) / (2 * STATES);
    return sqrt(squares);
}

static void check_convergence(const struct kernels *k, double sigma, enum score_form form, bool box,
                              double limit)
{
    struct energy e = {.dim = 2, .eval = mixture_eval};
    float x[2 * STATES], h[STATES], S[2 * STATES];
    double exact[2 * STATES];
    make_states(x, h, sigma, 11);
    for (int i = 0; i < STATES; i++)
        quadrature(&e, exact + 2 * i, x + 2 * i, h[i], box ? 1 : 2.5);
    estimate(k, &e, S, x, h, form, 16, box, 0);
    double few = error_of(S, exact, h);
    estimate(k, &e, S, x, h, form, 4096, box, 0);
    double many = error_of(S, exact, h);
    if (!(many <= limit &&
          many <= few / 4)) /* 256 times the samples: a sixteenth of the error, if not for luck */
        fail_msg("form %d, sigma %g, box %d: error %g at K = 16, %g at K = 4096, limit %g", (int)form, sigma,
                 box, few, many, limit);
}

static void test_estimators(void **state)
{
    (void)state;
    const struct kernels *k = kernels_named("auto");
    static const double sigmas[] = {0.03, 0.1, 0.3, 1};
    static const double by_gradient[] = {0.01, 0.03, 0.15, 2};
    for (int i = 0; i < 4; i++) {
        check_convergence(k, sigmas[i], SCORE_GRADIENT, false, by_gradient[i]);
        for (int box = 0; box < 2; box++) {
            check_convergence(k, sigmas[i], SCORE_VALUE, box, 0.06);
            check_convergence(k, sigmas[i], SCORE_SHIFTED, box, 0.08);
        }
        check_convergence(k, sigmas[i], SCORE_MIXTURE, false, 0.06);
    }
    check_convergence(&kernels_ref, 0.1, SCORE_SHIFTED, true, 0.08);
}

/* The uniform density of the box has a score that is all edge: closed form per axis. */
static void test_edge(void **state)
{
    (void)state;
    struct energy e = {.dim = 2, .eval = uniform_eval};
    static const double sigmas[] = {0.03, 0.2, 1};
    for (int s = 0; s < 3; s++) {
        float x[2 * STATES], h[STATES], S[2 * STATES];
        double exact[2 * STATES], sigma = sigmas[s], size = 0;
        for (int i = 0; i < STATES; i++) {
            h[i] = (float)(sigma * sigma);
            x[2 * i] = (float)(0.8 + 0.2 * i / STATES + sigma * i / STATES); /* across the edge */
            x[2 * i + 1] = (float)(-1 + 2.0 * i / STATES);
        }
        for (int i = 0; i < 2 * STATES; i++) {
            double a = (-1 - x[i]) / sigma, b = (1 - x[i]) / sigma;
            exact[i] =
                (normal_density(a) - normal_density(b)) / (sigma * (normal_below(b) - normal_below(a)));
            size = fmax(size, sigma * fabs(exact[i]));
        }
        assert_true(size > 0.5);
        estimate(kernels_named("auto"), &e, S, x, h, SCORE_VALUE, 2048, true, 0);
        assert_near(error_of(S, exact, h), 0, 0.03);
        estimate(kernels_named("auto"), &e, S, x, h, SCORE_SHIFTED, 2048, true, 0);
        assert_near(error_of(S, exact, h), 0, 0.03);
        estimate(kernels_named("auto"), &e, S, x, h, SCORE_GRADIENT, 64, true, 0);
        assert_true(largest(S, 2 * STATES) == 0); /* as the header says: it misses the edge */
    }
}

static void test_estimate_pieces(void **state)
{
    (void)state;
    struct energy e = {.dim = 2, .eval = mixture_eval};
    float x[2 * STATES], h[STATES], whole[2 * STATES], pieces[2 * STATES];
    make_states(x, h, 0.1, 12);
    for (int i = 0; i < STATES; i += 3)
        h[i] = 4e-4f; /* below sigma_low: fewer samples */
    FOR_KERNELS(k)
    for (int form = SCORE_GRADIENT; form <= SCORE_SHIFTED; form++) {
        bool box = form == SCORE_SHIFTED;
        estimate(k, &e, whole, x, h, form, 8, box, 0);
        estimate(k, &e, pieces, x, h, form, 8, box, 4);
        assert_bits("score target in pieces", whole, pieces, sizeof whole);
    }
}

/* ------------------------------------------------------- samplers along exact scores, one dimension */
struct line {
    double weight[2], mean[2], std;
    const struct sampler *sampler;
};

static void line_score(void *self, float *score, const float *x, int level, int row0, int rows, int thread)
{
    (void)row0, (void)thread;
    const struct line *l = self;
    double v = l->std * l->std + l->sampler->h[level];
    for (int r = 0; r < rows; r++) {
        double a = l->mean[0] - x[r], b = l->mean[1] - x[r];
        double odds = l->weight[1] / l->weight[0] * exp(0.5 * (a * a - b * b) / v), p = 1 / (1 + odds);
        score[r] = (float)((p * a + (1 - p) * b) / v);
    }
}

enum { CHAINS = 20000 };

static void draw_line(struct line *l, float *x, enum sampler_kind kind, int steps, double sigma_max,
                      int piece)
{
    struct arena arena = {0};
    struct sampler s;
    struct sampler_scratch scratch;
    struct rng rng;
    rng_seed(&rng, 8, RNG_TEST);
    sampler_create(&s, &arena, kind, (struct schedule){0.01, sigma_max}, steps, 1, 1);
    s.score = line_score;
    s.self = l;
    l->sampler = &s;
    sampler_scratch_create(&scratch, &arena, piece, 1);
    for (int at = 0; at < CHAINS; at += piece)
        sampler_tile(&s, kernels_named("auto"), x + at, at, CHAINS - at < piece ? CHAINS - at : piece, &rng,
                     40, &scratch, 0);
    arena_free(&arena);
}

static bool is_flow(enum sampler_kind kind)
{
    return kind == SAMPLER_FLOW_EULER || kind == SAMPLER_FLOW_HEUN;
}

static const struct {
    enum sampler_kind kind;
    int steps;
} ways[] = {{SAMPLER_EULER_MARUYAMA, 1000},
            {SAMPLER_ANCESTRAL, 100},
            {SAMPLER_FLOW_EULER, 200},
            {SAMPLER_FLOW_HEUN, 20}};

/* The chain starts from N(0, h) and not from the noised target: a mean forgets that by std^2/v along the SDE,
 * by std/sqrt v along the flow. */
static void test_sampler_gaussian(void **state)
{
    (void)state;
    struct line l = {{1, 0}, {0.5, 0.5}, 0.3, NULL};
    float *x = malloc(sizeof *x * CHAINS);
    double h = 4 - 1e-4, v = 0.09 + h;
    assert_non_null(x);
    for (size_t i = 0; i < COUNT(ways); i++) {
        double mean = 0, variance = 0, shrink = is_flow(ways[i].kind) ? sqrt(0.09 / v) : 0.09 / v;
        draw_line(&l, x, ways[i].kind, ways[i].steps, 2, 64);
        for (int r = 0; r < CHAINS; r++)
            mean += x[r] / CHAINS;
        for (int r = 0; r < CHAINS; r++)
            variance += pow(x[r] - mean, 2) / CHAINS;
        double expected = 0.09 - shrink * shrink * 0.09; /* the start lacks the target's variance */
        assert_near(mean, 0.5 * (1 - shrink), 0.01);
        assert_near(variance / expected, 1, 0.05);
    }
    free(x);
}

static double share_above(const float *x)
{
    int above = 0;
    for (int r = 0; r < CHAINS; r++)
        above += x[r] > 0;
    return (double)above / CHAINS;
}

/* The flow keeps quantiles: what of N(0, h) lies above the one that parts the modes of the noised target. */
static double flow_share(const struct line *l, double sigma_max)
{
    double h = sigma_max * sigma_max - 1e-4, v = sqrt(h + l->std * l->std), low = -100, high = 100;
    for (int i = 0; i < 100; i++) {
        double c = 0.5 * (low + high);
        double below = l->weight[0] * normal_below((c - l->mean[0]) / v) +
                       l->weight[1] * normal_below((c - l->mean[1]) / v);
        if (below < l->weight[1])
            low = c;
        else
            high = c;
    }
    return 1 - normal_below(low / sqrt(h));
}

static void test_sampler_weights(void **state)
{
    (void)state;
    struct line l = {{0.9, 0.1}, {0.9, -0.9}, 0.05, NULL};
    float *x = malloc(sizeof *x * CHAINS);
    assert_non_null(x);
    for (size_t i = 0; i < COUNT(ways); i++) {
        draw_line(&l, x, ways[i].kind, ways[i].steps, 3, 64);
        double share = share_above(x), spread = 0;
        for (int r = 0; r < CHAINS; r++)
            spread += pow(fabs(x[r]) - 0.9, 2) / CHAINS;
        assert_near(sqrt(spread), 0.05, 0.005);
        if (!is_flow(ways[i].kind)) {
            assert_near(share, 0.9, 0.03);
            continue;
        }
        assert_near(share, flow_share(&l, 3), 0.01);
        draw_line(&l, x, ways[i].kind, 2 * ways[i].steps, 10, 64);
        assert_near(share_above(x), 0.9, 0.03);
    }
    draw_line(&l, x, SAMPLER_ANCESTRAL, 100, 1,
              64); /* why sigma_max = 3: with 1 the start is still remembered */
    assert_true(share_above(x) < 0.87);
    free(x);
}

static void test_sampler_pieces(void **state)
{
    (void)state;
    struct line l = {{0.9, 0.1}, {0.9, -0.9}, 0.05, NULL};
    float *whole = malloc(sizeof *whole * CHAINS), *pieces = malloc(sizeof *pieces * CHAINS);
    assert_true(whole && pieces);
    for (size_t i = 0; i < COUNT(ways); i++) {
        draw_line(&l, whole, ways[i].kind, 20, 3, CHAINS);
        draw_line(&l, pieces, ways[i].kind, 20, 3, 36);
        assert_bits("samples in pieces", whole, pieces, sizeof *whole * CHAINS);
    }
    free(whole);
    free(pieces);
}

/* ------------------------------------------------------- all together: a policy fitted to the three parts */
static const struct policy_options small_policy = {.width = 64,
                                                   .hidden = 2,
                                                   .embed = 32,
                                                   .most_particles = 1,
                                                   .residual = true,
                                                   .sampler = SAMPLER_ANCESTRAL,
                                                   .gain = 20,
                                                   .lr = 4e-3,
                                                   .feature_dim = 1,
                                                   .act_dim = 2,
                                                   .batch = 256};

static void fit_policy(struct diffusion_policy *p, struct arena *arena, const struct energy *e,
                       struct score_options o, int updates)
{
    enum { BATCH = 256 };
    struct score_scratch scratch;
    struct rng rng;
    float x0[2 * BATCH], x[2 * BATCH], S[2 * BATCH], tau[BATCH], h[BATCH], nothing[BATCH] = {0};
    double lr = p->o.lr;
    rng_seed(&rng, 9, RNG_SCORE);
    score_scratch_create(&scratch, arena, &o, 2);
    for (int u = 0; u < updates; u++) {
        for (int i = 0; i < 2 * BATCH; i++)
            x0[i] = (float)(1.6 * rng_uniform(&rng) - 0.8);
        policy_noise(p, tau, h, x, x0, BATCH, &rng);
        uint64_t ticket = rng_ticket(&rng);
        for (int at = 0; at < BATCH; at += scratch.states)
            score_tile(&o, p->compute->k, e, S, NULL, x, h, at,
                       BATCH - at < scratch.states ? BATCH - at : scratch.states, &rng, ticket, &scratch, 0);
        p->adam.options.lr = lr * (1 - (double)u / updates);
        policy_fit(p, nothing, x, tau, h, nothing, S, BATCH, false);
    }
}

static void test_small_mixture(void **state)
{
    (void)state;
    enum { N = 4000 };
    struct arena arena = {0};
    struct compute *compute = compute_of("auto", 1);
    struct diffusion_policy p;
    struct energy e = {.dim = 2, .eval = mixture_eval};
    struct twin_energy boxed = {.boxed = e};
    struct policy_options o = small_policy;
    o.steps = 50;
    o.act = ACT_GELU;
    o.squash = SQUASH_BOX;
    o.schedule = (struct schedule){0.02, 3};
    struct policy_draw draw = {.noise = 1, .particles = 1};
    struct rng rng;
    float *xy = arena_new(&arena, float, 2 * N), *features = arena_new(&arena, float, N);
    int count[COUNT(parts)] = {0}, lost = 0;
    policy_create(&p, &arena, &o, compute, &boxed);
    rng_seed(&rng, 10, RNG_INIT);
    policy_initialise(&p, &rng);
    fit_policy(&p, &arena, &e, (struct score_options){.form = SCORE_VALUE, .K = 64, .K_low = 64, .box = true},
               1200);
    policy_act(&p, xy, features, N, &draw, &rng);
    for (int r = 0; r < N; r++) {
        double least = INFINITY;
        size_t nearest = 0;
        for (size_t i = 0; i < COUNT(parts); i++) {
            const double *A = parts[i].inverse;
            double dx = xy[2 * r] - parts[i].mean[0], dy = xy[2 * r + 1] - parts[i].mean[1];
            double d = A[0] * dx * dx + 2 * A[1] * dx * dy + A[2] * dy * dy;
            nearest = d < least ? i : nearest;
            least = fmin(least, d);
        }
        count[nearest]++;
        lost += least > 16; /* 4 standard deviations: 3 in 10000 */
    }
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_near((double)count[i] / N, parts[i].weight, 0.06);
    assert_near((double)lost / N, 0, 0.02);
    compute_free(compute);
    arena_free(&arena);
}

/* L of a steep critic, with its top inside the box: at noise 1 its slope points hundreds of boxes away. */
#define STEEP 500

static void steep_eval(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                       int thread)
{
    static const float top[] = {0.5f, -0.3f};
    (void)self, (void)owner, (void)thread;
    for (int r = 0; r < rows; r++) {
        logp[r] = 0;
        for (int j = 0; j < 2; j++) {
            float away = y[2 * r + j] - top[j];
            logp[r] -= STEEP * away * away / 2;
            if (grad)
                grad[2 * r + j] = -STEEP * away;
        }
    }
}

/* Mean distance between actions and the top of a steep critic. */
static double steep_distance(enum squash squash)
{
    enum { N = 1000 };
    struct arena arena = {0};
    struct compute *compute = compute_of("auto", 1);
    struct diffusion_policy p;
    struct energy e = {.dim = 2, .eval = steep_eval};
    struct twin_energy boxed = {.boxed = e};
    struct policy_options o = small_policy;
    o.steps = 6;
    o.act = ACT_RELU;
    o.squash = squash;
    o.schedule = (struct schedule){0.01, 1};
    struct policy_draw draw = {.noise = 1, .particles = 1};
    struct rng rng;
    float *xy = arena_new(&arena, float, 2 * N), *features = arena_new(&arena, float, N);
    double away = 0;
    policy_create(&p, &arena, &o, compute, &boxed);
    rng_seed(&rng, 10, RNG_INIT);
    policy_initialise(&p, &rng);
    fit_policy(&p, &arena, &e, (struct score_options){.form = SCORE_GRADIENT, .K = 4, .K_low = 4}, 1500);
    policy_act(&p, xy, features, N, &draw, &rng);
    for (int r = 0; r < N; r++) {
        assert_true(fabsf(xy[2 * r]) <= 1 && fabsf(xy[2 * r + 1]) <= 1);
        away += hypot(xy[2 * r] - 0.5, xy[2 * r + 1] + 0.3) / N;
    }
    compute_free(compute);
    arena_free(&arena);
    return away;
}

/* Where scores are steep, chains that are not kept in the box leave the places that the network has seen. */
static void test_clip(void **state)
{
    (void)state;
    assert_true(steep_distance(SQUASH_CLIP) < 0.15); /* 0.10 */
    assert_true(steep_distance(SQUASH_PAPER) > 0.5); /* 0.87: all at the edge */
}

/* ------------------------------------------------------- which particle acts */
/* All but flat: softmax has no favourite, yet one particle is the highest. */
static void flat_eval(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                      int thread)
{
    (void)self, (void)grad, (void)owner, (void)thread;
    for (int r = 0; r < rows; r++)
        logp[r] = 1e-3f * (y[2 * r] + y[2 * r + 1]);
}

static void test_best_particle(void **state)
{
    (void)state;
    enum { N = 500, P = 16 };
    struct arena arena = {0};
    struct compute *compute = compute_of("auto", 1);
    struct diffusion_policy p;
    struct twin_energy boxed = {.boxed = {.dim = 2, .eval = flat_eval}};
    struct policy_options o = small_policy;
    o.steps = 6;
    o.squash = SQUASH_CLIP;
    o.schedule = (struct schedule){0.01, 1};
    o.most_particles = P;
    struct policy_draw one = {.noise = 1, .particles = 1}, drawn = {.noise = 1, .particles = P},
                       best = {.noise = 1, .particles = P, .best = true}, *how[] = {&one, &drawn, &best};
    double height[COUNT(how)] = {0};
    float *xy = arena_new(&arena, float, 2 * N), *features = arena_new(&arena, float, N);
    struct rng rng;
    rng_seed(&rng, 10, RNG_INIT);
    policy_create(&p, &arena, &o, compute, &boxed);
    policy_initialise(&p, &rng);
    for (size_t h = 0; h < COUNT(how); h++) {
        uint64_t before = rng.ticket;
        policy_act(&p, xy, features, N, how[h], &rng);
        assert_true(rng.ticket - before == 8); /* start, six steps, choice: the same for all */
        for (int i = 0; i < 2 * N; i++)
            height[h] += xy[i] / N;
    }
    assert_near(height[1], height[0], 0.1);
    assert_true(height[2] > height[0] + 0.5);
    compute_free(compute);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_normal_inverse),
        cmocka_unit_test(test_truncnorm),
        cmocka_unit_test(test_estimators),
        cmocka_unit_test(test_edge),
        cmocka_unit_test(test_estimate_pieces),
        cmocka_unit_test(test_sampler_gaussian),
        cmocka_unit_test(test_sampler_weights),
        cmocka_unit_test(test_sampler_pieces),
        cmocka_unit_test(test_small_mixture),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_best_particle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
