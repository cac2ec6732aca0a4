/* net: forward, backward right under it, and the batches of both. */
#include "net.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- parameters */
static int fan_in(const struct net_spec *spec, int layer)
{
    return layer == 0 ? spec->in : spec->width;
}

static int fan_out(const struct net_spec *spec, int layer)
{
    return layer == spec->hidden ? spec->out : spec->width;
}

static size_t offset(const struct net_spec *spec, int layer)
{
    size_t at = 0;
    for (int l = 0; l < layer; l++)
        at += (size_t)(fan_in(spec, l) + 1) * fan_out(spec, l);
    return at;
}

float *net_weight(const struct net *net, int layer)
{
    return net->params + offset(&net->spec, layer);
}

float *net_bias(const struct net *net, int layer)
{
    return net_weight(net, layer) + (size_t)fan_in(&net->spec, layer) * fan_out(&net->spec, layer);
}

void net_create(struct net *net, struct arena *arena, const struct net_spec *spec)
{
    assert(spec->width % KERNELS_LANES == 0 && spec->hidden >= 1 && spec->hidden <= NET_LAYERS);
    net->spec = *spec;
    net->count = offset(spec, spec->hidden + 1);
    net->params = arena_new(arena, float, net->count);
    net->packs = arena_new(arena, struct net_packs, 1);
    for (int l = 0; l < spec->hidden; l++) {
        net->packs->weight[l] = arena_new(arena, float, KERNELS_PACKED(fan_in(spec, l), spec->width));
        if (l > 0)
            net->packs->transposed[l] = arena_new(arena, float, KERNELS_PACKED(spec->width, spec->width));
    }
}

void net_changed(struct net *net)
{
    net->packs->weight_by = net->packs->transposed_by = NULL;
}

void net_copy(struct net *to, const struct net *from)
{
    memcpy(to->params, from->params, sizeof(float) * from->count);
    net_changed(to);
}

struct pack_jobs {
    const struct kernels *k;
    int n;
    struct pack_job {
        const struct net *net;
        int layer;
        bool transposed;
    } job[2 * NET_LAYERS * NET_TOGETHER];
};

static void pack_one(void *context, int tile, int thread)
{
    (void)thread;
    const struct pack_jobs *jobs = context;
    const struct pack_job *j = &jobs->job[tile];
    const struct net_spec *s = &j->net->spec;
    float *to = j->transposed ? j->net->packs->transposed[j->layer] : j->net->packs->weight[j->layer];
    jobs->k->pack(to, net_weight(j->net, j->layer), fan_in(s, j->layer), s->width, s->width, j->transposed);
}

void net_pack(const struct compute *compute, const struct net *const *nets, int n, bool backward)
{
    assert(n <= NET_TOGETHER);
    struct pack_jobs jobs = {.k = compute->k};
    for (int i = 0; i < n; i++) {
        struct net_packs *packs = nets[i]->packs;
        for (int l = 0; packs->weight_by != compute->k && l < nets[i]->spec.hidden; l++)
            jobs.job[jobs.n++] = (struct pack_job){nets[i], l, false};
        packs->weight_by = compute->k;
        for (int l = 1; backward && packs->transposed_by != compute->k && l < nets[i]->spec.hidden; l++)
            jobs.job[jobs.n++] = (struct pack_job){nets[i], l, true};
        packs->transposed_by = backward ? compute->k : packs->transposed_by;
    }
    pool_run(compute->pool, jobs.n, pack_one, &jobs);
}

/* Gram-Schmidt on Gaussian vectors: the shorter side of the matrix becomes orthonormal, times gain. */
static void orthogonal(float *w, int rows, int columns, float gain, struct rng *rng)
{
    bool by_rows = rows <= columns;
    int count = by_rows ? rows : columns, length = by_rows ? columns : rows;
    size_t along = by_rows ? 1 : (size_t)columns, between = by_rows ? (size_t)columns : 1;
    for (int i = 0; i < count; i++) {
        float *v = w + (size_t)i * between;
        for (int j = 0; j < length; j++)
            v[j * along] = (float)rng_normal(rng);
        for (int twice = 0; twice < 2; twice++)
            for (int p = 0; p < i; p++) {
                const float *u = w + (size_t)p * between;
                double dot = 0;
                for (int j = 0; j < length; j++)
                    dot += (double)v[j * along] * u[j * along];
                for (int j = 0; j < length; j++)
                    v[j * along] -= (float)dot * u[j * along];
            }
        double norm = 0;
        for (int j = 0; j < length; j++)
            norm += (double)v[j * along] * v[j * along];
        for (int j = 0; j < length; j++)
            v[j * along] /= (float)sqrt(norm);
    }
    for (size_t i = 0; i < (size_t)rows * columns; i++)
        w[i] *= gain;
}

