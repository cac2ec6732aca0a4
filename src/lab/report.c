/* report: the numbers. */
#include "report.h"
#include "number.h"
#include "paper_steps.h"
#include "published.h"
#include "reference.h"
#include <math.h>
#include <string.h>

static const long standard_budgets[] = {100000, 250000};
const char *const report_measures[REPORT_MEASURES] = {"IQM", "median", "mean", "optimality gap"};

const struct report_cell *report_cell(const struct report *report, const struct report_budget *budget,
                                      int task, int method)
{
    return &budget->cells[task * report->collection->n_methods + method];
}

static struct report_cell *cell_at(const struct report *report, const struct report_budget *budget, int task,
                                   int method)
{
    return &budget->cells[task * report->collection->n_methods + method];
}

/* ---------------------------------------------------------------- cells */

double report_core_hours(const struct collection_run *run, long steps)
{
    const char *text = collection_option(run, "recorded_threads");
    long threads = 1;
    if (!text || !number_read_long(text, &threads) || threads < 1)
        threads = 1;
    return collection_seconds(run, steps) * (double)threads / 3600;
}

static long episodes_at(const struct collection_run *run, int row)
{
    const double *episodes = plot_column(&run->evaluations, "episodes");
    return episodes && episodes[row] >= 1 && episodes[row] < 1e9 ? (long)episodes[row] : 0;
}

static void fill_cell(struct report *report, struct report_cell *cell, const struct collection_cell *runs,
                      long steps)
{
    double *scores = arena_new(&report->arena, double, runs->count ? runs->count : 1), hours = 0;
    cell->scores = scores;
    cell->least_episodes = -1;
    for (int i = 0; i < runs->count; i++) {
        const struct collection_run *run = runs->runs[i];
        int row = collection_row(run, steps);
        if (row < 0)
            continue;
        long episodes = episodes_at(run, row);
        scores[cell->n++] = collection_score(run, steps);
        hours += report_core_hours(run, steps);
        if (cell->least_episodes < 0 || episodes < cell->least_episodes)
            cell->least_episodes = episodes;
        if (episodes > cell->most_episodes)
            cell->most_episodes = episodes;
    }
    cell->mean = cell->std = cell->hours = NAN;
    cell->interval = (struct stats_interval){NAN, NAN, NAN};
    if (cell->n == 0)
        return;
    cell->mean = stats_mean(scores, cell->n);
    cell->std = stats_std(scores, cell->n);
    cell->hours = hours / cell->n;
    cell->interval = stats_mean_interval(scores, cell->n, report->choice.repetitions);
}

static void mark_best(const struct report *report, const struct report_budget *budget, int task)
{
    int n = report->collection->n_methods;
    struct arena arena = {0};
    double *means = arena_new(&arena, double, 2 * n), *stds = means + n;
    bool *best = arena_new(&arena, bool, 2 * n), *close = best + n;
    for (int m = 0; m < n; m++) {
        const struct report_cell *cell = report_cell(report, budget, task, m);
        means[m] = cell->mean; /* not-a-number where there is no run */
        stds[m] = cell->std;
    }
    stats_mark_best(means, stds, n, best, close);
    for (int m = 0; m < n; m++) {
        struct report_cell *cell = cell_at(report, budget, task, m);
        cell->best = best[m];
        cell->close = close[m];
    }
    arena_free(&arena);
}

static void fill_budget(struct report *report, struct report_budget *budget)
{
    const struct collection *c = report->collection;
    budget->cells = arena_new(&report->arena, struct report_cell, c->n_tasks * c->n_methods);
    for (int t = 0; t < c->n_tasks; t++) {
        for (int m = 0; m < c->n_methods; m++) {
            struct report_cell *cell = cell_at(report, budget, t, m);
            if (budget->task_steps[t] > 0)
                fill_cell(report, cell, collection_cell(c, t, m), budget->task_steps[t]);
            budget->n_cells += cell->n > 0;
        }
        mark_best(report, budget, t);
    }
}

/* ---------------------------------------------------------------- aggregates */

