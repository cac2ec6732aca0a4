#include "diffusion_policy.h"
#include "box.h"
#include "embed.h"
#include <math.h>
#include <string.h>

#define TILE 64 /* rows of states per tile; each has `particles` chains */

struct policy_work {
    float *base;         /* [TILE x width]: the state's part of the first layer */
    float *lifted;       /* the same plus the level's part */
    int *parent, *owner; /* [chains]: which row of the tile; [chains or rows]: which state of the energy */
    float *x, *logp;     /* [chains x act_dim], [chains] */
    struct tape tape;
    struct sampler_scratch sampler;
    struct corrector_scratch corrector;
    long accepted; /* by the corrector, in this call */
};

static int inputs(const struct policy_options *o)
{
    return o->feature_dim + o->act_dim + 2 * o->embed;
}

static double score_scale(const struct diffusion_policy *p, double h)
{
    return p->o.gain > 0 ? p->o.gain / (1 + p->o.gain * h) : 1;
}

/* squash=clip: the score that points to the nearest place in the box, x + h S brought to [-1, 1]. */
static float score_into_box(float score, float x, float h)
{
    return (into_box(x + h * score) - x) / h;
}

/* ---------------------------------------------------------------- the sampler's score */
struct draw_job {
    struct diffusion_policy *p;
    float *action;
    const float *features;
    int rows;
    const struct policy_draw *draw;
    struct sampler sampler;
    const struct rng *rng;
    uint64_t chain_ticket, choice_ticket, corrector_ticket;
};

static void network_score(void *self, float *score, const float *x, int level, int row0, int rows, int thread)
{
    (void)row0;
    struct draw_job *job = self;
    struct diffusion_policy *p = job->p;
    struct policy_work *w = &p->work[thread];
    const struct kernels *k = p->compute->k;
    int width = p->o.width, d = p->o.act_dim, states = rows / job->draw->particles;
    const float *part = p->level_part + (size_t)level * (size_t)width;
    for (int r = 0; r < states; r++)
        for (int j = 0; j < width; j++)
            w->lifted[r * width + j] = w->base[r * width + j] + part[j];
    k->add_inputs(w->tape.pre[0], w->lifted, w->parent, x,
                  net_weight(&p->score, 0) + (size_t)p->o.feature_dim * (size_t)width, rows, d, width);
    net_rest(k, &p->score, &w->tape, score, 0, rows);
    float scale = (float)score_scale(p, job->sampler.h[level]);
    for (int i = 0; i < rows * d; i++)
        score[i] *= scale;
    if (p->o.squash == SQUASH_CLIP)
        for (int i = 0; i < rows * d; i++)
            score[i] = score_into_box(score[i], x[i], (float)job->sampler.h[level]);
}

/* ---------------------------------------------------------------- drawing */
static int best_of(const float *logp, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (logp[i] > logp[best])
            best = i;
    return best;
}

/* One of n, with probability softmax(logp): the first whose share, added to those before it, reaches u. */
static int drawn_of(const struct kernels *k, float *logp, int n, float u)
{
    float sum = 0;
    int chosen = 0;
    k->softmax(logp, n);
    for (; chosen < n - 1 && (sum += logp[chosen]) < u; chosen++) {
    }
    return chosen;
}

/* One of the `particles` actions of each row. */
static void choose(struct draw_job *job, struct policy_work *w, float *action, int row0, int rows, int thread)
{
    struct diffusion_policy *p = job->p;
    int P = job->draw->particles, d = p->o.act_dim;
    float u[TILE];
    for (int i = 0; i < rows * P; i++)
        w->owner[i] = row0 + i / P;
    p->energy->boxed.eval(p->energy->boxed.self, w->logp, NULL, w->x, w->owner, rows * P, thread);
    p->compute->k->uniforms(u, (size_t)rows, job->rng->key, job->choice_ticket, (uint64_t)row0);
    for (int r = 0; r < rows; r++) {
        float *logp = w->logp + r * P;
        int chosen = job->draw->best ? best_of(logp, P) : drawn_of(p->compute->k, logp, P, u[r]);
        memcpy(action + r * d, w->x + (size_t)(r * P + chosen) * (size_t)d, sizeof *action * (size_t)d);
    }
}

