/* The lab's reader and what is built on it: folders of runs made here, whole, odd and hostile. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "collection.h"
#include "config.h"
#include "document.h"
#include "file.h"
#include "published.h"
#include "reference.h"
#include "report.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- folders to read */

static char top[64];
static struct {
    int count;
    char lines[16][600];
} warnings;

static void remember(void *user, const char *line)
{
    (void)user;
    if (warnings.count < 16)
        snprintf(warnings.lines[warnings.count], sizeof warnings.lines[0], "%s", line);
    warnings.count++;
}

static int make_top(void **state)
{
    (void)state;
    strcpy(top, "/tmp/dqs-collection-XXXXXX");
    warnings.count = 0;
    return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command);
}

static void put(const char *folder, const char *file, const char *text)
{
    char path[300];
    dqs_error error = {0};
    snprintf(path, sizeof path, "%s/%s", top, folder);
    assert_int_equal(file_make_folders(path, &error), DQS_OK);
    snprintf(path, sizeof path, "%s/%s/%s", top, folder, file);
    assert_int_equal(file_write_text(path, text, &error), DQS_OK);
}

static void put_run(const char *folder, const char *env, const char *algo, const char *preset, long seed,
                    const char *more, const char *rows)
{
    char text[12000];
    snprintf(text, sizeof text, "env: \"%s\"\nalgo: \"%s\"\npreset: \"%s\"\nsteps: 100000\nseed: %ld\n%s",
             env, algo, preset, seed, more);
    put(folder, "config.yaml", text);
    snprintf(text, sizeof text, "step,episodes,mean_reward,std_reward\n%s", rows);
    put(folder, "evaluations.csv", text);
}

static dqs_status read_top(struct collection *c, dqs_error *error)
{
    const char *folders[] = {top};
    return collection_read(c, folders, 1, remember, NULL, error);
}

static void read_well(struct collection *c)
{
    dqs_error error = {0};
    if (read_top(c, &error) != DQS_OK)
        fail_msg("%s", error.message);
}

/* ---------------------------------------------------------------- grouping */

static void runs_are_grouped(void **state)
{
    (void)state;
    struct collection c;
    put_run("z/b", "walker-run", "sac", "default", 1, "", "100000,10,5,0\n");
    put_run("z/a", "walker-run", "sac", "default", 0, "", "100000,10,4,0\n");
    put_run("y", "cheetah-run", "dqs", "default", 0, "K: 4\nthreads: 1\n", "100000,10,7,0\n");
    put_run("x", "cheetah-run", "dqs", "default", 1, "K: 4\nthreads: 2\n", "100000,10,9,0\n");
    put("z/a", "progress.csv",
        "time/total_timesteps,time/time_elapsed\n1000,10\n2000,20\n2000,\n100000,1000\n");
    put("z/a", "DONE", "steps: 100000\n");
    read_well(&c);
    assert_int_equal(warnings.count, 0);
    assert_int_equal(c.n_runs, 4);
    assert_int_equal(c.n_tasks, 2);
    assert_string_equal(c.tasks[0], "cheetah-run");
    assert_int_equal(c.n_methods, 2); /* seeds, threads and tasks make no method */
    assert_string_equal(c.methods[0].label, "dqs");
    assert_string_equal(c.methods[1].label, "sac");
    assert_string_equal(c.methods[1].preset, "default");
    const struct collection_cell *cell = collection_cell(&c, 1, 1);
    assert_int_equal(cell->count, 2);
    assert_int_equal(cell->runs[0]->seed, 0);
    assert_true(cell->runs[0]->done && !cell->runs[1]->done);
    assert_true(collection_score(cell->runs[1], 100000) == 5);
    assert_true(fabs(collection_seconds(cell->runs[0], 1500) - 15) < 1e-9);
    assert_true(fabs(collection_seconds(cell->runs[0], 51000) - 510) < 1e-9);
    assert_true(isnan(collection_seconds(cell->runs[0], 200000)));
    assert_true(isnan(collection_seconds(cell->runs[1], 1000)));
    assert_int_equal(collection_cell(&c, 0, 1)->count, 0);
    collection_free(&c);
}

static const char *preset_K(const char *env)
{
    static char text[64];
    struct config *config;
    assert_int_equal(config_create(&config, "dqs", env, NULL), DQS_OK);
    snprintf(text, sizeof text, "K: %s\n", config_get(config, "K"));
    config_free(config);
    return text;
}

