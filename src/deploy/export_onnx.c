/* export_onnx: a policy as an ONNX graph, the whole sampler inside: inputs obs and, if it takes any, noise;
 * output action.
 *
 * Inside, what belongs to a particle has three dimensions [batch x P x .], so that all of them go through a
 * network together; what belongs to a state has [batch x 1 x .] and is stretched. */
#include "export.h"
#include "fill_in.h"
#include "onnx_graph.h"
#include "process.h"
#include <stdlib.h>
#include <string.h>

struct drawing {
    struct onnx_graph g;
    const struct export_job *job;
    const struct blueprint *b;
    onnx_value zero, one, minus_one;
    onnx_value *noise;                      /* per slot, [batch x P x d] or [batch x 1 x count] */
    onnx_value base, *level_part, w_action; /* of the network's first layer */
    struct layers {
        onnx_value weight[NET_LAYERS + 1],
            bias[NET_LAYERS + 1]; /* of the hidden layers from the second on, and the output */
        onnx_value transposed[NET_LAYERS + 1], action, action_transposed; /* critics */
    } net, critic[2];
    onnx_value critic_base[2];
};

#define ADD(a, b) onnx_two(g, "Add", a, b)
#define SUB(a, b) onnx_two(g, "Sub", a, b)
#define MUL(a, b) onnx_two(g, "Mul", a, b)
#define DIV(a, b) onnx_two(g, "Div", a, b)
#define NUMBER(x) onnx_scalar(g, x)

static onnx_value boxed(struct drawing *dr, onnx_value x)
{
    return onnx_node(&dr->g, "Clip", (onnx_value[]){x, dr->minus_one, dr->one}, 3, NULL, 0);
}

static onnx_value times(struct onnx_graph *g, float factor, onnx_value x)
{
    return factor == 1 ? x : MUL(NUMBER(factor), x);
}

/* ---------------------------------------------------------------- networks */
static onnx_value activate(struct drawing *dr, onnx_value x, enum activation act)
{
    struct onnx_graph *g = &dr->g;
    if (act == ACT_RELU)
        return onnx_one(g, "Relu", x);
    if (act == ACT_TANH)
        return onnx_one(g, "Tanh", x);
    if (act == ACT_MISH)
        return MUL(x, onnx_one(g, "Tanh", onnx_one(g, "Softplus", x)));
    onnx_value cube = MUL(NUMBER(0.044715f), MUL(x, MUL(x, x)));
    onnx_value t = onnx_one(g, "Tanh", MUL(NUMBER(0.7978845608f), ADD(x, cube)));
    return MUL(MUL(NUMBER(0.5f), x), ADD(dr->one, t));
}

/* To mean 0, variance 1 along the last axis; *inverse: 1 over the standard deviation. */
static onnx_value normalise(struct drawing *dr, onnx_value z, onnx_value *inverse)
{
    struct onnx_graph *g = &dr->g;
    z = SUB(z, onnx_reduce_mean(g, z, -1));
    onnx_value variance = onnx_reduce_mean(g, MUL(z, z), -1);
    *inverse = DIV(dr->one, onnx_one(g, "Sqrt", ADD(variance, NUMBER(1e-5f))));
    return MUL(z, *inverse);
}

static onnx_value vector(struct onnx_graph *g, const float *x, int n)
{
    return onnx_tensor(g, x, (int64_t[]){n}, 1);
}

/* W_out is stored [out x width]; a product wants it the other way. */
static onnx_value out_weights(struct onnx_graph *g, const struct net *net)
{
    onnx_value w =
        onnx_weights(g, net_weight(net, net->spec.hidden), (int64_t[]){net->spec.out, net->spec.width}, 2);
    return onnx_one(g, "Transpose", w);
}

static void take_layers(struct onnx_graph *g, struct layers *layers, const struct net *net)
{
    int width = net->spec.width, hidden = net->spec.hidden;
    for (int l = 1; l < hidden; l++) {
        layers->weight[l] = onnx_weights(g, net_weight(net, l), (int64_t[]){width, width}, 2);
        layers->bias[l] = vector(g, net_bias(net, l), width);
    }
    layers->weight[hidden] = out_weights(g, net);
    layers->bias[hidden] = vector(g, net_bias(net, hidden), net->spec.out);
}

