#include "tolerance.h"
#include <assert.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

/* Falls from 1 at z = 0 to v at z = 1. */
static double fall(double z, enum tolerance_shape shape, double v)
{
    double s;
    switch (shape) {
    case TOLERANCE_GAUSSIAN:
        s = z * sqrt(-2.0 * log(v));
        return exp(-0.5 * s * s);
    case TOLERANCE_HYPERBOLIC:
        return 1.0 / cosh(z * acosh(1.0 / v));
    case TOLERANCE_LONG_TAIL:
        s = z * sqrt(1.0 / v - 1.0);
        return 1.0 / (s * s + 1.0);
    case TOLERANCE_RECIPROCAL:
        return 1.0 / (fabs(z) * (1.0 / v - 1.0) + 1.0);
    case TOLERANCE_COSINE:
        s = z * acos(2.0 * v - 1.0) / pi;
        return fabs(s) < 1.0 ? 0.5 * (1.0 + cos(pi * s)) : 0.0;
    case TOLERANCE_LINEAR:
        s = z * (1.0 - v);
        return fabs(s) < 1.0 ? 1.0 - s : 0.0;
    case TOLERANCE_QUADRATIC:
        s = z * sqrt(1.0 - v);
        return fabs(s) < 1.0 ? 1.0 - s * s : 0.0;
    case TOLERANCE_TANH_SQUARED:
        s = tanh(z * atanh(sqrt(1.0 - v)));
        return 1.0 - s * s;
    }
    assert(!"a shape of tolerance.h");
    return 0.0;
}

double tolerance(double x, double low, double high, double margin, enum tolerance_shape shape,
                 double value_at_margin)
{
    assert(low <= high && margin >= 0.0);
    if (x >= low && x <= high)
        return 1.0;
    if (margin == 0.0)
        return 0.0;
    return fall((x < low ? low - x : x - high) / margin, shape, value_at_margin);
}

double tolerance_near(double x, double low, double high, double margin)
{
    return tolerance(x, low, high, margin, TOLERANCE_GAUSSIAN, 0.1);
}