/* Only what is not at the preset's value for the task names a method. */
static void departures_from_the_preset_name_methods(void **state)
{
    (void)state;
    struct collection c;
    put_run("a", "cheetah-run", "dqs", "default", 0, preset_K("cheetah-run"), "1,1,1,0\n");
    put_run("b", "cheetah-run", "dqs", "default", 0, "K: 160\ndiag_states: 2\n", "1,1,1,0\n");
    put_run("c", "cheetah-run", "dqs", "default", 0, "K: 77\ndiag_states: 1\n", "1,1,1,0\n");
    put_run("d", "gmm", "dqs", "default", 0, preset_K("gmm"), "1,1,1,0\n");
    put_run("h", "gmm", "td3", "default", 0, "policy_delay: 5\n", "1,1,1,0\n"); /* the only one of its kind */
    put_run("e", "cheetah-run", "dqs", "paper", 0, "K: 1000\n", "1,1,1,0\n");
    put_run("f", "cheetah-run", "unheard_of", "default", 0, "x: 2\n", "1,1,1,0\n");
    put_run("g", "cheetah-run", "unheard_of", "default", 1, "x: 10\n", "1,1,1,0\n");
    read_well(&c);
    assert_int_equal(warnings.count, 0);
    static const char *const labels[] = {"dqs default",    "dqs default K=77",   "dqs default K=160",
                                         "dqs paper",      "td3 policy_delay=5", "unheard_of x=2",
                                         "unheard_of x=10"};
    assert_int_equal(c.n_methods, 7);
    for (int m = 0; m < 7; m++)
        assert_string_equal(c.methods[m].label, labels[m]);
    collection_free(&c);
}

/* An option that a run does not record came later: then it was at its standard. */
static void runs_of_an_earlier_version_are_compared_too(void **state)
{
    (void)state;
    struct collection c;
    put_run("a", "pendulum", "dqs", "default", 0, "", "1,1,1,0\n");
    put_run("b", "pendulum", "dqs", "default", 1, "gamma: 0.99\neta: 0.005\n", "1,1,1,0\n");
    put_run("c", "pendulum", "dqs", "default", 0, "gamma: 0.9\neta: 0.005\nnot_known_yet: 3\n",
            "1,1,1,0\n");
    read_well(&c);
    assert_int_equal(warnings.count, 0);
    assert_int_equal(c.n_methods, 2);
    assert_string_equal(c.methods[0].label, "dqs");
    assert_string_equal(c.methods[1].label, "dqs gamma=0.9 not_known_yet=3");
    assert_int_equal(collection_cell(&c, 0, 0)->count, 2);
    collection_free(&c);
}

/* The whole configuration of the default, but for what other versions did not know. */
static const char *configuration_without(const char *env, const char *key)
{
    static char text[10000];
    struct config *config;
    dqs_option_info row;
    size_t n = 0;
    assert_int_equal(config_create(&config, "dqs", env, NULL), DQS_OK);
    for (int i = 0; config_describe(config, i, &row); i++)
        if (strcmp(row.key, key) && strcmp(row.key, "steps") && strcmp(row.key, "seed"))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s: \"%s\"\n", row.key, row.value);
    assert_true(n < sizeof text);
    config_free(config);
    return text;
}

/* A preset may set an option that older runs do not record: they are other methods, even where no newer run
 * is beside them. */
static void a_run_is_older_than_an_option_of_its_preset(void **state)
{
    (void)state;
    struct collection c;
    put_run("a", "walker-run", "dqs", "default", 0, configuration_without("walker-run", "action_repeat"), "1,1,1,0\n");
    put_run("b", "cheetah-run", "dqs", "default", 0, configuration_without("cheetah-run", ""), "1,1,1,0\n");
    read_well(&c);
    assert_int_equal(c.n_methods, 2);
    assert_string_equal(c.methods[0].label, "dqs");
    assert_string_equal(c.methods[1].label, "dqs action_repeat=1");
    collection_free(&c);
}

static void environment_options_are_part_of_the_task(void **state)
{
    (void)state;
    struct collection c;
    put_run("a", "maze", "dqs", "default", 0, "env_options: \"\"\n", "1,1,1,0\n");
    put_run("b", "maze", "dqs", "default", 0, "env_options: \"layout=2\"\n", "1,1,1,0\n");
    read_well(&c);
    assert_int_equal(c.n_tasks, 2);
    assert_string_equal(c.tasks[1], "maze layout=2");
    assert_int_equal(c.n_methods, 1);
    collection_free(&c);
}

