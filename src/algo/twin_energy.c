#include "twin_energy.h"
#include "box.h"
#include <math.h>
#include <string.h>

#define CHUNK 64 /* rows through the critics at a time */

struct twin_energy_work {
    struct tape tape[2];
    float *a, *q[2], *dq, *da;   /* a, da [CHUNK x act_dim]; q, dq [CHUNK] */
    struct cloud cloud[2];       /* of plain ReLU critics */
    float *cloud_q[2], *cloud_w; /* [cloud_most] */
};

bool squash_by_tanh(enum squash squash)
{
    return squash == SQUASH_PAPER || squash == SQUASH_LATENT;
}

float squash_action(enum squash squash, float u)
{
    return squash_by_tanh(squash) ? tanhf(u) : into_box(u);
}

float unsquash_action(enum squash squash, float a)
{
    if (squash != SQUASH_LATENT)
        return a; /* box, clip: itself; paper: buffer actions are noised as they are */
    return atanhf(fminf(0.999f, fmaxf(-0.999f, a)));
}

static float combine_twins(enum twin_combine combine, float q0, float q1)
{
    return combine == TWIN_MEAN ? 0.5f * (q0 + q1) : q0 < q1 ? q0 : q1;
}

/* da [rows x act_dim] += share dQ_i/da at the listed rows (ascending), after a forward pass of more rows. The
 * tape's rows move together, so that the others cost nothing. */
static void add_gradient(const struct twin_energy *e, struct twin_energy_work *w, float *da, int i,
                         float share, const int *list, int n)
{
    const struct net *net = &e->twin->net[i];
    int d = e->act_dim;
    for (int r = 0; r < n; r++)
        w->dq[r] = share;
    tape_keep(&w->tape[i], &net->spec, list, n);
    net_back(e->k, net, &w->tape[i], w->dq, 0, n);
    net_input_gradient(e->k, net, &w->tape[i], w->da, 0, n, e->feature_dim, d);
    for (int r = 0; r < n; r++)
        for (int j = 0; j < d; j++)
            da[list[r] * d + j] += w->da[r * d + j];
}

/* q [rows] and, if wanted, da [rows x act_dim] = dQ/da, of the combined critics. The gradient of the smaller
 * critic is that of the minimum: each row then goes back through one of the two. */
static void critics(const struct twin_energy *e, struct twin_energy_work *w, float *q, float *da,
                    const float *a, const int *owner, int rows)
{
    int d = e->act_dim, list[CHUNK];
    bool mean = e->combine == TWIN_MEAN;
    for (int i = 0; i < 2; i++) {
        const struct net *net = &e->twin->net[i];
        int width = net->spec.width;
        e->k->add_inputs(w->tape[i].pre[0], e->base[i], owner, a,
                         net_weight(net, 0) + (size_t)e->feature_dim * (size_t)width, rows, d, width);
        net_rest(e->k, net, &w->tape[i], w->q[i], 0, rows);
    }
    for (int r = 0; r < rows; r++)
        q[r] = combine_twins(e->combine, w->q[0][r], w->q[1][r]);
    if (!da)
        return;
    memset(da, 0, sizeof *da * (size_t)(rows * d));
    for (int i = 0; i < 2; i++) {
        int n = twin_rows(list, w->q, 1, rows, i, mean);
        if (n > 0)
            add_gradient(e, w, da, i, mean ? 0.5f : 1, list, n);
    }
}

/* ---------------------------------------------------------------- many points of one state */
static bool is_cloudy(const struct net_spec *spec)
{
    return spec->hidden == 2 && spec->act == ACT_RELU && !spec->layernorm && !spec->residual;
}