static void draw_tile(void *context, int tile, int thread)
{
    struct draw_job *job = context;
    struct diffusion_policy *p = job->p;
    struct policy_work *w = &p->work[thread];
    int row0 = tile * TILE, rows = job->rows - row0 < TILE ? job->rows - row0 : TILE,
        P = job->draw->particles, d = p->o.act_dim;
    float *action = job->action + (size_t)row0 * (size_t)d;
    net_part(p->compute->k, &p->score, w->base, job->features + (size_t)row0 * (size_t)p->o.feature_dim, rows,
             0, p->o.feature_dim, true);
    for (int i = 0; i < rows * P; i++)
        w->parent[i] = i / P;
    sampler_tile(&job->sampler, p->compute->k, w->x, row0 * P, rows * P, job->rng, job->chain_ticket,
                 &w->sampler, thread);
    for (int i = 0; i < rows * P * d; i++)
        w->x[i] = squash_action(p->o.squash, w->x[i]);
    if (P > 1)
        choose(job, w, action, row0, rows, thread);
    else
        memcpy(action, w->x, sizeof *action * (size_t)(rows * d));
    for (int i = 0; i < rows; i++)
        w->owner[i] = row0 + i;
    struct corrector corrector = {job->draw->corrector, p->o.corrector_step};
    w->accepted += corrector_tile(&corrector, p->compute->k, &p->energy->boxed, action, w->owner, row0, rows,
                                  job->rng, job->corrector_ticket, &w->corrector, thread);
}

/* The parts of the first layer that depend on the level and on T alone. */
static void lift_levels(struct diffusion_policy *p, double log_T)
{
    int E = p->o.embed, n = p->o.steps + 1;
    float *first = p->level_embedding + E;
    embed_sinusoid(first, (float)log_T, E);
    for (int level = 1; level < n; level++)
        memcpy(first + (size_t)level * 2 * (size_t)E, first, sizeof *first * (size_t)E);
    net_part(p->compute->k, &p->score, p->level_part, p->level_embedding, n, p->o.feature_dim + p->o.act_dim,
             2 * E, false);
}

double policy_act(struct diffusion_policy *p, float *action, const float *features, int rows,
                  const struct policy_draw *draw, struct rng *rng)
{
    struct draw_job job = {.p = p,
                           .action = action,
                           .features = features,
                           .rows = rows,
                           .draw = draw,
                           .sampler = p->sampler,
                           .rng = rng,
                           .chain_ticket = rng->ticket};
    struct corrector corrector = {draw->corrector, p->o.corrector_step};
    rng->ticket += (uint64_t)sampler_tickets(&p->sampler);
    job.choice_ticket = rng_ticket(rng);
    job.corrector_ticket = rng->ticket;
    rng->ticket += (uint64_t)corrector_tickets(&corrector);
    job.sampler.self = &job;
    job.sampler.noise = draw->noise;
    if (rows * draw->particles > NET_FEW)
        net_pack(p->compute, (const struct net *[]){&p->score}, 1, false);
    lift_levels(p, draw->log_T);
    for (int t = 0; t < pool_threads(p->compute->pool); t++)
        p->work[t].accepted = 0;
    pool_run(p->compute->pool, (rows + TILE - 1) / TILE, draw_tile, &job);
    long accepted = 0;
    for (int t = 0; t < pool_threads(p->compute->pool); t++)
        accepted += p->work[t].accepted;
    return draw->corrector > 0 ? (double)accepted / ((double)rows * draw->corrector) : 0;
}

/* ---------------------------------------------------------------- telling */
/* sampler.c's four kinds of step, with the network's output instead of the score. */
static struct blueprint_step step_of(const struct diffusion_policy *p, int level, double noise)
{
    const struct sampler *s = &p->sampler;
    struct sampler_move move = sampler_move(s, level);
    double h = s->h[level], next = s->h[level + 1], from = sqrt(h), to = sqrt(next),
           scale = score_scale(p, h);
    struct blueprint_step step = {.inner_x = 1,
                                  .inner_y = (float)(move.drift * scale),
                                  .by_inner = 1,
                                  .spread = (float)(move.spread * noise),
                                  .noise = -1};
    if (p->o.squash == SQUASH_CLIP) { /* by way of the place that the score points to */
        step.clip_inner = true;
        step.inner_y = (float)(h * scale);
        step.by_inner = (float)(move.drift / h);
        step.by_x = (float)(1 - move.drift / h);
    }
    if (s->kind == SAMPLER_FLOW_HEUN && to > 0) {
        step.second = true;
        step.by_inner = 0;
        step.by_x = 1;
        step.by_y = (float)(0.5 * (from - to) * from * scale);
        step.by_y2 = (float)(0.5 * (from - to) * to * score_scale(p, next));
    }
    return step;
}

