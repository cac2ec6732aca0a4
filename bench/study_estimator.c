/* study_estimator: is the K-sample score target right? Its error against quadrature on fixed energies in the
 * plane, for every form, number of samples and noise; then what matters in the end: does a network fitted
 * with the default estimator sample the target as well as one fitted with the paper's at K = 1000? */
#include "clock.h"
#include "diffusion_policy.h"
#include "mixture.h"
#include "study.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRID 500 /* quadrature points per axis */
#define CELLS 20 /* of the total variation, per axis */
#define ENERGIES 6

static const double sigmas[] = {0.02, 0.1, 0.3, 1};
static const int sample_counts[] = {8, 64, 1000};

static const struct form {
    enum score_form form;
    bool box;
} forms[] = {
    {SCORE_GRADIENT, false}, {SCORE_VALUE, false},
    {SCORE_MIXTURE, false},  {SCORE_SHIFTED, false}, /* free space */
    {SCORE_VALUE, true},     {SCORE_SHIFTED, true},  /* the box */
};
#define FORMS ((int)(sizeof forms / sizeof *forms))

struct setting {
    int points, updates, K, samples;
    int fits[ENERGIES], fit_count; /* which energies networks are fitted to */
    double limit;
};

static const struct setting whole = {1024, 3000, 1000, 40000, {1, 3, 5}, 3, 0.02};
static const struct setting small = {64, 800, 64, 4000, {5}, 1, 0.1};

struct target {
    const char *name;
    struct mixture mixture;
};

static void make_targets(struct target *t)
{
    static const char *const names[ENERGIES] = {"isotropic, equal",   "isotropic, unequal",
                                                "anisotropic, equal", "anisotropic, unequal",
                                                "at the edge",        "wide, unequal"};
    static const double weights[2][3] = {{1 / 3.0, 1 / 3.0, 1 / 3.0}, {0.6, 0.3, 0.1}};
    static const double pairs[2][2] = {{0.5, 0.5}, {0.8, 0.2}};
    for (int i = 0; i < ENERGIES; i++)
        t[i] = (struct target){.name = names[i]};
    for (int i = 0; i < 2; i++) {
        mixture_add(&t[i].mixture, weights[i][0], -0.5, -0.3, 0.1, 0.1, 0);
        mixture_add(&t[i].mixture, weights[i][1], 0.5, -0.3, 0.1, 0.1, 0);
        mixture_add(&t[i].mixture, weights[i][2], 0, 0.5, 0.1, 0.1, 0);
        mixture_add(&t[2 + i].mixture, pairs[i][0], -0.35, 0, 0.2, 0.05, 0.7);
        mixture_add(&t[2 + i].mixture, pairs[i][1], 0.35, 0, 0.2, 0.05, -0.7);
    }
    mixture_add(&t[4].mixture, 0.5, 0.9, 0.8, 0.15, 0.15, 0);
    mixture_add(&t[4].mixture, 0.5, -0.6, 0, 0.2, 0.05, 1.5708);
    mixture_add(&t[5].mixture, 0.7, -0.3, -0.3, 0.2, 0.2, 0);
    mixture_add(&t[5].mixture, 0.3, 0.3, 0.3, 0.2, 0.2, 0);
}

/* ---------------------------------------------------------------- quadrature */
struct quadrature {
    double half, *p; /* midpoints over [-half, half]^2; density there [GRID x GRID] */
};

static double grid_point(const struct quadrature *q, int i)
{
    return q->half * ((2 * i + 1.0) / GRID - 1);
}

static void quadrature_create(struct quadrature *q, struct arena *arena, const struct mixture *m, bool box)
{
    q->half = box ? 1 : 2; /* the mixtures are nothing beyond 2 */
    q->p = arena_new(arena, double, GRID *GRID);
    for (int i = 0; i < GRID; i++)
        for (int j = 0; j < GRID; j++) {
            float x[2] = {(float)grid_point(q, i), (float)grid_point(q, j)};
            q->p[i * GRID + j] = exp(mixture_score(m, NULL, x, 0));
        }
}