static struct cloud_net cloud_net_of(const struct twin_energy *e, int critic)
{
    const struct net *net = &e->twin->net[critic];
    size_t state_part = (size_t)e->feature_dim * (size_t)net->spec.width;
    return (struct cloud_net){.dim = e->act_dim,
                              .width = net->spec.width,
                              .w1 = net_weight(net, 0) + state_part,
                              .w2 = net_weight(net, 1),
                              .w2_transposed = e->w2_transposed[critic],
                              .b2 = net_bias(net, 1),
                              .w3 = net_weight(net, 2),
                              .b3 = *net_bias(net, 2)};
}

static void cloud_as_is(void *self, float *logp, const float *y, int owner, int count, int thread)
{
    const struct twin_energy *e = self;
    struct twin_energy_work *w = &e->work[thread];
    for (int i = 0; i < 2; i++) {
        struct cloud_net net = cloud_net_of(e, i);
        e->k->cloud_values(&w->cloud[i], w->cloud_q[i], &net, e->base[i] + (size_t)owner * (size_t)net.width,
                           y, count);
    }
    for (int r = 0; r < count; r++)
        logp[r] = e->inverse_T[owner] * combine_twins(e->combine, w->cloud_q[0][r], w->cloud_q[1][r]);
}

/* The minimum's gradient is that of the smaller critic: each point goes back through one of them. */
static void pull_as_is(void *self, float *sum, const float *weight, int owner, int count, int thread)
{
    const struct twin_energy *e = self;
    struct twin_energy_work *w = &e->work[thread];
    float part[e->act_dim], inverse_T = e->inverse_T[owner];
    for (int j = 0; j < e->act_dim; j++)
        sum[j] = 0;
    for (int i = 0; i < 2; i++) {
        struct cloud_net net = cloud_net_of(e, i);
        for (int r = 0; r < count; r++) {
            bool first = w->cloud_q[0][r] < w->cloud_q[1][r];
            float share = e->combine == TWIN_MEAN ? 0.5f : (float)(first == (i == 0));
            w->cloud_w[r] = inverse_T * share * weight[r];
        }
        e->k->cloud_pull(&w->cloud[i], part, &net, w->cloud_w, count);
        for (int j = 0; j < e->act_dim; j++)
            sum[j] += part[j];
    }
}

/* ---------------------------------------------------------------- rows of any states */
static void eval_as_is(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                       int thread)
{
    const struct twin_energy *e = self;
    int d = e->act_dim;
    for (int at = 0; at < rows; at += CHUNK) {
        int n = rows - at < CHUNK ? rows - at : CHUNK;
        float *g = grad ? grad + (size_t)at * (size_t)d : NULL;
        critics(e, &e->work[thread], logp + at, g, y + (size_t)at * (size_t)d, owner + at, n);
        for (int r = 0; r < n; r++) {
            float inverse_T = e->inverse_T[owner[at + r]];
            logp[at + r] *= inverse_T;
            for (int j = 0; g && j < d; j++)
                g[r * d + j] *= inverse_T;
        }
    }
}

static void eval_latent(void *self, float *logp, float *grad, const float *y, const int *owner, int rows,
                        int thread)
{
    const struct twin_energy *e = self;
    int d = e->act_dim;
    float *a = e->work[thread].a;
    for (int at = 0; at < rows; at += CHUNK) {
        int n = rows - at < CHUNK ? rows - at : CHUNK;
        const float *u = y + (size_t)at * (size_t)d;
        float *g = grad ? grad + (size_t)at * (size_t)d : NULL;
        for (int i = 0; i < n * d; i++)
            a[i] = tanhf(u[i]);
        eval_as_is(self, logp + at, g, a, owner + at, n, thread);
        for (int i = 0; i < n * d; i++) {
            logp[at + i / d] += log_tanh_slope(u[i]);
            if (g)
                g[i] = g[i] * (1 - a[i] * a[i]) - 2 * a[i];
        }
    }
}