/* From the first layer before its activation to the outputs. */
static onnx_value network(struct drawing *dr, onnx_value z)
{
    struct onnx_graph *g = &dr->g;
    const struct net_spec *s = &dr->b->net->spec;
    const struct layers *layers = &dr->net;
    onnx_value h = NULL, inverse;
    for (int l = 0; l < s->hidden; l++) {
        if (l > 0)
            z = ADD(onnx_two(g, "MatMul", h, layers->weight[l]), layers->bias[l]);
        if (s->layernorm)
            z = normalise(dr, z, &inverse);
        z = activate(dr, z, s->act);
        h = l > 0 && s->residual ? ADD(h, z) : z;
    }
    return ADD(onnx_two(g, "MatMul", h, layers->weight[s->hidden]), layers->bias[s->hidden]);
}

/* ---------------------------------------------------------------- observation */
static onnx_value features(struct drawing *dr, onnx_value obs)
{
    struct onnx_graph *g = &dr->g;
    const struct blueprint *b = dr->b;
    int n = b->obs_dim;
    onnx_value parts[1 + 2 * 16], s = obs;
    if (b->norm->on) {
        s = MUL(SUB(obs, vector(g, b->norm->shift, n)), vector(g, b->norm->scale, n));
        s = onnx_node(g, "Clip", (onnx_value[]){s, NUMBER(-10), NUMBER(10)}, 3, NULL, 0);
    }
    parts[0] = s;
    for (int k = 0; k < b->octaves; k++) {
        onnx_value angle = times(g, (float)(1 << k), s);
        parts[1 + 2 * k] = onnx_one(g, "Sin", angle);
        parts[2 + 2 * k] = onnx_one(g, "Cos", angle);
    }
    if (b->octaves > 0)
        s = onnx_concat(g, parts, 1 + 2 * b->octaves, 1);
    return onnx_reshape(g, s, (int64_t[]){-1, 1, b->feature_dim}, 3);
}

/* The state's part of a first layer; with the bias where nothing else brings it. */
static onnx_value state_part(struct drawing *dr, onnx_value s, const struct net *net, bool with_bias)
{
    struct onnx_graph *g = &dr->g;
    int64_t shape[] = {dr->b->feature_dim, net->spec.width};
    onnx_value z = onnx_two(g, "MatMul", s, onnx_weights(g, net_weight(net, 0), shape, 2));
    return with_bias ? ADD(z, vector(g, net_bias(net, 0), net->spec.width)) : z;
}

static onnx_value action_weights(struct drawing *dr, const struct net *net)
{
    return onnx_weights(&dr->g, net_weight(net, 0) + (size_t)dr->b->feature_dim * (size_t)net->spec.width,
                        (int64_t[]){dr->b->act_dim, net->spec.width}, 2);
}

/* One input, cut into the slots. */
static void take_noise(struct drawing *dr)
{
    struct onnx_graph *g = &dr->g;
    const struct blueprint *b = dr->b;
    int n = b->slots;
    int64_t *sizes = arena_new(&g->names, int64_t, n);
    onnx_value *parts = arena_new(&g->names, onnx_value, n);
    int *slot = arena_new(&g->names, int, n); /* which is number i in the order of the input */
    for (int i = 0, k = 0; i < 2; i++)
        for (int j = 0; j < n; j++)
            if (b->slot[j].uniform == (i == 1)) {
                sizes[k] = b->slot[j].count;
                slot[k++] = j;
            }
    onnx_split(g, onnx_input(g, "noise", b->normals + b->uniforms), 1, sizes, n, parts);
    dr->noise = arena_new(&g->names, onnx_value, n);
    for (int i = 0; i < n; i++) {
        int d = b->slot[slot[i]].uniform ? 1 : b->act_dim;
        dr->noise[slot[i]] = onnx_reshape(g, parts[i], (int64_t[]){-1, sizes[i] / d, d}, 3);
    }
}

