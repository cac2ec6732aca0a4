#include "score_net.h"
#include "embed.h"
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double data_variance = 0.25;

static int inputs(const struct score_net_options *o)
{
    return 2 + 4 * o->octaves + o->embed;
}

void score_net_create(struct score_net *s, struct arena *arena, const struct score_net_options *o,
                      const struct compute *compute, uint64_t seed)
{
    struct net_spec spec = {inputs(o), 2, o->width, o->hidden, ACT_GELU, false, true};
    int threads = pool_threads(compute->pool);
    *s = (struct score_net){.o = *o, .compute = compute};
    net_create(&s->net, arena, &spec);
    net_create(&s->gradient, arena, &spec);
    adam_create(&s->adam, arena, s->net.count, o->lr, 0);
    tape_create(&s->tape, arena, &spec, o->batch, TAPE_TRAIN);
    s->x = arena_new(arena, float, o->batch *spec.in);
    s->y = arena_new(arena, float, o->batch * 2);
    s->dy = arena_new(arena, float, o->batch * 2);
    s->infer = arena_new(arena, struct tape, threads);
    s->features = arena_new(arena, float *, threads);
    for (int t = 0; t < threads; t++) {
        tape_create(&s->infer[t], arena, &spec, NET_TILE, TAPE_INFER);
        s->features[t] = arena_new(arena, float, NET_TILE *spec.in);
    }
    rng_seed(&s->rng, seed, RNG_INIT);
    net_initialise(&s->net, NET_UNIFORM, 0.1f, &s->rng);
    rng_seed(&s->rng, seed, RNG_SCORE);
}

/* Level of the noise in 0 .. 1, even in log h. */
static void embed_level(const struct score_net_options *o, float *out, double h)
{
    double low = o->schedule.sigma_min * o->schedule.sigma_min / 4,
           high = o->schedule.sigma_max * o->schedule.sigma_max;
    embed_sinusoid(out, (float)(log((h + low) / low) / log((high + low) / low)), o->embed);
}

static void embed_position(const struct score_net_options *o, float *out, const float *x, double h)
{
    embed_octaves(out, x, 2, o->octaves);
    float scale = (float)(1 / sqrt(h + data_variance));
    out[0] *= scale;
    out[1] *= scale;
    for (int j = 0; j < o->octaves; j++) {
        double frequency = (double)(1 << j);
        float damp = (float)(1 / sqrt(1 + frequency * frequency * h));
        for (int i = 0; i < 4; i++)
            out[2 + 4 * j + i] *= damp;
    }
}

/* One batch: inputs into s->x, what the network should say into want [batch x 2]. */
static void draw_batch(struct score_net *s, const struct mixture *m, float *want)
{
    const struct score_net_options *o = &s->o;
    int in = inputs(o);
    float *x = s->dy; /* not yet in use */
    mixture_sample(m, x, o->batch, true, &s->rng);
    for (int r = 0; r < o->batch; r++) {
        double h = schedule_h(&o->schedule, (r + rng_uniform(&s->rng)) / o->batch), sigma = sqrt(h), S[2];
        double total = h + data_variance;
        float *to = s->x + (size_t)r * (size_t)in;
        for (int i = 2 * r; i < 2 * r + 2; i++) {
            if (r % 10 == 9)
                x[i] = (float)(2 * rng_uniform(&s->rng) - 1);
            x[i] += (float)(sigma * rng_normal(&s->rng));
        }
        mixture_score(m, S, x + 2 * r, h);
        for (int i = 0; i < 2; i++)
            want[2 * r + i] = (float)((S[i] + x[2 * r + i] / total) * sigma * sqrt(total / data_variance));
        embed_position(o, to, x + 2 * r, h);
        embed_level(o, to + in - o->embed, h);
    }
}

