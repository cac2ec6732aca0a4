#include "schedule.h"
#include <math.h>

double schedule_h(const struct schedule *s, double t)
{
    return s->sigma_min * s->sigma_min * expm1(2 * t * log(s->sigma_max / s->sigma_min));
}

double schedule_g2(const struct schedule *s, double t)
{
    double log_r = log(s->sigma_max / s->sigma_min);
    return 2 * log_r * s->sigma_min * s->sigma_min * exp(2 * t * log_r);
}