void net_initialise(struct net *net, enum net_init init, float out_scale, struct rng *rng)
{
    net_changed(net);
    for (int l = 0; l <= net->spec.hidden; l++) {
        int in = fan_in(&net->spec, l), out = fan_out(&net->spec, l);
        float *w = net_weight(net, l), *b = net_bias(net, l), scale = l == net->spec.hidden ? out_scale : 1;
        if (init == NET_ORTHOGONAL) {
            bool last = l == net->spec.hidden; /* W_out is stored [out x width] */
            orthogonal(w, last ? out : in, last ? in : out, scale * 1.41421356f, rng);
            memset(b, 0, sizeof *b * (size_t)out);
            continue;
        }
        float bound = scale / sqrtf((float)in);
        for (size_t i = 0; i < (size_t)(in + 1) * out; i++)
            w[i] = bound * (float)(2 * rng_uniform(rng) - 1);
    }
}

void net_visit(struct net *net, struct visitor *visitor, const char *name, enum visit_kind kind)
{
    char part[32];
    int mark = visit_enter(visitor, name);
    net_changed(net);
    for (int l = 0; l <= net->spec.hidden; l++) {
        bool last = l == net->spec.hidden;
        int in = fan_in(&net->spec, l), out = fan_out(&net->spec, l);
        snprintf(part, sizeof part, last ? "out.weight" : "%d.weight", l);
        visit_matrix(visitor, part, kind, VISIT_F32, net_weight(net, l), (size_t)(last ? out : in),
                     (size_t)(last ? in : out));
        snprintf(part, sizeof part, last ? "out.bias" : "%d.bias", l);
        visit_vector(visitor, part, kind, VISIT_F32, net_bias(net, l), (size_t)out);
    }
    visit_leave(visitor, mark);
}

void tape_create(struct tape *tape, struct arena *arena, const struct net_spec *spec, int rows,
                 enum tape_use use)
{
    size_t n = (size_t)rows * spec->width;
    *tape = (struct tape){.rows = rows};
    for (int l = 0; l < spec->hidden; l++) {
        tape->pre[l] = arena_new(arena, float, n);
        tape->out[l] = use == TAPE_INFER ? tape->pre[l] : arena_new(arena, float, n);
        tape->inv_std[l] = spec->layernorm ? arena_new(arena, float, rows) : NULL;
        if (use == TAPE_TRAIN || (use == TAPE_INPUT_GRADIENT && l < 2))
            tape->dz[l] = arena_new(arena, float, n);
        else if (use == TAPE_INPUT_GRADIENT)
            tape->dz[l] = tape->dz[l - 2]; /* two alternate: only dz[0] is asked for */
    }
}

void tape_keep(struct tape *tape, const struct net_spec *spec, const int *rows, int n)
{
    size_t w = (size_t)spec->width;
    for (int l = 0; l < spec->hidden; l++)
        for (int r = 0; r < n; r++) {
            if (rows[r] == r)
                continue;
            memcpy(tape->pre[l] + (size_t)r * w, tape->pre[l] + (size_t)rows[r] * w, sizeof(float) * w);
            if (tape->inv_std[l])
                tape->inv_std[l][r] = tape->inv_std[l][rows[r]];
        }
}

/* ---------------------------------------------------------------- one tile */
static void fill_bias(const struct net *net, float *z, int rows)
{
    for (int r = 0; r < rows; r++)
        memcpy(z + (size_t)r * net->spec.width, net_bias(net, 0), sizeof *z * (size_t)net->spec.width);
}

/* z = x W[0], the whole input, without its bias */
static void enter(const struct kernels *k, const struct net *net, float *z, const float *x, int rows)
{
    k->gemm_packed(z, x, net->packs->weight[0], rows, net->spec.width, net->spec.in, net->spec.in,
                   net->spec.width, 0);
}

void net_part(const struct kernels *k, const struct net *net, float *z, const float *x_part, int rows,
              int first, int n, bool with_bias)
{
    int width = net->spec.width;
    if (with_bias)
        fill_bias(net, z, rows);
    k->gemm_nn(z, x_part, net_weight(net, 0) + (size_t)first * width, rows, width, n, n, width, width,
               with_bias);
}

