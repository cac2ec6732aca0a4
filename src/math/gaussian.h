/* gaussian: what its densities share. */
#ifndef MATH_GAUSSIAN_H
#define MATH_GAUSSIAN_H

#define HALF_LOG_2PI 0.91893853320467274 /* log(2 pi)/2 */

#endif
