#include "parts.h"
#include "box.h"
#include "embed.h"
#include <assert.h>
#include <string.h>

double mean_of(const float *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

void features_create(struct features *f, struct arena *arena, int obs_dim, bool normalise, int octaves)
{
    normaliser_create(&f->norm, arena, obs_dim, normalise);
    f->octaves = octaves;
    f->dim = obs_dim * (1 + 2 * octaves);
    f->row = arena_new(arena, float, obs_dim);
}

void features_of(const struct features *f, float *out, const float *obs, int rows)
{
    int dim = f->norm.dim;
    if (f->octaves == 0) {
        normaliser_apply(&f->norm, out, obs, rows);
        return;
    }
    for (int r = 0; r < rows; r++) {
        normaliser_apply(&f->norm, f->row, obs + (size_t)r * (size_t)dim, 1);
        embed_octaves(out + (size_t)r * (size_t)f->dim, f->row, dim, f->octaves);
    }
}

/* A blueprint begins here: one particle, everything else nothing. */
void features_describe(const struct features *f, struct blueprint *b)
{
    *b = (struct blueprint){.obs_dim = f->norm.dim,
                            .norm = &f->norm,
                            .octaves = f->octaves,
                            .feature_dim = f->dim,
                            .particles = 1};
}

void join_rows(float *x, const float *left, int left_dim, const float *right, int right_dim, int rows)
{
    size_t l = (size_t)left_dim, d = (size_t)right_dim;
    for (size_t r = 0; r < (size_t)rows; r++) {
        memcpy(x + r * (l + d), left + r * l, sizeof *x * l);
        memcpy(x + r * (l + d) + l, right + r * d, sizeof *x * d);
    }
}

/* ---------------------------------------------------------------- twin critics */
void twin_create(struct twin *twin, struct arena *arena, const struct net_spec *spec, int count, int batch,
                 double lr, double decay, bool learn)
{
    assert(count == 1 || count == 2);
    twin->count = count;
    for (int i = 0; i < count; i++) {
        net_create(&twin->net[i], arena, spec);
        if (!learn)
            continue;
        net_create(&twin->target[i], arena, spec);
        net_create(&twin->gradient[i], arena, spec);
        adam_create(&twin->adam[i], arena, twin->net[i].count, lr, decay);
        tape_create(&twin->tape[i], arena, spec, batch, TAPE_TRAIN);
        tape_create(&twin->target_tape[i], arena, spec, batch, TAPE_INFER);
        twin->q[i] = arena_new(arena, float, batch * spec->out);
        twin->dq[i] = arena_new(arena, float, batch * spec->out);
        twin->dx[i] = arena_new(arena, float, batch * spec->in); /* at least act_dim of them */
        twin->own[i] = arena_new(arena, int, batch);
    }
}

void twin_initialise(struct twin *twin, enum net_init init, struct rng *rng)
{
    for (int i = 0; i < twin->count; i++) {
        net_initialise(&twin->net[i], init, 1, rng);
        if (twin->target[i].params)
            net_copy(&twin->target[i], &twin->net[i]);
    }
}

/* How many of the critics have a say. */
static int asked(const struct twin *twin, enum twin_combine combine)
{
    return combine == TWIN_FIRST ? 1 : twin->count;
}

void twin_target_forward(const struct compute *compute, struct twin *twin, const float *x_next, int rows,
                         int n)
{
    struct net_pass pass[2];
    for (int i = 0; i < n; i++)
        pass[i] =
            (struct net_pass){&twin->target[i], &twin->target_tape[i], x_next, twin->q[i], NULL, NULL, rows};
    net_forward(compute, pass, n);
}

void twin_target_value(const struct compute *compute, struct twin *twin, float *v, const float *x_next,
                       int rows, enum twin_combine combine)
{
    int n = asked(twin, combine);
    twin_target_forward(compute, twin, x_next, rows, n);
    for (int r = 0; r < rows; r++) {
        float a = twin->q[0][r], b = twin->q[n - 1][r];
        v[r] = combine == TWIN_MEAN ? 0.5f * (a + b) : fminf(a, b);
    }
}

void bootstrap(float *y, const float *reward, const float *discount, const float *v, int rows)
{
    for (int r = 0; r < rows; r++)
        y[r] = reward[r] + discount[r] * v[r];
}

void td_target(const struct compute *compute, struct twin *twin, float *y, const float *reward,
               const float *discount, const float *x_next, int rows, enum twin_combine combine)
{
    twin_target_value(compute, twin, y, x_next, rows, combine);
    bootstrap(y, reward, discount, y, rows);
}

void twin_passes(struct twin *twin, struct net_pass pass[2], const float *x, int rows)
{
    for (int i = 0; i < twin->count; i++)
        pass[i] = (struct net_pass){&twin->net[i], &twin->tape[i],     x,   twin->q[i],
                                    twin->dq[i],   &twin->gradient[i], rows};
}

void twin_step(const struct compute *compute, struct twin *twin, double max_norm)
{
    struct net *g = twin->gradient;
    if (twin->clip_together) {
        clip_gradients((float *const[]){g[0].params, g[1].params}, (size_t[]){g[0].count, g[1].count},
                       twin->count, max_norm);
        max_norm = 0; /* done */
    }
    for (int i = 0; i < twin->count; i++)
        adam_net(compute, &twin->adam[i], &twin->net[i], &g[i], max_norm);
}

double twin_fit(const struct compute *compute, struct twin *twin, const float *x, const float *y, int rows,
                double huber, double max_norm, double *mean_q)
{
    struct net_pass pass[2];
    double squares = 0, sum = 0;
    int n = twin->count;
    twin_passes(twin, pass, x, rows);
    net_forward(compute, pass, n);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < rows; r++) {
            double error = (double)twin->q[i][r] - y[r];
            squares += error * error;
            sum += twin->q[i][r];
            double bounded = huber > 0 ? fmin(huber, fmax(-huber, error)) : error;
            twin->dq[i][r] = (float)(2 * bounded / rows);
        }
    net_backward(compute, pass, n);
    twin_step(compute, twin, max_norm);
    *mean_q = sum / (n * rows);
    return squares / (n * rows);
}