static void doubles_count_once(void **state)
{
    (void)state;
    struct collection c;
    put_run("a", "gmm", "dqs", "default", 3, "", "5000,1,1,0\n");
    put_run("b", "gmm", "dqs", "default", 3, "", "5000,1,1,0\n10000,1,2,0\n");
    put_run("c", "gmm", "dqs", "default", 3, "", "5000,1,1,0\n");
    read_well(&c);
    assert_int_equal(c.n_runs, 1);
    assert_non_null(strstr(c.runs[0].path, "/b")); /* it got furthest */
    assert_int_equal(warnings.count, 2);
    assert_int_equal(c.left_out, 2);
    assert_non_null(strstr(warnings.lines[0], "/a: the same task, method and seed as"));
    collection_free(&c);
}

/* ---------------------------------------------------------------- damage */

static void damage_costs_one_run(void **state)
{
    (void)state;
    struct collection c;
    put_run("good", "gmm", "dqs", "default", 0, "", "5000,1,1,0\n");
    put_run("words", "gmm", "dqs", "default", 1, "", "5000,1,one,0\n");
    put_run("columns", "gmm", "dqs", "default", 2, "", "");
    put("columns", "evaluations.csv", "step,score\n1,2\n");
    put("yaml", "config.yaml", "env: [1, 2\n");
    put("nameless", "config.yaml", "algo: dqs\nseed: 1\nsteps: 5\n");
    put("seedless", "config.yaml", "env: gmm\nalgo: dqs\nsteps: 5\n");
    put("control", "config.yaml", "env: \"g\\emm\"\nalgo: dqs\nsteps: 5\nseed: 1\n");
    put_run("pipe", "gmm", "dqs", "default", 4, "", "");
    char path[300];
    snprintf(path, sizeof path, "%s/pipe/progress.csv", top);
    assert_int_equal(mkfifo(path, 0600), 0); /* opening it would wait for ever */
    read_well(&c);
    assert_int_equal(c.n_runs, 1);
    assert_int_equal(warnings.count, 7);
    const char *const about[] = {"/columns/evaluations.csv: has no column mean_reward",
                                 "/control/config.yaml: env is not plain text",
                                 "/nameless/config.yaml: does not say which env",
                                 "/pipe/progress.csv: not a regular file",
                                 "/seedless/config.yaml: has no whole numbers as seed and steps",
                                 "/words/evaluations.csv, line 2, column mean_reward: \"one\"",
                                 "/yaml/config.yaml:"};
    for (int i = 0; i < 7; i++)
        if (!strstr(warnings.lines[i], about[i]) || !strstr(warnings.lines[i], "the run is left out"))
            fail_msg("%s", warnings.lines[i]);
    collection_free(&c);
}

static void a_run_just_begun_is_no_damage(void **state)
{
    (void)state;
    struct collection c;
    put("a", "config.yaml", "env: gmm\nalgo: dqs\nsteps: 5\nseed: 1\n");
    put_run("b", "gmm", "dqs", "", 2, "", "5000,1,1,0\n6000,1"); /* a row being written */
    read_well(&c);
    assert_int_equal(warnings.count, 0);
    assert_int_equal(c.n_runs, 2);
    assert_int_equal(c.runs[0].evaluations.rows, 0);
    assert_int_equal(c.runs[1].reached, 5000);
    collection_free(&c);
}

/* With all its steps, with DONE, or, where updates end a run, evaluated between two evaluations that were due. */
static void runs_are_finished_by_steps_or_updates(void **state)
{
    (void)state;
    static const struct {
        const char *more, *rows;
        bool done, finished;
    } cases[] = {{"eval_every: 10000\n", "90000,5,1,1\n", false, false},
                 {"eval_every: 10000\n", "100000,5,1,1\n", false, true},
                 {"eval_every: 10000\n", "90000,5,1,1\n", true, true},
                 {"eval_every: 10000\nstop_updates: 500\n", "90000,5,1,1\n", false, false},
                 {"eval_every: 10000\nstop_updates: 500\n", "90000,5,1,1\n91234,5,1,1\n", false, true},
                 {"eval_every: 10000\nn_envs: 8\nstop_updates: 500\n", "90007,5,1,1\n", false, false},
                 {"eval_every: 10000\nstop_updates: 0\n", "91234,5,1,1\n", false, false}};
    struct collection c;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_run("run", "gmm", "ppo", "default", 0, cases[i].more, cases[i].rows);
        if (cases[i].done)
            put("run", "DONE", "");
        read_well(&c);
        assert_int_equal(collection_finished(&c.runs[0]), cases[i].finished);
        collection_free(&c);
        char path[300];
        snprintf(path, sizeof path, "%s/run/DONE", top);
        assert_true(remove(path) == 0 || !cases[i].done);
    }
}

