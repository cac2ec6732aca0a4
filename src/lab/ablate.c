/* ablate: the numbers. */
#include "ablate.h"
#include "report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *keep(struct ablation *a, const char *text)
{
    return strcpy(arena_new(&a->arena, char, strlen(text) + 1), text);
}

static const char *value_of(const struct sweep_run *run, const char *option)
{
    if (!strcmp(option, "preset"))
        return run->preset;
    for (int i = 0; i < run->n_settings; i++)
        if (!strcmp(run->settings[i].key, option))
            return run->settings[i].value;
    return "";
}

/* ---------------------------------------------------------------- curves */

/* The measure at every evaluation up to the end, of several at one step the last, which is the largest. */
static int curve_of(const struct collection_run *run, const char *measure, long steps, double *x, double *y)
{
    const double *step = plot_column(&run->evaluations, "step"),
                 *value = plot_column(&run->evaluations, measure);
    double beyond = (double)steps + (double)collection_stride(run);
    int n = 0;
    for (int i = 0; step && value && i < run->evaluations.rows; i++) {
        if (!isfinite(step[i]) || !isfinite(value[i]) || !(step[i] < beyond))
            continue;
        n -= n > 0 && x[n - 1] == step[i];
        x[n] = step[i];
        y[n++] = value[i];
    }
    return n;
}

/* Trapezoids, over the width: a number in the units of the measure. */
static double area_under(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 1; i < n; i++)
        sum += 0.5 * (y[i] + y[i - 1]) * (x[i] - x[i - 1]);
    return n == 0 ? NAN : n == 1 ? y[0] : sum / (x[n - 1] - x[0]);
}

struct seeds { /* the curves of a value's runs */
    int count;
    int *n;
    double **x, **y;
    double stride; /* evaluations due at the same step are made less than this apart */
};

static double at_step(const struct seeds *s, int k, double step)
{
    for (int i = 0; i < s->n[k]; i++)
        if (fabs(s->x[k][i] - step) < s->stride)
            return s->y[k][i];
    return NAN;
}

static void join_curves(struct ablation *a, struct ablate_value *v, const struct seeds *s)
{
    int most = s->count ? s->n[0] : 0;
    double *step = arena_new(&a->arena, double, most + 1), *mean = arena_new(&a->arena, double, most + 1);
    double *low = arena_new(&a->arena, double, most + 1), *high = arena_new(&a->arena, double, most + 1);
    v->step = step;
    v->curve = mean;
    v->low = low;
    v->high = high;
    for (int i = 0; i < most; i++) {
        int n = v->n_curve;
        double sum = 0;
        low[n] = INFINITY;
        high[n] = -INFINITY;
        for (int k = 0; k < s->count; k++) {
            double y = at_step(s, k, s->x[0][i]);
            sum += y; /* a seed without this evaluation makes it not-a-number */
            low[n] = fmin(low[n], y);
            high[n] = fmax(high[n], y);
        }
        step[n] = s->x[0][i];
        mean[n] = sum / s->count;
        v->n_curve += isfinite(mean[n]);
    }
}

/* ---------------------------------------------------------------- values */

static void sum_up(const double *values, int n, double *mean, double *std, struct stats_interval *interval)
{
    *mean = n > 0 ? stats_mean(values, n) : NAN;
    *std = stats_std(values, n);
    *interval = stats_mean_interval(values, n, STATS_REPETITIONS);
}

static const struct collection_run *find_run(const struct collection *c, const char *folder)
{
    for (int i = 0; i < c->n_runs; i++)
        if (!strcmp(c->runs[i].path, folder))
            return &c->runs[i];
    return NULL;
}