/* The scores of a method over the tasks chosen, normalised or as they are. */
static struct stats_scores gather(struct report *report, const struct report_budget *budget, int method,
                                  const bool *chosen, bool normalise)
{
    const struct collection *c = report->collection;
    int *count = arena_new(&report->arena, int, c->n_tasks), n = 0, total = 0;
    for (int t = 0; t < c->n_tasks; t++)
        if (chosen[t])
            total += count[n++] = report_cell(report, budget, t, method)->n;
    double *values = arena_new(&report->arena, double, total ? total : 1), *next = values;
    for (int t = 0; t < c->n_tasks; t++) {
        const struct report_cell *cell = report_cell(report, budget, t, method);
        struct reference reference = {0, 1};
        if (normalise && chosen[t])
            reference_find(&reference, collection_cell(c, t, method)->runs[0]->env);
        for (int i = 0; chosen[t] && i < cell->n; i++)
            *next++ = reference_score(&reference, cell->scores[i]);
    }
    return (struct stats_scores){n, count, values};
}

static void all_measures(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)context;
    out[REPORT_IQM] = stats_iqm(sets, scratch);
    out[REPORT_MEDIAN] = stats_task_median(sets, scratch);
    out[REPORT_MEAN] = stats_task_mean(sets);
    out[REPORT_GAP] = stats_optimality_gap(sets, 1);
    for (int i = 0; i < REPORT_TAUS; i++)
        out[REPORT_MEASURES + i] = stats_profile(sets, (double)i / (REPORT_TAUS - 1));
}

static void aggregate(struct report *report, struct report_aggregate *out, const struct report_budget *budget,
                      int method, const bool *chosen)
{
    struct stats_interval all[REPORT_MEASURES + REPORT_TAUS];
    struct stats_scores scores = gather(report, budget, method, chosen, true);
    out->n_tasks = scores.n_tasks;
    out->n_scores = stats_total(&scores);
    if (out->n_tasks == 0)
        return;
    stats_bootstrap(all, REPORT_MEASURES + REPORT_TAUS, &scores, 1, all_measures, NULL,
                    report->choice.repetitions, STATS_SEED);
    memcpy(out->measures, all, sizeof out->measures);
    memcpy(out->profile, all + REPORT_MEASURES, sizeof out->profile);
}

/* own[method x tasks]: has a score on a task with a reference. */
static void find_tasks(struct report *report, struct report_budget *budget, bool *own)
{
    const struct collection *c = report->collection;
    budget->common = arena_new(&report->arena, bool, c->n_tasks);
    budget->same_tasks = true;
    for (int t = 0; t < c->n_tasks; t++)
        budget->common[t] = true;
    for (int m = 0; m < c->n_methods; m++) {
        bool any = false;
        for (int t = 0; t < c->n_tasks; t++) {
            struct reference unused;
            own[m * c->n_tasks + t] = report_cell(report, budget, t, m)->n > 0 &&
                                      reference_find(&unused, collection_cell(c, t, m)->runs[0]->env);
            any = any || own[m * c->n_tasks + t];
        }
        for (int t = 0; any && t < c->n_tasks; t++)
            budget->common[t] = budget->common[t] && own[m * c->n_tasks + t];
    }
    for (int t = 0; t < c->n_tasks; t++) {
        bool any = false;
        for (int m = 0; m < c->n_methods; m++)
            any = any || own[m * c->n_tasks + t];
        budget->common[t] = budget->common[t] && any;
        budget->n_common += budget->common[t];
        budget->same_tasks = budget->same_tasks && any == budget->common[t];
    }
}

