#include "dsac.h"

static const double bias = 0.1; /* keeps the loss finite where sigma is small */

void dsac_create(struct dsac *dsac, struct arena *arena, int batch)
{
    *dsac = (struct dsac){.z = arena_new(arena, float, batch), .y_z = arena_new(arena, float, batch)};
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double bounded(double x, double most)
{
    return fmin(most, fmax(-most, x));
}

void dsac_target(const struct compute *compute, struct dsac *dsac, struct twin *twin, float *y,
                 const float *reward, const float *discount, const float *x_next, int rows, struct rng *rng)
{
    twin_target_forward(compute, twin, x_next, rows, 2);
    compute->k->normals(dsac->z, (size_t)rows, rng->key, rng_ticket(rng), 0);
    for (int r = 0; r < rows; r++) {
        const float *q = twin->q[twin->q[0][2 * r] < twin->q[1][2 * r] ? 0 : 1] + 2 * r;
        y[r] = q[0];
        dsac->y_z[r] = (float)(q[0] + softplus(q[1]) * bounded(dsac->z[r], 3));
    }
    bootstrap(y, reward, discount, y, rows);
    bootstrap(dsac->y_z, reward, discount, dsac->y_z, rows);
}

/* dq [rows x 2] of
 *   -(kappa^2 + 0.1) mean[ mu (y - mu)/(sigma^2 + 0.1) + sigma ((mu - y_b)^2 - sigma^2)/(sigma^3 + 0.1) ]
 * by the leading mu and sigma alone; y_b = mu + clip(y_z - mu, +-3 kappa). */
static void slopes(float *dq, const float *q, const float *y, const float *y_z, double kappa, int rows)
{
    double weight = -(kappa * kappa + bias) / rows;
    for (int r = 0; r < rows; r++) {
        double mu = q[2 * r], raw = q[2 * r + 1], sigma = softplus(raw),
               off = bounded(y_z[r] - mu, 3 * kappa);
        double d_mu = (y[r] - mu) / (sigma * sigma + bias),
               d_sigma = (off * off - sigma * sigma) / (sigma * sigma * sigma + bias);
        dq[2 * r] = (float)(weight * d_mu);
        dq[2 * r + 1] = (float)(weight * d_sigma / (1 + exp(-raw)));
    }
}

double dsac_fit(const struct compute *compute, struct dsac *dsac, struct twin *twin, const float *x,
                const float *y, int rows, double eta, double max_norm, double *mean_q)
{
    struct net_pass pass[2];
    double squares = 0, sum = 0;
    twin_passes(twin, pass, x, rows);
    net_forward(compute, pass, 2);
    for (int i = 0; i < 2; i++) {
        double spread = 0;
        for (int r = 0; r < rows; r++) {
            double error = (double)twin->q[i][2 * r] - y[r];
            squares += error * error;
            sum += twin->q[i][2 * r];
            spread += softplus(twin->q[i][2 * r + 1]) / rows;
        }
        dsac->kappa[i] = dsac->kappa[i] > 0 ? (1 - eta) * dsac->kappa[i] + eta * spread : spread;
        slopes(twin->dq[i], twin->q[i], y, dsac->y_z, dsac->kappa[i], rows);
    }
    net_backward(compute, pass, 2);
    twin_step(compute, twin, max_norm);
    *mean_q = sum / (2 * rows);
    return squares / (2 * rows);
}

void dsac_visit(struct dsac *dsac, struct visitor *visitor)
{
    visit_vector(visitor, "kappa", VISIT_LEARN, VISIT_F64, dsac->kappa, 2);
}
