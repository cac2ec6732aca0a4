#include "mixture_em.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { PARTS = MIXTURE_PARTS, LLOYD_ROUNDS = 300, EM_ROUNDS = 100 };
static const double least_gain = 1e-3, ridge = 1e-6, log_2pi = 1.8378770664093454836;

void mixture_create(struct mixture_em *m, struct arena *arena, int n, int dim)
{
    *m = (struct mixture_em){.n = n, .dim = dim};
    m->mean = arena_new(arena, double, PARTS *dim);
    m->factor = arena_new(arena, double, PARTS *dim *dim);
    m->rho = arena_new(arena, double, n *PARTS);
    m->row = arena_new(arena, double, dim);
}

/* ---------------------------------------------------------------- k-means */
static double distance2(const double *centre, const float *x, int dim)
{
    double sum = 0;
    for (int j = 0; j < dim; j++)
        sum += (x[j] - centre[j]) * (x[j] - centre[j]);
    return sum;
}

static int nearest(const struct mixture_em *m, const float *x, int centres, double *distance)
{
    int best = 0;
    *distance = INFINITY;
    for (int c = 0; c < centres; c++) {
        double d2 = distance2(m->mean + c * m->dim, x, m->dim);
        if (d2 < *distance) {
            *distance = d2;
            best = c;
        }
    }
    return best;
}

/* Centre c is a sample, drawn with probability proportional to its squared distance from the centres before
 * it. */
static void seed_centre(struct mixture_em *m, const float *x, int c, double u)
{
    int dim = m->dim, chosen = 0;
    double total = 0, sum = 0;
    for (int i = 0; i < m->n; i++) {
        nearest(m, x + i * dim, c, &m->rho[i]);
        m->rho[i] = c > 0 ? m->rho[i] : 1;
        total += m->rho[i];
    }
    for (int i = 0; i < m->n && total > 0; i++) {
        if (m->rho[i] > 0)
            chosen = i;
        if ((sum += m->rho[i]) >= u * total)
            break;
    }
    for (int j = 0; j < dim; j++)
        m->mean[c * dim + j] = x[chosen * dim + j];
}

/* Centres to the means of their samples; an empty one stays. */
static void move_centres(struct mixture_em *m, const float *x)
{
    for (int c = 0; c < PARTS; c++) {
        double count = 0;
        memset(m->row, 0, sizeof *m->row * (size_t)m->dim);
        for (int i = 0; i < m->n; i++) {
            count += m->rho[i * PARTS + c];
            for (int j = 0; j < m->dim; j++)
                m->row[j] += m->rho[i * PARTS + c] * x[i * m->dim + j];
        }
        for (int j = 0; count > 0 && j < m->dim; j++)
            m->mean[c * m->dim + j] = m->row[j] / count;
    }
}

void mixture_start(struct mixture_em *m, const float *x, const uint32_t words[4])
{
    for (int c = 0; c < PARTS; c++)
        seed_centre(m, x, c, (words[c] + 0.5) * 0x1p-32);
    memset(m->rho, 0, sizeof *m->rho * (size_t)(m->n * PARTS));
    int changed = 1;
    for (int round = 0; changed && round < LLOYD_ROUNDS; round++) {
        changed = 0;
        for (int i = 0; i < m->n; i++) {
            double distance, *rho = m->rho + i * PARTS;
            int best = nearest(m, x + i * m->dim, PARTS, &distance);
            changed |= rho[best] != 1;
            memset(rho, 0, sizeof *rho * PARTS);
            rho[best] = 1;
        }
        move_centres(m, x);
    }
}

/* ---------------------------------------------------------------- expectation-maximisation */
/* a [dim x dim] -> its lower Cholesky factor; returns log |a|. Pivots stay positive: the ridge is in a. */
static double cholesky(double *a, int dim)
{
    double log_det = 0;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j <= i; j++) {
            double sum = a[i * dim + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * dim + k] * a[j * dim + k];
            if (i == j) {
                a[i * dim + i] = sqrt(fmax(sum, 1e-12));
                log_det += 2 * log(a[i * dim + i]);
            } else
                a[i * dim + j] = sum / a[j * dim + j];
        }
    return log_det;
}

static void maximise(struct mixture_em *m, const float *x)
{
    int dim = m->dim;
    for (int c = 0; c < PARTS; c++) {
        double count = 10 * DBL_EPSILON, *mean = m->mean + c * dim, *cov = m->factor + c * dim * dim;
        memset(mean, 0, sizeof *mean * (size_t)dim);
        memset(cov, 0, sizeof *cov * (size_t)(dim * dim));
        for (int i = 0; i < m->n; i++) {
            count += m->rho[i * PARTS + c];
            for (int j = 0; j < dim; j++)
                mean[j] += m->rho[i * PARTS + c] * x[i * dim + j];
        }
        for (int j = 0; j < dim; j++)
            mean[j] /= count;
        for (int i = 0; i < m->n; i++)
            for (int j = 0; j < dim; j++) {
                double scaled = m->rho[i * PARTS + c] * (x[i * dim + j] - mean[j]) / count;
                for (int k = 0; k <= j; k++)
                    cov[j * dim + k] += scaled * (x[i * dim + k] - mean[k]);
            }
        for (int j = 0; j < dim; j++)
            cov[j * dim + j] += ridge;
        m->weight[c] = count / m->n;
        m->log_det[c] = cholesky(cov, dim);
    }
}

/* log w + log N(x; mu, L L^T) */
static double log_joint(const struct mixture_em *m, const float *x, int c)
{
    int dim = m->dim;
    const double *mean = m->mean + c * dim, *L = m->factor + c * dim * dim;
    double squares = 0, *z = m->row; /* L z = x - mu */
    for (int i = 0; i < dim; i++) {
        z[i] = x[i] - mean[i];
        for (int k = 0; k < i; k++)
            z[i] -= L[i * dim + k] * z[k];
        z[i] /= L[i * dim + i];
        squares += z[i] * z[i];
    }
    return log(m->weight[c]) - 0.5 * (dim * log_2pi + m->log_det[c] + squares);
}

/* New responsibilities; returns the mean log-likelihood. */
static double expect(struct mixture_em *m, const float *x)
{
    double total = 0;
    for (int i = 0; i < m->n; i++) {
        double *rho = m->rho + i * PARTS, most = -INFINITY, sum = 0;
        for (int c = 0; c < PARTS; c++) {
            rho[c] = log_joint(m, x + i * m->dim, c);
            most = fmax(most, rho[c]);
        }
        for (int c = 0; c < PARTS; c++)
            sum += rho[c] = exp(rho[c] - most);
        for (int c = 0; c < PARTS; c++)
            rho[c] /= sum;
        total += most + log(sum);
    }
    return total / m->n;
}

double mixture_climb(struct mixture_em *m, const float *x)
{
    double now = -INFINITY, before;
    maximise(m, x);
    m->rounds = 0;
    do {
        before = now;
        now = expect(m, x);
        maximise(m, x);
    } while (++m->rounds < EM_ROUNDS && !(fabs(now - before) < least_gain));
    return now;
}

double mixture_entropy(const struct mixture_em *m)
{
    double sum = 0;
    for (int c = 0; c < PARTS; c++)
        sum += m->weight[c] * (0.5 * (m->dim * (1 + log_2pi) + m->log_det[c]) - log(m->weight[c]));
    return sum;
}
