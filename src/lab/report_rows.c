/* report_rows: every number of a report as rows of one shape, for CSV and JSON. */
#include "number.h"
#include "report.h"
#include <math.h>
#include <string.h>

/* A cell that says nothing is empty: NULL, not-a-number, or a negative count. */
struct row {
    const char *kind, *task;
    const struct collection_method *method;
    const char *measure;
    long steps, seed;
    int seeds, tasks;
    double value, low, high, std;
    const char *against;
    double against_mean, against_std;
    const char *verdict;
};

static struct row new_row(const char *kind, long steps, const struct collection_method *method)
{
    return (struct row){.kind = kind,
                        .steps = steps,
                        .method = method,
                        .seed = -1,
                        .seeds = -1,
                        .tasks = -1,
                        .value = NAN,
                        .low = NAN,
                        .high = NAN,
                        .std = NAN,
                        .against_mean = NAN,
                        .against_std = NAN};
}

typedef void put_row(void *out, const struct row *row);

static void set_interval(struct row *row, const struct stats_interval *interval)
{
    row->value = interval->value;
    row->low = interval->low;
    row->high = interval->high;
}

/* ---------------------------------------------------------------- which rows */

static void put_seeds(const struct report *report, const struct report_budget *budget, int t, int m,
                      put_row *put, void *out)
{
    const struct collection_cell *runs = collection_cell(report->collection, t, m);
    for (int i = 0; i < runs->count; i++) {
        struct row row = new_row("seed", budget->task_steps[t], &report->collection->methods[m]);
        row.task = report->collection->tasks[t];
        row.seed = runs->runs[i]->seed;
        row.measure = "return";
        row.value = collection_score(runs->runs[i], budget->task_steps[t]);
        if (!isnan(row.value))
            put(out, &row);
    }
}

static void put_cell(const struct report *report, const struct report_budget *budget, int t, int m,
                     put_row *put, void *out)
{
    const struct report_cell *cell = report_cell(report, budget, t, m);
    struct row row = new_row("task", budget->task_steps[t], &report->collection->methods[m]);
    struct verdict_claim claim;
    char verdict[VERDICT_TEXT_SIZE];
    row.task = report->collection->tasks[t];
    row.measure = "return";
    row.seeds = cell->n;
    row.std = cell->std;
    set_interval(&row, &cell->interval);
    if (report_claim(report, budget, t, m, &claim, &row.against)) {
        row.against_mean = claim.mean;
        row.against_std = claim.std;
        report_verdict(report, cell, &claim, verdict);
        row.verdict = verdict;
    }
    put(out, &row);
    struct row hours = new_row("task", row.steps, row.method);
    hours.task = row.task;
    hours.seeds = cell->n;
    hours.measure = "core hours";
    hours.value = cell->hours;
    if (isfinite(cell->hours))
        put(out, &hours);
}

static void put_aggregate(const struct report_aggregate *a, struct row row, put_row *put, void *out)
{
    row.seeds = a->n_scores;
    row.tasks = a->n_tasks;
    for (int k = 0; k < REPORT_MEASURES; k++) {
        row.measure = report_measures[k];
        set_interval(&row, &a->measures[k]);
        put(out, &row);
    }
    for (int k = 0; k < REPORT_TAUS; k++) {
        char measure[32];
        snprintf(measure, sizeof measure, "above %.2f", (double)k / (REPORT_TAUS - 1));
        row.measure = measure;
        set_interval(&row, &a->profile[k]);
        put(out, &row);
    }
}