/* ---------------------------------------------------------------- the chain */
static onnx_value network_at(struct drawing *dr, onnx_value x, int level)
{
    struct onnx_graph *g = &dr->g;
    onnx_value z = ADD(ADD(dr->base, dr->level_part[level]), onnx_two(g, "MatMul", x, dr->w_action));
    return network(dr, z);
}

static onnx_value sample(struct drawing *dr)
{
    struct onnx_graph *g = &dr->g;
    const struct blueprint *b = dr->b;
    onnx_value x = times(g, b->start, dr->noise[b->start_noise]);
    for (int n = 0; n < b->steps; n++) {
        const struct blueprint_step *s = &b->step[n];
        onnx_value y = network_at(dr, x, n), inner = ADD(times(g, s->inner_x, x), MUL(NUMBER(s->inner_y), y));
        if (s->clip_inner)
            inner = boxed(dr, inner);
        if (s->second) {
            onnx_value y2 = network_at(dr, inner, n + 1);
            x = ADD(x, ADD(MUL(NUMBER(s->by_y), y), MUL(NUMBER(s->by_y2), y2)));
            continue;
        }
        onnx_value next = times(g, s->by_inner, inner);
        if (s->by_x != 0)
            next = ADD(next, MUL(NUMBER(s->by_x), x));
        if (s->noise >= 0)
            next = ADD(next, MUL(NUMBER(s->spread), dr->noise[s->noise]));
        x = s->clip ? boxed(dr, next) : next;
    }
    return x;
}

/* ---------------------------------------------------------------- critics */
struct critic_tape {
    onnx_value z[NET_LAYERS], positive[NET_LAYERS], inverse[NET_LAYERS];
};

static onnx_value critic(struct drawing *dr, struct critic_tape *t, int i, onnx_value a)
{
    struct onnx_graph *g = &dr->g;
    const struct net_spec *s = &dr->b->critic[i]->spec;
    const struct layers *layers = &dr->critic[i];
    onnx_value h = NULL, z = ADD(dr->critic_base[i], onnx_two(g, "MatMul", a, layers->action));
    for (int l = 0; l < s->hidden; l++) {
        if (l > 0)
            z = ADD(onnx_two(g, "MatMul", h, layers->weight[l]), layers->bias[l]);
        if (s->layernorm)
            z = normalise(dr, z, &t->inverse[l]);
        t->z[l] = z;
        t->positive[l] = onnx_two(g, "Greater", z, dr->zero);
        onnx_value up = onnx_one(g, "Relu", z);
        h = l > 0 && s->residual ? ADD(h, up) : up;
    }
    return ADD(onnx_two(g, "MatMul", h, layers->weight[s->hidden]), layers->bias[s->hidden]);
}

static onnx_value critic_slope(struct drawing *dr, const struct critic_tape *t, int i)
{
    struct onnx_graph *g = &dr->g;
    const struct net_spec *s = &dr->b->critic[i]->spec;
    const struct layers *layers = &dr->critic[i];
    onnx_value d = layers->transposed[s->hidden], dz = NULL;
    for (int l = s->hidden - 1; l >= 0; l--) {
        dz = onnx_where(g, t->positive[l], d, dr->zero);
        if (s->layernorm) {
            onnx_value along = onnx_reduce_mean(g, MUL(dz, t->z[l]), -1);
            dz = MUL(SUB(SUB(dz, onnx_reduce_mean(g, dz, -1)), MUL(t->z[l], along)), t->inverse[l]);
        }
        if (l == 0)
            break;
        onnx_value below = onnx_two(g, "MatMul", dz, layers->transposed[l]);
        d = s->residual ? ADD(d, below) : below;
    }
    return onnx_two(g, "MatMul", dz, layers->action_transposed);
}

/* Q/T [batch x P x 1] and, if wanted, its derivative by the action. */
static onnx_value energy(struct drawing *dr, onnx_value a, onnx_value *slope)
{
    struct onnx_graph *g = &dr->g;
    const struct blueprint *b = dr->b;
    struct critic_tape t[2];
    onnx_value q[2], inverse_T = NUMBER(b->inverse_T), half = NUMBER(0.5f * b->inverse_T);
    for (int i = 0; i < 2; i++)
        q[i] = critic(dr, &t[i], i, a);
    if (slope) {
        onnx_value s0 = critic_slope(dr, &t[0], 0), s1 = critic_slope(dr, &t[1], 1);
        if (b->critics_mean)
            *slope = MUL(half, ADD(s0, s1));
        else
            *slope = MUL(inverse_T, onnx_where(g, onnx_two(g, "Less", q[0], q[1]), s0, s1));
    }
    return b->critics_mean ? MUL(half, ADD(q[0], q[1])) : MUL(inverse_T, onnx_two(g, "Min", q[0], q[1]));
}