/* S = E[y - x]/h under p(y) N(y; x, h) */
static void quadrature_score(const struct quadrature *q, double S[2], const float *x, double h)
{
    double near[2][GRID], sum = 0, moment[2] = {0, 0};
    for (int a = 0; a < 2; a++)
        for (int i = 0; i < GRID; i++)
            near[a][i] = exp(-0.5 * pow(grid_point(q, i) - x[a], 2) / h);
    for (int i = 0; i < GRID; i++) {
        double row = 0, row_moment = 0;
        if (near[0][i] < 1e-30)
            continue;
        for (int j = 0; j < GRID; j++) {
            double w = q->p[i * GRID + j] * near[1][j];
            row += w;
            row_moment += w * (grid_point(q, j) - x[1]);
        }
        sum += near[0][i] * row;
        moment[0] += near[0][i] * row * (grid_point(q, i) - x[0]);
        moment[1] += near[0][i] * row_moment;
    }
    S[0] = moment[0] / sum / h;
    S[1] = moment[1] / sum / h;
}

/* ---------------------------------------------------------------- errors of the estimators */
struct problem {
    int points;
    float *x, *h;  /* noised exact samples */
    double *exact; /* [points x 2] */
    const struct mixture *mixture;
};

static void problem_create(struct problem *p, struct arena *arena, const struct mixture *m,
                           const struct quadrature *q, bool box, double sigma, int points, struct rng *rng)
{
    *p = (struct problem){.points = points, .mixture = m};
    p->x = arena_new(arena, float, 2 * points);
    p->h = arena_new(arena, float, points);
    p->exact = arena_new(arena, double, 2 * points);
    mixture_sample(m, p->x, points, box, rng);
    for (int r = 0; r < points; r++) {
        p->h[r] = (float)(sigma * sigma);
        for (int j = 0; j < 2; j++)
            p->x[2 * r + j] += (float)(sigma * rng_normal(rng));
        quadrature_score(q, p->exact + 2 * r, p->x + 2 * r, p->h[r]);
    }
}

static struct score_options options_of(const struct form *form, int K)
{
    return (struct score_options){
        .form = form->form, .K = K, .K_low = K / 4, .sigma_low = 0.05, .mode_width = 0.1, .box = form->box};
}

static double rms_error(const struct problem *p, const struct form *form, int K, const struct kernels *k,
                        struct rng *rng)
{
    struct arena arena = {0};
    struct score_options o = options_of(form, K);
    struct score_scratch scratch;
    struct energy energy = mixture_energy(p->mixture);
    float *S = arena_new(&arena, float, 2 * p->points);
    uint64_t ticket = rng_ticket(rng);
    double squares = 0;
    score_scratch_create(&scratch, &arena, &o, 2);
    for (int at = 0; at < p->points; at += scratch.states) {
        int n = p->points - at < scratch.states ? p->points - at : scratch.states;
        score_tile(&o, k, &energy, S, NULL, p->x, p->h, at, n, rng, ticket, &scratch, 0);
    }
    for (int i = 0; i < 2 * p->points; i++)
        squares += p->h[i / 2] * pow(S[i] - p->exact[i], 2);
    arena_free(&arena);
    return sqrt(squares / (2 * p->points));
}

static void table_errors(const struct target *targets, const struct setting *set, const struct kernels *k,
                         struct rng *rng)
{
    printf("| energy | sigma | K | gradient | value | mixture | shifted | box: value | box: shifted |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int t = 0; t < ENERGIES; t++) {
        struct arena arena = {0};
        struct quadrature q[2];
        for (int box = 0; box < 2; box++)
            quadrature_create(&q[box], &arena, &targets[t].mixture, box);
        for (int s = 0; s < 4; s++) {
            struct problem p[2];
            for (int box = 0; box < 2; box++)
                problem_create(&p[box], &arena, &targets[t].mixture, &q[box], box, sigmas[s], set->points,
                               rng);
            for (int i = 0; i < 3; i++) {
                printf("| %s | %g | %d |", targets[t].name, sigmas[s], sample_counts[i]);
                for (int f = 0; f < FORMS; f++)
                    printf(" %.3f |", rms_error(&p[forms[f].box], &forms[f], sample_counts[i], k, rng));
                printf("\n");
                fflush(stdout);
            }
        }
        arena_free(&arena);
    }
}

/* ---------------------------------------------------------------- networks fitted with them */
struct fit {
    struct diffusion_policy policy;
    struct twin_energy boxed; /* only its energy in the box is there; the policy asks for no more */
    struct score_options o;
    struct score_scratch *scratch; /* one per thread */
    struct energy energy;
    const struct kernels *k;
    float *x, *h, *S;
    const struct rng *rng;
    uint64_t ticket;
};
/* K = 0 stands for the exact score: what the network can do when its target is not to blame. */

#define BATCH 256

