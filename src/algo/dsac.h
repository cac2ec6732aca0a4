/* dsac: the Gaussian critics of DSAC-T (Duan et al. 2023), which DACER's authors use: a critic predicts mean
 * mu and spread sigma = log(1 + exp(raw)) of the return; outputs [mu, raw]. The twin is created with out =
 * 2. */
#ifndef ALGO_DSAC_H
#define ALGO_DSAC_H

#include "parts.h"

struct dsac {
    double kappa[2]; /* running mean of sigma, per critic; 0: not yet seen */
    float *z, *y_z;  /* [batch] */
};

void dsac_create(struct dsac *dsac, struct arena *arena, int batch);
/* y = r + discount mu'_k and y_z, the same with mu'_k + sigma'_k clip(z, +-3), z ~ N(0,1); k the target
 * critic with the smaller mean. */
void dsac_target(const struct compute *compute, struct dsac *dsac, struct twin *twin, float *y,
                 const float *reward, const float *discount, const float *x_next, int rows, struct rng *rng);
/* One Adam step of both critics; eta: step of kappa's running mean. Returns the mean of (mu - y)^2; *mean_q
 * of mu. */
double dsac_fit(const struct compute *compute, struct dsac *dsac, struct twin *twin, const float *x,
                const float *y, int rows, double eta, double max_norm, double *mean_q);
void dsac_visit(struct dsac *dsac, struct visitor *visitor);

#endif
