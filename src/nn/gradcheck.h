/* gradcheck: compares a gradient with central differences; shipped, because every new algorithm needs it. */
#ifndef NN_GRADCHECK_H
#define NN_GRADCHECK_H

#include <stddef.h>

/* loss(context) is called after x[i] was moved. Checks `checks` entries spread over n; returns the largest
 * |analytic - numeric| / (|analytic| + |numeric| + floor). x is left as it was. */
double gradcheck(double (*loss)(void *context), void *context, float *x, const float *gradient, size_t n,
                 int checks, double step, double floor);

#endif
