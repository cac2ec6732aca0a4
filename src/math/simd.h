/* simd: a small vocabulary of vectors of VW floats on the compiler's vector extension, the same source for
 * every instruction set. Polynomials were fitted by least squares at Chebyshev nodes (tools/fit_vmath.py);
 * relative errors are below 3e-7, the bound tests/test_math.c checks. */
#ifndef MATH_SIMD_H
#define MATH_SIMD_H

#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VW 16
#elif defined(__AVX__)
#define VW 8
#else
#define VW 4
#endif

typedef float vf __attribute__((vector_size(4 * VW)));
typedef int32_t vi __attribute__((vector_size(4 * VW)));
typedef uint32_t vu __attribute__((vector_size(4 * VW)));
typedef uint64_t vl __attribute__((vector_size(4 * VW)));

#define SIMD static inline __attribute__((always_inline))

SIMD vf vf_load(const float *p)
{
    vf x;
    memcpy(&x, p, sizeof x);
    return x;
}
SIMD void vf_store(float *p, vf x)
{
    memcpy(p, &x, sizeof x);
}
SIMD vf vf_all(float x)
{
    return x - (vf){0};
}
SIMD vi vi_all(int32_t x)
{
    return x - (vi){0};
}
SIMD vf vf_if(vi mask, vf yes, vf no)
{
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}
SIMD vf vf_positive(vf x)
{
    return (vf)((vi)x & (x > 0));
}
SIMD vf vf_min(vf a, vf b)
{
    return vf_if(a < b, a, b);
}
SIMD vf vf_max(vf a, vf b)
{
    return vf_if(a > b, a, b);
}

/* Sum of the lanes in a fixed order, a binary tree: lane i takes lane i + half, until one is left. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE
#endif
#endif
#if defined(HAVE_SHUFFLE) && VW >= 8
typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
SIMD float vf_sum(vf x)
{
#if VW == 16
    v8 e = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
           __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    v8 e = x;
#endif
    v4 q = __builtin_shufflevector(e, e, 0, 1, 2, 3) + __builtin_shufflevector(e, e, 4, 5, 6, 7);
    q += __builtin_shufflevector(q, q, 2, 3, 2, 3);
    return q[0] + q[1];
}
#else
SIMD float vf_sum(vf x)
{
    float lane[VW];
    vf_store(lane, x);
    for (int half = VW / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}
#endif

SIMD float vf_least(vf x)
{
    float lane[VW], least;
    vf_store(lane, x);
    least = lane[0];
    for (int i = 1; i < VW; i++)
        least = lane[i] < least ? lane[i] : least;
    return least;
}

/* Bit i is set where lane i is positive; and the other way: the lanes of x whose bit is set, else 0. */
SIMD uint32_t vf_signs(vf x)
{
#if VW == 16
    return _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_GT_OQ);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)(x > 0));
#else
    uint32_t bits = 0;
    for (int i = 0; i < VW; i++)
        bits |= (uint32_t)(x[i] > 0) << i;
    return bits;
#endif
}
SIMD vf vf_where(uint32_t bits, vf x)
{
#if VW == 16
    return (vf)_mm512_maskz_mov_ps((__mmask16)bits, (__m512)x);
#else
    vu lane = {0};
    for (int i = 0; i < VW; i++)
        lane[i] = UINT32_C(1) << i;
    return (vf)((vi)x & (((bits - (vu){0}) & lane) != 0));
#endif
}

/* The bits of x at which keep has ones, close together. */
SIMD uint32_t bits_squeeze(uint32_t x, uint32_t keep)
{
#if defined(__BMI2__)
    return _pext_u32(x, keep);
#else
    uint32_t out = 0;
    for (int n = 0; keep; keep &= keep - 1, n++)
        out |= (x >> __builtin_ctz(keep) & 1) << n;
    return out;
#endif
}

/* low = a0 b0 a1 b1 ..., high = the other half */
SIMD void vf_zip(vf *low, vf *high, vf a, vf b)
{
#if defined(HAVE_SHUFFLE) && VW == 16
    *low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif defined(HAVE_SHUFFLE) && VW == 8
    *low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    *high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    for (int i = 0; i < VW; i++) {
        (*low)[i] = i % 2 ? b[i / 2] : a[i / 2];
        (*high)[i] = i % 2 ? b[VW / 2 + i / 2] : a[VW / 2 + i / 2];
    }
#endif
}

