/* bench_acting: how long a decision takes: one observation at a time, as a robot has them, and several. */
#include "algo.h"
#include "bench.h"
#include "clock.h"
#include "rng.h"
#include <stdlib.h>

#define MOST_TIMES 1000
#define LEAST_TIMES 10
#define SECONDS 0.25 /* per repeat, if there are not enough times before */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One repeat; kept if its slowest decisions are the fastest so far. */
static void time_acting(struct bench_acting *a, struct bench_learner *l, float *action, const float *obs)
{
    double us[MOST_TIMES], begin = clock_seconds();
    int n = 0;
    while (n < LEAST_TIMES || (n < MOST_TIMES && clock_seconds() - begin < SECONDS)) {
        double start = clock_seconds();
        l->algo->act(l->self, action, obs, a->rows, DQS_ACT_EVALUATE, NULL);
        us[n++] = (clock_seconds() - start) * 1e6;
    }
    qsort(us, (size_t)n, sizeof *us, ascending);
    if (a->p99_us > 0 && us[n * 99 / 100] >= a->p99_us)
        return;
    a->p50_us = us[n / 2];
    a->p99_us = us[n * 99 / 100];
}

static dqs_status measure(struct bench_acting *a, const struct bench_choice *choice,
                          const struct dqs_options *o, dqs_error *error)
{
    struct bench_learner l;
    struct rng rng;
    dqs_status status = bench_learner_create(&l, choice, o, choice->threads, true, error);
    if (status == DQS_OK) {
        int numbers = a->rows * choice->obs_dim;
        float *obs = arena_new(&l.arena, float, numbers),
              *action = arena_new(&l.arena, float, a->rows * choice->act_dim);
        rng_seed(&rng, 2, RNG_TEST);
        for (int i = 0; i < numbers; i++)
            obs[i] = (float)rng_normal(&rng);
        for (int i = 0; i < 3; i++) /* untimed */
            l.algo->act(l.self, action, obs, a->rows, DQS_ACT_EVALUATE, NULL);
        for (int repeat = 0; repeat < choice->repeats; repeat++)
            time_acting(a, &l, action, obs);
    }
    bench_learner_free(&l);
    return status;
}

dqs_status bench_acting(struct bench_acting acting[BENCH_ACTINGS], const struct bench_choice *choice,
                        dqs_error *error)
{
    struct dqs_options o;
    TRY(bench_options(&o, choice, error));
    int own = (int)o.N;
    const struct bench_acting wanted[BENCH_ACTINGS] = {
        {1, 6, 0, 0}, {1, 20, 0, 0}, {10, own, 0, 0}, {100, own, 0, 0}};
    for (int i = 0; i < BENCH_ACTINGS; i++) {
        acting[i] = wanted[i];
        o.N = wanted[i].steps;
        TRY(measure(&acting[i], choice, &o, error));
    }
    return DQS_OK;
}