static void nothing_to_read_is_an_error(void **state)
{
    (void)state;
    struct collection c;
    dqs_error error = {0};
    const char *missing[] = {"/nonexistent/folder"};
    assert_int_equal(read_top(&c, &error), DQS_E_IO);
    assert_non_null(strstr(error.message, "no run below it"));
    collection_free(&c);
    assert_int_equal(collection_read(&c, missing, 1, NULL, NULL, &error), DQS_E_IO);
    collection_free(&c);
    put("bad", "config.yaml", "[");
    assert_int_equal(read_top(&c, &error), DQS_E_FORMAT);
    collection_free(&c);
}

/* Links are not followed, so that a loop of them has no end to run to. */
static void links_are_not_followed(void **state)
{
    (void)state;
    struct collection c;
    char path[300];
    put_run("a/run", "gmm", "dqs", "default", 0, "", "5000,1,1,0\n");
    snprintf(path, sizeof path, "%s/a/loop", top);
    assert_int_equal(symlink(top, path), 0);
    read_well(&c);
    assert_int_equal(c.n_runs, 1);
    collection_free(&c);
}

/* ---------------------------------------------------------------- scores */

static void scores_stand_at_the_budget(void **state)
{
    (void)state;
    struct collection c;
    put_run("a", "gmm", "dqs", "default", 0, "",
            "90000,10,1,0\n98000,10,2,0\n99000,10,nan,0\n100000,10,3,0\n100000,100,4,0\n110000,10,5,0\n");
    read_well(&c);
    const struct collection_run *run = &c.runs[0];
    assert_true(collection_score(run, 100000) == 4);  /* the later, larger one of two */
    assert_true(collection_score(run, 99999) == 2);   /* 2 % below; nan passed over */
    assert_true(isnan(collection_score(run, 97999))); /* 90000 is too far away */
    assert_true(collection_score(run, 110001) == 5);
    assert_true(isnan(collection_score(run, 250000)));
    collection_free(&c);

    /* Two environments, actions held for eight steps: such a run ends up to 15 steps late. */
    put_run("a", "maze", "dqs", "default", 0, "n_envs: 2\naction_repeat: 8\n", "10008,10,1,0\n20015,10,2,0\n");
    read_well(&c);
    run = strcmp(c.runs[0].task, "maze") ? &c.runs[1] : &c.runs[0];
    assert_true(collection_score(run, 20000) == 2 && collection_score(run, 10000) == 1);
    assert_true(isnan(collection_score(run, 19999)));
    collection_free(&c);
}

/* ---------------------------------------------------------------- published, normalised */

static void published_numbers(void **state)
{
    (void)state;
    const struct verdict_claim *cell = published_cell(published_paper("dqs", 100000), "reacher-hard");
    assert_true(cell->mean == 914.15 && cell->std == 18.28);
    cell = published_cell(published_paper("dipo", 250000), "walker-run");
    assert_true(cell->mean == 518.49 && cell->std == 162.78);
    cell = published_cell(published_find("td-mpc2", 100000), "cheetah-run");
    assert_true(cell->mean == 519.1);
    assert_null(published_paper("dqs", 50000));
    assert_null(published_find("TD-MPC2", 250000));
    assert_null(published_cell(published_paper("dqs", 100000), "gmm"));
    /* The mean over the eight tasks at 100k is a sum that a slip in any digit would change. */
    const struct published_row *row = published_paper("dqs", 100000);
    double sum = 0;
    for (int t = 0; t < PUBLISHED_TASKS; t++)
        sum += row->cell[t].mean;
    assert_true(fabs(sum - 3457.73) < 1e-9);
}

static void only_tasks_with_a_scale_are_normalised(void **state)
{
    (void)state;
    struct reference reference;
    assert_true(reference_find(&reference, "cheetah-run"));
    assert_true(reference_score(&reference, 250) == 0.25);
    assert_false(reference_find(&reference, "gmm"));
    assert_false(reference_find(&reference, "lqr-lqr_2_1"));
    assert_false(reference_find(&reference, "./mine.so"));
}

/* ---------------------------------------------------------------- documents */

static char *written(const struct document *d, document_writer *writer)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    writer(out, d);
    fclose(out);
    return text;
}

