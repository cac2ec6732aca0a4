/* Tables and event files: columns that appear late, resuming, a full disk. With DQS_TEST_OUT set to a folder,
 * the sample run stays there for tests/test_formats.py, which reads it with the real TensorBoard reader. */
#include "csv_table.h"
#include "file.h"
#include "metrics.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[500], run_dir[520], table_path[600];

static void must(dqs_status status, const dqs_error *error)
{
    if (status != DQS_OK)
        fail_msg("%s", error->message);
}

static int set_up(void **state)
{
    (void)state;
    const char *out = getenv("DQS_TEST_OUT");
    snprintf(folder, sizeof folder, "%s", out ? out : "/tmp/test_metrics_XXXXXX");
    if (!out && !mkdtemp(folder))
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/run", folder);
    snprintf(table_path, sizeof table_path, "%s/table.csv", folder);
    return mkdir(run_dir, 0777);
}

static void remove_files(const char *path)
{
    DIR *stream = opendir(path);
    char file[900];
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file);
    }
    if (stream)
        closedir(stream);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(table_path);
    if (getenv("DQS_TEST_OUT"))
        return 0;
    remove_files(run_dir);
    return rmdir(run_dir) || rmdir(folder); /* fails if anything was left aside */
}

static void assert_text(const char *path, const char *expected)
{
    char *text;
    size_t size;
    dqs_error error;
    must(file_read(path, &text, &size, &error), &error);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_run_text(const char *name, const char *expected)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", run_dir, name);
    assert_text(path, expected);
}

static int count_event_files(void)
{
    int n = 0;
    DIR *stream = opendir(run_dir);
    assert_non_null(stream);
    for (const struct dirent *entry; (entry = readdir(stream));)
        n += strstr(entry->d_name, "tfevents") != NULL;
    closedir(stream);
    return n;
}

/* ---------------------------------------------------------------- a run, stopped and resumed */
static void write_step(struct metrics *m, long step, double reward, double loss)
{
    struct log_sink sink = {0};
    dqs_error error;
    log_set(&sink, "time/total_timesteps", -1); /* the step is the step, whatever the sink says */
    if (!isnan(reward)) {
        log_add(&sink, "rollout/ep_rew_mean", reward - 1);
        log_add(&sink, "rollout/ep_rew_mean", reward + 1);
    }
    log_set(&sink, "train/critic_loss", loss);
    must(metrics_write(m, step, &sink, &error), &error);
}

static void write_evaluation(struct metrics *m, long step, double mean)
{
    dqs_error error;
    dqs_evaluation e = {.step = step,
                        .episodes = 5,
                        .mean = mean,
                        .std = 0.5,
                        .min = mean - 1,
                        .max = mean + 1,
                        .mean_length = 200,
                        .seconds = 0.25,
                        .n_numbers = 1,
                        .numbers = {{"mmd", 0.125}}};
    must(metrics_write_evaluation(m, &e, &error), &error);
}

/* tests/test_formats.py knows these values. */
static void a_run_resumes(void **state)
{
    (void)state;
    struct metrics *m;
    dqs_error error;
    must(metrics_open(&m, run_dir, -1, &error), &error);
    assert_run_text("progress.csv", "time/total_timesteps\n");
    write_step(m, 1000, NAN, 0.1);
    assert_run_text("progress.csv", "time/total_timesteps,train/critic_loss\n1000,0.1\n");
    write_step(m, 2000, 3, NAN);
    write_evaluation(m, 2000, 10);
    write_step(m, 3000, 4, 1e-30); /* these two are beyond the checkpoint */
    write_evaluation(m, 3000, 20);
    metrics_close(m);

    must(metrics_open(&m, run_dir, 2000, &error), &error);
    write_step(m, 3000, 5, INFINITY);
    write_evaluation(m, 4000, 30);
    metrics_close(m);
    metrics_close(NULL);
    assert_run_text("progress.csv",
                    "time/total_timesteps,train/critic_loss,rollout/ep_rew_mean,eval/episodes,"
                    "eval/mean_reward,eval/std_reward,eval/min_reward,eval/max_reward,"
                    "eval/mean_ep_length,eval/seconds,eval/mmd\n"
                    "1000,0.1,,,,,,,,,\n"
                    "2000,nan,3,,,,,,,,\n"
                    "2000,,,5,10,0.5,9,11,200,0.25,0.125\n"
                    "3000,inf,5,,,,,,,,\n"
                    "4000,,,5,30,0.5,29,31,200,0.25,0.125\n");
    assert_run_text("evaluations.csv",
                    "step,episodes,mean_reward,std_reward,min_reward,max_reward,mean_ep_length,seconds,mmd\n"
                    "2000,5,10,0.5,9,11,200,0.25,0.125\n"
                    "4000,5,30,0.5,29,31,200,0.25,0.125\n");
    assert_int_equal(count_event_files(), 2); /* within the same second, all the same two */
}

