/* tolerance: the soft indicator all rewards of the suite are made of: 1 inside [low, high], falling to
 * value_at_margin at a distance of `margin` outside, in the shape of a sigmoid; a margin of 0 makes it a hard
 * indicator. */
#ifndef ENV_DMC_TOLERANCE_H
#define ENV_DMC_TOLERANCE_H

enum tolerance_shape {
    TOLERANCE_GAUSSIAN,
    TOLERANCE_HYPERBOLIC,
    TOLERANCE_LONG_TAIL,
    TOLERANCE_RECIPROCAL,
    TOLERANCE_COSINE,
    TOLERANCE_LINEAR,
    TOLERANCE_QUADRATIC,
    TOLERANCE_TANH_SQUARED
};

/* value_at_margin in (0,1); cosine, linear and quadratic also allow 0. */
double tolerance(double x, double low, double high, double margin, enum tolerance_shape shape,
                 double value_at_margin);
/* The usual one: gaussian, 0.1 at the margin. */
double tolerance_near(double x, double low, double high, double margin);

#endif
