/* stats: held to the package rliable, whose answers stand in fixtures/stats.safetensors, and to small cases
 * worked by hand. */
#include "oracle.h"
#include "stats.h"
#include "verdict.h"

#define TASKS 5
#define MEASURES 4

static struct fixture fixture;

static const void *tensor(const char *name, const char *more, enum visit_type type, size_t *n)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, more);
    const struct safetensors_tensor *t = safetensors_find(&fixture.file, full);
    if (!t || t->type != type)
        fail_msg("%s: not in the fixture", full);
    if (n)
        *n = t->shape[0];
    return t->data;
}

static const double *numbers(const char *name, const char *more, size_t *n)
{
    return tensor(name, more, VISIT_F64, n);
}

/* rliable has runs x tasks; ours is task by task. index NULL: as they are. */
static void transpose(double *out, const double *scores, const unsigned char *index, int runs)
{
    for (int t = 0; t < TASKS; t++)
        for (int r = 0; r < runs; r++)
            out[t * runs + r] = scores[(index ? index[r * TASKS + t] : r) * TASKS + t];
}

static void measure(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)context;
    out[0] = stats_task_mean(sets);
    out[1] = stats_task_median(sets, scratch);
    out[2] = stats_iqm(sets, scratch);
    out[3] = stats_optimality_gap(sets, 1);
}

static void profile(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)scratch;
    for (int i = 0; i <= 10; i++)
        out[i] = stats_profile(sets, ((const double *)context)[i]);
}

static void improvement(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)context;
    (void)scratch;
    *out = stats_improvement(&sets[0], &sets[1]);
}

struct set {
    int count[TASKS];
    double values[64];
    struct stats_scores scores;
};

static int load(struct set *set, const char *name)
{
    size_t runs;
    const double *scores = numbers(name, "", &runs);
    transpose(set->values, scores, NULL, (int)runs);
    for (int t = 0; t < TASKS; t++)
        set->count[t] = (int)runs;
    set->scores = (struct stats_scores){TASKS, set->count, set->values};
    return (int)runs;
}

static const char *const names[] = {"x", "y"};

static void measures_are_those_of_rliable(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        struct set set;
        double ours[11], scratch[128];
        const double *taus = numbers("taus", "", NULL);
        load(&set, names[s]);
        measure(ours, &set.scores, NULL, scratch);
        for (int k = 0; k < MEASURES; k++)
            assert_near(ours[k], numbers(names[s], "_measures", NULL)[k], 1e-9);
        profile(ours, &set.scores, taus, NULL);
        for (int i = 0; i <= 10; i++)
            assert_near(ours[i], numbers(names[s], "_profile", NULL)[i], 1e-9);
    }
    struct set x, y;
    load(&x, "x");
    load(&y, "y");
    assert_near(stats_improvement(&x.scores, &y.scores), *numbers("improvement", "", NULL), 1e-9);
    assert_near(stats_improvement(&y.scores, &x.scores), 1 - *numbers("improvement", "", NULL), 1e-9);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same draws must give the same intervals: what is left are the measures and the percentiles. */
static void intervals_of_the_same_draws_are_those_of_rliable(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        struct set set;
        size_t repetitions;
        const double *scores = numbers(names[s], "", NULL), *expected = numbers(names[s], "_intervals", NULL);
        const unsigned char *index = tensor(names[s], "_indices", VISIT_U8, &repetitions);
        double results[MEASURES][400], scratch[128];
        int runs = load(&set, names[s]), n = (int)repetitions;
        assert_int_equal(n, 400);
        for (int r = 0; r < n; r++) {
            double one[MEASURES];
            transpose(set.values, scores, index + r * runs * TASKS, runs);
            measure(one, &set.scores, NULL, scratch);
            for (int k = 0; k < MEASURES; k++)
                results[k][r] = one[k];
        }
        for (int k = 0; k < MEASURES; k++) {
            qsort(results[k], repetitions, sizeof(double), compare);
            assert_near(stats_quantile(results[k], n, 0.025), expected[k], 1e-9);
            assert_near(stats_quantile(results[k], n, 0.975), expected[MEASURES + k], 1e-9);
        }
    }
}

/* Our own draws: the ends of the intervals agree up to chance. At 50 000 repetitions an end is known to about
 * a hundredth of the interval's width. */
static void intervals_of_our_draws_agree(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        struct set set;
        struct stats_interval ours[11];
        const double *expected = numbers(names[s], "_long", NULL), *band = numbers(names[s], "_band", NULL);
        load(&set, names[s]);
        stats_bootstrap(ours, MEASURES, &set.scores, 1, measure, NULL, 50000, 0);
        for (int k = 0; k < MEASURES; k++) {
            double width = expected[MEASURES + k] - expected[k];
            assert_true(width > 0.02);
            assert_near(ours[k].value, numbers(names[s], "_measures", NULL)[k], 1e-9);
            assert_near(ours[k].low, expected[k], 0.025 * width);
            assert_near(ours[k].high, expected[MEASURES + k], 0.025 * width);
        }
        stats_bootstrap(ours, 11, &set.scores, 1, profile, numbers("taus", "", NULL), 2000, 0);
        for (int i = 0; i <= 10; i++) { /* a step of the profile is one score of all */
            double step = 1.0 / stats_total(&set.scores);
            assert_near(ours[i].low, band[i], 1.01 * step);
            assert_near(ours[i].high, band[11 + i], 1.01 * step);
        }
    }
}