static void describe_energy(const struct diffusion_policy *p, struct blueprint *b, struct arena *arena,
                            int corrector, double T)
{
    int d = p->o.act_dim;
    uint64_t choice = (uint64_t)sampler_tickets(&p->sampler);
    b->inverse_T = (float)(1 / T);
    b->corrector = corrector;
    b->corrector_step = (float)p->o.corrector_step;
    b->critics_mean = p->energy->combine == TWIN_MEAN;
    b->critic[0] = &p->energy->twin->net[0];
    b->critic[1] = &p->energy->twin->net[1];
    if (b->particles > 1 && !b->best)
        b->choice_noise = blueprint_draw(b, arena, 1, true, choice);
    b->first_corrector_noise = b->slots;
    for (int n = 0; n < corrector; n++) {
        blueprint_draw(b, arena, d, false, choice + 1 + 2 * (uint64_t)n);
        blueprint_draw(b, arena, 1, true, choice + 2 + 2 * (uint64_t)n);
    }
}

void policy_describe(const struct diffusion_policy *p, struct blueprint *b, struct arena *arena,
                     const struct policy_draw *draw, double T)
{
    int N = p->o.steps, E = p->o.embed, P = draw->particles, d = p->o.act_dim;
    b->net = &p->score;
    b->squash = squash_by_tanh(p->o.squash) ? OUT_TANH : OUT_BOX;
    b->particles = P;
    b->best = draw->best;
    b->steps = N;
    b->step = arena_new(arena, struct blueprint_step, N);
    b->start = (float)sqrt(p->sampler.h[0]);
    b->start_noise = blueprint_draw(b, arena, P * d, false, 0);
    float *embedding = arena_new(arena, float, N * 2 * E);
    for (int n = 0; n < N; n++) {
        float *to = embedding + (size_t)n * 2 * (size_t)E;
        b->step[n] = step_of(p, n, draw->noise);
        if (b->step[n].spread > 0)
            b->step[n].noise = blueprint_draw(b, arena, P * d, false, 1 + (uint64_t)n);
        embed_sinusoid(to, 1 - (float)n / (float)N, E);
        embed_sinusoid(to + E, (float)draw->log_T, E);
    }
    blueprint_levels(b, arena, embedding, 2 * E);
    if (P > 1 || draw->corrector > 0)
        describe_energy(p, b, arena, draw->corrector, T);
    blueprint_finish(b);
}

/* ---------------------------------------------------------------- learning */
void policy_noise(struct diffusion_policy *p, float *tau, float *h, float *x, const float *x0, int rows,
                  struct rng *rng)
{
    const struct kernels *k = p->compute->k;
    int d = p->o.act_dim;
    k->uniforms(tau, (size_t)rows, rng->key, rng_ticket(rng), 0);
    k->normals(x, (size_t)(rows * d), rng->key, rng_ticket(rng), 0);
    for (int r = 0; r < rows; r++) {
        tau[r] = ((float)r + tau[r]) / (float)rows;
        h[r] = (float)schedule_h(&p->o.schedule, tau[r]);
        float sigma = sqrtf(h[r]);
        for (int i = r * d; i < (r + 1) * d; i++)
            x[i] = x0[i] + sigma * x[i];
    }
}

struct fit_rows {
    struct diffusion_policy *p;
    const float *features, *x, *tau, *log_T;
    int rows;
};

/* The network's inputs: [features | noisy action | tau | T] */
static void fill_fit_rows(void *context, int tile, int thread)
{
    (void)thread;
    struct fit_rows *fit = context;
    const struct policy_options *o = &fit->p->o;
    int F = o->feature_dim, d = o->act_dim, E = o->embed, in = inputs(o),
        end = (tile + 1) * TILE < fit->rows ? (tile + 1) * TILE : fit->rows;
    for (int r = tile * TILE; r < end; r++) {
        float *to = fit->p->x + (size_t)r * (size_t)in;
        memcpy(to, fit->features + (size_t)r * (size_t)F, sizeof *to * (size_t)F);
        memcpy(to + F, fit->x + r * d, sizeof *to * (size_t)d);
        embed_sinusoid(to + F + d, fit->tau[r], E);
        embed_sinusoid(to + F + d + E, fit->log_T[r], E);
    }
}