static float *at_row(float *matrix, int row, int width)
{
    return matrix ? matrix + (size_t)row * width : NULL;
}

static void times_weight(const struct kernels *k, const struct net *net, float *z, const float *x, int layer,
                         int rows)
{
    int in = fan_in(&net->spec, layer), w = net->spec.width;
    if (rows <= NET_FEW)
        k->gemm_nn(z, x, net_weight(net, layer), rows, w, in, in, w, w, 0);
    else
        k->gemm_packed(z, x, net->packs->weight[layer], rows, w, in, in, w, 0);
}

/* From tape->pre[0] on; bias0: the first layer's, where it is not in it yet. */
static void rest(const struct kernels *k, const struct net *net, struct tape *tape, float *y,
                 const float *bias0, int row0, int rows)
{
    const struct net_spec *s = &net->spec;
    int w = s->width;
    float *h = NULL;
    for (int l = 0; l < s->hidden; l++) {
        float *pre = at_row(tape->pre[l], row0, w), *out = at_row(tape->out[l], row0, w);
        if (l > 0)
            times_weight(k, net, pre, h, l, rows);
        k->layer_forward(pre, out, at_row(tape->inv_std[l], row0, 1), l > 0 ? net_bias(net, l) : bias0,
                         l > 0 && s->residual ? h : NULL, rows, w, s->act);
        h = out;
    }
    k->project(y, h, net_weight(net, s->hidden), net_bias(net, s->hidden), rows, w, s->out);
}

void net_rest(const struct kernels *k, const struct net *net, struct tape *tape, float *y, int row0, int rows)
{
    rest(k, net, tape, y, NULL, row0, rows);
}

void net_back(const struct kernels *k, const struct net *net, struct tape *tape, const float *dy, int row0,
              int rows)
{
    const struct net_spec *s = &net->spec;
    int w = s->width, last = s->hidden - 1;
    float *dh = at_row(tape->dz[last], row0, w);
    k->project_backward(dh, dy, net_weight(net, s->hidden), rows, w, s->out);
    for (int l = last; l >= 0; l--) {
        float *below = l > 0 ? at_row(tape->dz[l - 1], row0, w) : NULL;
        if (below && s->residual) /* the skip hands d h[l] down unchanged */
            memcpy(below, dh, sizeof *below * (size_t)rows * w);
        k->layer_backward(dh, dh, at_row(tape->pre[l], row0, w), at_row(tape->inv_std[l], row0, 1), rows, w,
                          s->act);
        if (below)
            k->gemm_packed(below, dh, net->packs->transposed[l], rows, w, w, w, w, s->residual);
        dh = below;
    }
}

void net_input_gradient(const struct kernels *k, const struct net *net, const struct tape *tape, float *dx,
                        int row0, int rows, int first, int n)
{
    int w = net->spec.width;
    k->project(dx, tape->dz[0] + (size_t)row0 * w, net_weight(net, 0) + (size_t)first * w, NULL, rows, w, n);
}

/* ---------------------------------------------------------------- batches */
struct batch {
    const struct kernels *k;
    struct net_pass *passes;
    int n, tiles_each;
};

static int tiles_of(int rows)
{
    return (rows + NET_TILE - 1) / NET_TILE;
}

static int most_tiles(const struct net_pass *passes, int n)
{
    int most = 0;
    for (int i = 0; i < n; i++)
        most = tiles_of(passes[i].rows) > most ? tiles_of(passes[i].rows) : most;
    return most;
}

/* Rows of the tile in its pass; 0 if the pass is shorter than the longest one. */
static int tile_rows(const struct net_pass *pass, int tile, int *row0)
{
    *row0 = tile * NET_TILE;
    int left = pass->rows - *row0;
    return left <= 0 ? 0 : left < NET_TILE ? left : NET_TILE;
}

static void forward_tile(void *context, int tile, int thread)
{
    (void)thread;
    struct batch *b = context;
    struct net_pass *p = &b->passes[tile / b->tiles_each];
    int row0, rows = tile_rows(p, tile % b->tiles_each, &row0), in = p->net->spec.in;
    if (rows == 0)
        return;
    enter(b->k, p->net, at_row(p->tape->pre[0], row0, p->net->spec.width), p->x + (size_t)row0 * in, rows);
    rest(b->k, p->net, p->tape, p->y + (size_t)row0 * p->net->spec.out, net_bias(p->net, 0), row0, rows);
}

