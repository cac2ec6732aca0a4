#include "clipped_loss.h"
#include "gaussian.h"
#include <math.h>

void standardise(float *x, int n)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < n; i++)
        mean += (double)x[i] / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    double scale = 1 / (sqrt(squares / (n - 1)) + 1e-8);
    for (int i = 0; i < n; i++)
        x[i] = (float)((x[i] - mean) * scale);
}

/* Where the clipped term is the larger, rho is outside and nothing pulls it further. */
struct clipped_loss clipped_policy_loss(float *dmean, float *dlog_sigma, const float *mean,
                                        const float *log_sigma, int d, const struct rollout_batch *b,
                                        double clip, double ent_coef)
{
    struct clipped_loss loss = {0};
    int B = b->rows;
    double inverse[d], z[d]; /* 1/sigma, (a - mu)/sigma */
    for (int j = 0; j < d; j++) {
        inverse[j] = exp(-log_sigma[j]);
        loss.entropy += log_sigma[j] + HALF_LOG_2PI + 0.5;
        dlog_sigma[j] = (float)-ent_coef;
    }
    for (int r = 0; r < B; r++) {
        const float *a = b->action + r * d, *mu = mean + r * d;
        double log_prob = 0, A = b->advantage[r];
        for (int j = 0; j < d; j++) {
            z[j] = ((double)a[j] - mu[j]) * inverse[j];
            log_prob -= 0.5 * z[j] * z[j] + log_sigma[j] + HALF_LOG_2PI;
        }
        double log_rho = log_prob - b->log_prob[r], rho = exp(log_rho);
        double free = -A * rho, clipped = -A * fmin(1 + clip, fmax(1 - clip, rho));
        double dlog_prob = free >= clipped ? free / B : 0; /* d rho = rho d log pi */
        for (int j = 0; j < d; j++) {
            dmean[r * d + j] = (float)(dlog_prob * z[j] * inverse[j]);
            dlog_sigma[j] += (float)(dlog_prob * (z[j] * z[j] - 1));
        }
        loss.policy += fmax(free, clipped) / B;
        loss.approx_kl += (rho - 1 - log_rho) / B;
        loss.clip_fraction += (double)(fabs(rho - 1) > clip) / B;
    }
    return loss;
}

double clipped_value_loss(float *dV, const float *V, const struct rollout_batch *b, double clip,
                          double vf_coef)
{
    double c = clip > 0 ? clip : INFINITY, loss = 0;
    for (int r = 0; r < b->rows; r++) {
        double move = (double)V[r] - b->value[r], error = (double)V[r] - b->ret[r],
               kept = fabs(move) <= c ? error : error - move + copysign(c, move);
        bool larger = fabs(error) >= fabs(kept);
        loss += (larger ? error * error : kept * kept) / (2 * b->rows);
        dV[r] = (float)(larger ? vf_coef * error / b->rows : 0);
    }
    return loss;
}
