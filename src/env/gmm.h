/* gmm: a point walks in unit steps over the landscape of a mixture of 40 Gaussians; the reward is the log
 * density. */
#ifndef ENV_GMM_H
#define ENV_GMM_H

#include "dqs.h"
#include "rng.h"

#define GMM_MODES 40
#define GMM_BOX 50.0 /* positions stay in [-50,50]^2 */

extern const dqs_env_type gmm_type;

/* The means, [40 x 2]; every mode has unit standard deviation and weight 1/40. */
const double (*gmm_means(void))[2];
double gmm_log_density(double x, double y); /* normalised */
/* Exact samples, xy [n x 2]. */
void gmm_sample(float *xy, int n, struct rng *rng);

#endif
