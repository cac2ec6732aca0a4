/* test_density: exp(Q/T) in all its guises: the twin energy against a second implementation in double
 * precision, the corrector against exact samples, the temperature and the action grid against quadrature. */
#include "boltzmann_grid.h"
#include "gradcheck.h"
#include "oracle.h"
#include "temperature.h"

#define FEATURES 3
#define STATES 32
#define CLOUD 200

/* Two critics and their energy at some states. */
struct world {
    struct arena arena;
    struct compute *compute;
    struct twin twin;
    struct twin_energy energy;
    float features[STATES * FEATURES];
    int d;
    double T;
};

static void world_create(struct world *w, const char *kernels, int threads, int d, struct net_spec shape,
                         enum twin_combine combine, enum squash squash, double T)
{
    struct rng rng;
    *w = (struct world){.compute = compute_of(kernels, threads), .d = d, .T = T};
    struct net_spec spec = {FEATURES + d, 1, shape.width, shape.hidden, shape.act, shape.layernorm, false};
    twin_create(&w->twin, &w->arena, &spec, 2, STATES, 1e-3, 0, false);
    rng_seed(&rng, 4, RNG_TEST);
    twin_initialise(&w->twin, NET_UNIFORM, &rng);
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; j < w->twin.net[i].count; j++)
            w->twin.net[i].params[j] *= 2;
    fill_normal(w->features, STATES * FEATURES, 5);
    twin_energy_create(&w->energy, &w->arena, &w->twin, combine, squash, w->compute, FEATURES, d, STATES,
                       CLOUD);
    twin_energy_prepare(&w->energy, w->compute, w->features, STATES, T);
}

static void world_free(struct world *w)
{
    arena_free(&w->arena);
    compute_free(w->compute);
}

#define SMOOTH ((struct net_spec){.width = 32, .hidden = 2, .act = ACT_GELU, .layernorm = true})
#define PLAIN ((struct net_spec){.width = 48, .hidden = 2, .act = ACT_RELU})

/* ---------------------------------------------------------------- the energy */
struct point {
    const struct world *w;
    float y[4];
    int state;
    enum twin_combine combine;
    enum squash squash;
    unsigned char side[2][3 * 64];
    bool frozen;
    double gap; /* between the critics */
};

static double point_energy(void *context)
{
    struct point *p = context;
    float x[FEATURES + 4];
    double q[2], jacobian = 0;
    memcpy(x, p->w->features + p->state * FEATURES, sizeof *x * FEATURES);
    /* The network's input is a float: the tanh of a latent is rounded, and its differences need a longer
     * step. */
    for (int j = 0; j < p->w->d; j++) {
        x[FEATURES + j] = p->squash == SQUASH_LATENT ? tanhf(p->y[j]) : p->y[j];
        jacobian += p->squash == SQUASH_LATENT ? log(1 - pow(tanh(p->y[j]), 2)) : 0;
    }
    for (int i = 0; i < 2; i++)
        reference_row(&p->w->twin.net[i], &q[i], x, (struct kinks){p->side[i], p->frozen});
    p->gap = q[0] - q[1];
    return (p->combine == TWIN_MEAN ? (q[0] + q[1]) / 2 : fmin(q[0], q[1])) / p->w->T + jacobian;
}

