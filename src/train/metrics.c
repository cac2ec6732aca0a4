/* metrics: hands each number to the tables and to the event file. */
#include "metrics.h"
#include "csv_table.h"
#include "tfevents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char step_name[] = "time/total_timesteps";

struct metrics {
    struct csv_table progress, evaluations;
    struct tfevents events; /* opened at the first write: a run that is only looked at leaves no file */
    char run_dir[1024];
    long first_step;
};

static dqs_status open_table(struct csv_table *table, const char *run_dir, const char *name,
                             const char *first_column, long resume_step, dqs_error *error)
{
    char path[1200];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", run_dir, name) >= sizeof path)
        return fail(error, DQS_E_IO, "%.200s...: the path is too long; choose a shorter run folder", run_dir);
    return csv_open(table, path, first_column, resume_step, error);
}

static dqs_status open_all(struct metrics *m, const char *run_dir, long resume_step, dqs_error *error)
{
    TRY(open_table(&m->progress, run_dir, "progress.csv", step_name, resume_step, error));
    TRY(open_table(&m->evaluations, run_dir, "evaluations.csv", "step", resume_step, error));
    snprintf(m->run_dir, sizeof m->run_dir, "%s", run_dir);
    m->first_step = resume_step < 0 ? 0 : resume_step + 1;
    return DQS_OK;
}

dqs_status metrics_open(struct metrics **metrics, const char *run_dir, long resume_step, dqs_error *error)
{
    *metrics = NULL;
    struct metrics *m = calloc(1, sizeof *m);
    if (!m)
        return fail(error, DQS_E_MEMORY, "%s: out of memory for the metrics", run_dir);
    m->progress.file.fd = m->evaluations.file.fd = m->events.file.fd = -1;
    dqs_status status = open_all(m, run_dir, resume_step, error);
    if (status != DQS_OK) {
        metrics_close(m);
        return status;
    }
    *metrics = m;
    return DQS_OK;
}

/* One number for progress.csv and the event file. */
static void report(struct metrics *m, const char *name, double value)
{
    csv_cell(&m->progress, name, value);
    tfevents_scalar(&m->events, name, value);
}

static void report_begin(struct metrics *m, long step)
{
    csv_begin(&m->progress);
    tfevents_begin(&m->events);
    tfevents_scalar(&m->events, step_name, (double)step);
}

static dqs_status report_end(struct metrics *m, long step, dqs_error *error)
{
    TRY(csv_end(&m->progress, step, error));
    if (m->events.file.fd < 0)
        TRY(tfevents_open(&m->events, m->run_dir, m->first_step, error));
    return tfevents_end(&m->events, step, error);
}

dqs_status metrics_write(struct metrics *m, long step, const struct log_sink *sink, dqs_error *error)
{
    report_begin(m, step);
    for (int i = 0; i < sink->count; i++)
        if (sink->rows[i].n > 0 && strcmp(sink->rows[i].name, step_name))
            report(m, sink->rows[i].name, sink->rows[i].sum / (double)sink->rows[i].n);
    return report_end(m, step, error);
}

/* "mean_reward" in evaluations.csv is "eval/mean_reward" elsewhere. */
static void report_evaluated(struct metrics *m, const dqs_number *number)
{
    char name[sizeof number->name + sizeof "eval/"];
    snprintf(name, sizeof name, "eval/%.*s", (int)sizeof number->name, number->name);
    csv_cell(&m->evaluations, name + strlen("eval/"), number->value);
    report(m, name, number->value);
}

dqs_status metrics_write_evaluation(struct metrics *m, const dqs_evaluation *e, dqs_error *error)
{
    const dqs_number fixed[] = {
        {"episodes", e->episodes}, {"mean_reward", e->mean}, {"std_reward", e->std},
        {"min_reward", e->min},    {"max_reward", e->max},   {"mean_ep_length", e->mean_length},
        {"seconds", e->seconds},
    };
    csv_begin(&m->evaluations);
    report_begin(m, e->step);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        report_evaluated(m, &fixed[i]);
    for (int i = 0; i < e->n_numbers; i++)
        report_evaluated(m, &e->numbers[i]);
    TRY(csv_end(&m->evaluations, e->step, error));
    return report_end(m, e->step, error);
}

struct metrics_rows metrics_rows(const struct metrics *m)
{
    return (struct metrics_rows){m->progress.rows, m->evaluations.rows};
}

dqs_status metrics_cut(struct metrics *m, struct metrics_rows rows, dqs_error *error)
{
    TRY(csv_cut(&m->progress, rows.progress, error));
    return csv_cut(&m->evaluations, rows.evaluations, error);
}

void metrics_close(struct metrics *m)
{
    if (!m)
        return;
    csv_close(&m->progress);
    csv_close(&m->evaluations);
    tfevents_close(&m->events);
    free(m);
}