static void fill_aggregates(struct report *report, struct report_budget *budget)
{
    const struct collection *c = report->collection;
    bool *own = arena_new(&report->arena, bool, c->n_methods * c->n_tasks);
    find_tasks(report, budget, own);
    budget->shared = arena_new(&report->arena, struct report_aggregate, c->n_methods);
    budget->own = arena_new(&report->arena, struct report_aggregate, c->n_methods);
    for (int m = 0; m < c->n_methods; m++) {
        bool any = false;
        for (int t = 0; t < c->n_tasks; t++)
            any = any || own[m * c->n_tasks + t];
        if (!any)
            continue;
        aggregate(report, &budget->own[m], budget, m, own + m * c->n_tasks);
        if (budget->own[m].n_tasks == budget->n_common) /* and these are among its own */
            budget->shared[m] = budget->own[m];
        else if (budget->n_common > 0)
            aggregate(report, &budget->shared[m], budget, m, budget->common);
    }
}

/* ---------------------------------------------------------------- probability of improvement */

static void improvement(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)context;
    (void)scratch;
    *out = stats_improvement(&sets[0], &sets[1]);
}

static bool has_scores(const struct report *report, const struct report_budget *budget, int method)
{
    for (int t = 0; t < report->collection->n_tasks; t++)
        if (report_cell(report, budget, t, method)->n > 0)
            return true;
    return false;
}

/* Of the method asked about, or else the first with scores, over every other. Ranks need no normalisation. */
static void fill_improvements(struct report *report, struct report_budget *budget)
{
    const struct collection *c = report->collection;
    bool *both = arena_new(&report->arena, bool, c->n_tasks);
    int x = report->against >= 0 ? report->against : 0;
    while (x < c->n_methods && !has_scores(report, budget, x))
        x++;
    budget->improvements = arena_new(&report->arena, struct report_improvement, c->n_methods);
    for (int y = 0; x < c->n_methods && y < c->n_methods; y++) {
        int n = 0;
        for (int t = 0; t < c->n_tasks; t++)
            n += both[t] =
                report_cell(report, budget, t, x)->n > 0 && report_cell(report, budget, t, y)->n > 0;
        if (y == x || n == 0)
            continue;
        struct report_improvement *one = &budget->improvements[budget->n_improvements++];
        struct stats_scores sets[] = {gather(report, budget, x, both, false),
                                      gather(report, budget, y, both, false)};
        *one = (struct report_improvement){.x = x, .y = y, .n_tasks = n};
        stats_bootstrap(&one->interval, 1, sets, 2, improvement, NULL, report->choice.repetitions,
                        STATS_SEED);
    }
}

/* ---------------------------------------------------------------- budgets */

static void add_budget(struct report *report, long steps, const bool *left)
{
    const struct collection *c = report->collection;
    struct report_budget *budget = &report->budgets[report->n_budgets];
    *budget = (struct report_budget){.steps = steps};
    budget->task_steps = arena_new(&report->arena, long, c->n_tasks);
    for (int t = 0; t < c->n_tasks; t++)
        budget->task_steps[t] = left ? 0 : steps;
    for (int i = 0; left && i < c->n_runs; i++) { /* the last evaluation of the run that got furthest */
        const struct plot_table *table = &c->runs[i].evaluations;
        const double *step = plot_column(table, "step"), *mean = plot_column(table, "mean_reward");
        long *furthest = &budget->task_steps[c->runs[i].task_index];
        for (int k = 0; left[c->runs[i].task_index] && step && mean && k < table->rows; k++)
            if (isfinite(mean[k]) && step[k] > (double)*furthest && step[k] < 9e15)
                *furthest = (long)step[k];
    }
    fill_budget(report, budget);
    if (budget->n_cells == 0)
        return; /* nobody got there */
    fill_aggregates(report, budget);
    fill_improvements(report, budget);
    report->n_budgets++;
}

static void add_the_end(struct report *report)
{
    const struct collection *c = report->collection;
    bool *left = arena_new(&report->arena, bool, c->n_tasks), any = false;
    for (int t = 0; t < c->n_tasks; t++) {
        left[t] = true;
        for (int b = 0; b < report->n_budgets; b++)
            for (int m = 0; m < c->n_methods; m++)
                left[t] = left[t] && report_cell(report, &report->budgets[b], t, m)->n == 0;
        any = any || left[t];
    }
    if (any)
        add_budget(report, 0, left);
}