/* Rows that are not whole chunks, owners in no order, every row with a temperature of its own afterwards. */
static void check_energy(const char *kernels, struct net_spec shape, enum twin_combine combine,
                         enum squash squash, int d)
{
    enum { ROWS = 131 };
    struct world w;
    float y[ROWS * 4], logp[ROWS], again[ROWS], grad[ROWS * 4];
    int owner[ROWS], checked = 0;
    world_create(&w, kernels, 1, d, shape, combine, squash, 0.3);
    fill_normal(y, COUNT(y), 6);
    for (int r = 0; r < ROWS; r++)
        owner[r] = r * 11 % STATES;
    for (int i = 0; squash == SQUASH_BOX && i < ROWS * d; i++)
        y[i] = tanhf(y[i]);
    const struct energy *e = &w.energy.squashed;
    assert_int_equal(e->dim, d);
    e->eval(e->self, logp, grad, y, owner, ROWS, 0);
    e->eval(e->self, again, NULL, y, owner, ROWS, 0);
    assert_bits("without gradient", again, logp, sizeof logp);
    for (int r = 0; r < ROWS; r++) {
        struct point p = {.w = &w, .state = owner[r], .combine = combine, .squash = squash};
        memcpy(p.y, y + r * d, sizeof *y * (size_t)d);
        double exact = point_energy(&p);
        assert_near(logp[r], exact, 1e-5 * (1 + fabs(exact)));
        p.frozen = true;
        if (combine == TWIN_MIN && fabs(p.gap) < 0.02)
            continue; /* a difference across the kink of the minimum is no gradient */
        /* latent: tanhf in the loss leaves 6e-8, over a step of 1e-2: 1e-5 of a gradient of order 1 / T */
        double step = squash == SQUASH_LATENT ? 5e-3 : 1e-4, worst;
        worst = gradcheck(point_energy, &p, p.y, grad + r * d, (size_t)d, d, step, 1);
        assert_near(worst, 0, squash == SQUASH_LATENT ? 2e-4 : 2e-5);
        checked++;
    }
    assert_true(checked > ROWS / 2);
    for (int i = 0; i < STATES; i++)
        w.energy.inverse_T[i] = (float)(i + 1);
    e = &w.energy.boxed;
    e->eval(e->self, logp, grad, y, owner, ROWS, 0);
    for (int r = 0; r < ROWS; r++) { /* boxed: no squash whatever the policy's, and each state its own T */
        struct point p = {.w = &w, .state = owner[r], .combine = combine, .squash = SQUASH_BOX};
        memcpy(p.y, y + r * d, sizeof *y * (size_t)d);
        double exact = point_energy(&p) * w.T * (owner[r] + 1);
        assert_near(logp[r], exact, 1e-5 * (owner[r] + 1) * (1 + fabs(exact)));
    }
    world_free(&w);
}

static void test_energy(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    for (int squash = SQUASH_PAPER; squash <= SQUASH_BOX; squash++)
        for (int combine = TWIN_MIN; combine <= TWIN_MEAN; combine++)
            for (int d = 1; d <= 4; d += 3) {
                check_energy(k->name, SMOOTH, (enum twin_combine)combine, (enum squash)squash, d);
                check_energy(k->name, PLAIN, (enum twin_combine)combine, (enum squash)squash, d);
            }
}

/* Many points of one state together give what one by one they do. */
static void check_cloud(const char *kernels, enum twin_combine combine, enum squash squash, float spread)
{
    enum { D = 3, STATE = 5 };
    struct world w;
    int owner[CLOUD];
    float y[CLOUD * D], one[CLOUD], all[CLOUD], grad[CLOUD * D], weight[CLOUD], sum[D];
    world_create(&w, kernels, 1, D, PLAIN, combine, squash, 0.3);
    const struct energy *e = &w.energy.squashed;
    assert_int_equal(e->cloud_most, CLOUD);
    w.energy.inverse_T[STATE] = 2;
    fill_normal(y, COUNT(y), 6);
    fill_normal(weight, COUNT(weight), 7);
    for (int i = 0; i < CLOUD * D; i++)
        y[i] = 0.3f + spread * y[i];
    for (int i = 0; i < CLOUD; i++) {
        owner[i] = STATE;
        weight[i] = i % 7 ? fabsf(weight[i]) / CLOUD : 0;
    }
    e->eval(e->self, one, grad, y, owner, CLOUD, 0);
    e->cloud(e->self, all, y, STATE, CLOUD, 0);
    e->pull(e->self, sum, weight, STATE, CLOUD, 0);
    for (int i = 0; i < CLOUD; i++)
        assert_near(all[i], one[i], 1e-5);
    for (int j = 0; j < D; j++) {
        double expected = 0;
        for (int i = 0; i < CLOUD; i++)
            expected += (double)weight[i] * grad[i * D + j];
        assert_near(sum[j], expected, 1e-5);
    }
    world_free(&w);
}

static void test_cloud(void **state)
{
    (void)state;
    FOR_KERNELS(k)
    for (int combine = TWIN_MIN; combine <= TWIN_MEAN; combine++)
        for (int s = 0; s < 3; s++)
            check_cloud(k->name, (enum twin_combine)combine, s ? SQUASH_BOX : SQUASH_PAPER,
                        (float[]){1e-4f, 0.2f, 3}[s]);
    struct world w; /* no short way: a layer norm, or the squash's own slope at every point */
    world_create(&w, "auto", 1, 2, SMOOTH, TWIN_MIN, SQUASH_PAPER, 1);
    assert_int_equal(w.energy.squashed.cloud_most, 0);
    world_free(&w);
    world_create(&w, "auto", 1, 2, PLAIN, TWIN_MIN, SQUASH_LATENT, 1);
    assert_int_equal(w.energy.squashed.cloud_most, 0);
    world_free(&w);
}

