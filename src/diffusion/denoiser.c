#include "denoiser.h"
#include "embed.h"
#include <assert.h>
#include <string.h>

#define TILE DENOISER_TILE

struct denoiser_work {
    float *base;   /* [TILE x width]: the state's part of the first layer */
    float *lifted; /* the same plus the level's part */
    float *dx, *through;
    struct tape tape;
    struct ddpm_scratch ddpm;
};

struct draw_job {
    struct denoiser *d;
    const struct net *net;
    float *action;
    const float *features, *d_action;
    int rows;
    struct ddpm ddpm;
    const struct rng *rng;
    uint64_t ticket;
};

static int tile_rows(const struct draw_job *job, int tile)
{
    int left = job->rows - tile * TILE;
    return left < TILE ? left : TILE;
}

/* ---------------------------------------------------------------- drawing */
/* z [rows x width]: the first layer before its activation */
static void enter(const struct draw_job *job, struct denoiser_work *w, float *z, const float *x, int level,
                  int rows)
{
    const struct denoiser *d = job->d;
    int width = d->o.width;
    const float *part = d->level_part + (size_t)level * (size_t)width;
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < width; j++)
            w->lifted[r * width + j] = w->base[r * width + j] + part[j];
    d->compute->k->add_inputs(z, w->lifted, NULL, x,
                              net_weight(job->net, 0) + (size_t)d->o.feature_dim * (size_t)width, rows,
                              d->o.act_dim, width);
}

static void predict(void *self, float *e, const float *x, int level, int row0, int rows, int thread)
{
    (void)row0;
    struct draw_job *job = self;
    struct denoiser_work *w = &job->d->work[thread];
    enter(job, w, w->tape.pre[0], x, level, rows);
    net_rest(job->d->compute->k, job->net, &w->tape, e, 0, rows);
}

static void draw_tile(void *context, int tile, int thread)
{
    struct draw_job *job = context;
    struct denoiser *d = job->d;
    struct denoiser_work *w = &d->work[thread];
    int row0 = tile * TILE, rows = tile_rows(job, tile), F = d->o.feature_dim;
    net_part(d->compute->k, job->net, w->base, job->features + (size_t)row0 * (size_t)F, rows, 0, F, true);
    ddpm_tile(&job->ddpm, d->compute->k, job->action + (size_t)row0 * (size_t)d->o.act_dim, row0, rows,
              job->rng, job->ticket, &w->ddpm, thread);
}

static void run_draw(struct draw_job *job, ddpm_predict *predict, double noise, struct rng *rng)
{
    struct denoiser *d = job->d;
    const struct kernels *k = d->compute->k;
    job->rng = rng;
    job->ticket = rng->ticket;
    job->ddpm = d->ddpm;
    job->ddpm.noise = noise;
    job->ddpm.predict = predict;
    job->ddpm.self = job;
    rng->ticket += (uint64_t)ddpm_tickets(&d->ddpm);
    if (job->rows > NET_FEW)
        net_pack(d->compute, &job->net, 1, false);
    net_part(k, job->net, d->level_part, d->embedding, d->o.steps, d->o.feature_dim + d->o.act_dim,
             d->o.embed, false);
    pool_run(d->compute->pool, (job->rows + TILE - 1) / TILE, draw_tile, job);
}

void denoiser_draw(struct denoiser *d, const struct net *net, float *action, const float *features, int rows,
                   double noise, struct rng *rng)
{
    struct draw_job job = {.d = d, .net = net, .action = action, .features = features, .rows = rows};
    run_draw(&job, predict, noise, rng);
}

/* ---------------------------------------------------------------- learning from noised actions */
void denoiser_noise(const struct denoiser *d, int *level, float *x, float *e, const float *a0, int rows,
                    struct rng *rng)
{
    const struct kernels *k = d->compute->k;
    k->uniforms(e, (size_t)rows, rng->key, rng_ticket(rng), 0);
    for (int r = 0; r < rows; r++)
        level[r] = (int)(e[r] * (float)d->o.steps);
    k->normals(e, (size_t)(rows * d->o.act_dim), rng->key, rng_ticket(rng), 0);
    vp_noise(&d->ddpm.vp, x, a0, e, level, rows, d->o.act_dim);
}

