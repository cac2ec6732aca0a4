/* cloud: a ReLU network of two hidden layers at many points that share all of its input but `dim` numbers y:
 *
 *     z1 = base + y W1      z2 = relu(z1) W2 + b2      q = relu(z2) . w3 + b3
 *
 * The first call gives the values and keeps the signs of z1 and z2, one bit each; the second gives a weighted
 * sum of dq/dy over the points. Points are kept in panels of CLOUD_PANEL, a word of bits each. */
#ifndef MATH_CLOUD_H
#define MATH_CLOUD_H

#include "arena.h"
#include <stdbool.h>
#include <stdint.h>

enum { CLOUD_PANEL = 32 };

struct cloud_net {
    int dim, width;
    const float *w1, *w2, *w2_transposed, *b2,
        *w3; /* [dim x width], [width x width] twice, [width], [width] */
    float b3;
};

struct cloud { /* working memory; what values() leaves is what pull() needs */
    int most, dim, width, panels;
    float *points;           /* [panels x dim x PANEL], the last panel filled up with its last point */
    float *hidden;           /* [width x PANEL]: relu(z1) of one panel, or what a backward panel needs */
    uint32_t *sign1, *sign2; /* [panels x width]: z > 0 */
    /* Units of layer 1 that are positive at all points are one affine map into layer 2; `open` are those with
     * both signs. */
    int *open, opens;
    bool folded;            /* the map is in use */
    float *constant, *fold; /* [width], [dim x width] */
    float *room;            /* [4 x width x 16] */
    int *list;              /* [2 x width] */
};

void cloud_create(struct cloud *cloud, struct arena *arena, int most, int dim, int width);
/* y [count x dim] as columns, panel by panel. */
void cloud_fill(struct cloud *cloud, const float *y, int count);

#endif