static void test_squash(void **state)
{
    (void)state;
    for (float a = -0.99f; a < 1; a += 0.11f) {
        assert_near(squash_action(SQUASH_LATENT, unsquash_action(SQUASH_LATENT, a)), a, 1e-6);
        assert_true(squash_action(SQUASH_BOX, unsquash_action(SQUASH_BOX, a)) == a);
        assert_true(unsquash_action(SQUASH_PAPER, a) == a); /* the authors' code noises actions as they are */
        assert_near(squash_action(SQUASH_PAPER, a), tanh(a), 1e-7);
    }
    assert_true(squash_action(SQUASH_BOX, 3) == 1 && squash_action(SQUASH_BOX, -3) == -1);
    assert_true(isfinite(unsquash_action(SQUASH_LATENT, 1)) && isfinite(unsquash_action(SQUASH_LATENT, -1)));
}

/* ---------------------------------------------------------------- the corrector */
#define CELLS 8

/* A narrow mode inside and a wide one that the corner of the box cuts. */
static void two_modes(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                      int thread)
{
    static const double centre[2][2] = {{-0.3, 0.1}, {0.95, 0.9}}, width[2] = {0.15, 0.4},
                        weight[2] = {1, 0.5};
    (void)self, (void)owner, (void)thread;
    for (int r = 0; r < rows; r++) {
        double sum = 0, g[2] = {0, 0};
        for (int m = 0; m < 2; m++) {
            double x = y[2 * r] - centre[m][0], z = y[2 * r + 1] - centre[m][1], v = width[m] * width[m];
            double p = weight[m] * exp(-(x * x + z * z) / (2 * v)) + 1e-9;
            sum += p;
            g[0] -= p * x / v;
            g[1] -= p * z / v;
        }
        logp[r] = (float)log(sum);
        for (int j = 0; grad && j < 2; j++)
            grad[2 * r + j] = (float)(g[j] / sum);
    }
}

static int cell_of(const float *x)
{
    int cell = 0;
    for (int j = 0; j < 2; j++) {
        int index = (int)((x[j] + 1) / 2 * CELLS);
        assert_true(x[j] >= -1 && x[j] <= 1);
        cell = cell * CELLS + (index < CELLS ? index : CELLS - 1);
    }
    return cell;
}

/* p [CELLS^2] by midpoints of a fine grid. */
static void exact_cells(double *p, const struct energy *e)
{
    enum { FINE = 40 };
    double sum = 0;
    for (int c = 0; c < CELLS * CELLS; c++) {
        p[c] = 0;
        for (int i = 0; i < FINE * FINE; i++) {
            float x[2] = {(float)((c / CELLS + (i / FINE + 0.5) / FINE) * 2 / CELLS - 1),
                          (float)((c % CELLS + (i % FINE + 0.5) / FINE) * 2 / CELLS - 1)};
            float logp;
            int owner = 0;
            e->eval(e->self, &logp, NULL, x, &owner, 1, 0);
            p[c] += exp(logp);
        }
        sum += p[c];
    }
    for (int c = 0; c < CELLS * CELLS; c++)
        p[c] /= sum;
}

static void draw_exactly(float *x, int n, const struct energy *e, struct rng *rng)
{
    for (int i = 0; i < n;) { /* rejection; the density is below 1.6 */
        float logp;
        int owner = 0;
        x[2 * i] = (float)(2 * rng_uniform(rng) - 1);
        x[2 * i + 1] = (float)(2 * rng_uniform(rng) - 1);
        e->eval(e->self, &logp, NULL, x + 2 * i, &owner, 1, 0);
        assert_true(logp < log(1.6));
        i += rng_uniform(rng) * 1.6 < exp(logp);
    }
}

