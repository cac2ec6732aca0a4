#include "boltzmann_grid.h"
#include <math.h>
#include <string.h>

/* The middles of side^d cells of the box. */
static float *lattice(struct arena *arena, int *points, int side, int d)
{
    *points = d == 1 ? side : side * side;
    float *action = arena_new(arena, float, *points *d);
    for (int i = 0; i < *points; i++)
        for (int j = 0; j < d; j++) {
            int index = j == 0 ? i % side : i / side;
            action[i * d + j] = 2 * ((float)index + 0.5f) / (float)side - 1;
        }
    return action;
}

void grid_create(struct boltzmann_grid *g, struct arena *arena, const struct twin_energy *energy,
                 const struct compute *compute)
{
    int d = energy->act_dim, threads = pool_threads(compute->pool);
    *g = (struct boltzmann_grid){.energy = energy, .compute = compute, .dim = d};
    g->action = lattice(arena, &g->points, GRID_SIDE, d);
    g->coarse = lattice(arena, &g->coarse_points, GRID_SIDE / 2, d);
    g->logp = arena_new(arena, float *, threads);
    g->owner = arena_new(arena, int *, threads);
    for (int t = 0; t < threads; t++) {
        g->logp[t] = arena_new(arena, float, g->points);
        g->owner[t] = arena_new(arena, int, g->points);
    }
}

/* Probabilities of n points at one state; returns log mean exp. */
static double solve(const struct boltzmann_grid *g, const float *action, int n, int state, int thread)
{
    for (int i = 0; i < n; i++)
        g->owner[thread][i] = state;
    g->energy->boxed.eval(g->energy->boxed.self, g->logp[thread], NULL, action, g->owner[thread], n, thread);
    return g->compute->k->softmax(g->logp[thread], n) - log(n);
}

static int pick(const float *p, int n, double u)
{
    int i = 0;
    for (double sum = p[0]; sum < u && i < n - 1; sum += p[i])
        i++;
    return i;
}

struct grid_job {
    struct boltzmann_grid *g;
    float *action, *value;
    const float *samples;
    int n;
    double *tv, *floor; /* per row */
    const struct rng *rng;
    uint64_t ticket;
};

static void draw_row(void *context, int row, int thread)
{
    struct grid_job *job = context;
    struct boltzmann_grid *g = job->g;
    solve(g, g->coarse, g->coarse_points, row, thread);
    float u[4];
    g->compute->k->uniforms(u, 4, job->rng->key, job->ticket, 4 * (uint64_t)row);
    int chosen = pick(g->logp[thread], g->coarse_points, u[0]);
    for (int j = 0; j < g->dim; j++) /* anywhere in the cell */
        job->action[row * g->dim + j] = g->coarse[chosen * g->dim + j] + 2 * (2 * u[1 + j] - 1) / GRID_SIDE;
}

void grid_draw(struct boltzmann_grid *g, float *action, int rows, struct rng *rng)
{
    struct grid_job job = {.g = g, .action = action, .rng = rng, .ticket = rng_ticket(rng)};
    pool_run(g->compute->pool, rows, draw_row, &job);
}

static void value_row(void *context, int row, int thread)
{
    struct grid_job *job = context;
    const struct boltzmann_grid *g = job->g;
    job->value[row] = (float)(solve(g, g->coarse, g->coarse_points, row, thread) / g->energy->inverse_T[row]);
}

void grid_soft_value(struct boltzmann_grid *g, float *value, int rows)
{
    struct grid_job job = {.g = g, .value = value};
    pool_run(g->compute->pool, rows, value_row, &job);
}

dqs_status grid_map(struct boltzmann_grid *g, struct twin_energy *energy, float *value, struct experience *e,
                    const float *obs, int rows, double T, dqs_error *error)
{
    int block = (int)e->o.batch;
    if (!grid_possible(e->setup.act_dim))
        return fail(error, DQS_E_UNSUPPORTED,
                    "soft value: needs at most 2 action dimensions, this task has %d", e->setup.act_dim);
    for (int at = 0; at < rows; at += block) {
        int n = rows - at < block ? rows - at : block;
        features_of(&e->features, e->s, obs + (size_t)at * (size_t)e->setup.obs_dim, n);
        twin_energy_prepare(energy, g->compute, e->s, n, T);
        grid_soft_value(g, value + at, n);
    }
    return DQS_OK;
}

static int cell_of(const float *a, int d)
{
    int cell = 0;
    for (int j = d - 1; j >= 0; j--) {
        int index = (int)floorf((a[j] + 1) / 2 * GRID_CELLS);
        cell = cell * GRID_CELLS + (index < 0 ? 0 : index >= GRID_CELLS ? GRID_CELLS - 1 : index);
    }
    return cell;
}

static double variation(const double *p, const double *counts, int cells, int n)
{
    double sum = 0;
    for (int c = 0; c < cells; c++)
        sum += fabs(p[c] - counts[c] / n);
    return sum / 2;
}

static void compare_row(void *context, int row, int thread)
{
    struct grid_job *job = context;
    struct boltzmann_grid *g = job->g;
    int d = g->dim, cells = d == 1 ? GRID_CELLS : GRID_CELLS * GRID_CELLS;
    double p[GRID_CELLS * GRID_CELLS] = {0}, counts[GRID_CELLS * GRID_CELLS] = {0},
                          exact[GRID_CELLS * GRID_CELLS] = {0};
    solve(g, g->action, g->points, row, thread);
    for (int i = 0; i < g->points; i++)
        p[cell_of(g->action + i * d, d)] += g->logp[thread][i];
    float cumulative[GRID_CELLS * GRID_CELLS], u[4];
    for (int c = 0; c < cells; c++)
        cumulative[c] = (float)p[c];
    for (int i = 0; i < job->n; i++) {
        counts[cell_of(job->samples + ((size_t)row * (size_t)job->n + (size_t)i) * (size_t)d, d)]++;
        if (i % 4 == 0)
            g->compute->k->uniforms(u, 4, job->rng->key, job->ticket,
                                    (uint64_t)row * (uint64_t)(job->n + 3) / 4 * 4 + (uint64_t)i);
        exact[pick(cumulative, cells, u[i % 4])]++;
    }
    job->tv[row] = variation(p, counts, cells, job->n);
    job->floor[row] = variation(p, exact, cells, job->n);
}

double grid_total_variation(struct boltzmann_grid *g, const float *samples, int rows, int n, double *floor,
                            struct rng *rng)
{
    double tv[rows], exact[rows], sum = 0, sum_exact = 0;
    struct grid_job job = {
        .g = g, .samples = samples, .n = n, .tv = tv, .floor = exact, .rng = rng, .ticket = rng_ticket(rng)};
    pool_run(g->compute->pool, rows, compare_row, &job);
    for (int r = 0; r < rows; r++) {
        sum += tv[r] / rows;
        sum_exact += exact[r] / rows;
    }
    *floor = sum_exact;
    return sum;
}