static void take_critics(struct drawing *dr, onnx_value s)
{
    struct onnx_graph *g = &dr->g;
    for (int i = 0; i < 2; i++) {
        const struct net *net = dr->b->critic[i];
        struct layers *layers = &dr->critic[i];
        take_layers(g, layers, net);
        for (int l = 1; l <= net->spec.hidden; l++)
            layers->transposed[l] = onnx_one(g, "Transpose", layers->weight[l]);
        layers->action = action_weights(dr, net);
        layers->action_transposed = onnx_one(g, "Transpose", layers->action);
        dr->critic_base[i] = state_part(dr, s, net, true);
    }
}

/* 1 for particles [batch x P x 1] whose share of softmax Q/T, added to those before them, reaches u, else
 * 0. */
static onnx_value reaching(struct drawing *dr, onnx_value q)
{
    struct onnx_graph *g = &dr->g;
    int P = dr->b->particles;
    const struct onnx_attribute axis = {.name = "axis", .integer = 1};
    float *last = arena_new(&g->names, float, P);
    last[P - 1] = 2; /* the last one always does */
    onnx_value share = onnx_node(g, "Softmax", &q, 1, &axis, 1);
    onnx_value sums = onnx_node(g, "CumSum", (onnx_value[]){share, onnx_integer(g, 1)}, 2, NULL, 0);
    sums = ADD(sums, onnx_tensor(g, last, (int64_t[]){1, P, 1}, 3));
    onnx_value reaches = onnx_two(g, "GreaterOrEqual", sums, dr->noise[dr->b->choice_noise]);
    return onnx_cast_float(g, reaches);
}

/* One of the particles [batch x 1 x d]: the first of the highest Q, or the first that reaches u. */
static onnx_value choose(struct drawing *dr, onnx_value x)
{
    struct onnx_graph *g = &dr->g;
    int P = dr->b->particles;
    const struct onnx_attribute axis = {.name = "axis", .integer = 1};
    float *order = arena_new(&g->names, float, P);
    for (int p = 0; p < P; p++)
        order[p] = (float)p;
    onnx_value q = energy(dr, x, NULL), merit = dr->b->best ? q : reaching(dr, q);
    onnx_value first = onnx_cast_float(g, onnx_node(g, "ArgMax", &merit, 1, &axis, 1));
    onnx_value chosen = onnx_two(g, "Equal", first, onnx_tensor(g, order, (int64_t[]){1, P, 1}, 3));
    return onnx_two(g, "ReduceSum", onnx_where(g, chosen, x, dr->zero), onnx_integers(g, (int64_t[]){1}, 1));
}

/* ---------------------------------------------------------------- the corrector */
static onnx_value sum_last(struct onnx_graph *g, onnx_value x)
{
    return onnx_two(g, "ReduceSum", x, onnx_integers(g, (int64_t[]){-1}, 1));
}

static onnx_value drift_of(struct drawing *dr, onnx_value slope)
{
    struct onnx_graph *g = &dr->g;
    float step = dr->b->corrector_step, plain = 0.5f * step * step;
    onnx_value norm = onnx_one(g, "Sqrt", sum_last(g, MUL(slope, slope))), most = NUMBER(3 * step);
    onnx_value far = onnx_two(g, "Greater", MUL(NUMBER(plain), norm), most);
    return onnx_where(g, far, DIV(most, norm), NUMBER(plain));
}