static double chi_square(const float *x, int n, const double *p)
{
    double counts[CELLS * CELLS] = {0}, chi = 0;
    for (int i = 0; i < n; i++)
        counts[cell_of(x + 2 * i)]++;
    for (int c = 0; c < CELLS * CELLS; c++)
        chi += (counts[c] - n * p[c]) * (counts[c] - n * p[c]) / (n * p[c]);
    return chi;
}

/* Points run through `steps` steps in tiles of 32; returns the share of accepted proposals. */
static double correct(const struct kernels *k, const struct energy *e, float *x, int n, struct corrector c,
                      struct arena *arena)
{
    struct corrector_scratch scratch;
    struct rng rng;
    int owner[32] = {0}, accepted = 0;
    rng_seed(&rng, 6, RNG_CORRECTOR);
    corrector_scratch_create(&scratch, arena, 32, 2);
    assert_int_equal(corrector_tickets(&c), 2 * c.steps);
    for (int at = 0; at < n; at += 32)
        accepted += corrector_tile(&c, k, e, x + 2 * at, owner, at, 32, &rng, 100, &scratch, 0);
    return accepted / ((double)n * c.steps);
}

/* From exact samples, many steps leave the frequencies of the cells as they are; from a wrong density they
 * bring them about. */
static void check_invariance(const struct kernels *k, double step, int steps, double least, double most)
{
    enum { N = 32 * 600 };
    struct arena arena = {0};
    struct energy e = {.dim = 2, .eval = two_modes};
    struct rng rng;
    double p[CELLS * CELLS], moved = 0;
    float *x = arena_new(&arena, float, 2 * N), *start = arena_new(&arena, float, 2 * N);
    rng_seed(&rng, 7, RNG_TEST);
    exact_cells(p, &e);
    draw_exactly(x, N, &e, &rng);
    memcpy(start, x, sizeof *x * 2 * N);
    assert_true(chi_square(x, N, p) < chi_square_limit(CELLS * CELLS - 1));
    double rate = correct(k, &e, x, N, (struct corrector){steps, step}, &arena);
    if (!(rate > least && rate < most))
        fail_msg("acceptance %g is not between %g and %g", rate, least, most);
    double chi = chi_square(x, N, p);
    if (!(chi < chi_square_limit(CELLS * CELLS - 1)))
        fail_msg("step %g: chi-square %g of %d cells, acceptance %g", step, chi, CELLS * CELLS, rate);
    for (int i = 0; i < 2 * N; i++)
        moved += pow(x[i] - start[i], 2) / (2 * N);
    assert_true(sqrt(moved) > 0.1); /* it did move */
    arena_free(&arena);
}

static void test_corrector_invariance(void **state)
{
    (void)state;
    check_invariance(&kernels_ref, 0.1, 30, 0.7, 0.99);
    check_invariance(kernels_named("auto"), 0.1, 40, 0.7, 0.99);
    check_invariance(kernels_named("auto"), 0.5, 40, 0.3, 0.9); /* many proposals are reflected */
}

static void test_corrector_converges(void **state)
{
    (void)state;
    enum { N = 32 * 300 };
    struct arena arena = {0};
    struct energy e = {.dim = 2, .eval = two_modes};
    double p[CELLS * CELLS];
    float *x = arena_new(&arena, float, 2 * N);
    exact_cells(p, &e);
    for (int i = 0; i < 2 * N; i++)
        x[i] = i % 2 ? 0.5f : 1.5f; /* one point, and outside: brought to the edge first */
    correct(kernels_named("auto"), &e, x, N, (struct corrector){500, 0.3}, &arena);
    assert_true(chi_square(x, N, p) < chi_square_limit(CELLS * CELLS - 1));
    correct(kernels_named("auto"), &e, x, N, (struct corrector){0, 0.3}, &arena); /* no step: nothing */
    arena_free(&arena);
}

/* ---------------------------------------------------------------- quadrature over the box */
struct moments {
    double entropy, variance, soft_value; /* per dimension; of Q over uniform actions; T log mean exp(Q/T) */
};

