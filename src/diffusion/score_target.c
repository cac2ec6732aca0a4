#include "score_target.h"
#include "box.h"
#include "truncnorm.h"
#include <math.h>
#include <string.h>

#define CLOUD_PAYS 32 /* so many samples of a state are better looked at together */
#define SCORE_NOTHING \
    1e-9f /* all weights below this, relative to their mean, add less to S than its last bit */

/* States per tile so that a tile is about 128 rows: a multiple of 4, or 1. */
static int tile_states(const struct score_options *o)
{
    int states = 128 / o->K / 4 * 4;
    return states > 0 ? states : 1;
}

void score_scratch_create(struct score_scratch *s, struct arena *arena, const struct score_options *o,
                          int dim)
{
    s->states = tile_states(o);
    size_t rows = (size_t)s->states * (size_t)(o->K > o->K_low ? o->K : o->K_low), d = (size_t)dim;
    s->owner = arena_new(arena, int, rows + (size_t)s->states);
    s->first = arena_new(arena, int, s->states);
    s->count = arena_new(arena, int, s->states);
    s->y = arena_new(arena, float, rows *d);
    s->logw = arena_new(arena, float, rows);
    s->weight0 = arena_new(arena, float, rows + (size_t)s->states);
    s->grad = arena_new(arena, float, rows *d);
    s->centre = arena_new(arena, float, (size_t)s->states *d);
    s->shift = arena_new(arena, float, (size_t)s->states *d);
}

static bool all_shifted(const struct score_options *o, double sigma)
{
    return o->form == SCORE_SHIFTED && sigma < o->sigma_low;
}

/* shift [n x dim] = grad L(x), x first brought into the box. Zero for the forms that do not shift. */
static void find_shifts(const struct score_options *o, const struct energy *e, struct score_scratch *s,
                        const float *x, int first, int n, int thread)
{
    int d = e->dim;
    memset(s->shift, 0, sizeof *s->shift * (size_t)(n * d));
    if (o->form != SCORE_SHIFTED)
        return;
    for (int i = 0; i < n; i++)
        s->owner[i] = first + i;
    for (int i = 0; i < n * d; i++) {
        float v = x[(size_t)first * (size_t)d + (size_t)i];
        s->centre[i] = o->box ? into_box(v) : v;
    }
    e->eval(e->self, s->weight0, s->shift, s->centre, s->owner, n, thread);
}

/* Two components, plain and shifted; sample i uses the shifted one in every second pair. */
struct proposal {
    struct truncnorm plain[SCORE_MOST_DIMS], shifted[SCORE_MOST_DIMS];
};

static bool uses_shift(const struct score_options *o, bool all, int i)
{
    return all || (o->form == SCORE_SHIFTED && (i / 2) % 2 == 1);
}

/* h, or less: a shift longer than sigma leaves the mass of N(x, h), and its samples get no weight. */
static double shift_reach(const float *shift, double h, int d)
{
    double squares = 0;
    for (int j = 0; j < d; j++)
        squares += (double)shift[j] * shift[j];
    return h * squares > 1 ? sqrt(h / squares) : h;
}