static onnx_value log_proposal(struct drawing *dr, onnx_value to, onnx_value from, onnx_value slope)
{
    struct onnx_graph *g = &dr->g;
    float step = dr->b->corrector_step;
    onnx_value m = ADD(from, MUL(drift_of(dr, slope), slope)), minus = NUMBER(-0.5f / (step * step)),
               two = NUMBER(2), y_m = ADD(to, m);
    onnx_value off[3] = {SUB(to, m), SUB(two, y_m), ADD(two, y_m)}, part[3], most, sum = NULL;
    for (int i = 0; i < 3; i++)
        part[i] = MUL(MUL(off[i], off[i]), minus);
    most = onnx_node(g, "Max", part, 3, NULL, 0);
    for (int i = 0; i < 3; i++) {
        onnx_value e = onnx_one(g, "Exp", SUB(part[i], most));
        sum = sum ? ADD(sum, e) : e;
    }
    return sum_last(g, ADD(most, onnx_one(g, "Log", sum)));
}

/* Back and forth between the walls is a triangle wave: 1 - |((v + 1) mod 4) - 2| */
static onnx_value reflect(struct drawing *dr, onnx_value v)
{
    struct onnx_graph *g = &dr->g;
    onnx_value four = NUMBER(4), up = ADD(v, dr->one);
    onnx_value turn = SUB(up, MUL(four, onnx_one(g, "Floor", DIV(up, four))));
    onnx_value folded = SUB(dr->one, onnx_one(g, "Abs", SUB(turn, NUMBER(2))));
    onnx_value outside = onnx_two(g, "Greater", onnx_one(g, "Abs", v), dr->one);
    return onnx_where(g, outside, folded, v);
}

static onnx_value correct(struct drawing *dr, onnx_value a)
{
    struct onnx_graph *g = &dr->g;
    const struct blueprint *b = dr->b;
    onnx_value slope, slope_y, step = NUMBER(b->corrector_step);
    a = boxed(dr, a);
    onnx_value here = energy(dr, a, &slope);
    for (int n = 0; n < b->corrector; n++) {
        const onnx_value *z = &dr->noise[b->first_corrector_noise + 2 * n], u = z[1];
        onnx_value moved = ADD(a, MUL(drift_of(dr, slope), slope));
        onnx_value y = reflect(dr, ADD(moved, MUL(step, z[0])));
        onnx_value there = energy(dr, y, &slope_y);
        onnx_value ratio =
            ADD(SUB(there, here), SUB(log_proposal(dr, a, y, slope_y), log_proposal(dr, y, a, slope)));
        onnx_value accept = onnx_two(g, "Less", onnx_one(g, "Log", u), ratio);
        a = onnx_where(g, accept, y, a);
        here = onnx_where(g, accept, there, here);
        slope = onnx_where(g, accept, slope_y, slope);
    }
    return a;
}

/* ---------------------------------------------------------------- the whole */
static onnx_value squash(struct drawing *dr, onnx_value u)
{
    enum blueprint_squash how = dr->b->squash;
    return how == OUT_TANH ? onnx_one(&dr->g, "Tanh", u) : how == OUT_BOX ? boxed(dr, u) : u;
}

/* Where an action takes one pass: mean, or mean and sigma, of the network. */
static onnx_value direct(struct drawing *dr)
{
    struct onnx_graph *g = &dr->g;
    const struct blueprint *b = dr->b;
    int d = b->act_dim;
    onnx_value y = network(dr, dr->base), halves[2] = {y, NULL}, sigma = NULL;
    if (b->net->spec.out == 2 * d)
        onnx_split(g, y, 2, (int64_t[]){d, d}, 2, halves);
    if (b->sigma_form == SIGMA_CONSTANT)
        sigma = vector(g, b->sigma, d);
    else if (b->sigma_form == SIGMA_OF_NET_CLAMP)
        sigma = onnx_one(g, "Exp",
                         onnx_node(g, "Clip",
                                   (onnx_value[]){halves[1], NUMBER(b->sigma_low), NUMBER(b->sigma_high)}, 3,
                                   NULL, 0));
    else if (b->sigma_form == SIGMA_OF_NET_TANH) {
        onnx_value t = ADD(onnx_one(g, "Tanh", halves[1]), dr->one);
        float half = 0.5f * (b->sigma_high - b->sigma_low);
        sigma = onnx_one(g, "Exp", ADD(NUMBER(b->sigma_low), MUL(NUMBER(half), t)));
    }
    return sigma ? ADD(halves[0], MUL(sigma, dr->noise[b->sigma_noise])) : halves[0];
}

