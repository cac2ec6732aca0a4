/* gmm_metrics: how near a set of points is to exact samples of the mixture, and how many modes it covers. */
#ifndef ENV_GMM_METRICS_H
#define ENV_GMM_METRICS_H

#include "dqs.h"

struct gmm_metrics {
    double mmd, mmd_floor;               /* RBF bandwidth 1 */
    double mmd_median, mmd_median_floor; /* bandwidth by the median heuristic */
    double bandwidth;                    /* that median */
    int modes;                           /* means with a point within 3 standard deviations */
    double mode_entropy;                 /* of the nearest-mean split, 1 is even over the 40 */
};

/* Maximum mean discrepancy, the square root of the biased (V-statistic) estimate, with k(x,y) =
 * exp(-|x-y|^2/(2 b^2)) at two bandwidths at once; a [n x 2], b [m x 2]. */
void gmm_mmd(double mmd[2], const float *a, int n, const float *b, int m, const double bandwidth[2]);
/* Mean over some sets of as many exact samples, always the same ones; the floor is the mean between pairs of
 * exact sets. */
void gmm_measure(struct gmm_metrics *out, const float *xy, int n);
/* The last observations of the episodes, measured, as named numbers. Returns how many. */
int gmm_metrics_summarise(const dqs_trace *trace, dqs_number *out, int capacity);

#endif