/* squash=clip: the sampler takes every denoised action x + h S into the box. Where prediction and target end
 * at the same wall there is nothing left to learn; without this the walls, whose scores grow like one over
 * the noise, make most of the loss. */
static double clipped_error(float y, float S, float x, float h, double scale)
{
    float predicted = into_box(x + h * (float)(y * scale)), meant = into_box(x + h * S);
    bool same_wall = predicted == meant && fabsf(meant) == 1;
    return same_wall ? 0 : y - (meant - x) / h / scale;
}

double policy_fit(struct diffusion_policy *p, const float *features, const float *x, const float *tau,
                  const float *h, const float *log_T, const float *S, int rows, bool lambda_weight)
{
    int d = p->o.act_dim;
    double loss = 0;
    struct fit_rows fit = {p, features, x, tau, log_T, rows};
    pool_run(p->compute->pool, (rows + TILE - 1) / TILE, fill_fit_rows, &fit);
    struct net_pass pass = {&p->score, &p->tape, p->x, p->y, p->dy, &p->gradient, rows};
    net_forward(p->compute, &pass, 1);
    for (int r = 0; r < rows; r++) {
        double scale = score_scale(p, h[r]);
        double weight = lambda_weight ? (h[r] + 1e-3) * scale * scale : 1;
        for (int i = r * d; i < (r + 1) * d; i++) {
            double error = p->o.squash == SQUASH_CLIP ? clipped_error(p->y[i], S[i], x[i], h[r], scale)
                                                      : p->y[i] - S[i] / scale;
            loss += weight * error * error;
            p->dy[i] = (float)(2 * weight * error / (rows * d));
        }
    }
    net_backward(p->compute, &pass, 1);
    adam_net(p->compute, &p->adam, &p->score, &p->gradient, p->o.max_norm);
    return loss / (rows * d);
}

/* ---------------------------------------------------------------- life */
void policy_create(struct diffusion_policy *p, struct arena *arena, const struct policy_options *o,
                   const struct compute *compute, const struct twin_energy *energy)
{
    struct net_spec spec = {inputs(o), o->act_dim, o->width, o->hidden, o->act, o->layernorm, o->residual};
    int threads = pool_threads(compute->pool), chains = TILE * o->most_particles, E = o->embed;
    *p = (struct diffusion_policy){.o = *o, .compute = compute, .energy = energy};
    net_create(&p->score, arena, &spec);
    if (!o->act_only) {
        net_create(&p->gradient, arena, &spec);
        adam_create(&p->adam, arena, p->score.count, o->lr, o->decay);
        tape_create(&p->tape, arena, &spec, o->batch, TAPE_TRAIN);
        p->x = arena_new(arena, float, o->batch *spec.in);
        p->y = arena_new(arena, float, o->batch *spec.out);
        p->dy = arena_new(arena, float, o->batch *spec.out);
    }
    sampler_create(&p->sampler, arena, o->sampler, o->schedule, o->steps, o->act_dim, 1);
    p->sampler.score = network_score;
    p->level_embedding = arena_new(arena, float, (o->steps + 1) * 2 * E);
    p->level_part = arena_new(arena, float, (o->steps + 1) * o->width);
    for (int level = 0; level <= o->steps; level++)
        embed_sinusoid(p->level_embedding + (size_t)level * 2 * (size_t)E, 1 - (float)level / (float)o->steps,
                       E);
    p->work = arena_new(arena, struct policy_work, threads);
    for (int t = 0; t < threads; t++) {
        struct policy_work *w = &p->work[t];
        w->base = arena_new(arena, float, TILE * o->width);
        w->lifted = arena_new(arena, float, TILE * o->width);
        w->parent = arena_new(arena, int, chains);
        w->owner = arena_new(arena, int, chains);
        w->x = arena_new(arena, float, chains * o->act_dim);
        w->logp = arena_new(arena, float, chains);
        tape_create(&w->tape, arena, &spec, chains, TAPE_INFER);
        sampler_scratch_create(&w->sampler, arena, chains, o->act_dim);
        corrector_scratch_create(&w->corrector, arena, TILE, o->act_dim);
    }
}

void policy_initialise(struct diffusion_policy *p, struct rng *rng)
{
    net_initialise(&p->score, p->o.init, 0.1f, rng);
}

void policy_visit(struct diffusion_policy *p, struct visitor *visitor, enum visit_kind kind, bool learn)
{
    net_visit(&p->score, visitor, "score/", kind);
    if (learn)
        adam_visit(&p->adam, visitor, "score_adam/");
}
