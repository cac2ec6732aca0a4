#include "embed.h"
#include <math.h>
#include <string.h>

void embed_sinusoid(float *out, float u, int size)
{
    int half = size / 2;
    double f = 0.5, ratio = half > 1 ? pow(60, 1.0 / (half - 1)) : 1;
    for (int j = 0; j < half; j++, f *= ratio) {
        out[j] = sinf((float)f * u);
        out[half + j] = cosf((float)f * u);
    }
    if (size % 2)
        out[size - 1] = 0;
}

void embed_octaves(float *out, const float *x, int dim, int octaves)
{
    memcpy(out, x, sizeof *x * (size_t)dim);
    for (int j = 0; j < octaves; j++)
        for (int i = 0; i < dim; i++) {
            float angle = x[i] * (float)(1 << j);
            out[dim * (1 + 2 * j) + i] = sinf(angle);
            out[dim * (2 + 2 * j) + i] = cosf(angle);
        }
}