static void fill_inputs(const struct denoiser *d, float *to, const float *features, const float *x, int level)
{
    int F = d->o.feature_dim, n = d->o.act_dim, E = d->o.embed;
    memcpy(to, features, sizeof *to * (size_t)F);
    memcpy(to + F, x, sizeof *to * (size_t)n);
    memcpy(to + F + n, d->embedding + (size_t)level * (size_t)E, sizeof *to * (size_t)E);
}

void denoiser_step(struct denoiser *d)
{
    adam_net(d->compute, &d->adam, &d->net, &d->gradient, d->o.max_norm);
}

double denoiser_fit(struct denoiser *d, const float *features, const float *x, const int *level,
                    const float *e, int rows)
{
    size_t F = (size_t)d->o.feature_dim, n = (size_t)d->o.act_dim, in = (size_t)d->net.spec.in;
    double loss = 0;
    for (size_t r = 0; r < (size_t)rows; r++)
        fill_inputs(d, d->x + r * in, features + r * F, x + r * n, level[r]);
    struct net_pass pass = {&d->net, &d->tape, d->x, d->y, d->dy, &d->gradient, rows};
    net_forward(d->compute, &pass, 1);
    size_t count = (size_t)rows * n;
    for (size_t i = 0; i < count; i++) {
        double error = (double)d->y[i] - e[i];
        loss += error * error;
        d->dy[i] = (float)(2 * error / (double)count);
    }
    net_backward(d->compute, &pass, 1);
    denoiser_step(d);
    return loss / (double)count;
}

/* ---------------------------------------------------------------- learning through a whole draw */
/* Where row `row` of step t stands among the rows of all steps. */
static size_t taped_row(const struct draw_job *job, int t, int row)
{
    return (size_t)t * (size_t)job->rows + (size_t)row;
}

static void predict_taped(void *self, float *e, const float *x, int level, int row0, int rows, int thread)
{
    struct draw_job *job = self;
    struct denoiser *d = job->d;
    size_t at = taped_row(job, level, row0), n = (size_t)d->o.act_dim, width = (size_t)d->o.width;
    memcpy(d->noised + at * n, x, sizeof *x * (size_t)rows * n);
    enter(job, &d->work[thread], d->tape.pre[0] + at * width, x, level, rows);
    net_rest(d->compute->k, &d->net, &d->tape, e, (int)at, rows);
    memcpy(d->y + at * n, e, sizeof *e * (size_t)rows * n);
    for (size_t r = 0; r < (size_t)rows; r++)
        fill_inputs(d, d->x + (at + r) * (size_t)d->net.spec.in,
                    job->features + ((size_t)row0 + r) * (size_t)d->o.feature_dim, x + r * n, level);
}

void denoiser_draw_taped(struct denoiser *d, float *action, const float *features, int rows, struct rng *rng)
{
    struct draw_job job = {.d = d, .net = &d->net, .action = action, .features = features, .rows = rows};
    assert(d->o.differentiate && rows <= d->o.batch);
    run_draw(&job, predict_taped, 1, rng);
}

static void back_tile(void *context, int tile, int thread)
{
    struct draw_job *job = context;
    struct denoiser *d = job->d;
    struct denoiser_work *w = &d->work[thread];
    const struct kernels *k = d->compute->k;
    int row0 = tile * TILE, rows = tile_rows(job, tile), n = rows * d->o.act_dim;
    memcpy(w->dx, job->d_action + (size_t)row0 * (size_t)d->o.act_dim, sizeof *w->dx * (size_t)n);
    for (int t = 0; t < d->o.steps; t++) {
        int row = (int)taped_row(job, t, row0);
        size_t at = (size_t)row * (size_t)d->o.act_dim;
        ddpm_back(&d->ddpm.vp.level[t], w->dx, d->dy + at, d->noised + at, d->y + at, n);
        net_back(k, &d->net, &d->tape, d->dy + at, row, rows);
        net_input_gradient(k, &d->net, &d->tape, w->through, row, rows, d->o.feature_dim, d->o.act_dim);
        for (int i = 0; i < n; i++)
            w->dx[i] += w->through[i];
    }
}

