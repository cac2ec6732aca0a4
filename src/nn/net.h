/* net: a multilayer perceptron whose hidden layers all have one width.
 *
 *     h[0] = act(LN(x W[0] + b[0]))
 *     h[l] = act(LN(h[l-1] W[l] + b[l])) (+ h[l-1] if residual)        l = 1 .. hidden-1
 *     y    = h[hidden-1] . W_out + b_out
 *
 * LN (optional) normalises a row to mean 0, variance 1, without gain and offset: the next layer can learn
 * both. Shapes: x [rows x in], W[0] [in x width], W[l] [width x width], W_out [out x width]. Parameters are
 * one flat array.
 *
 * The first layer can be entered by parts: a part of the input that many rows share is multiplied once
 * (net_part), and the rows start from that. Batches are cut into tiles of NET_TILE rows, whatever the number
 * of threads. */
#ifndef NN_NET_H
#define NN_NET_H

#include "compute.h"
#include "rng.h"
#include "visit.h"

#define NET_LAYERS 8   /* most hidden layers */
#define NET_TILE 64    /* rows per tile */
#define NET_FEW 3      /* so many rows do without packed weights */
#define NET_TOGETHER 4 /* most nets side by side in one call */

struct net_spec {
    int in, out, width, hidden;
    enum activation act;
    bool layernorm, residual;
};

/* The weights once more, packed for products: a copy that net_pack makes when it is out of date. */
struct net_packs {
    const struct kernels *weight_by, *transposed_by;    /* whose packing is up to date; NULL: nobody's */
    float *weight[NET_LAYERS], *transposed[NET_LAYERS]; /* of the first layer no transpose */
};

struct net {
    struct net_spec spec;
    size_t count; /* parameters */
    float *params;
    struct net_packs *packs;
};

/* Everything a backward pass needs, per row. For inference only, pre and out share memory. */
struct tape {
    int rows;
    float *pre[NET_LAYERS], *out[NET_LAYERS], *inv_std[NET_LAYERS]; /* [rows x width], inv_std [rows] */
    float *dz[NET_LAYERS]; /* d loss / d pre before the normalisation */
};

enum net_init { NET_UNIFORM, NET_ORTHOGONAL };

void net_create(struct net *net, struct arena *arena, const struct net_spec *spec);
/* NET_UNIFORM: weights and biases U(+-1/sqrt(fan in)), as PyTorch's Linear; NET_ORTHOGONAL: gain sqrt 2,
 * biases 0. out_scale multiplies the output layer. */
void net_initialise(struct net *net, enum net_init init, float out_scale, struct rng *rng);
float *net_weight(const struct net *net, int layer); /* layer = hidden: the output layer */
float *net_bias(const struct net *net, int layer);
void net_visit(struct net *net, struct visitor *visitor, const char *name, enum visit_kind kind);

void net_copy(struct net *to, const struct net *from); /* of the same spec */
/* Whoever writes params says so; net_initialise, net_copy and net_visit, which may have loaded them, do it
 * themselves. */
void net_changed(struct net *net);
/* Before net_rest on more than NET_FEW rows and, with `backward`, before net_back; not inside a tile. */
void net_pack(const struct compute *compute, const struct net *const *nets, int n, bool backward);

enum tape_use { TAPE_INFER, TAPE_INPUT_GRADIENT, TAPE_TRAIN };
void tape_create(struct tape *tape, struct arena *arena, const struct net_spec *spec, int rows,
                 enum tape_use use);

/* ---- on one tile of rows, in the calling thread */

/* z [rows x width] = x_part [rows x n] W[0][first .. first+n-1] (+ b[0]) */
void net_part(const struct kernels *k, const struct net *net, float *z, const float *x_part, int rows,
              int first, int n, bool with_bias);
/* From tape->pre[0] rows (bias included) to y [rows x out], rows from row0 on. */
void net_rest(const struct kernels *k, const struct net *net, struct tape *tape, float *y, int row0,
              int rows);
/* From dy [rows x out] to tape->dz: all layers if the tape is for training, else dz[0] alone. */
void net_back(const struct kernels *k, const struct net *net, struct tape *tape, const float *dy, int row0,
              int rows);
/* Row i becomes row rows[i], ascending, i < n: what net_back needs, not what weight gradients need. */
void tape_keep(struct tape *tape, const struct net_spec *spec, const int *rows, int n);
/* dx [rows x n] = d loss / d x[first .. first+n-1], after net_back */
void net_input_gradient(const struct kernels *k, const struct net *net, const struct tape *tape, float *dx,
                        int row0, int rows, int first, int n);

/* ---- whole batches on the pool; several nets side by side in one fork and join */
struct net_pass {
    const struct net *net;
    struct tape *tape;
    const float *x; /* [rows x in] */
    float *y;       /* [rows x out] */
    const float *dy;
    struct net *gradient; /* same spec */
    int rows;
};
void net_forward(const struct compute *compute, struct net_pass *passes, int n);
void net_backward(const struct compute *compute, struct net_pass *passes, int n);
/* The second half of net_backward: weights' gradients, where net_back has filled the tapes tile by tile. */
void net_gradients(const struct compute *compute, struct net_pass *passes, int n);
/* Down to the input alone: dx[i] [rows x count] = d loss / d x[first .. first+count-1] of pass i; no weight
 * gradients. */
void net_backward_input(const struct compute *compute, struct net_pass *passes, int n, float *const *dx,
                        int first, int count);

#endif