static dqs_status find_against(struct report *report, dqs_error *error)
{
    const char *against = report->choice.against;
    report->against = -1;
    if (strcmp(against, "paper") == 0)
        return DQS_OK;
    for (int m = 0; m < report->collection->n_methods; m++)
        if (strcmp(report->collection->methods[m].label, against) == 0) {
            report->against = m;
            return DQS_OK;
        }
    if (published_knows(against))
        return DQS_OK;
    char there[200] = "";
    size_t used = 0;
    for (int m = 0; m < report->collection->n_methods && used < sizeof there; m++)
        used +=
            (size_t)snprintf(there + used, sizeof there - used, ", %s", report->collection->methods[m].label);
    return fail(error, DQS_E_USAGE,
                "--against: '%.60s' is neither run here nor published; there are: paper%s", against, there);
}

dqs_status report_make(struct report *report, const struct collection *collection,
                       const struct report_choice *choice, dqs_error *error)
{
    *report = (struct report){.collection = collection, .choice = *choice};
    if (!report->choice.against)
        report->choice.against = "paper";
    if (report->choice.repetitions <= 0)
        report->choice.repetitions = STATS_REPETITIONS;
    TRY(find_against(report, error));
    bool standard = choice->n_budgets == 0;
    int n = standard ? 2 : choice->n_budgets;
    for (int b = 0; b < n; b++)
        add_budget(report, (standard ? standard_budgets : choice->budgets)[b], NULL);
    if (standard)
        add_the_end(report);
    if (report->n_budgets == 0)
        return fail(error, DQS_E_IO, "no run has an evaluation %s; try again later, or another --at",
                    standard ? "yet" : "at these steps");
    return DQS_OK;
}

void report_free(struct report *report)
{
    arena_free(&report->arena);
}

void report_budget_name(const struct report_budget *budget, char *text, int size)
{
    if (budget->steps == 0)
        snprintf(text, (size_t)size, "the end of the runs");
    else if (budget->steps % 1000 == 0)
        snprintf(text, (size_t)size, "%ldk steps", budget->steps / 1000);
    else
        snprintf(text, (size_t)size, "%ld steps", budget->steps);
}

/* ---------------------------------------------------------------- comparison */

bool report_claim(const struct report *report, const struct report_budget *budget, int task, int method,
                  struct verdict_claim *claim, const char **name)
{
    const struct report_cell *cell = report_cell(report, budget, task, method);
    if (cell->n == 0)
        return false;
    if (report->against >= 0) {
        const struct report_cell *other = report_cell(report, budget, task, report->against);
        *claim = (struct verdict_claim){other->mean, other->n > 1 ? other->std : 0};
        if (name)
            *name = report->collection->methods[report->against].label;
        return method != report->against && other->n > 0;
    }
    const struct collection_run *run = collection_cell(report->collection, task, method)->runs[0];
    const char *against = report->choice.against;
    bool paper = strcmp(against, "paper") == 0;
    if (paper && paper_steps_ratio(run) != 1) /* its number is not of these steps; `dqs reproduce` compares */
        return false;
    const struct published_row *row =
        paper ? published_paper(run->algo, budget->steps) : published_find(against, budget->steps);
    const struct verdict_claim *found = published_cell(row, run->task); /* options of the task make another */
    if (!found)
        return false;
    *claim = *found;
    if (name)
        *name = row->name;
    return true;
}

void report_verdict(const struct report *report, const struct report_cell *cell,
                    const struct verdict_claim *claim, char text[VERDICT_TEXT_SIZE])
{
    enum verdict verdict = verdict_of(cell->interval.low, cell->interval.high, claim);
    char word[VERDICT_TEXT_SIZE];
    verdict_write(word, verdict, cell->n);
    bool other = strcmp(report->choice.against, "paper") != 0;
    size_t usual = strlen(verdict_name(VERDICT_REPRODUCED));
    if (other && verdict == VERDICT_REPRODUCED)
        snprintf(text, VERDICT_TEXT_SIZE, "level%s", word + usual);
    else
        snprintf(text, VERDICT_TEXT_SIZE, "%s", word);
}