static void put_budget(const struct report *report, const struct report_budget *budget, put_row *put,
                       void *out)
{
    const struct collection *c = report->collection;
    for (int t = 0; t < c->n_tasks; t++)
        for (int m = 0; m < c->n_methods; m++)
            if (report_cell(report, budget, t, m)->n > 0) {
                put_seeds(report, budget, t, m, put, out);
                put_cell(report, budget, t, m, put, out);
            }
    for (int m = 0; m < c->n_methods; m++) {
        if (budget->shared[m].n_tasks > 0)
            put_aggregate(&budget->shared[m], new_row("common", budget->steps, &c->methods[m]), put, out);
        if (budget->own[m].n_tasks > 0)
            put_aggregate(&budget->own[m], new_row("own", budget->steps, &c->methods[m]), put, out);
    }
    for (int i = 0; i < budget->n_improvements; i++) {
        const struct report_improvement *one = &budget->improvements[i];
        struct row row = new_row("pair", budget->steps, &c->methods[one->x]);
        row.measure = "probability of improvement";
        row.against = c->methods[one->y].label;
        row.tasks = one->n_tasks;
        set_interval(&row, &one->interval);
        put(out, &row);
    }
}

static void put_all(const struct report *report, put_row *put, void *out)
{
    for (int b = 0; b < report->n_budgets; b++)
        put_budget(report, &report->budgets[b], put, out);
}

/* ---------------------------------------------------------------- forms */

static void csv_text(FILE *out, const char *text, char end)
{
    bool quote = text && strpbrk(text, ",\"\r\n");
    if (quote)
        fputc('"', out);
    for (; text && *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    if (quote)
        fputc('"', out);
    fputc(end, out);
}

static void csv_number(FILE *out, double value)
{
    char text[NUMBER_TEXT_SIZE] = "";
    if (!isnan(value))
        number_write(text, value);
    fprintf(out, "%s,", text);
}

static void csv_count(FILE *out, long value)
{
    fprintf(out, value < 0 ? "," : "%ld,", value);
}

static void csv_row(void *stream, const struct row *row)
{
    FILE *out = stream;
    csv_text(out, row->kind, ',');
    csv_count(out, row->steps);
    csv_text(out, row->task, ',');
    csv_text(out, row->method->label, ',');
    csv_text(out, row->method->algo, ',');
    csv_text(out, row->method->preset, ',');
    csv_count(out, row->seed);
    csv_text(out, row->measure, ',');
    csv_number(out, row->value);
    csv_number(out, row->low);
    csv_number(out, row->high);
    csv_number(out, row->std);
    csv_count(out, row->seeds);
    csv_count(out, row->tasks);
    csv_text(out, row->against, ',');
    csv_number(out, row->against_mean);
    csv_number(out, row->against_std);
    csv_text(out, row->verdict, '\n');
}

void report_csv(FILE *out, const struct report *report)
{
    fputs(
        "kind,steps,task,method,algo,preset,seed,measure,value,low,high,std,seeds,tasks,against,against_mean,"
        "against_std,verdict\n",
        out);
    put_all(report, csv_row, out);
}

static void json_text_of(struct json *j, const char *key, const char *value)
{
    if (!value)
        return;
    json_put_text(j, key, value);
}

static void json_number_of(struct json *j, const char *key, double value)
{
    if (isnan(value))
        return;
    json_put_number(j, key, value);
}

static void json_count_of(struct json *j, const char *key, long value)
{
    if (value < 0)
        return;
    json_put_integer(j, key, value);
}

static void json_row(void *out, const struct row *row)
{
    struct json *j = out;
    json_open(j, '{');
    json_text_of(j, "kind", row->kind);
    json_count_of(j, "steps", row->steps);
    json_text_of(j, "task", row->task);
    json_text_of(j, "method", row->method->label);
    json_text_of(j, "algo", row->method->algo);
    json_text_of(j, "preset", row->method->preset);
    json_count_of(j, "seed", row->seed);
    json_text_of(j, "measure", row->measure);
    json_number_of(j, "value", row->value);
    json_number_of(j, "low", row->low);
    json_number_of(j, "high", row->high);
    json_number_of(j, "std", row->std);
    json_count_of(j, "seeds", row->seeds);
    json_count_of(j, "tasks", row->tasks);
    json_text_of(j, "against", row->against);
    json_number_of(j, "against_mean", row->against_mean);
    json_number_of(j, "against_std", row->against_std);
    json_text_of(j, "verdict", row->verdict);
    json_close(j, '}');
}

void report_json(struct json *json, const struct report *report)
{
    json_open(json, '[');
    put_all(report, json_row, json);
    json_close(json, ']');
}
