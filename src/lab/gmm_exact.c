/* gmm_exact: see gmm_exact.h. */
#include "gmm_exact.h"
#include "gmm.h"
#include <math.h>

#define STEPS 100     /* of an episode */
#define DIRECTIONS 64 /* only the direction of an action counts */
#define SPACING 0.2   /* of the table of the log density; straight lines between are off by 0.01 at most */
#define NODES 501     /* along a side of the box */

struct walker {
    float *table;                        /* NODES x NODES, rows along y */
    double x[DIRECTIONS], y[DIRECTIONS]; /* unit steps */
    double weight[DIRECTIONS];           /* log of the area of the actions that point there */
};

static struct walker prepare(struct arena *scratch)
{
    const double turn = 6.28318530717958647692;
    struct walker w = {.table = arena_new(scratch, float, NODES *NODES)};
    for (int row = 0; row < NODES; row++)
        for (int column = 0; column < NODES; column++)
            w.table[row * NODES + column] =
                (float)gmm_log_density(column * SPACING - GMM_BOX, row * SPACING - GMM_BOX);
    for (int i = 0; i < DIRECTIONS; i++) {
        w.x[i] = cos((i + 0.5) / DIRECTIONS * turn);
        w.y[i] = sin((i + 0.5) / DIRECTIONS * turn);
        /* A ray reaches the edge of the action square at 1 / max(|x|, |y|), its sector grows with the square
         * of that. */
        w.weight[i] = -2 * log(fmax(fabs(w.x[i]), fabs(w.y[i])));
    }
    return w;
}

static double clip_to_box(double value)
{
    return fmin(fmax(value, -GMM_BOX), GMM_BOX);
}

static double log_density(const struct walker *w, double x, double y)
{
    double u = (x + GMM_BOX) / SPACING, v = (y + GMM_BOX) / SPACING;
    int column = u < NODES - 1 ? (int)u : NODES - 2, row = v < NODES - 1 ? (int)v : NODES - 2;
    const float *at = w->table + row * NODES + column;
    u -= column;
    v -= row;
    return (1 - v) * ((1 - u) * at[0] + u * at[1]) + v * ((1 - u) * at[NODES] + u * at[NODES + 1]);
}

static void step(const struct walker *w, double *x, double *y, struct rng *rng)
{
    double score[DIRECTIONS], top = -INFINITY, sum = 0;
    for (int i = 0; i < DIRECTIONS; i++) {
        score[i] = w->weight[i] + log_density(w, clip_to_box(*x + w->x[i]), clip_to_box(*y + w->y[i]));
        top = fmax(top, score[i]);
    }
    for (int i = 0; i < DIRECTIONS; i++)
        sum += score[i] = exp(score[i] - top);
    double left = rng_uniform(rng) * sum;
    int chosen = 0;
    while (chosen < DIRECTIONS - 1 && (left -= score[chosen]) > 0)
        chosen++;
    *x = clip_to_box(*x + w->x[chosen]);
    *y = clip_to_box(*y + w->y[chosen]);
}

void gmm_exact_walk(float *xy, int n, struct arena *scratch, struct rng *rng)
{
    struct walker w = prepare(scratch);
    for (int e = 0; e < n; e++) {
        double x = GMM_BOX * (2 * rng_uniform(rng) - 1), y = GMM_BOX * (2 * rng_uniform(rng) - 1);
        for (int t = 0; t < STEPS; t++)
            step(&w, &x, &y, rng);
        xy[2 * e] = (float)x;
        xy[2 * e + 1] = (float)y;
    }
}
