#include "temperature.h"
#include <math.h>

#define PROBE_EVERY 4 /* updates between probes */
#define PROBE_STATES 32
#define PROBE_RATE 0.02       /* of the running averages */
#define LOG_VOLUME 0.69314718 /* of [-1,1], per dimension */

static int samples_of(int act_dim)
{
    return act_dim <= 2 ? 64 : 16;
}

double temperature_least_entropy(int act_dim)
{
    return LOG_VOLUME - log(samples_of(act_dim)) / act_dim;
}

void temperature_create(struct temperature *t, struct arena *arena, const struct temperature_options *o,
                        int act_dim, int batch)
{
    *t = (struct temperature){.o = *o, .T = o->T, .states = batch < PROBE_STATES ? batch : PROBE_STATES};
    t->samples = samples_of(act_dim);
    int rows = t->states * t->samples;
    t->action = arena_new(arena, float, rows *act_dim);
    t->logp = arena_new(arena, float, rows);
    t->owner = arena_new(arena, int, rows);
    for (int i = 0; i < rows; i++)
        t->owner[i] = i / t->samples;
}

/* Between two values, linearly in their logarithm, by environment steps. */
static double between(double from, double to, long step, long steps)
{
    double share = fmin(1, (double)step / (double)steps);
    return from * pow(to / from, share);
}

void temperature_at(struct temperature *t, long step)
{
    if (t->o.mode == TEMPERATURE_ANNEAL)
        t->T = between(t->o.T, t->o.T_end, step, t->o.steps);
}

bool temperature_wants_probe(const struct temperature *t, long update)
{
    return (t->o.mode == TEMPERATURE_RELATIVE || t->o.mode == TEMPERATURE_AUTO) && update % PROBE_EVERY == 0;
}

struct probe {
    struct temperature *t;
    const struct twin_energy *energy;
};

static void probe_state(void *context, int tile, int thread)
{
    struct probe *p = context;
    struct temperature *t = p->t;
    int at = tile * t->samples;
    p->energy->boxed.eval(p->energy->boxed.self, t->logp + at, NULL,
                          t->action + (size_t)at * (size_t)p->energy->act_dim, t->owner + at, t->samples,
                          thread);
}

/* Entropy of exp(q/T) on the box from q at n uniform points: log volume + log mean exp(q/T) - E[q/T], E under
 * exp(q/T). */
static double entropy(float *q, int n, double T, int act_dim, const struct kernels *k)
{
    double mean = 0;
    float scaled[n];
    for (int i = 0; i < n; i++)
        scaled[i] = q[i] / (float)T;
    double log_sum = k->softmax(scaled, n);
    for (int i = 0; i < n; i++)
        mean += scaled[i] * q[i] / T;
    return act_dim * LOG_VOLUME + log_sum - log(n) - mean;
}

void temperature_probe(struct temperature *t, const struct compute *compute, const struct twin_energy *energy,
                       long step, struct rng *rng)
{
    int n = t->samples, rows = t->states * n, d = energy->act_dim;
    struct probe probe = {t, energy};
    compute->k->uniforms(t->action, (size_t)(rows * d), rng->key, rng_ticket(rng), 0);
    for (int i = 0; i < rows * d; i++)
        t->action[i] = 2 * t->action[i] - 1;
    pool_run(compute->pool, t->states, probe_state, &probe);
    double variance = 0, nats = 0;
    for (int s = 0; s < t->states; s++) {
        float *q = t->logp + s * n;
        double mean = 0, squares = 0;
        for (int i = 0; i < n; i++)
            mean += (q[i] /= energy->inverse_T[s]) / n;
        for (int i = 0; i < n; i++)
            squares += (q[i] - mean) * (q[i] - mean) / (n - 1);
        variance += squares / t->states;
        nats += entropy(q, n, t->T, d, compute->k) / (t->states * d);
    }
    double rate = fmax(PROBE_RATE, 1.0 / (double)++t->probes);
    t->spread = sqrt((1 - rate) * t->spread * t->spread + rate * variance);
    t->entropy = nats;
    if (t->o.mode == TEMPERATURE_RELATIVE)
        t->T = t->spread * between(t->o.kappa, t->o.kappa_end, step, t->o.steps);
    else
        t->T *= exp(t->o.lr * fmin(1, fmax(-1, t->o.entropy_target - nats)));
    t->T = fmin(t->o.ceiling, fmax(t->o.floor, t->T));
}

void temperature_visit(struct temperature *t, struct visitor *visitor)
{
    bool told = t->o.mode == TEMPERATURE_FIXED || t->o.mode == TEMPERATURE_ANNEAL;
    int mark = visit_enter(visitor, "temperature/");
    visit_double(visitor, "T", told ? VISIT_POLICY | VISIT_COURSE : VISIT_POLICY, &t->T);
    visit_double(visitor, "spread", VISIT_LEARN, &t->spread);
    visit_double(visitor, "entropy", VISIT_LEARN, &t->entropy);
    visit_long(visitor, "probes", VISIT_LEARN, &t->probes);
    visit_leave(visitor, mark);
}