int twin_rows(int *list, float *const q[2], int stride, int rows, int critic, bool mean)
{
    int n = 0;
    for (int r = 0; r < rows; r++)
        if (mean || (q[0][r * stride] < q[1][r * stride]) == (critic == 0))
            list[n++] = r;
    return n;
}

double twin_action_gradient(const struct compute *compute, struct twin *twin, float *da, const float *x,
                            int rows, int act_dim, enum twin_combine combine)
{
    struct net_pass pass[2];
    double sum = 0;
    int n = asked(twin, combine), first = twin->net[0].spec.in - act_dim, out = twin->net[0].spec.out;
    float share = n > 1 && combine == TWIN_MEAN ? 0.5f : 1;
    twin_passes(twin, pass, x, rows);
    net_forward(compute, pass, n);
    for (int i = 0; i < n; i++) {
        int own = twin_rows(twin->own[i], twin->q, out, rows, i, n == 1 || share < 1);
        memset(twin->dq[i], 0, sizeof(float) * (size_t)(own * out));
        for (int r = 0; r < own; r++) {
            sum += share * twin->q[i][twin->own[i][r] * out];
            twin->dq[i][r * out] = share;
        }
        tape_keep(&twin->tape[i], &twin->net[i].spec, twin->own[i], own);
        pass[i].rows = own;
    }
    net_backward_input(compute, pass, n, twin->dx, first, act_dim);
    memset(da, 0, sizeof *da * (size_t)(rows * act_dim));
    for (int i = 0; i < n; i++)
        for (int r = 0; r < pass[i].rows; r++)
            for (int j = 0; j < act_dim; j++)
                da[twin->own[i][r] * act_dim + j] += twin->dx[i][r * act_dim + j];
    return sum / rows;
}

void twin_blend(const struct compute *compute, struct twin *twin, double eta)
{
    for (int i = 0; i < twin->count; i++)
        polyak_blend(compute, &twin->target[i], &twin->net[i], eta);
}

void twin_visit(struct twin *twin, struct visitor *visitor, enum visit_kind kind, bool learn)
{
    static const char *const critic[] = {"critic0/", "critic1/"}, *const target[] = {"target0/", "target1/"},
                             *const adam[] = {"critic0_adam/", "critic1_adam/"};
    for (int i = 0; i < twin->count; i++) {
        net_visit(&twin->net[i], visitor, critic[i], kind);
        if (!learn)
            continue;
        net_visit(&twin->target[i], visitor, target[i], VISIT_LEARN);
        adam_visit(&twin->adam[i], visitor, adam[i]);
    }
}

void uniform_actions(float *action, int n, struct rng *rng)
{
    for (int i = 0; i < n; i++)
        action[i] = (float)(2 * rng_uniform(rng) - 1);
}

void add_noise(const struct kernels *k, float *action, int n, double sigma, double limit, struct rng *rng)
{
    float noise[256], most = (float)limit;
    uint64_t ticket = rng_ticket(rng);
    for (int at = 0; at < n; at += 256) {
        int some = n - at < 256 ? n - at : 256;
        k->normals(noise, (size_t)some, rng->key, ticket, (uint64_t)at);
        for (int i = 0; i < some; i++) {
            float step = fminf(most, fmaxf(-most, (float)sigma * noise[i]));
            action[at + i] = into_box(action[at + i] + step);
        }
    }
}