void twin_energy_create(struct twin_energy *e, struct arena *arena, const struct twin *twin,
                        enum twin_combine combine, enum squash squash, const struct compute *compute,
                        int feature_dim, int act_dim, int states, int cloud_most)
{
    const struct net_spec *spec = &twin->net[0].spec;
    int threads = pool_threads(compute->pool);
    *e = (struct twin_energy){.twin = twin,
                              .combine = combine,
                              .k = compute->k,
                              .feature_dim = feature_dim,
                              .act_dim = act_dim,
                              .states = states};
    bool cloudy = is_cloudy(spec) && cloud_most > 0;
    e->boxed = (struct energy){.dim = act_dim, .eval = eval_as_is, .self = e};
    e->squashed = e->boxed;
    if (squash == SQUASH_LATENT)
        e->squashed.eval = eval_latent;
    else if (cloudy) {
        e->squashed.cloud_most = cloud_most;
        e->squashed.cloud = cloud_as_is;
        e->squashed.pull = pull_as_is;
    }
    e->inverse_T = arena_new(arena, float, states);
    e->work = arena_new(arena, struct twin_energy_work, threads);
    for (int i = 0; i < 2; i++) {
        e->base[i] = arena_new(arena, float, (size_t)states *(size_t)spec->width);
        if (e->squashed.cloud_most > 0)
            e->w2_transposed[i] = arena_new(arena, float, (size_t)spec->width *(size_t)spec->width);
    }
    for (int t = 0; t < threads; t++) {
        e->work[t].a = arena_new(arena, float, CHUNK *act_dim);
        e->work[t].dq = arena_new(arena, float, CHUNK);
        e->work[t].da = arena_new(arena, float, CHUNK *act_dim);
        for (int i = 0; i < 2; i++) {
            tape_create(&e->work[t].tape[i], arena, spec, CHUNK, TAPE_INPUT_GRADIENT);
            e->work[t].q[i] = arena_new(arena, float, CHUNK);
            if (!cloudy)
                continue;
            cloud_create(&e->work[t].cloud[i], arena, cloud_most, act_dim, spec->width);
            e->work[t].cloud_q[i] = arena_new(arena, float, cloud_most);
            e->work[t].cloud_w = arena_new(arena, float, cloud_most);
        }
    }
}

struct prepare {
    struct twin_energy *e;
    const float *features;
    int states;
};

static void prepare_tile(void *context, int tile, int thread)
{
    (void)thread;
    struct prepare *p = context;
    struct twin_energy *e = p->e;
    int row0 = tile / 2 * NET_TILE, critic = tile % 2, left = p->states - row0,
        width = e->twin->net[0].spec.width;
    net_part(e->k, &e->twin->net[critic], e->base[critic] + (size_t)row0 * (size_t)width,
             p->features + (size_t)row0 * (size_t)e->feature_dim, left < NET_TILE ? left : NET_TILE, 0,
             e->feature_dim, true);
}

static void transpose(float *to, const float *from, int n)
{
    enum { BLOCK = 16 };
    for (int r = 0; r < n; r += BLOCK)
        for (int c = 0; c < n; c += BLOCK)
            for (int i = r; i < r + BLOCK; i++)
                for (int j = c; j < c + BLOCK; j++)
                    to[(size_t)j * (size_t)n + (size_t)i] = from[(size_t)i * (size_t)n + (size_t)j];
}

void twin_energy_prepare(struct twin_energy *e, const struct compute *compute, const float *features,
                         int states, double T)
{
    struct prepare p = {e, features, states};
    net_pack(compute, (const struct net *[]){&e->twin->net[0], &e->twin->net[1]}, 2, true);
    for (int i = 0; i < 2 && e->w2_transposed[i]; i++)
        transpose(e->w2_transposed[i], net_weight(&e->twin->net[i], 1), e->twin->net[i].spec.width);
    pool_run(compute->pool, 2 * ((states + NET_TILE - 1) / NET_TILE), prepare_tile, &p);
    for (int i = 0; i < states; i++)
        e->inverse_T[i] = (float)(1 / T);
}
