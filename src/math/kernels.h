/* kernels: the table of inner loops. One row of function pointers per instruction set, and `ref`: plain loops
 * that say what each kernel means and that the fast ones are tested against.
 *
 * Shapes: matrices are row-major; W of a hidden layer is [in x width], so a part of the input owns contiguous
 * rows of W; W of the output layer is [out x width], so an output is one dot product. A hidden width is a
 * multiple of 16. */
#ifndef MATH_KERNELS_H
#define MATH_KERNELS_H

#include "cloud.h"
#include "status.h"
#include <stdbool.h>

#define KERNELS_LANES 16 /* hidden widths are multiples of this */
#define KERNELS_PACKED(k, n) ((size_t)(k) * (((size_t)(n) + 31) / 32 * 32))

enum activation { ACT_RELU, ACT_GELU, ACT_MISH, ACT_TANH };

struct kernels {
    const char *name;

    /* C [m x n] = beta C + A B, A^T B */
    void (*gemm_nn)(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta);
    void (*gemm_tn)(float *c, const float *a, const float *b, int m, int n, int k, int lda, int ldb, int ldc,
                    float beta);

    /* C [m x n] = beta C + A B for a B [k x n] that serves many products: packed once, as this instruction
     * set likes it, into KERNELS_PACKED(k, n) floats. transposed: b holds B^T, [n x k]. */
    void (*pack)(float *packed, const float *b, int k, int n, int ldb, bool transposed);
    void (*gemm_packed)(float *c, const float *a, const float *packed, int m, int n, int k, int lda, int ldc,
                        float beta);

    /* pre <- pre + bias, then normalised over the row if inv_std is given (which keeps 1/std); out = act(pre)
     * + skip. bias and skip may be NULL; out may be pre when nothing will be differentiated. */
    void (*layer_forward)(float *pre, float *out, float *inv_std, const float *bias, const float *skip,
                          int rows, int width, enum activation act);
    /* dz = d loss / d (W h) from d_out = d loss / d out; dz may be d_out. */
    void (*layer_backward)(float *dz, const float *d_out, const float *pre, const float *inv_std, int rows,
                           int width, enum activation act);

    /* z[r] = base[owner[r]] + x[r] W, x [rows x in], W [in x width]; owner NULL: row r itself; base NULL:
     * zero. */
    void (*add_inputs)(float *z, const float *base, const int *owner, const float *x, const float *w,
                       int rows, int in, int width);
    /* y[r,o] = h[r] . W[o] + b[o]; b NULL: zero */
    void (*project)(float *y, const float *h, const float *w, const float *b, int rows, int width, int out);
    /* dh[r] = sum_o dy[r,o] W[o] */
    void (*project_backward)(float *dh, const float *dy, const float *w, int rows, int width, int out);
    /* sums[j] = sum_r z[r,j] over n columns of a matrix with row stride `width` */
    void (*column_sums)(float *sums, const float *z, int rows, int n, int width);

    /* Adam with bias corrections c1 = 1/(1-b1^t), c2 = 1/(1-b2^t); decay is AdamW's, times lr. */
    void (*adam)(float *p, float *m, float *v, const float *g, size_t n, float lr, float b1, float b2,
                 float eps, float decay, float c1, float c2);
    void (*blend)(float *target, const float *source, size_t n,
                  float eta); /* target += eta (source - target) */

    /* out[i] from word i of the ticket's blocks, i = first .. first+n-1; `first` is a multiple of 4. */
    void (*uniforms)(float *out, size_t n, const uint32_t key[2], uint64_t ticket,
                     uint64_t first); /* in (0,1) */
    void (*normals)(float *out, size_t n, const uint32_t key[2], uint64_t ticket, uint64_t first);

    /* In place: w[i] = exp(w[i] - max) / sum; returns log sum exp of the input. */
    float (*softmax)(float *w, int n);

    /* A two-layer ReLU network at count <= cloud->most points y [count x dim] that share base [width] (see
     * cloud.h): q [count]; and then, once, sum [dim] = sum_i weight[i] dq_i/dy_i. Points of weight 0 cost
     * nothing. */
    void (*cloud_values)(struct cloud *cloud, float *q, const struct cloud_net *net, const float *base,
                         const float *y, int count);
    void (*cloud_pull)(struct cloud *cloud, float *sum, const struct cloud_net *net, const float *weight,
                       int count);
};

extern const struct kernels kernels_ref, kernels_generic, kernels_avx2, kernels_avx512;

/* "auto" picks the widest this CPU can run; DQS_E_OPTION names what there is. */
dqs_status kernels_select(const struct kernels **kernels, const char *name, dqs_error *error);

#endif
