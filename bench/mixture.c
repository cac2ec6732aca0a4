#include "mixture.h"
#include <assert.h>
#include <math.h>

static const double two_pi = 6.28318530717958647692;

void mixture_add(struct mixture *m, double weight, double x, double y, double along, double across,
                 double angle)
{
    assert(m->modes < MIXTURE_MODES);
    double c = cos(angle), s = sin(angle), a = along * along, b = across * across;
    double *cov = m->cov[m->modes];
    cov[0] = a * c * c + b * s * s;
    cov[1] = (a - b) * c * s;
    cov[2] = a * s * s + b * c * c;
    double det = cov[0] * cov[2] - cov[1] * cov[1], *inverse = m->inverse[m->modes];
    inverse[0] = cov[2] / det;
    inverse[1] = -cov[1] / det;
    inverse[2] = cov[0] / det;
    m->height[m->modes] = weight / (two_pi * sqrt(det));
    m->weight[m->modes] = weight;
    m->mean[m->modes][0] = x;
    m->mean[m->modes][1] = y;
    m->modes++;
}

double mixture_score(const struct mixture *m, double *S, const float *x, double h)
{
    double exponent[MIXTURE_MODES], pull[MIXTURE_MODES][2], size[MIXTURE_MODES], top = -INFINITY;
    for (int i = 0; i < m->modes; i++) {
        double xx = m->cov[i][0] + h, xy = m->cov[i][1], yy = m->cov[i][2] + h, det = xx * yy - xy * xy;
        double dx = m->mean[i][0] - x[0], dy = m->mean[i][1] - x[1];
        pull[i][0] = (yy * dx - xy * dy) / det;
        pull[i][1] = (xx * dy - xy * dx) / det;
        exponent[i] = -0.5 * (pull[i][0] * dx + pull[i][1] * dy);
        size[i] = m->weight[i] / (two_pi * sqrt(det));
        top = fmax(top, exponent[i]);
    }
    double sum = 0, along[2] = {0, 0};
    for (int i = 0; i < m->modes; i++) {
        if (exponent[i] < top - 60) /* beyond double precision */
            continue;
        double p = size[i] * exp(exponent[i] - top);
        sum += p;
        along[0] += p * pull[i][0];
        along[1] += p * pull[i][1];
    }
    if (S) {
        S[0] = along[0] / sum;
        S[1] = along[1] / sum;
    }
    return top + log(sum);
}

static int choose(const struct mixture *m, double u)
{
    int i = 0;
    while (i < m->modes - 1 && u >= m->weight[i])
        u -= m->weight[i++];
    return i;
}

void mixture_sample(const struct mixture *m, float *xy, int n, bool box, struct rng *rng)
{
    for (int i = 0; i < n;) {
        int mode = choose(m, rng_uniform(rng));
        const double *cov = m->cov[mode];
        double a = rng_normal(rng), b = rng_normal(rng), root = sqrt(cov[0]); /* Cholesky */
        double x = m->mean[mode][0] + root * a;
        double y = m->mean[mode][1] + cov[1] / root * a + sqrt(cov[2] - cov[1] * cov[1] / cov[0]) * b;
        if (box && (fabs(x) > 1 || fabs(y) > 1))
            continue;
        xy[2 * i] = (float)x;
        xy[2 * i + 1] = (float)y;
        i++;
    }
}

/* As mixture_score without noise, nothing computed twice: fits with a thousand samples per state live here.
 */
static void evaluate(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                     int thread)
{
    (void)owner, (void)thread;
    const struct mixture *m = self;
    for (int r = 0; r < rows; r++) {
        double exponent[MIXTURE_MODES], pull[MIXTURE_MODES][2], top = -INFINITY, sum = 0, along[2] = {0, 0};
        for (int i = 0; i < m->modes; i++) {
            double dx = m->mean[i][0] - y[2 * r], dy = m->mean[i][1] - y[2 * r + 1];
            const double *inverse = m->inverse[i];
            pull[i][0] = inverse[0] * dx + inverse[1] * dy;
            pull[i][1] = inverse[1] * dx + inverse[2] * dy;
            exponent[i] = -0.5 * (pull[i][0] * dx + pull[i][1] * dy);
            top = fmax(top, exponent[i]);
        }
        for (int i = 0; i < m->modes; i++) {
            if (exponent[i] < top - 60)
                continue;
            double p = m->height[i] * exp(exponent[i] - top);
            sum += p;
            along[0] += p * pull[i][0];
            along[1] += p * pull[i][1];
        }
        logp[r] = (float)(top + log(sum));
        for (int j = 0; grad && j < 2; j++)
            grad[2 * r + j] = (float)(along[j] / sum);
    }
}

struct energy mixture_energy(const struct mixture *m)
{
    return (struct energy){.dim = 2, .eval = evaluate, .self = (void *)m};
}
