/* bench_update: one DQS update, phase by phase, at one thread and at more. */
#include "algo.h"
#include "bench.h"
#include "clock.h"
#include <string.h>

/* 1, 2, 4, ... and the chosen number itself. */
static int thread_counts(int counts[BENCH_WIDTHS], int most)
{
    int n = 0;
    for (int threads = 1; threads < most && n < BENCH_WIDTHS - 1; threads *= 2)
        counts[n++] = threads;
    counts[n++] = most;
    return n;
}

/* ms per update of one repeat; with a clock, where they went. */
static double time_updates(struct bench_learner *l, struct phase_clock *clock)
{
    int count = bench_is_heavy(&l->options) ? 1 : 20;
    struct log_sink log = {.phases = clock};
    double start = clock_seconds();
    for (int i = 0; i < count; i++)
        l->algo->update(l->self, &log);
    double seconds = clock_seconds() - start;
    log_phase(&log, NULL);
    for (int i = 0; clock && i < clock->count; i++)
        clock->rows[i].seconds /= count;
    return seconds * 1e3 / count;
}

static double time_products(const struct bench_products *products, const struct dqs_options *o)
{
    int count = bench_is_heavy(o) ? 1 : 20;
    double start = clock_seconds();
    for (int i = 0; i < count; i++)
        bench_products_run(products);
    return (clock_seconds() - start) * 1e3 / count;
}

static void keep_phases(struct bench_update *u, const struct phase_clock *clock,
                        const struct bench_products *products)
{
    u->n_phases = clock->count;
    u->gflop = 0;
    for (int i = 0; i < clock->count; i++) {
        const char *name = clock->rows[i].name;
        u->phases[i] =
            (struct bench_phase){name, clock->rows[i].seconds * 1e3, bench_products_gflop(products, name)};
        u->gflop += u->phases[i].gflop;
    }
}

/* All in turn, so that they see the same machine. The phases are those of the best repeat. */
static void measure(struct bench_update *u, struct bench_learner *learners, const struct bench_choice *choice)
{
    const struct dqs_options *o = &learners[0].options;
    struct bench_products products;
    bench_products_list(&products, o, choice->obs_dim * (1 + 2 * (int)o->obs_octaves), choice->act_dim);
    bench_products_prepare(&products, &learners[0].arena);
    for (int w = 0; w < u->n_widths; w++) /* once untimed: memory is touched, the caches fill */
        learners[w].algo->update(learners[w].self, NULL);
    for (int repeat = 0; repeat < choice->repeats; repeat++) {
        double library = time_products(&products, o);
        u->library_ms = repeat == 0 || library < u->library_ms ? library : u->library_ms;
        for (int w = 0; w < u->n_widths; w++) {
            struct phase_clock clock = {0};
            double ms = time_updates(&learners[w], &clock);
            if (repeat > 0 && ms >= u->widths[w].ms)
                continue;
            u->widths[w].ms = ms;
            if (w == u->n_widths - 1)
                keep_phases(u, &clock, &products);
        }
    }
    u->ms = u->widths[u->n_widths - 1].ms;
}

dqs_status bench_update(struct bench_update *update, const struct bench_choice *choice, dqs_error *error)
{
    struct bench_learner learners[BENCH_WIDTHS] = {0};
    int counts[BENCH_WIDTHS];
    dqs_status status = DQS_OK;
    *update = (struct bench_update){.n_widths = thread_counts(counts, choice->threads)};
    for (int w = 0; w < update->n_widths && status == DQS_OK; w++) {
        update->widths[w].threads = counts[w];
        status = bench_learner_create(&learners[w], choice, NULL, counts[w], false, error);
    }
    if (status == DQS_OK)
        measure(update, learners, choice);
    for (int w = 0; w < update->n_widths; w++)
        bench_learner_free(&learners[w]);
    return status;
}