static void read_value(struct ablation *a, struct ablate_value *v, const struct sweep_plan *plan,
                       const struct collection *c)
{
    double *scores = arena_new(&a->arena, double, plan->count),
           *areas = arena_new(&a->arena, double, plan->count);
    struct seeds s = {0, arena_new(&a->arena, int, plan->count), arena_new(&a->arena, double *, plan->count),
                      arena_new(&a->arena, double *, plan->count), 1};
    double hours = 0;
    for (int i = 0; i < plan->count; i++) {
        if (strcmp(value_of(&plan->runs[i], a->option), v->text))
            continue;
        const struct collection_run *run = find_run(c, plan->runs[i].folder);
        v->planned++;
        int rows = run ? run->evaluations.rows : 0, row = run ? collection_row(run, a->steps) : -1;
        const double *measured = row >= 0 ? plot_column(&run->evaluations, a->measure) : NULL;
        if (!measured || !isfinite(measured[row]))
            continue;
        double *x = s.x[s.count] = arena_new(&a->arena, double, rows + 1);
        double *y = s.y[s.count] = arena_new(&a->arena, double, rows + 1);
        s.stride = (double)collection_stride(run);
        s.n[s.count] = curve_of(run, a->measure, a->steps, x, y);
        scores[v->n] = measured[row];
        areas[v->n++] = area_under(x, y, s.n[s.count]);
        s.count++;
        hours += report_core_hours(run, a->steps);
    }
    v->scores = scores;
    v->areas = areas;
    v->hours = v->n ? hours / v->n : NAN;
    join_curves(a, v, &s);
    sum_up(scores, v->n, &v->mean, &v->std, &v->interval);
    sum_up(areas, v->n, &v->area, &v->area_std, &v->area_interval);
}

static void list_values(struct ablation *a, const struct sweep_plan *plan)
{
    a->values = arena_new(&a->arena, struct ablate_value, plan->count);
    for (int i = 0; i < plan->count; i++) {
        const char *text = value_of(&plan->runs[i], a->option);
        int k = 0;
        while (k < a->n_values && strcmp(a->values[k].text, text))
            k++;
        if (k == a->n_values)
            a->values[a->n_values++].text = keep(a, text);
    }
}

/* A column that none of the runs has is a mistake of whoever asked for it. */
static bool measured_by_any(const struct collection *c, const char *measure)
{
    for (int i = 0; i < c->n_runs; i++)
        if (plot_column(&c->runs[i].evaluations, measure))
            return true;
    return false;
}

static dqs_status not_measured(const struct collection *c, const char *measure, dqs_error *error)
{
    char there[400] = "";
    size_t used = 0;
    int run = 0;
    while (run < c->n_runs - 1 && c->runs[run].evaluations.columns < 2)
        run++;
    const struct plot_table *t = &c->runs[run].evaluations;
    for (int k = 1; k < t->columns && used < sizeof there; k++) /* the first is the step */
        used += (size_t)snprintf(there + used, sizeof there - used, "%s%s", k > 1 ? ", " : "", t->names[k]);
    return fail(error, DQS_E_OPTION,
                "--measure %.60s: no such column in evaluations.csv; with one of these the runs need not be "
                "made again: "
                "%s",
                measure, there);
}

dqs_status ablate_read(struct ablation *a, const struct sweep_plan *plan, const char *option,
                       const char *measure, collection_warning *warn, void *user, dqs_error *error)
{
    struct collection c;
    *a = (struct ablation){0};
    const struct sweep_run *first = &plan->runs[0];
    a->task = keep(a, first->task);
    a->algo = keep(a, first->algo);
    a->preset = keep(a, !strcmp(option, "preset") ? "several" : first->preset);
    a->option = keep(a, option);
    a->measure = keep(a, measure);
    a->steps = first->steps;
    list_values(a, plan);
    dqs_status status = collection_read(&c, &plan->out, 1, warn, user, error);
    if (status == DQS_OK && !measured_by_any(&c, measure))
        status = not_measured(&c, measure, error);
    for (int i = 0; status == DQS_OK && i < a->n_values; i++)
        read_value(a, &a->values[i], plan, &c);
    collection_free(&c);
    return status;
}

void ablate_free(struct ablation *a)
{
    arena_free(&a->arena);
    *a = (struct ablation){0};
}
