/* Polynomials for the inverse: least squares at Chebyshev nodes (tools/fit_vmath.py). */
#include "truncnorm.h"
#include <math.h>

static double polynomial(const double *c, int degree, double x)
{
    double y = c[degree];
    for (int i = degree - 1; i >= 0; i--)
        y = y * x + c[i];
    return y;
}

double normal_inverse(double p)
{
    static const double centre[] = {2.506628294007e+00,  2.624899997518e+00,  5.782955477184e+00,
                                    1.445516404468e+01,  1.197881519748e+02,  -2.424126785998e+03,
                                    5.824320923799e+04,  -8.523125805617e+05, 8.452833646082e+06,
                                    -5.539238543360e+07, 2.320527226989e+08,  -5.630270275145e+08,
                                    6.095069001636e+08};
    static const double tail[] = {2.326233517311e+00,  -2.879547789212e+00, 1.277516221865e+00,
                                  -6.350086403983e-01, 2.258699633072e-01,  -5.684987213070e-02,
                                  9.894072239216e-03,  -1.133657978709e-03, 7.700573372394e-05,
                                  -2.350992052213e-06};
    static const double far_tail[] = {1.697488735359e+00,  -1.669256428919e+00, 1.887572144997e-01,
                                      -3.541960659460e-02, 4.347244809931e-03,  -3.358227068621e-04,
                                      1.483174419394e-05,  -2.858111673359e-07};
    double q = p - 0.5;
    if (fabs(q) <= 0.425)
        return q * polynomial(centre, 12, q * q);
    double small = q < 0 ? p : 1 - p;
    double t = sqrt(-2 * log(small > 1e-16 ? small : 1e-16));
    double z = t < 4.2 ? polynomial(tail, 9, t) : polynomial(far_tail, 7, t);
    return q < 0 ? z : -z;
}

static double below(double z) /* P(Z < z), accurate in the lower tail */
{
    return 0.5 * erfc(-z * 0.70710678118654752);
}

void truncnorm_prepare(struct truncnorm *t, double centre, double std)
{
    double edge = 1 + 5 * std;
    t->centre = centre > edge ? edge : centre < -edge ? -edge : centre;
    t->std = std;
    double a = (-1 - t->centre) / std, b = (1 - t->centre) / std;
    t->flip = a > 0;
    t->low = below(t->flip ? -b : a);
    t->width = below(t->flip ? -a : b) - t->low;
    t->log_width = log(t->width);
}

double truncnorm_sample(const struct truncnorm *t, double u)
{
    double z = normal_inverse(t->low + u * t->width);
    double y = t->centre + t->std * (t->flip ? -z : z);
    return y > 1 ? 1 : y < -1 ? -1 : y;
}

double truncnorm_log_density(const struct truncnorm *t, double y)
{
    double z = (y - t->centre) / t->std;
    return -0.5 * z * z - t->log_width;
}