static void target_tile(void *context, int tile, int thread)
{
    struct fit *f = context;
    int at = tile * f->scratch->states, n = BATCH - at < f->scratch->states ? BATCH - at : f->scratch->states;
    if (f->o.K > 0) {
        score_tile(&f->o, f->k, &f->energy, f->S, NULL, f->x, f->h, at, n, f->rng, f->ticket,
                   &f->scratch[thread], thread);
        return;
    }
    for (int i = at; i < at + n; i++) {
        double S[2];
        mixture_score(f->energy.self, S, f->x + 2 * i, f->h[i]);
        f->S[2 * i] = (float)S[0];
        f->S[2 * i + 1] = (float)S[1];
    }
}

/* The default preset's policy on a task of one state, but with 50 steps of sampling in place of 6 and a
 * smooth activation, so that what the sampler and the network add to the error is small. */
static void fit_create(struct fit *f, struct arena *arena, const struct mixture *m,
                       const struct score_options *o, const struct compute *compute, uint64_t seed)
{
    struct policy_options p = {.width = 128,
                               .hidden = 2,
                               .embed = 64,
                               .steps = 50,
                               .most_particles = 1,
                               .act = ACT_GELU,
                               .residual = true,
                               .init = NET_UNIFORM,
                               .squash = SQUASH_BOX,
                               .sampler = SAMPLER_ANCESTRAL,
                               .schedule = {0.02, 1},
                               .gain = 20,
                               .lr = 3e-3,
                               .feature_dim = 1,
                               .act_dim = 2,
                               .batch = BATCH};
    struct rng rng;
    int threads = pool_threads(compute->pool);
    *f = (struct fit){.o = *o, .energy = mixture_energy(m), .k = compute->k};
    f->boxed.boxed = f->energy;
    policy_create(&f->policy, arena, &p, compute, &f->boxed);
    rng_seed(&rng, seed, RNG_INIT);
    policy_initialise(&f->policy, &rng);
    f->scratch = arena_new(arena, struct score_scratch, threads);
    struct score_options sizes = *o;
    sizes.K = o->K > 0 ? o->K : 8;
    for (int t = 0; t < threads; t++)
        score_scratch_create(&f->scratch[t], arena, &sizes, 2);
    f->x = arena_new(arena, float, 2 * BATCH);
    f->h = arena_new(arena, float, BATCH);
    f->S = arena_new(arena, float, 2 * BATCH);
}

/* Noised uniform points of the box, so that nothing of the target is known but its energy. */
static void fit_run(struct fit *f, int updates, uint64_t seed)
{
    float x0[2 * BATCH], tau[BATCH], nothing[BATCH] = {0};
    struct rng rng;
    double lr = f->policy.o.lr;
    int tiles = (BATCH + f->scratch->states - 1) / f->scratch->states;
    rng_seed(&rng, seed, RNG_SCORE);
    for (int u = 0; u < updates; u++) {
        f->k->uniforms(x0, 2 * BATCH, rng.key, rng_ticket(&rng), 0);
        for (int i = 0; i < 2 * BATCH; i++)
            x0[i] = 2 * x0[i] - 1;
        policy_noise(&f->policy, tau, f->h, f->x, x0, BATCH, &rng);
        f->ticket = rng_ticket(&rng);
        f->rng = &rng;
        pool_run(f->policy.compute->pool, tiles, target_tile, f);
        f->policy.adam.options.lr = lr * 0.5 * (1 + cos(3.14159265358979 * u / updates));
        policy_fit(&f->policy, nothing, f->x, tau, f->h, nothing, f->S, BATCH, false);
    }
}

static double total_variation(const float *xy, int n, const struct quadrature *q)
{
    double exact[CELLS * CELLS] = {0}, share[CELLS * CELLS] = {0}, sum = 0, distance = 0;
    for (int i = 0; i < GRID; i++)
        for (int j = 0; j < GRID; j++) {
            exact[i * CELLS / GRID * CELLS + j * CELLS / GRID] += q->p[i * GRID + j];
            sum += q->p[i * GRID + j];
        }
    for (int r = 0; r < n; r++) {
        int cell[2];
        for (int j = 0; j < 2; j++) {
            int c = (int)((xy[2 * r + j] + 1) / 2 * CELLS);
            cell[j] = c < 0 ? 0 : c >= CELLS ? CELLS - 1 : c;
        }
        share[cell[0] * CELLS + cell[1]] += 1.0 / n;
    }
    for (int c = 0; c < CELLS * CELLS; c++)
        distance += 0.5 * fabs(share[c] - exact[c] / sum);
    return distance;
}