static void a_missing_folder_is_said(void **state)
{
    (void)state;
    struct metrics *m;
    dqs_error error;
    char nowhere[600];
    snprintf(nowhere, sizeof nowhere, "%s/none", folder);
    assert_int_equal(metrics_open(&m, nowhere, -1, &error), DQS_E_IO);
    assert_null(m);
    assert_non_null(strstr(error.message, nowhere));
}

/* ---------------------------------------------------------------- tables */
static struct csv_table table;

static void add_row(long step, const char *name, double value)
{
    dqs_error error;
    csv_begin(&table);
    csv_cell(&table, name, value);
    must(csv_end(&table, step, &error), &error);
}

static void resume_table(const char *before, long step, const char *after)
{
    dqs_error error;
    must(file_write_text(table_path, before, &error), &error);
    must(csv_open(&table, table_path, "step", step, &error), &error);
    csv_close(&table);
    assert_text(table_path, after);
}

static void tables_resume_after_any_stop(void **state)
{
    (void)state;
    resume_table("", 5, "step\n");
    resume_table("ste", 5, "step\n");
    resume_table("step,a\n", 5, "step,a\n");
    resume_table("step,a\n1,2\n2,3\n", 1, "step,a\n1,2\n");
    resume_table("step,a\n1,2\n2,3", 9, "step,a\n1,2\n");           /* killed within a row */
    resume_table("step,a\n1,2\n2\n3,4\n", 9, "step,a\n1,2\n3,4\n"); /* too few cells */
    resume_table("step,a\n1,2\nx,3\n-1,3\n\n99999999999999999999,1\n", 9, "step,a\n1,2\n");
    resume_table("step,a\n5,\n6,1\n2,7\n", 5, "step,a\n5,\n2,7\n");
}

static void other_headers_are_refused(void **state)
{
    (void)state;
    dqs_error error;
    static const char *const headers[] = {"time,a\n1,2\n", "step,a,a\n1,2,3\n", "\n1\n"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        must(file_write_text(table_path, headers[i], &error), &error);
        assert_int_equal(csv_open(&table, table_path, "step", 5, &error), DQS_E_FORMAT);
        assert_non_null(strstr(error.message, table_path));
        csv_close(&table);
        assert_text(table_path, headers[i]);
    }
}

static void columns_may_come_late_and_with_odd_names(void **state)
{
    (void)state;
    dqs_error error;
    must(csv_open(&table, table_path, "step", -1, &error), &error);
    add_row(1, "a", 1);
    add_row(2, "b,\"\n", 0.1);
    add_row(3, "a", -3e-200);
    assert_text(table_path, "step,a,b___\n1,1,\n2,,0.1\n3,-3e-200,\n");
    csv_begin(&table);
    for (int i = 0; i < CSV_COLUMNS; i++) {
        char name[20];
        snprintf(name, sizeof name, "c%d", i);
        csv_cell(&table, name, i);
    }
    assert_int_equal(csv_end(&table, 4, &error), DQS_E_UNSUPPORTED);
    csv_close(&table);
}

/* A limit on file sizes stands for a full disk. */
static void a_full_disk_leaves_whole_rows(void **state)
{
    (void)state;
    dqs_error error;
    must(csv_open(&table, table_path, "step", -1, &error), &error);
    add_row(1, "a", 1);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = sizeof "step,a\n1,1\n" + 3; /* a piece of the next row fits */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    csv_begin(&table);
    csv_cell(&table, "a", 0.123456789);
    dqs_status row = csv_end(&table, 2, &error);
    csv_begin(&table);
    csv_cell(&table, "a_new_column_with_a_long_name", 1);
    dqs_status column = csv_end(&table, 2, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(row, DQS_E_IO);
    assert_int_equal(column, DQS_E_IO);
    assert_non_null(strstr(error.message, table_path));
    assert_text(table_path, "step,a\n1,1\n");
    add_row(3, "a", 2); /* there is room again */
    assert_text(table_path, "step,a,a_new_column_with_a_long_name\n1,1,\n3,2,\n");
    csv_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_resumes),
        cmocka_unit_test(a_missing_folder_is_said),
        cmocka_unit_test(tables_resume_after_any_stop),
        cmocka_unit_test(other_headers_are_refused),
        cmocka_unit_test(columns_may_come_late_and_with_odd_names),
        cmocka_unit_test(a_full_disk_leaves_whole_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