/* All steps of all rows are one batch to the weights: their gradient is the sum over it. */
void denoiser_draw_back(struct denoiser *d, const float *d_action, int rows)
{
    struct draw_job job = {.d = d, .d_action = d_action, .rows = rows};
    net_pack(d->compute, (const struct net *[]){&d->net}, 1, true);
    pool_run(d->compute->pool, (rows + TILE - 1) / TILE, back_tile, &job);
    struct net_pass pass = {&d->net, &d->tape, d->x, d->y, d->dy, &d->gradient, rows * d->o.steps};
    net_gradients(d->compute, &pass, 1);
}

/* ---------------------------------------------------------------- life */
static void create_work(struct denoiser *d, struct arena *arena, const struct net_spec *spec)
{
    int threads = pool_threads(d->compute->pool);
    d->work = arena_new(arena, struct denoiser_work, threads);
    for (int t = 0; t < threads; t++) {
        struct denoiser_work *w = &d->work[t];
        w->base = arena_new(arena, float, TILE * spec->width);
        w->lifted = arena_new(arena, float, TILE * spec->width);
        w->dx = arena_new(arena, float, TILE * spec->out);
        w->through = arena_new(arena, float, TILE * spec->out);
        tape_create(&w->tape, arena, spec, TILE, TAPE_INFER);
        ddpm_scratch_create(&w->ddpm, arena, TILE, spec->out);
    }
}

void denoiser_create(struct denoiser *d, struct arena *arena, const struct denoiser_options *o,
                     const struct compute *compute)
{
    struct net_spec spec = {
        o->feature_dim + o->act_dim + o->embed, o->act_dim, o->width, o->hidden, o->act, false, false};
    *d = (struct denoiser){.o = *o, .compute = compute};
    d->ddpm = (struct ddpm){.kind = o->sampler, .dim = o->act_dim};
    vp_create(&d->ddpm.vp, arena, o->schedule, o->steps);
    d->embedding = arena_new(arena, float, o->steps * o->embed);
    d->level_part = arena_new(arena, float, o->steps * o->width);
    for (int t = 0; t < o->steps; t++)
        embed_sinusoid(d->embedding + (size_t)t * (size_t)o->embed, (float)(t + 1) / (float)o->steps,
                       o->embed);
    net_create(&d->net, arena, &spec);
    create_work(d, arena, &spec);
    if (o->act_only)
        return;
    assert(!o->differentiate || o->sampler == DDPM_CLIP_X0);
    int rows = o->differentiate ? o->batch * o->steps : o->batch;
    net_create(&d->gradient, arena, &spec);
    adam_create(&d->adam, arena, d->net.count, o->lr, 0);
    d->adam.options.eps = o->eps;
    if (o->target)
        net_create(&d->target, arena, &spec);
    tape_create(&d->tape, arena, &spec, rows, TAPE_TRAIN);
    d->x = arena_new(arena, float, (size_t)rows *(size_t)spec.in);
    d->y = arena_new(arena, float, (size_t)rows *(size_t)spec.out);
    d->dy = arena_new(arena, float, (size_t)rows *(size_t)spec.out);
    if (o->differentiate)
        d->noised = arena_new(arena, float, (size_t)rows *(size_t)spec.out);
}

void denoiser_initialise(struct denoiser *d, enum net_init init, struct rng *rng)
{
    net_initialise(&d->net, init, 1, rng);
    if (d->target.params)
        net_copy(&d->target, &d->net);
}

void denoiser_visit(struct denoiser *d, struct visitor *visitor)
{
    net_visit(&d->net, visitor, "actor/", VISIT_POLICY);
    if (d->o.act_only)
        return;
    adam_visit(&d->adam, visitor, "actor_adam/");
    if (d->o.target)
        net_visit(&d->target, visitor, "actor_target/", VISIT_LEARN);
}
