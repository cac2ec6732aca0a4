/* truncnorm: a Gaussian cut to [-1, 1], one dimension: sampling by inversion, and its log density. */
#ifndef DIFFUSION_TRUNCNORM_H
#define DIFFUSION_TRUNCNORM_H

#include <stdbool.h>

struct truncnorm {
    double centre, std, low, width, log_width; /* P(z < lower end), P(inside), its log */
    bool flip; /* tail probabilities are counted from the side where they are small */
};

double normal_inverse(double p); /* |error| < 3e-7 for p in (1e-16, 1 - 1e-16) */
/* The centre is kept within 1 + 5 std of 0: beyond, probabilities vanish and the edge is all that matters. */
void truncnorm_prepare(struct truncnorm *t, double centre, double std);
double truncnorm_sample(const struct truncnorm *t, double u);
/* log density + log(std sqrt(2 pi)) */
double truncnorm_log_density(const struct truncnorm *t, double y);

#endif