static void demand_text(const struct document *d, document_writer *writer, const char *expected,
                        const char *forbidden)
{
    char *text = written(d, writer);
    if (!strstr(text, expected) || strstr(text, forbidden))
        fail_msg("expected %s and no %s in\n%s", expected, forbidden, text);
    free(text);
}

static void documents_escape_what_they_are_given(void **state)
{
    (void)state;
    struct document d = {0};
    document_heading(&d, 1, "%s", "<script>alert('1')</script> & \"x\"");
    document_table(&d, 2, 1, "%s", "100 % of $x_1$ \\input{/etc/passwd} #1 ~^");
    document_cell(&d, 0, "%s", "a|b");
    document_cell(&d, DOCUMENT_BOLD, "%s", "*[l](http://x)*");
    document_cell(&d, DOCUMENT_UNDERLINE, "%s", "_x_ y_z");
    document_cell(&d, 0, "%s", "\u4e2d \u00b1");
    demand_text(&d, document_html, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;",
                "<script");
    demand_text(&d, document_html, "<td class=\"w\"><u>_x_ y_z</u></td>", "\x01");
    demand_text(&d, document_latex,
                "100 \\% of \\$x\\_1\\$ \\textbackslash{}input\\{/etc/passwd\\} \\#1 "
                "\\textasciitilde{}\\textasciicircum{}",
                "\\input");
    demand_text(&d, document_latex, "? $\\pm$", "\u4e2d");
    demand_text(&d, document_markdown, "| a\\|b | **\\*[l\\](http://x)\\*** |", "<script");
    demand_text(&d, document_markdown, "| <u>\\_x\\_ y_z</u> | \u4e2d \u00b1 |", "\x01");
    document_free(&d);
}

/* ---------------------------------------------------------------- reports */

static void best_and_close_are_marked(void **state)
{
    (void)state;
    struct collection c;
    struct report report;
    dqs_error error = {0};
    const struct report_choice choice = {.repetitions = 200};
    static const char *const algos[] = {"dqs", "sac", "td3"};
    static const double means[] = {500, 480, 400};
    for (int m = 0; m < 3; m++)
        for (int s = 0; s < 2; s++) {
            char folder[32], rows[64];
            snprintf(folder, sizeof folder, "%s-%d", algos[m], s);
            snprintf(rows, sizeof rows, "100000,10,%g,0\n", means[m] + (s ? 30 : -30));
            put_run(folder, "cheetah-run", algos[m], "default", s, "", rows);
        }
    read_well(&c);
    assert_int_equal(report_make(&report, &c, &choice, &error), DQS_OK);
    assert_int_equal(report.n_budgets, 1);
    const struct report_budget *budget = &report.budgets[0];
    assert_true(report_cell(&report, budget, 0, 0)->best && !report_cell(&report, budget, 0, 0)->close);
    assert_true(report_cell(&report, budget, 0, 1)->close); /* 480 > 500 - 42.4 */
    assert_false(report_cell(&report, budget, 0, 2)->close || report_cell(&report, budget, 0, 2)->best);
    assert_true(fabs(report_cell(&report, budget, 0, 0)->std - 30 * sqrt(2)) < 1e-9);
    char verdict[VERDICT_TEXT_SIZE];
    struct verdict_claim claim;
    assert_true(report_claim(&report, budget, 0, 1, &claim, NULL));
    report_verdict(&report, report_cell(&report, budget, 0, 1), &claim, verdict);
    assert_string_equal(verdict, "above (2 seeds)");
    assert_int_equal(budget->n_improvements, 2);
    assert_true(budget->improvements[0].interval.value == 0.75); /* 470 beats 450, 530 both */
    report_free(&report);
    collection_free(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, remove_top)
    const struct CMUnitTest tests[] = {
        TEST(runs_are_grouped),
        TEST(departures_from_the_preset_name_methods),
        TEST(runs_of_an_earlier_version_are_compared_too),
        TEST(a_run_is_older_than_an_option_of_its_preset),
        TEST(environment_options_are_part_of_the_task),
        TEST(doubles_count_once),
        TEST(damage_costs_one_run),
        TEST(a_run_just_begun_is_no_damage),
        TEST(runs_are_finished_by_steps_or_updates),
        TEST(nothing_to_read_is_an_error),
        TEST(links_are_not_followed),
        TEST(scores_stand_at_the_budget),
        cmocka_unit_test(published_numbers),
        cmocka_unit_test(only_tasks_with_a_scale_are_normalised),
        cmocka_unit_test(documents_escape_what_they_are_given),
        TEST(best_and_close_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
