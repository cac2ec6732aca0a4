#include "gradcheck.h"
#include <math.h>

double gradcheck(double (*loss)(void *context), void *context, float *x, const float *gradient, size_t n,
                 int checks, double step, double floor)
{
    double worst = 0;
    for (int c = 0; c < checks; c++) {
        size_t i = (size_t)((double)n * c / checks);
        float kept = x[i];
        x[i] = (float)(kept + step);
        double up_at = x[i], up = loss(context);
        x[i] = (float)(kept - step);
        double numeric = (up - loss(context)) / (up_at - x[i]);
        x[i] = kept;
        double error = fabs(gradient[i] - numeric) / (fabs(gradient[i]) + fabs(numeric) + floor);
        worst = error > worst ? error : worst;
    }
    return worst;
}
