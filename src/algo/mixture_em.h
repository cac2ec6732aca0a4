/* mixture_em: a mixture of MIXTURE_PARTS Gaussians with full covariances, fitted to samples by
 * expectation-maximisation from a k-means start, as scikit-learn's GaussianMixture does with its defaults;
 * and from it the entropy that DACER steers by.
 *
 * n samples x [n x dim], w weights, mu means, Sigma covariances, rho responsibilities. All in double
 * precision. */
#ifndef ALGO_MIXTURE_EM_H
#define ALGO_MIXTURE_EM_H

#include "arena.h"
#include "rng.h"

#define MIXTURE_PARTS 3

struct mixture_em { /* one per thread */
    int n, dim, rounds;
    double weight[MIXTURE_PARTS], log_det[MIXTURE_PARTS]; /* log |Sigma| */
    double *mean;                                         /* [PARTS x dim] */
    double *factor;                                       /* [PARTS x dim x dim], lower: Sigma = L L^T */
    double *rho;                                          /* [n x PARTS] */
    double *row;                                          /* [dim] */
};

void mixture_create(struct mixture_em *m, struct arena *arena, int n, int dim);
/* rho = 1 for the nearest of PARTS centres: k-means++ by the random words of one block, then Lloyd's
 * rounds. */
void mixture_start(struct mixture_em *m, const float *x, const uint32_t words[4]);
/* From rho, until the mean log-likelihood gains less than 1e-3 or 100 rounds; returns it. */
double mixture_climb(struct mixture_em *m, const float *x);
/* -sum w ln w + sum w 1/2 (dim (1 + ln 2 pi) + ln |Sigma|): at least the entropy of the mixture, equal if its
 * parts lie apart. */
double mixture_entropy(const struct mixture_em *m);

#endif