static void improvement_interval_agrees(void **state)
{
    (void)state;
    struct set x, y;
    struct stats_interval ours;
    const double *expected = numbers("improvement_long", "", NULL);
    load(&x, "x");
    load(&y, "y");
    struct stats_scores both[] = {x.scores, y.scores};
    stats_bootstrap(&ours, 1, both, 2, improvement, NULL, 20000, 0);
    assert_near(ours.low, expected[0], 0.05 * (expected[1] - expected[0]));
    assert_near(ours.high, expected[1], 0.05 * (expected[1] - expected[0]));
}

/* Each task weighs the same: the answers of rliable for every score repeated. */
static void unequal_seeds_weigh_tasks_equally(void **state)
{
    (void)state;
    const int count[] = {2, 3, 1};
    struct stats_scores ragged = {3, count, numbers("ragged", "", NULL)};
    double ours[11], scratch[12];
    measure(ours, &ragged, NULL, scratch);
    for (int k = 0; k < MEASURES; k++)
        assert_near(ours[k], numbers("ragged_measures", "", NULL)[k], 1e-9);
    profile(ours, &ragged, numbers("taus", "", NULL), NULL);
    for (int i = 0; i <= 10; i++)
        assert_near(ours[i], numbers("ragged_profile", "", NULL)[i], 1e-9);
}

/* Counts whose common multiple is beyond all bounds still give a mean between the extremes. */
static void many_counts_do_not_overflow(void **state)
{
    (void)state;
    int count[30];
    double values[3000], scratch[6000];
    int n = 0;
    for (int t = 0; t < 30; t++) {
        count[t] = 40 + 2 * t + 1;
        for (int i = 0; i < count[t]; i++)
            values[n++] = t % 2 ? 0.2 : 0.8;
    }
    struct stats_scores scores = {30, count, values};
    assert_near(stats_iqm(&scores, scratch), 0.5, 1e-9);
}

static void bootstrap_is_deterministic(void **state)
{
    (void)state;
    struct set set;
    struct stats_interval a[MEASURES], b[MEASURES], c[MEASURES];
    load(&set, "x");
    stats_bootstrap(a, MEASURES, &set.scores, 1, measure, NULL, 500, 7);
    stats_bootstrap(b, MEASURES, &set.scores, 1, measure, NULL, 500, 7);
    stats_bootstrap(c, MEASURES, &set.scores, 1, measure, NULL, 500, 8);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
}

static void small_cases(void **state)
{
    (void)state;
    const double two[] = {1, 3}, four[] = {4, 1, 3, 2}, same[] = {5, 5, 5};
    double scratch[4];
    assert_near(stats_std(two, 2), sqrt(2), 1e-15);
    assert_true(isnan(stats_std(two, 1)));
    assert_near(stats_median(four, 4, scratch), 2.5, 0);
    assert_near(stats_median(four, 3, scratch), 3, 0);
    /* Two seeds: the resampled means are both, or the middle, so the interval is from one to the other. */
    int count = 2;
    struct stats_scores scores = {1, &count, two};
    struct stats_interval interval[MEASURES];
    stats_bootstrap(interval, MEASURES, &scores, 1, measure, NULL, 1000, 0);
    assert_near(interval[0].low, 1, 0);
    assert_near(interval[0].high, 3, 0);
    count = 3;
    scores.values = same;
    assert_near(stats_improvement(&scores, &scores), 0.5, 0);
    assert_near(stats_profile(&scores, 5), 0, 0); /* above, not at */
    assert_near(stats_profile(&scores, 4.999), 1, 0);
}

static void verdicts_follow_the_rule(void **state)
{
    (void)state;
    char text[VERDICT_TEXT_SIZE];
    const struct verdict_claim paper = {100, 10};
    assert_int_equal(verdict_of(120, 130, &paper), VERDICT_ABOVE);
    assert_int_equal(verdict_of(110, 130, &paper), VERDICT_REPRODUCED); /* touching is overlapping */
    assert_int_equal(verdict_of(0, 1000, &paper), VERDICT_REPRODUCED);
    assert_int_equal(verdict_of(99, 101, &paper), VERDICT_REPRODUCED);
    assert_int_equal(verdict_of(50, 89.9, &paper), VERDICT_BELOW);
    assert_int_equal(verdict_of(NAN, NAN, &paper), VERDICT_NONE);
    verdict_write(text, VERDICT_ABOVE, 2);
    assert_string_equal(text, "above (2 seeds)");
    verdict_write(text, VERDICT_BELOW, 1);
    assert_string_equal(text, "below (1 seed)");
    verdict_write(text, VERDICT_REPRODUCED, 3);
    assert_string_equal(text, "reproduced");
    verdict_write(text, VERDICT_NONE, 0);
    assert_string_equal(text, "no data");
}

static int open_fixture(void **state)
{
    (void)state;
    fixture_open(&fixture, "stats.safetensors");
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    fixture_close(&fixture);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_are_those_of_rliable),
        cmocka_unit_test(intervals_of_the_same_draws_are_those_of_rliable),
        cmocka_unit_test(intervals_of_our_draws_agree),
        cmocka_unit_test(improvement_interval_agrees),
        cmocka_unit_test(unequal_seeds_weigh_tasks_equally),
        cmocka_unit_test(many_counts_do_not_overflow),
        cmocka_unit_test(bootstrap_is_deterministic),
        cmocka_unit_test(small_cases),
        cmocka_unit_test(verdicts_follow_the_rule),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