static void begin_network(struct drawing *dr, onnx_value s)
{
    struct onnx_graph *g = &dr->g;
    const struct blueprint *b = dr->b;
    int width = b->net->spec.width;
    dr->base = state_part(dr, s, b->net, b->steps == 0);
    take_layers(g, &dr->net, b->net);
    if (b->steps == 0)
        return;
    dr->w_action = action_weights(dr, b->net);
    dr->level_part = arena_new(&g->names, onnx_value, b->steps);
    for (int n = 0; n < b->steps; n++)
        dr->level_part[n] = vector(g, b->level_part + (size_t)n * (size_t)width, width);
}

static dqs_status write_onnx(const struct export_job *job, dqs_error *error)
{
    const struct blueprint *b = job->b;
    struct drawing dr = {.g.half = job->half, .job = job, .b = b};
    struct onnx_graph *g = &dr.g;
    dr.zero = NUMBER(0), dr.one = NUMBER(1), dr.minus_one = NUMBER(-1);
    onnx_value s = features(&dr, onnx_input(g, "obs", b->obs_dim));
    if (b->slots > 0)
        take_noise(&dr);
    begin_network(&dr, s);
    if (b->critic[0])
        take_critics(&dr, s);
    onnx_value a = squash(&dr, b->steps > 0 ? sample(&dr) : direct(&dr));
    if (b->particles > 1)
        a = choose(&dr, a);
    if (b->corrector > 0)
        a = correct(&dr, a);
    if (b->out_noise > 0)
        a = boxed(&dr, ADD(a, MUL(NUMBER(b->out_noise), dr.noise[b->out_slot])));
    a = onnx_reshape(g, a, (int64_t[]){-1, b->act_dim}, 2);
    if (job->centre)
        a = ADD(vector(g, job->centre, b->act_dim), MUL(vector(g, job->reach, b->act_dim), a));
    onnx_output(g, "action", a, b->act_dim);
    char summary[300], normals[16], repeat[16];
    export_summary(b, summary, sizeof summary);
    snprintf(normals, sizeof normals, "%d", b->normals);
    snprintf(repeat, sizeof repeat, "%d", job->repeat);
    const struct onnx_note notes[] = {
        {"env", job->env},         {"algo", job->algo},       {"summary", summary},
        {"normals", normals},      {"action_repeat", repeat}, {"dqs", DQS_VERSION},
        {NULL, NULL}};
    return onnx_write(g, job->path, job->name, notes, error);
}

/* ---------------------------------------------------------------- run and compared */
static dqs_status run_onnx(const struct export_job *job, const struct export_sample *sample,
                           const char *folder, struct export_outcome *out, dqs_error *error)
{
    enum { NO_PACKAGE = 42 }; /* as parity.py has it */
    char script[EXPORT_PATH_SIZE + 32], data[EXPORT_PATH_SIZE + 32], output[2000];
    snprintf(script, sizeof script, "%s/parity.py", folder);
    snprintf(data, sizeof data, "%s/parity.bin", folder);
    TRY(file_write_text(script, export_parity_py, error));
    TRY(export_sample_write(job, sample, data, error));
    const char *const argv[] = {process_python(), script, job->path, data, NULL};
    int code = process_run(argv, output, sizeof output);
    if (code == PROCESS_ABSENT || code == NO_PACKAGE) {
        snprintf(out->note, sizeof out->note,
                 "%s has no onnxruntime; pip install onnxruntime numpy, or name another Python by "
                 "DQS_PYTHON=, then "
                 "export again",
                 process_python());
        return DQS_OK;
    }
    if (code != 0 || !export_outcome_read(output, out)) {
        char *end = output + strlen(output);
        while (end > output && end[-1] == '\n')
            *--end = 0;
        char *line = strrchr(output, '\n');
        return fail(error, DQS_E_UNSUPPORTED, "%s: its comparison ended with code %d: %.300s", job->path,
                    code, line ? line + 1 : output);
    }
    return DQS_OK;
}

const struct export_format export_onnx_format = {"onnx", ".onnx", write_onnx, run_onnx};
