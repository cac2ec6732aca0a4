/* fake_algo: a learner that learns nothing but has everything a learner has: networks, an optimiser, a
 * replay, generators and counters, so that loop, checkpoint and API are tested without training. `fake_calls`
 * notes the order of the verbs. */
#ifndef TESTS_FAKE_ALGO_H
#define TESTS_FAKE_ALGO_H

#include "algo.h"
#include "rng.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FAKE_REPLAY 64

struct fake_options {
    double rate;
    long width, warm_up, updates_per_step, bad_weight_at, bad_loss_at;
    int mode;
};
#define OPTIONS struct fake_options
static const struct option fake_option_table[] = {
    OPTION_ROW_REAL(rate, "0.1", 0, 1, "learning rate", "test"),
    OPTION_ROW_INT(width, "7", 1, 100, "weights", "test"),
    OPTION_ROW_INT(warm_up, "5", 0, 1e6, "steps before the first update", "test"),
    OPTION_ROW_INT(updates_per_step, "2", 0, 10, "updates for each row observed", "test"),
    OPTION_ROW_INT(bad_weight_at, "0", 0, 1e6, "update that spoils a weight", "test"),
    OPTION_ROW_INT(bad_loss_at, "0", 0, 1e6, "update that spoils the loss", "test"),
    OPTION_ROW_CHOICE(mode, "plain", "plain fancy odd", "some choice", "test"),
    {.key = NULL},
};
#undef OPTIONS

static const struct option_preset fake_presets[] = {
    {"default", NULL, "rate=0.2 width=8"},
    {"default", "pendulum", "rate=0.3 mode=fancy"},
    {"default", "walker-run", "mode=fancy"},
    {"default", "control", "rate=0.5 mode=odd"}, /* after the row of a task: that still wins */
    {"default", "gmm", "rate=0.4 steps=3000"},
    {"default", "gmm", "log_every=300"}, /* an environment may have several rows */
    {"slow", "gmm", "rate=0.01"},        /* before the row for all: environment rows still win */
    {"slow", NULL, "rate=0.02 updates_per_step=1"},
    {"*", "maze", "mode=odd"},
    {NULL, NULL, NULL},
};

struct fake {
    struct fake_options options;
    int obs_dim, act_dim;
    struct rng act, evaluate;
    float *weights, *adam;
    float *replay;
    long seen, due, updates, head;
};

static char fake_calls[400]; /* a: act, o: observe, u: update, d: diagnose; the first so many */

static void fake_note(char call)
{
    size_t n = strlen(fake_calls);
    if (n + 1 < sizeof fake_calls)
        fake_calls[n] = call;
}

static dqs_status fake_create(void **self, struct arena *arena, const struct algo_setup *setup,
                              dqs_error *error)
{
    struct fake *f = arena_new(arena, struct fake, 1);
    (void)error;
    f->options = *(const struct fake_options *)setup->options;
    f->obs_dim = setup->obs_dim;
    f->act_dim = setup->act_dim;
    rng_seed(&f->act, setup->seed, RNG_ACT);
    rng_seed(&f->evaluate, setup->seed, RNG_EVALUATE);
    f->weights = arena_new(arena, float, f->options.width);
    f->adam = arena_new(arena, float, f->options.width);
    f->replay = arena_new(arena, float, FAKE_REPLAY);
    struct rng init;
    rng_seed(&init, setup->seed, RNG_INIT);
    for (long i = 0; i < f->options.width; i++)
        f->weights[i] = (float)rng_normal(&init);
    *self = f;
    return DQS_OK;
}

static dqs_status fake_act(void *self, float *action, const float *obs, int rows, dqs_act_mode mode,
                           dqs_error *error)
{
    struct fake *f = self;
    (void)error;
    if (mode == DQS_ACT_EXPLORE)
        fake_note('a');
    for (int i = 0; i < rows * f->act_dim; i++) {
        double u = rng_uniform(mode == DQS_ACT_EXPLORE ? &f->act : &f->evaluate);
        double pull = f->weights[i % f->options.width] * (double)obs[(i / f->act_dim) * f->obs_dim];
        action[i] = (float)tanh(2 * u - 1 + 0.1 * pull);
    }
    return DQS_OK;
}

static void fake_observe(void *self, const struct transitions *t)
{
    struct fake *f = self;
    fake_note('o');
    for (int i = 0; i < t->rows; i++) {
        float mixed = t->reward[i] + t->obs[i * f->obs_dim] + t->action[i * f->act_dim] -
                      t->next_obs[i * f->obs_dim] + (float)t->terminated[i] + 2 * (float)t->truncated[i];
        f->replay[f->head++ % FAKE_REPLAY] = mixed;
    }
    f->seen += t->steps;
    if (f->seen > f->options.warm_up)
        f->due += t->steps * f->options.updates_per_step;
}

static bool fake_update_due(const void *self)
{
    return ((const struct fake *)self)->due > 0;
}

static void fake_update(void *self, struct log_sink *log)
{
    struct fake *f = self;
    fake_note('u');
    f->due--;
    f->updates++;
    float *w = &f->weights[f->updates % f->options.width], *m = &f->adam[f->updates % f->options.width];
    float x = tanhf(f->replay[rng_below(&f->act, FAKE_REPLAY)]);
    *m = 0.9f * *m + 0.1f * (x - *w);
    *w += (float)f->options.rate * *m;
    if (f->updates == f->options.bad_weight_at)
        f->weights[3] = NAN;
    log_add(log, "train/fake_loss",
            f->updates == f->options.bad_loss_at ? (double)NAN : (double)((x - *w) * (x - *w)));
}

static void fake_visit(void *self, struct visitor *v)
{
    struct fake *f = self;
    int mark = visit_enter(v, "fake/");
    visit_vector(v, "weights", VISIT_POLICY, VISIT_F32, f->weights, (size_t)f->options.width);
    visit_vector(v, "adam/m", VISIT_LEARN | VISIT_COURSE, VISIT_F32, f->adam, (size_t)f->options.width);
    visit_vector(v, "replay", VISIT_REPLAY, VISIT_F32, f->replay, FAKE_REPLAY);
    visit_long(v, "head", VISIT_REPLAY, &f->head);
    visit_long(v, "seen", VISIT_LEARN, &f->seen);
    visit_long(v, "due", VISIT_LEARN, &f->due);
    visit_long(v, "updates", VISIT_LEARN, &f->updates);
    visit_long(v, "act", VISIT_LEARN, (long *)&f->act.ticket);
    visit_long(v, "evaluate", VISIT_LEARN, (long *)&f->evaluate.ticket);
    visit_leave(v, mark);
}

static void fake_diagnose(void *self, struct log_sink *log)
{
    (void)self;
    fake_note('d');
    log_set(log, "diag/nothing", (double)NAN); /* a diagnostic may be unknown; that is no reason to stop */
}

static dqs_status fake_soft_value(void *self, float *value, const float *obs, int rows, dqs_error *error)
{
    struct fake *f = self;
    (void)error;
    for (int i = 0; i < rows; i++)
        value[i] = obs[i * f->obs_dim] + 1000 * obs[i * f->obs_dim + 1];
    return DQS_OK;
}

static const struct algo fake_algo = {
    .name = "fake",
    .doc = "a learner for tests",
    .options = fake_option_table,
    .options_size = sizeof(struct fake_options),
    .presets = fake_presets,
    .create = fake_create,
    .act = fake_act,
    .observe = fake_observe,
    .update_due = fake_update_due,
    .update = fake_update,
    .visit = fake_visit,
    .diagnose = fake_diagnose,
    .soft_value = fake_soft_value,
};

#endif
