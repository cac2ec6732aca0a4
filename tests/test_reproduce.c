/* What `dqs reproduce` asks of a sweep, the exact walk on gmm, and the rules of its verdicts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "gmm_exact.h"
#include "gmm_metrics.h"
#include "paper_steps.h"
#include "reproduce.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- the items */

static void items_name_what_the_paper_has(void **state)
{
    (void)state;
    static const char *const names[] = {"fig-gmm", "fig-maze", "table1", "table2", "fig-dmc"};
    int n = 0;
    for (const struct reproduce_item *item = reproduce_items; item->name; item++, n++) {
        assert_string_equal(item->name, names[n]);
        assert_ptr_equal(reproduce_find(item->name), item);
        assert_non_null(item->judge);
        assert_true(item->steps >= item->least_steps && item->seeds >= 1 && item->figures[0].draw);
    }
    assert_int_equal(n, 5);
    assert_null(reproduce_find("table3"));
    /* The order of the columns is the paper's. */
    assert_string_equal(reproduce_find("table1")->algos, "dqs,sac,ddpg,ppo,td3");
    assert_string_equal(reproduce_find("table2")->algos, "dqs,qsm,dacer,dipo");
    assert_int_equal(reproduce_find("table1")->steps, 250000);
}

static const char *setting(const struct sweep_run *run, const char *key)
{
    for (int i = 0; i < run->n_settings; i++)
        if (strcmp(run->settings[i].key, key) == 0)
            return run->settings[i].value;
    return NULL;
}

struct planned {
    struct sweep_spec spec;
    struct sweep_plan plan;
};

static struct planned plan_of(const char *name, struct reproduce_request request)
{
    struct planned p = {0};
    dqs_error error = {0};
    request.out = "/tmp/dqs-reproduce-nowhere";
    dqs_status status = reproduce_spec(&p.spec, reproduce_find(name), &request, &error);
    if (status == DQS_OK)
        status = sweep_plan(&p.plan, &p.spec, &error);
    if (status != DQS_OK)
        fail_msg("%s: %s", name, error.message);
    return p;
}

static void drop(struct planned *p)
{
    sweep_plan_free(&p->plan);
    sweep_free(&p->spec);
}

static void a_grid_is_the_papers(void **state)
{
    (void)state;
    struct planned p = plan_of("table1", (struct reproduce_request){0});
    assert_int_equal(p.plan.count, 8 * 5 * 3);
    assert_int_equal(p.plan.cells, 40);
    for (int i = 0; i < p.plan.count; i++) {
        const struct sweep_run *run = &p.plan.runs[i];
        bool ppo = strcmp(run->algo, "ppo") == 0;
        /* 250 000 updates of PPO are 781.25 rollouts of 2048 steps: 782 whole ones. */
        assert_int_equal(run->steps, ppo ? 782 * 2048 : 250000);
        assert_string_equal(setting(run, "eval_every"), ppo ? "64000" : "10000");
        assert_string_equal(setting(run, "final_episodes"), "100");
        assert_string_equal(run->preset, "default");
        assert_int_equal(run->seed, i / 40);
    }
    drop(&p);
}

static void settings_go_to_whom_they_concern(void **state)
{
    (void)state;
    static const char *const settings[] = {"n_steps=64", "batch=32", "warmup=77", "eval_every=30"};
    struct planned p = plan_of(
        "table1",
        (struct reproduce_request){
            .steps = "300", .seeds = "4,9", .tasks = "walker-run", .settings = settings, .n_settings = 4});
    assert_int_equal(p.plan.count, 10);
    for (int i = 0; i < p.plan.count; i++) {
        const struct sweep_run *run = &p.plan.runs[i];
        bool ppo = strcmp(run->algo, "ppo") == 0;
        assert_string_equal(run->task, "walker-run");
        assert_int_equal(run->seed, i < 5 ? 4 : 9);
        assert_string_equal(setting(run, "batch"), "32");
        assert_true((setting(run, "n_steps") != NULL) == ppo);
        assert_true((setting(run, "warmup") != NULL) == !ppo);
        /* 300 updates at 32 / 10 steps each are 960 steps, which are 15 rollouts of 64. */
        assert_int_equal(run->steps, ppo ? 960 : 300);
        assert_string_equal(setting(run, "eval_every"), ppo ? "96" : "30");
    }
    drop(&p);
}