static void pack_passes(const struct compute *compute, const struct net_pass *passes, int n, bool backward)
{
    const struct net *nets[NET_TOGETHER] = {NULL};
    assert(n <= NET_TOGETHER);
    for (int i = 0; i < n; i++)
        nets[i] = passes[i].net;
    net_pack(compute, nets, n, backward);
}

void net_forward(const struct compute *compute, struct net_pass *passes, int n)
{
    pack_passes(compute, passes, n, false);
    struct batch batch = {compute->k, passes, n, most_tiles(passes, n)};
    pool_run(compute->pool, n * batch.tiles_each, forward_tile, &batch);
}

static void backward_tile(void *context, int tile, int thread)
{
    (void)thread;
    struct batch *b = context;
    struct net_pass *p = &b->passes[tile / b->tiles_each];
    int row0, rows = tile_rows(p, tile % b->tiles_each, &row0);
    if (rows > 0)
        net_back(b->k, p->net, p->tape, p->dy + (size_t)row0 * p->net->spec.out, row0, rows);
}

/* Gradients of one layer's weights, a block of columns at a time: whole sums over the batch, so no order to
 * fix. */
#define COLUMN_BLOCK 128

static void gradient_tile(void *context, int tile, int thread)
{
    (void)thread;
    struct batch *b = context;
    struct net_pass *p = &b->passes[tile / b->tiles_each];
    const struct net_spec *s = &p->net->spec;
    int blocks = (s->width + COLUMN_BLOCK - 1) / COLUMN_BLOCK, part = tile % b->tiles_each;
    int layer = part / blocks, column = part % blocks * COLUMN_BLOCK, w = s->width;
    int columns = w - column < COLUMN_BLOCK ? w - column : COLUMN_BLOCK;
    if (layer > s->hidden)
        return;
    float *dw = net_weight(p->gradient, layer) + column;
    if (layer == s->hidden) { /* W_out: dy^T h */
        b->k->gemm_tn(dw, p->dy, p->tape->out[layer - 1] + column, s->out, columns, p->rows, s->out, w, w, 0);
        if (column == 0)
            b->k->column_sums(net_bias(p->gradient, layer), p->dy, p->rows, s->out, s->out);
        return;
    }
    const float *below = layer == 0 ? p->x : p->tape->out[layer - 1], *dz = p->tape->dz[layer] + column;
    int in = fan_in(s, layer);
    b->k->gemm_tn(dw, below, dz, in, columns, p->rows, in, w, w, 0);
    b->k->column_sums(net_bias(p->gradient, layer) + column, dz, p->rows, columns, w);
}

void net_gradients(const struct compute *compute, struct net_pass *passes, int n)
{
    struct batch batch = {compute->k, passes, n, 0};
    for (int i = 0; i < n; i++) {
        const struct net_spec *s = &passes[i].net->spec;
        int parts = (s->hidden + 1) * ((s->width + COLUMN_BLOCK - 1) / COLUMN_BLOCK);
        batch.tiles_each = parts > batch.tiles_each ? parts : batch.tiles_each;
    }
    pool_run(compute->pool, n * batch.tiles_each, gradient_tile, &batch);
}

void net_backward(const struct compute *compute, struct net_pass *passes, int n)
{
    pack_passes(compute, passes, n, true);
    struct batch batch = {compute->k, passes, n, most_tiles(passes, n)};
    pool_run(compute->pool, n * batch.tiles_each, backward_tile, &batch);
    net_gradients(compute, passes, n);
}

struct input_batch {
    struct batch batch;
    float *const *dx;
    int first, count;
};

static void input_tile(void *context, int tile, int thread)
{
    struct input_batch *b = context;
    int i = tile / b->batch.tiles_each, row0;
    const struct net_pass *p = &b->batch.passes[i];
    int rows = tile_rows(p, tile % b->batch.tiles_each, &row0);
    if (rows == 0)
        return;
    backward_tile(&b->batch, tile, thread);
    net_input_gradient(b->batch.k, p->net, p->tape, at_row(b->dx[i], row0, b->count), row0, rows, b->first,
                       b->count);
}

void net_backward_input(const struct compute *compute, struct net_pass *passes, int n, float *const *dx,
                        int first, int count)
{
    pack_passes(compute, passes, n, true);
    struct input_batch b = {{compute->k, passes, n, most_tiles(passes, n)}, dx, first, count};
    pool_run(compute->pool, n * b.batch.tiles_each, input_tile, &b);
}