/* VW x VW numbers in place: a perfect shuffle of the rows, log2 VW times. */
SIMD void vf_transpose(vf m[VW])
{
    for (int stage = 1; stage < VW; stage *= 2) {
        vf next[VW];
        for (int i = 0; i < VW / 2; i++)
            vf_zip(&next[2 * i], &next[2 * i + 1], m[i], m[i + VW / 2]);
        for (int i = 0; i < VW; i++)
            m[i] = next[i];
    }
}

/* The two halves of the products of 32-bit words. */
SIMD void vu_multiply(vu *high, vu *low, vu a, uint32_t m)
{
#if defined(__AVX2__)
#if VW == 16
    vl even = (vl)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi32((int)m));
    vl odd = (vl)_mm512_mul_epu32((__m512i)((vl)a >> 32), _mm512_set1_epi32((int)m));
#else
    vl even = (vl)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi32((int)m));
    vl odd = (vl)_mm256_mul_epu32((__m256i)((vl)a >> 32), _mm256_set1_epi32((int)m));
#endif
    *high = (vu)((even >> 32) | (odd & 0xFFFFFFFF00000000u));
    *low = (vu)((even & 0xFFFFFFFFu) | (odd << 32));
#else
    for (int i = 0; i < VW; i++) {
        uint64_t product = (uint64_t)a[i] * m;
        (*high)[i] = (uint32_t)(product >> 32);
        (*low)[i] = (uint32_t)product;
    }
#endif
}

/* sqrt lane by lane: one instruction after vectorisation */
SIMD vf vf_sqrt(vf x)
{
    vf y;
    for (int i = 0; i < VW; i++)
        y[i] = __builtin_sqrtf(x[i]);
    return y;
}

SIMD vf vf_exp(vf x)
{
    x = vf_min(vf_max(x, vf_all(-87.0f)), vf_all(88.0f));
    vf shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to the nearest integer */
    vi n = (vi)shifted - 0x4B400000;
    vf k = shifted - 12582912.0f;
    vf r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    vf p = (((0.001393454234f * r + 0.008363776467f) * r + 0.041666456811f) * r + 0.166665733581f) * r +
           0.500000001428f;
    vf y = (p * r + 1.0f) * r + 1.0f;
    return y * (vf)((n + 127) << 23);
}

/* x > 0 and normal */
SIMD vf vf_log(vf x)
{
    vi bits = (vi)x;
    vi e = (bits - 0x3F3504F3) >> 23; /* mantissa in [sqrt 1/2, sqrt 2) */
    vf f = (vf)(bits - (e << 23)) - 1.0f;
    vf n = __builtin_convertvector(e, vf);
    vf p = -0.078666677934f * f + 0.12821749431f;
    p = p * f - 0.131016337661f;
    p = p * f + 0.141890002945f;
    p = p * f - 0.166276000438f;
    p = p * f + 0.200019689018f;
    p = p * f - 0.250007722067f;
    p = p * f + 0.333333214591f;
    p = p * f - 0.499999976619f;
    return (p * f * f + f + n * -2.12194440e-4f) + n * 0.693359375f;
}

SIMD vf vf_tanh(vf x)
{
    vf e = vf_exp(vf_max(x + x, vf_all(-40.0f)));
    vf y = 1.0f - 2.0f / (e + 1.0f);
    vf x2 = x * x; /* near 0 the difference above loses digits */
    vf p = ((-0.005856427862f * x2 + 0.020757475443f) * x2 - 0.053769921784f) * x2 + 0.133317047022f;
    p = (p * x2 - 0.333332839718f) * x2 + 0.999999997563f;
    return vf_if(x2 < 0.36f, x * p, y);
}

/* cos and sin of 2 pi u, u in [0,1) */
SIMD void vf_circle(vf u, vf *cosine, vf *sine)
{
    vf shifted = u * 4.0f + 12582912.0f;
    vi quarter = (vi)shifted - 0x4B400000;
    vf r = u - (shifted - 12582912.0f) * 0.25f; /* in [-1/8, 1/8], exact */
    vf v = r * r;
    vf s = ((((41.472890545259f * v - 76.697868142569f) * v + 81.605204728566f) * v - 41.34170215345f) * v +
            6.283185307152f) *
           r;
    vf c = (((59.22028813432f * v - 85.44284839779f) * v + 64.939316172088f) * v - 19.739208650244f) * v +
           0.999999999953f;
    vi odd = -(quarter & 1);
    vf cc = vf_if(odd, s, c), ss = vf_if(odd, c, s);
    vi negative_cosine = ((quarter + 1) & 2) << 30, negative_sine = (quarter & 2) << 30;
    *cosine = (vf)((vi)cc ^ negative_cosine);
    *sine = (vf)((vi)ss ^ negative_sine);
}

#endif