/* Of one state, by midpoints: 1600 points in one dimension, 40 x 40 in two. */
static struct moments quadrature(const struct world *w, int state, double T)
{
    enum { SIDE = 40 };
    int d = w->d, n = SIDE * SIDE;
    double mean = 0, squares = 0, Z = 0, energy = 0;
    struct point p = {.w = w, .state = state, .combine = w->energy.combine, .squash = SQUASH_BOX};
    for (int i = 0; i < n; i++) {
        int index[2] = {d == 1 ? i : i % SIDE, i / SIDE};
        for (int j = 0; j < d; j++)
            p.y[j] = (float)((index[j] + 0.5) / (d == 1 ? n : SIDE) * 2 - 1);
        double q = point_energy(&p) * w->T;
        mean += q / n;
        squares += q * q / n;
        Z += exp(q / T) / n;
        energy += exp(q / T) * q / T / n;
    }
    return (struct moments){(d * log(2) + log(Z) - energy / Z) / d, squares - mean * mean, T * log(Z)};
}

static struct moments quadrature_mean(const struct world *w, double T)
{
    struct moments mean = {0, 0, 0};
    for (int s = 0; s < STATES; s++) {
        struct moments one = quadrature(w, s, T);
        mean.entropy += one.entropy / STATES;
        mean.variance += one.variance / STATES;
    }
    return mean;
}

/* ---------------------------------------------------------------- temperature */
static void probe(struct temperature *t, struct world *w, struct rng *rng)
{
    twin_energy_prepare(&w->energy, w->compute, w->features, STATES, t->T);
    temperature_probe(t, w->compute, &w->energy, 50, rng);
}

static void check_entropy(int d)
{
    enum { PROBES = 150 };
    struct world w;
    struct temperature t;
    struct rng rng;
    double mean = 0, T = 0.1;
    world_create(&w, "auto", 2, d, PLAIN, TWIN_MEAN, SQUASH_BOX, T);
    struct temperature_options o = {.mode = TEMPERATURE_AUTO, .T = T, .floor = 1e-6, .ceiling = 10, .lr = 0};
    temperature_create(&t, &w.arena, &o, d, STATES);
    assert_int_equal(t.states, STATES);
    rng_seed(&rng, 8, RNG_TEMPERATURE);
    for (int i = 0; i < PROBES; i++) {
        probe(&t, &w, &rng);
        assert_true(t.T == T); /* lr 0 */
        mean += t.entropy / PROBES;
    }
    double exact = quadrature_mean(&w, T).entropy;
    assert_true(exact < log(2) - 0.1); /* not nearly uniform */
    assert_near(mean, exact, 0.02);    /* 64 samples: a bias of order 1/64 */
    world_free(&w);
}

static void test_entropy(void **state)
{
    (void)state;
    check_entropy(1);
    check_entropy(2);
}

/* kappa falls from four times its value at step 50 to a quarter of it, of 100. */
static void check_relative(double kappa, double floor, double ceiling)
{
    struct world w;
    struct temperature t;
    struct rng rng;
    world_create(&w, "auto", 1, 2, PLAIN, TWIN_MIN, SQUASH_BOX, 0.7);
    struct temperature_options o = {.mode = TEMPERATURE_RELATIVE,
                                    .T = 0.7,
                                    .floor = floor,
                                    .ceiling = ceiling,
                                    .kappa = 4 * kappa,
                                    .kappa_end = kappa / 4,
                                    .steps = 100};
    temperature_create(&t, &w.arena, &o, 2, STATES);
    rng_seed(&rng, 9, RNG_TEMPERATURE);
    assert_true(temperature_wants_probe(&t, 0) && !temperature_wants_probe(&t, 1) &&
                temperature_wants_probe(&t, 4));
    for (int i = 0; i < 400; i++)
        probe(&t, &w, &rng);
    double spread = sqrt(quadrature_mean(&w, 1).variance);
    assert_near(t.spread, spread, 0.02 * spread);
    assert_near(t.T, fmin(ceiling, fmax(floor, kappa * t.spread)), 1e-12);
    world_free(&w);
}

static void test_relative(void **state)
{
    (void)state;
    check_relative(0.05, 1e-6, 1e6);
    check_relative(0.05, 10, 1e6);
    check_relative(0.05, 1e-6, 1e-4);
}

static void check_auto(double target)
{
    struct world w;
    struct temperature t;
    struct rng rng;
    world_create(&w, "auto", 1, 2, PLAIN, TWIN_MEAN, SQUASH_BOX, 5);
    struct temperature_options o = {
        .mode = TEMPERATURE_AUTO, .T = 5, .floor = 1e-6, .ceiling = 10, .lr = 0.05, .entropy_target = target};
    temperature_create(&t, &w.arena, &o, 2, STATES);
    rng_seed(&rng, 10, RNG_TEMPERATURE);
    for (int i = 0; i < 1500; i++)
        probe(&t, &w, &rng);
    assert_near(quadrature_mean(&w, t.T).entropy, target, 0.06);
    world_free(&w);
}