/* Fits, samples, and returns the total variation; *seconds is what the fit took. */
static double fit_distance(const struct target *t, const struct score_options *o, const struct setting *set,
                           const struct compute *compute, const struct quadrature *q, uint64_t seed,
                           double *seconds)
{
    struct arena arena = {0};
    struct fit f;
    struct rng rng;
    struct policy_draw draw = {.noise = 1, .particles = 1};
    float *xy = arena_new(&arena, float, 2 * set->samples),
          *features = arena_new(&arena, float, set->samples);
    double start = clock_seconds();
    fit_create(&f, &arena, &t->mixture, o, compute, seed);
    fit_run(&f, set->updates, seed);
    *seconds = clock_seconds() - start;
    rng_seed(&rng, seed, RNG_ACT);
    policy_act(&f.policy, xy, features, set->samples, &draw, &rng);
    double distance = total_variation(xy, set->samples, q);
    arena_free(&arena);
    return distance;
}

/* One row: the total variation by every way, then of exact samples. Returns default less gradient form. */
static double fit_row(const struct target *t, const struct setting *set, const struct compute *compute,
                      uint64_t seed)
{
    const struct score_options ways[] = {
        {.form = SCORE_SHIFTED, .K = 8, .K_low = 2, .sigma_low = 0.05, .box = true},
        {.form = SCORE_SHIFTED, .K = 16, .K_low = 4, .sigma_low = 0.05, .box = true}, /* the default */
        {.form = SCORE_SHIFTED, .K = 32, .K_low = 8, .sigma_low = 0.05, .box = true},
        {.form = SCORE_GRADIENT, .K = set->K, .K_low = set->K},
        {.K = 0},
    };
    struct arena arena = {0};
    struct quadrature q;
    struct rng rng;
    double seconds, distance[5];
    float *xy = arena_new(&arena, float, 2 * set->samples);
    quadrature_create(&q, &arena, &t->mixture, true);
    printf("| %s |", t->name);
    for (int way = 0; way < 5; way++) {
        distance[way] = fit_distance(t, &ways[way], set, compute, &q, seed, &seconds);
        printf(" %.3f (%.0f s) |", distance[way], seconds);
        fflush(stdout);
    }
    rng_seed(&rng, seed, RNG_DIAGNOSE);
    mixture_sample(&t->mixture, xy, set->samples, true, &rng);
    printf(" %.3f |\n", total_variation(xy, set->samples, &q));
    arena_free(&arena);
    return distance[1] - distance[3];
}

static bool table_fits(const struct target *targets, const struct setting *set, const struct compute *compute,
                       uint64_t seed)
{
    double worst = -1;
    printf("\n| energy | shifted, K = 8 | shifted, K = 16 (default) | shifted, K = 32 | gradient, K = %d |"
           " exact score | exact samples |\n| --- | --- | --- | --- | --- | --- | --- |\n",
           set->K);
    for (int i = 0; i < set->fit_count; i++)
        worst = fmax(worst, fit_row(&targets[set->fits[i]], set, compute, seed));
    printf("\n");
    return study_verdict("total variation, default less gradient form, worst", worst, set->limit);
}

int study_estimator(int argc, char **argv)
{
    struct study_options o;
    struct compute *compute;
    int code = study_begin(&o, &compute, argc, argv);
    if (code != 0)
        return code;
    const struct setting *set = o.quick ? &small : &whole;
    struct target targets[ENERGIES];
    struct rng rng;
    double start = clock_seconds();
    make_targets(targets);
    rng_seed(&rng, o.seed, RNG_TEST);
    printf("Seed %llu, %d points a row; root mean square error of sigma S per dimension, against quadrature "
           "on %d x %d points.\n"
           "Shifted proposals use K/4 samples below sigma 0.05, all shifted.\n\n",
           (unsigned long long)o.seed, set->points, GRID, GRID);
    table_errors(targets, set, compute->k, &rng);
    printf("\nNetworks of 2 x 128, %d updates of %d points, sampled by 50 ancestral steps, sigma 0.02 .. 1; "
           "total variation of %d\n"
           "samples on a grid of %d x %d.\n",
           set->updates, BATCH, set->samples, CELLS, CELLS);
    bool good = table_fits(targets, set, compute, o.seed);
    printf("\n%.1f minutes.\n", (clock_seconds() - start) / 60);
    compute_free(compute);
    return good ? 0 : 1;
}
