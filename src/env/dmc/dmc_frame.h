/* dmc_frame: vectors of the world seen from a moving body. */
#ifndef ENV_DMC_DMC_FRAME_H
#define ENV_DMC_DMC_FRAME_H

/* Puts v - origin in the axes of `frame` (3x3 row-major, its columns the axes) and returns the place
 * behind it. */
static inline double *dmc_put_in_frame(double *to, const double *frame, const double *v, const double *origin)
{
    for (int axis = 0; axis < 3; axis++) {
        double sum = 0.0;
        for (int i = 0; i < 3; i++)
            sum += (v[i] - origin[i]) * frame[3 * i + axis];
        *to++ = sum;
    }
    return to;
}

#endif