static double log_add_exp(double a, double b)
{
    return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

/* Draws the count samples of one state into y and their log importance weights, log N(y; x, h) - log q(y),
 * into logw. */
static void propose(const struct score_options *o, const struct kernels *k, float *y, float *logw,
                    const float *x, const float *shift, double h, int count, int d, uint64_t word0,
                    const struct rng *rng, uint64_t ticket)
{
    double sigma = sqrt(h), reach = shift_reach(shift, h, d);
    bool all = all_shifted(o, sigma), box = o->box;
    int half = (count + 1) / 2 * d;
    float u[half];
    struct proposal p;
    if (box)
        k->uniforms(u, (size_t)half, rng->key, ticket, word0);
    else
        k->normals(u, (size_t)half, rng->key, ticket, word0);
    for (int j = 0; j < d; j++) {
        double moved = x[j] + reach * shift[j], far = 1 + 2 * sigma;
        moved = box ? fmin(far, fmax(-far, moved)) : moved;
        p.shifted[j] = p.plain[j] = (struct truncnorm){.std = sigma, .centre = x[j]};
        p.shifted[j].centre = moved;
        if (box && !all)
            truncnorm_prepare(&p.plain[j], x[j], sigma);
        if (box && o->form == SCORE_SHIFTED)
            truncnorm_prepare(&p.shifted[j], moved, sigma);
    }
    for (int i = 0; i < count; i++) {
        bool shifted = uses_shift(o, all, i);
        double log_target = 0, log_plain = 0, log_shifted = 0;
        for (int j = 0; j < d; j++) {
            const struct truncnorm *t = shifted ? &p.shifted[j] : &p.plain[j];
            float draw = u[i / 2 * d + j];
            double v = box ? truncnorm_sample(t, i % 2 ? 1 - draw : draw)
                           : t->centre + sigma * (i % 2 ? -draw : draw);
            double z = (v - x[j]) / sigma;
            log_target -= 0.5 * z * z;
            log_plain += truncnorm_log_density(&p.plain[j], v);
            log_shifted += truncnorm_log_density(&p.shifted[j], v);
            y[i * d + j] = (float)v;
        }
        double log_q = o->form != SCORE_SHIFTED ? log_plain
                       : all                    ? log_shifted
                                                : log_add_exp(log_plain, log_shifted);
        logw[i] = (float)(log_target - log_q);
    }
}

static void clip_norm(float *S, int d, double most)
{
    double squares = 0;
    for (int j = 0; j < d; j++)
        squares += (double)S[j] * S[j];
    if (most > 0 && squares > most * most)
        for (int j = 0; j < d; j++)
            S[j] *= (float)(most / sqrt(squares));
}

/* How much of the gradient form goes into S. */
static double gradient_share(const struct score_options *o, double h)
{
    switch (o->form) {
    case SCORE_GRADIENT:
        return 1;
    case SCORE_MIXTURE:
        return o->mode_width * o->mode_width / (o->mode_width * o->mode_width + h);
    default:
        return 0;
    }
}

/* S = share sum w_i grad_i + (1 - share) sum w_i (y_i - x)/h; by_gradient [d] is the first sum. */
static void combine(float *S, const float *w, const float *y, const float *by_gradient, const float *x,
                    double share, double h, int count, int d)
{
    for (int j = 0; j < d; j++) {
        double by_value = 0;
        for (int i = 0; share < 1 && i < count; i++)
            by_value += (double)w[i] * (y[i * d + j] - x[j]);
        S[j] = (float)((share > 0 ? share * by_gradient[j] : 0) + (1 - share) * by_value / h);
    }
}

static void weighted_sum(float *sum, const float *w, const float *grad, int count, int d)
{
    for (int j = 0; j < d; j++) {
        double total = 0;
        for (int i = 0; i < count; i++)
            total += (double)w[i] * grad[i * d + j];
        sum[j] = (float)total;
    }
}

/* Weights from log weights; returns their effective number. Those so small that a float sum does not see them
 * become 0. */
static double weigh(const struct kernels *k, float *w, const float *weight0, int count)
{
    double squares = 0;
    for (int i = 0; i < count; i++)
        w[i] += weight0[i];
    k->softmax(w, count);
    for (int i = 0; i < count; i++) {
        squares += (double)w[i] * w[i];
        w[i] = w[i] * (float)count < SCORE_NOTHING ? 0 : w[i];
    }
    return 1 / squares;
}

void score_tile(const struct score_options *o, const struct kernels *k, const struct energy *energy, float *S,
                float *ess, const float *x, const float *h, int first, int n, const struct rng *rng,
                uint64_t ticket, struct score_scratch *s, int thread)
{
    int d = energy->dim, rows = 0;
    uint64_t most = (uint64_t)(o->K > o->K_low ? o->K : o->K_low);
    uint64_t words = ((most + 1) / 2 * (uint64_t)d + 3) / 4 * 4; /* of random numbers per state */
    bool gradients = o->form == SCORE_GRADIENT || o->form == SCORE_MIXTURE;
    find_shifts(o, energy, s, x, first, n, thread);
    for (int i = 0; i < n; i++) {
        int state = first + i;
        s->first[i] = rows;
        s->count[i] = all_shifted(o, sqrt(h[state])) ? o->K_low : o->K;
        propose(o, k, s->y + (size_t)rows * (size_t)d, s->weight0 + rows, x + (size_t)state * (size_t)d,
                s->shift + i * d, h[state], s->count[i], d, (uint64_t)state * words, rng, ticket);
        for (int c = 0; c < s->count[i]; c++)
            s->owner[rows++] = state;
    }
    bool together = energy->cloud_most >= (int)most && most >= CLOUD_PAYS;
    if (!together)
        energy->eval(energy->self, s->logw, gradients ? s->grad : NULL, s->y, s->owner, rows, thread);
    for (int i = 0; i < n; i++) {
        int state = first + i, at = s->first[i], count = s->count[i];
        const float *y = s->y + (size_t)at * (size_t)d;
        size_t row = (size_t)state * (size_t)d;
        float *w = s->logw + at, by_gradient[SCORE_MOST_DIMS];
        if (together)
            energy->cloud(energy->self, w, y, state, count, thread);
        double effective = weigh(k, w, s->weight0 + at, count);
        if (ess)
            ess[state] = (float)effective;
        if (gradients && together)
            energy->pull(energy->self, by_gradient, w, state, count, thread);
        else if (gradients)
            weighted_sum(by_gradient, w, s->grad + (size_t)at * (size_t)d, count, d);
        combine(S + row, w, y, by_gradient, x + row, gradient_share(o, h[state]), h[state], count, d);
        clip_norm(S + row, d, o->clip);
    }
}