double score_net_fit(struct score_net *s, const struct mixture *m)
{
    const struct score_net_options *o = &s->o;
    struct net_pass pass = {&s->net, &s->tape, s->x, s->y, s->dy, &s->gradient, o->batch};
    float want[2 * o->batch];
    double late = 0;
    for (int u = 0; u < o->updates; u++) {
        double loss = 0;
        draw_batch(s, m, want);
        net_forward(s->compute, &pass, 1);
        for (int i = 0; i < 2 * o->batch; i++) {
            double error = s->y[i] - want[i];
            loss += error * error / (2 * o->batch);
            s->dy[i] = (float)(error / o->batch);
        }
        net_backward(s->compute, &pass, 1);
        s->adam.options.lr = o->lr * 0.5 * (1 + cos(pi * u / o->updates));
        adam_net(s->compute, &s->adam, &s->net, &s->gradient, 1);
        late += u >= o->updates * 9 / 10 ? loss / (o->updates - o->updates * 9 / 10) : 0;
    }
    return late;
}

/* ---------------------------------------------------------------- sampling */
struct draw_job {
    const struct draw *draw;
    const struct compute *compute;
    struct sampler sampler;
    struct sampler_scratch *scratch; /* one per thread */
    float *xy;
    int n;
    const struct rng *rng;
    uint64_t ticket;
};

static void network_score(void *self, float *score, const float *x, int level, int row0, int rows, int thread)
{
    (void)row0;
    const struct draw_job *job = self;
    const struct score_net *s = job->draw->net;
    int in = inputs(&s->o), level_at = in - s->o.embed;
    double h = job->sampler.h[level], total = h + data_variance;
    float *features = s->features[thread];
    embed_level(&s->o, features + level_at, h);
    for (int r = 0; r < rows; r++) {
        float *to = features + (size_t)r * (size_t)in;
        embed_position(&s->o, to, x + 2 * r, h);
        if (r > 0)
            memcpy(to + level_at, features + level_at, sizeof *to * (size_t)s->o.embed);
    }
    net_part(job->compute->k, &s->net, s->infer[thread].pre[0], features, rows, 0, in, true);
    net_rest(job->compute->k, &s->net, &s->infer[thread], score, 0, rows);
    float gain = (float)sqrt(data_variance / (h * total)), pull = (float)(1 / total);
    for (int i = 0; i < 2 * rows; i++)
        score[i] = gain * score[i] - pull * x[i];
}

static void exact_score(void *self, float *score, const float *x, int level, int row0, int rows, int thread)
{
    (void)row0, (void)thread;
    const struct draw_job *job = self;
    for (int r = 0; r < rows; r++) {
        double S[2];
        mixture_score(job->draw->mixture, S, x + 2 * r, job->sampler.h[level]);
        score[2 * r] = (float)S[0];
        score[2 * r + 1] = (float)S[1];
    }
}

static void draw_tile(void *context, int tile, int thread)
{
    struct draw_job *job = context;
    int row0 = tile * NET_TILE, rows = job->n - row0 < NET_TILE ? job->n - row0 : NET_TILE;
    sampler_tile(&job->sampler, job->compute->k, job->xy + 2 * row0, row0, rows, job->rng, job->ticket,
                 &job->scratch[thread], thread);
}

void draw_samples(const struct draw *d, const struct compute *compute, float *xy, int n, struct rng *rng)
{
    struct arena arena = {0};
    int threads = pool_threads(compute->pool);
    struct draw_job job = {
        .draw = d, .compute = compute, .xy = xy, .n = n, .rng = rng, .ticket = rng->ticket};
    sampler_create(&job.sampler, &arena, d->kind, d->schedule, d->steps, 2, 1);
    job.sampler.score = d->net ? network_score : exact_score;
    job.sampler.self = &job;
    job.scratch = arena_new(&arena, struct sampler_scratch, threads);
    for (int t = 0; t < threads; t++)
        sampler_scratch_create(&job.scratch[t], &arena, NET_TILE, 2);
    rng->ticket += (uint64_t)sampler_tickets(&job.sampler);
    if (d->net)
        net_pack(compute, (const struct net *[]){&d->net->net}, 1, false);
    pool_run(compute->pool, (n + NET_TILE - 1) / NET_TILE, draw_tile, &job);
    arena_free(&arena);
}