static void test_auto(void **state)
{
    (void)state;
    check_auto(0.5);
    check_auto(0.0);
}

static void test_anneal(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct temperature t;
    struct temperature_options o = {.mode = TEMPERATURE_ANNEAL, .T = 10, .T_end = 1, .steps = 250};
    temperature_create(&t, &arena, &o, 2, 16);
    assert_int_equal(t.states, 16); /* no more than the batch has */
    assert_true(t.T == 10 && !temperature_wants_probe(&t, 0));
    for (long step = 0; step <= 300; step += 25) {
        temperature_at(&t, step);
        assert_near(log(t.T), log(10) * (1 - fmin(1, step / 250.0)), 1e-12);
    }
    o.mode = TEMPERATURE_FIXED;
    temperature_create(&t, &arena, &o, 2, 16);
    temperature_at(&t, 100);
    assert_true(t.T == 10 && !temperature_wants_probe(&t, 0));
    arena_free(&arena);
}

/* ---------------------------------------------------------------- the grid */
/* Exact actions of one state, in all rows, and the soft value. */
static void check_grid(int d, const char *kernels, int threads)
{
    enum { N = 32 * 150 };
    struct world w;
    struct boltzmann_grid g;
    struct rng rng;
    double T = 0.3, floor;
    world_create(&w, kernels, threads, d, PLAIN, TWIN_MIN, SQUASH_BOX, T);
    float *samples = arena_new(&w.arena, float, N *d), *wrong = arena_new(&w.arena, float, N *d),
          value[STATES];
    grid_create(&g, &w.arena, &w.energy, w.compute);
    rng_seed(&rng, 11, RNG_DIAGNOSE);
    grid_soft_value(&g, value, STATES);
    for (int s = 0; s < STATES; s++) /* 16 points a side */
        assert_near(value[s], quadrature(&w, s, T).soft_value, 0.01 * T);
    for (int s = 1; s < STATES; s++)
        memcpy(w.features + s * FEATURES, w.features, sizeof(float) * FEATURES);
    twin_energy_prepare(&w.energy, w.compute, w.features, STATES, T);
    for (int at = 0; at < N; at += STATES)
        grid_draw(&g, samples + at * d, STATES, &rng);
    double mean[2] = {0}, exact[2] = {0}, Z = 0;
    for (int i = 0; i < N * d; i++) {
        assert_true(samples[i] >= -1 && samples[i] <= 1);
        mean[i % d] += samples[i] / (double)N;
        wrong[i] = -samples[i];
    }
    struct point p = {.w = &w, .combine = TWIN_MIN, .squash = SQUASH_BOX};
    for (int i = 0; i < 100 * 100; i++) {
        p.y[0] = (float)((i % 100 + 0.5) / 50 - 1);
        p.y[1] = (float)((i / 100 + 0.5) / 50 - 1);
        double weight = exp(point_energy(&p));
        Z += weight;
        exact[0] += weight * p.y[0];
        exact[1] += weight * p.y[1];
    }
    for (int j = 0; j < d; j++)
        assert_near(mean[j], exact[j] / Z, 4 * 0.58 / sqrt(N) + 1e-3);
    double tv = grid_total_variation(&g, samples, 1, N, &floor, &rng),
           off = grid_total_variation(&g, wrong, 1, N, &floor, &rng);
    assert_true(floor > 0 && floor < 0.1);
    assert_true(tv < 2 * floor); /* as far off as n exact samples are, give or take */
    assert_true(off > 4 * floor);
    world_free(&w);
}

static void test_grid(void **state)
{
    (void)state;
    assert_true(grid_possible(1) && grid_possible(2) && !grid_possible(3));
    check_grid(1, "auto", 1);
    check_grid(2, "auto", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy),
        cmocka_unit_test(test_cloud),
        cmocka_unit_test(test_squash),
        cmocka_unit_test(test_corrector_invariance),
        cmocka_unit_test(test_corrector_converges),
        cmocka_unit_test(test_entropy),
        cmocka_unit_test(test_relative),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_anneal),
        cmocka_unit_test(test_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