static void the_maze_has_its_own_ways(void **state)
{
    (void)state;
    struct planned p = plan_of("fig-maze", (struct reproduce_request){.preset = "paper", .full = true});
    assert_int_equal(p.plan.count, 15);
    for (int i = 0; i < p.plan.count; i++) {
        const struct sweep_run *run = &p.plan.runs[i];
        const char *fall = setting(run, "T_steps");
        assert_string_equal(run->task, "maze");
        assert_int_equal(run->steps, 250000);
        assert_null(setting(run, "diffusion_steps"));
        assert_true((fall != NULL) == (strcmp(run->algo, "dqs") == 0));
        if (fall) /* the temperature is at its end when training is */
            assert_string_equal(fall, "250000");
    }
    drop(&p);
    p = plan_of("fig-maze", (struct reproduce_request){.algos = "sac,dipo", .seeds = "1"});
    assert_int_equal(p.plan.count, 2);
    assert_string_equal(p.plan.runs[0].task, "maze-small");
    assert_null(setting(&p.plan.runs[0], "diffusion_steps"));
    assert_string_equal(setting(&p.plan.runs[1], "diffusion_steps"), "20");
    drop(&p);
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    static const char *const unknown[] = {"nonsense=1"}, *const steps[] = {"steps=9"},
                             *const loose[] = {"width"};
    const struct {
        struct reproduce_request request;
        const char *part;
    } cases[] = {{{.tasks = "pendulum"}, "'pendulum' is not in table1"},
                 {{.algos = "dqs,dipo"}, "'dipo' is not in table1"},
                 {{.algos = "dq"}, "'dq' is not in table1"},
                 {{.steps = "many"}, "--steps"},
                 {{.steps = "0"}, "--steps"},
                 {{.seeds = "x"}, "seeds"},
                 {{.preset = "papr"}, "papr"},
                 {{.preset = "default,paper"}, "--preset"},
                 {{.tasks = ","}, "names nothing"},
                 {{.settings = unknown, .n_settings = 1}, "nonsense"},
                 {{.settings = steps, .n_settings = 1}, "here that is --steps"},
                 {{.settings = loose, .n_settings = 1}, "key=value"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reproduce_request request = cases[i].request;
        struct sweep_spec spec = {0};
        dqs_error error = {0};
        request.out = "/tmp/dqs-reproduce-nowhere";
        assert_true(reproduce_spec(&spec, reproduce_find("table1"), &request, &error) != DQS_OK);
        if (!strstr(error.message, cases[i].part))
            fail_msg("case %zu says: %s", i, error.message);
        sweep_free(&spec);
    }
}

/* ---------------------------------------------------------------- steps of the paper */

static void steps_of_the_paper_are_updates_for_ppo(void **state)
{
    (void)state;
    assert_true(paper_steps_of("ppo", "64", "10", NULL) == 6.4);
    assert_true(paper_steps_of("ppo", "64", "10", "2") == 12.8);
    assert_true(paper_steps_of("dqs", "256", NULL, "2") == 1);
    assert_true(paper_steps_of("ppo", NULL, "10", "1") == 1 && paper_steps_of("ppo", "64", "0", "1") == 1);
    const struct collection_option options[] = {{"batch", "64"}, {"epochs", "10"}};
    const struct collection_run run = {.algo = "ppo", .n_options = 2, .options = options};
    assert_int_equal(paper_steps(&run, 100000), 640000);
    /* Updates come a rollout at a time: the 100 000th is in the one that ends after 313 x 2048 steps. */
    const struct collection_option whole[] = {{"batch", "64"}, {"epochs", "10"}, {"n_steps", "2048"}};
    const struct collection_run rolls = {.algo = "ppo", .n_options = 3, .options = whole};
    assert_int_equal(paper_steps(&rolls, 100000), 641024);
    assert_int_equal(paper_steps(&rolls, 320), 2048);
    const struct collection_run off = {.algo = "td3", .n_options = 3, .options = whole};
    assert_int_equal(paper_steps(&off, 100000), 100000);
}

/* ---------------------------------------------------------------- the exact walk */

/* tools/exact_gmm.py, the same walk in Python, has 0.0922 over 5000 episodes, with 40 modes. */
static void the_exact_walk_is_the_one_in_python(void **state)
{
    (void)state;
    enum { N = 2000 };
    static float xy[2 * N], again[2 * N];
    struct arena arena = {0};
    struct gmm_metrics m;
    struct rng rng;
    rng_seed(&rng, 1, RNG_TEST);
    gmm_exact_walk(xy, N, &arena, &rng);
    gmm_measure(&m, xy, N);
    assert_int_equal(m.modes, 40);
    assert_true(m.mmd > 0.08 && m.mmd < 0.105);
    assert_true(m.mmd > 2 * m.mmd_floor);
    rng_seed(&rng, 1, RNG_TEST);
    gmm_exact_walk(again, N, &arena, &rng);
    assert_memory_equal(xy, again, sizeof xy);
    arena_free(&arena);
}

/* ---------------------------------------------------------------- rules */

static void claims_go_by_the_whole_interval(void **state)
{
    (void)state;
    struct reproduce_verdict v = {0};
    reproduce_claim(&v, &(struct stats_interval){3, 2, 4}, 1, 1, 3);
    assert_string_equal(v.text, "reproduced");
    reproduce_claim(&v, &(struct stats_interval){3, 0.5, 4}, 1, 1, 2);
    assert_string_equal(v.text, "undecided (2 seeds)");
    reproduce_claim(&v, &(struct stats_interval){0, -1, 0.5}, 1, 1, 1);
    assert_string_equal(v.text, "not reproduced (1 seed)");
    assert_string_equal(v.word, "not reproduced");
    reproduce_claim(&v, &(struct stats_interval){1.02, 1.01, 1.03}, 1.05, 0.95, 3); /* within the noise */
    assert_string_equal(v.text, "undecided");
    reproduce_claim(&v, &(struct stats_interval){NAN, NAN, NAN}, 1, 1, 0);
    assert_string_equal(v.text, "no data");
}

static void verdicts_are_counted_by_word(void **state)
{
    (void)state;
    struct reproduce_verdict all[4] = {0};
    char text[200];
    reproduce_say(&all[0], "reproduced", 1);
    reproduce_say(&all[1], "below", 3);
    reproduce_say(&all[2], "reproduced", 5);
    reproduce_say(&all[3], "no data", 0);
    reproduce_count(text, sizeof text, all, 4);
    assert_string_equal(text, "2 reproduced, 1 below, 1 no data");
    reproduce_count(text, sizeof text, all, 0);
    assert_string_equal(text, "no verdict");
}

static void one_seed_has_an_interval_of_no_width(void **state)
{
    (void)state;
    const double three[] = {1, 2, 6};
    struct stats_interval i = stats_mean_interval(three, 1, STATS_REPETITIONS);
    assert_true(i.value == 1 && i.low == 1 && i.high == 1);
    i = stats_mean_interval(three, 3, STATS_REPETITIONS);
    assert_true(i.value == 3 && i.low == 1 &&
                i.high == 6); /* 1/27 of the draws are all alike, more than 2.5 % */
    i = stats_mean_interval(three, 0, STATS_REPETITIONS);
    assert_true(isnan(i.low));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_name_what_the_paper_has),
        cmocka_unit_test(a_grid_is_the_papers),
        cmocka_unit_test(settings_go_to_whom_they_concern),
        cmocka_unit_test(the_maze_has_its_own_ways),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(steps_of_the_paper_are_updates_for_ppo),
        cmocka_unit_test(the_exact_walk_is_the_one_in_python),
        cmocka_unit_test(claims_go_by_the_whole_interval),
        cmocka_unit_test(verdicts_are_counted_by_word),
        cmocka_unit_test(one_seed_has_an_interval_of_no_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
