/* report_document: the numbers of a report as headings, tables and figures. */
#include "figure.h"
#include "manner.h"
#include "published.h"
#include "reference.h"
#include "report.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\u2013"

/* ---------------------------------------------------------------- words */

static bool shown(const struct report *report, const struct report_budget *budget, int method)
{
    for (int t = 0; t < report->collection->n_tasks; t++)
        if (report_cell(report, budget, t, method)->n > 0)
            return true;
    return false;
}

static int count_shown(const struct report *report, const struct report_budget *budget)
{
    int n = 0;
    for (int m = 0; m < report->collection->n_methods; m++)
        n += shown(report, budget, m);
    return n;
}

static bool row_shown(const struct report *report, const struct report_budget *budget, int task)
{
    for (int m = 0; m < report->collection->n_methods; m++)
        if (report_cell(report, budget, task, m)->n > 0)
            return true;
    return false;
}

static const char *preset_of(const struct collection_method *method)
{
    return method->preset[0] ? method->preset : "not recorded";
}

/* "preset default", or each method's where they differ. */
static void write_presets(const struct report *report, char *text, size_t size)
{
    const struct collection *c = report->collection;
    bool same = true;
    for (int m = 1; m < c->n_methods; m++)
        same = same && strcmp(c->methods[m].preset, c->methods[0].preset) == 0;
    size_t used = (size_t)snprintf(text, size, same ? "preset %s" : "presets:", preset_of(&c->methods[0]));
    for (int m = 0; !same && m < c->n_methods && used < size; m++)
        used += (size_t)snprintf(text + used, size - used, "%s %s%s%s", m ? "," : "", c->methods[m].label,
                                 c->methods[m].preset_in_label ? "" : " ",
                                 c->methods[m].preset_in_label ? "" : preset_of(&c->methods[m]));
    if (used >= size && size > 4)
        strcpy(text + size - 4, "...");
}

static void write_episodes(const struct report *report, const struct report_budget *budget, char *text,
                           size_t size)
{
    long least = -1, most = 0;
    for (int i = 0; i < report->collection->n_tasks * report->collection->n_methods; i++) {
        const struct report_cell *cell = &budget->cells[i];
        if (cell->n == 0)
            continue;
        least = least < 0 || cell->least_episodes < least ? cell->least_episodes : least;
        most = cell->most_episodes > most ? cell->most_episodes : most;
    }
    if (least == most)
        snprintf(text, size, "%ld", most);
    else
        snprintf(text, size, "%ld to %ld", least, most);
}

static void put_interval(struct document *d, const struct stats_interval *i, int digits)
{
    document_cell(d, 0, "%.*f [%.*f, %.*f]", digits, i->value, digits, i->low, digits, i->high);
}

/* ---------------------------------------------------------------- what was run */

static void add_methods(struct document *d, const struct report *report)
{
    const struct collection *c = report->collection;
    document_heading(d, 2, "What was run");
    document_table(d, 6, 2,
                   "%d runs. Finished: all planned steps are made. Core hours: training time x threads.",
                   c->n_runs);
    static const char *const head[] = {"Method", "Preset", "Tasks", "Runs", "Finished", "Core hours"};
    for (int k = 0; k < 6; k++)
        document_cell(d, 0, "%s", head[k]);
    for (int m = 0; m < c->n_methods; m++) {
        int tasks = 0, runs = 0, finished = 0;
        double hours = 0;
        for (int t = 0; t < c->n_tasks; t++) {
            const struct collection_cell *cell = collection_cell(c, t, m);
            tasks += cell->count > 0;
            runs += cell->count;
            for (int i = 0; i < cell->count; i++) {
                double own = report_core_hours(cell->runs[i], cell->runs[i]->reached);
                finished += collection_finished(cell->runs[i]);
                hours += isfinite(own) ? own : 0;
            }
        }
        document_cell(d, 0, "%s", c->methods[m].label);
        document_cell(d, 0, "%s", preset_of(&c->methods[m]));
        document_cell(d, 0, "%d", tasks);
        document_cell(d, 0, "%d", runs);
        document_cell(d, 0, "%d", finished);
        document_cell(d, 0, "%.2f", hours);
    }
}

/* Which builds and processors, each with its number of runs. */
static void add_origins(struct document *d, const struct report *report)
{
    const struct collection *c = report->collection;
    for (int i = 0; i < c->n_runs; i++) {
        const char *version = collection_option(&c->runs[i], "recorded_version"),
                   *cpu = collection_option(&c->runs[i], "recorded_cpu");
        int n = 0, earlier = 0;
        for (int k = 0; k < c->n_runs; k++) {
            const char *v = collection_option(&c->runs[k], "recorded_version"),
                       *p = collection_option(&c->runs[k], "recorded_cpu");
            bool same =
                strcmp(v ? v : "", version ? version : "") == 0 && strcmp(p ? p : "", cpu ? cpu : "") == 0;
            n += same;
            earlier += same && k < i;
        }
        if (earlier == 0)
            document_item(d, "%d run%s with dqs %s on %s", n, n == 1 ? "" : "s",
                          version ? version : "of unknown version", cpu ? cpu : "an unknown processor");
    }
}

static void add_notes(struct document *d, const struct report_words *words)
{
    for (int i = 0; i < words->n_notes; i++)
        document_item(d, "passed over: %s", words->notes[i]);
    if (words->more_notes > 0)
        document_item(d, "and %d more were passed over", words->more_notes);
}

/* ---------------------------------------------------------------- returns */

static void put_return(struct document *d, const struct report_cell *cell)
{
    int style = cell->best ? DOCUMENT_BOLD : cell->close ? DOCUMENT_UNDERLINE : 0;
    if (cell->n == 0)
        document_cell(d, 0, DASH);
    else if (cell->n == 1)
        document_cell(d, style, "%.2f (1)", cell->mean);
    else
        document_cell(d, style, "%.2f \u00b1 %.2f (%d)", cell->mean, cell->std, cell->n);
}

/* A table of tasks by methods; put writes one cell of numbers. */
static void add_grid(struct document *d, const struct report *report, const struct report_budget *budget,
                     void (*put)(struct document *, const struct report_cell *))
{
    const struct collection *c = report->collection;
    bool end = budget->steps == 0;
    document_cell(d, 0, "Task");
    if (end)
        document_cell(d, 0, "Steps");
    for (int m = 0; m < c->n_methods; m++)
        if (shown(report, budget, m))
            document_cell(d, 0, "%s", c->methods[m].label);
    for (int t = 0; t < c->n_tasks; t++) {
        if (!row_shown(report, budget, t))
            continue;
        document_cell(d, 0, "%s", c->tasks[t]);
        if (end)
            document_cell(d, 0, "%ld", budget->task_steps[t]);
        for (int m = 0; m < c->n_methods; m++)
            if (shown(report, budget, m))
                put(d, report_cell(report, budget, t, m));
    }
}

static void add_returns(struct document *d, const struct report *report, const struct report_budget *budget)
{
    char name[64], presets[400], episodes[64];
    report_budget_name(budget, name, sizeof name);
    write_presets(report, presets, sizeof presets);
    write_episodes(report, budget, episodes, sizeof episodes);
    document_heading(d, 2, "Returns at %s", name);
    document_table(
        d, count_shown(report, budget) + (budget->steps == 0 ? 2 : 1), 1,
        "Mean episode return \u00b1 standard deviation over seeds, in parentheses the number of seeds; "
        "%s; evaluations of %s episodes. Bold: the highest mean of the row; underlined: not below it "
        "by more than the standard deviation of the highest.",
        presets, episodes);
    add_grid(d, report, budget, put_return);
}

/* How far the runs of a method got on a task that is in none of the tables; 0: it is in one, or has no runs. */
static long left_out_at(const struct report *report, int task, int method)
{
    const struct collection_cell *cell = collection_cell(report->collection, task, method);
    long reached = 0;
    for (int i = 0; i < cell->count; i++)
        if (cell->runs[i]->evaluations.rows > 0 && cell->runs[i]->reached > reached)
            reached = cell->runs[i]->reached;
    for (int b = 0; b < report->n_budgets; b++)
        if (report_cell(report, &report->budgets[b], task, method)->n > 0)
            return 0;
    return reached;
}

/* Those of one length in a line. */
static void add_left_out(struct document *d, const struct report *report)
{
    const struct collection *c = report->collection;
    for (int t = 0; t < c->n_tasks; t++)
        for (int m = 0; m < c->n_methods; m++) {
            long at = left_out_at(report, t, m);
            char names[300] = "";
            size_t used = 0;
            bool told = false;
            for (int k = 0; k < m; k++)
                told = told || left_out_at(report, t, k) == at;
            for (int k = m; k < c->n_methods && used < sizeof names; k++)
                if (left_out_at(report, t, k) == at)
                    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k > m ? ", " : "",
                                             c->methods[k].label);
            if (at > 0 && !told)
                document_item(d, "not in these tables: on %s, %s, of %ld steps; --at %ld shows them",
                              c->tasks[t], names, at, at);
        }
}

static void put_per_hour(struct document *d, const struct report_cell *cell)
{
    if (cell->n == 0 || !isfinite(cell->hours) || cell->hours <= 0)
        document_cell(d, 0, DASH);
    else if (cell->mean < 0) /* less would seem more */
        document_cell(d, 0, DASH " (%.2f h, %d)", cell->hours, cell->n);
    else
        document_cell(d, 0, "%.0f (%.2f h, %d)", cell->mean / cell->hours, cell->hours, cell->n);
}

static void add_per_hour(struct document *d, const struct report *report, const struct report_budget *budget)
{
    char name[64], presets[400];
    report_budget_name(budget, name, sizeof name);
    write_presets(report, presets, sizeof presets);
    document_table(
        d, count_shown(report, budget) + (budget->steps == 0 ? 2 : 1), 1,
        "Return per hour of compute at %s: the mean return divided by the core hours (time x threads) "
        "it took, in parentheses those hours and the number of seeds; %s. Negative returns have no such "
        "number.",
        name, presets);
    add_grid(d, report, budget, put_per_hour);
}

/* ---------------------------------------------------------------- aggregates */

static void list_tasks(const struct report *report, const struct report_budget *budget, bool common,
                       char *text, size_t size)
{
    const struct collection *c = report->collection;
    size_t used = 0;
    text[0] = 0;
    for (int t = 0; t < c->n_tasks && used < size; t++) {
        struct reference unused;
        bool wanted = budget->common[t];
        if (!common) { /* those left out for want of a scale */
            const struct collection_run *run = NULL;
            for (int m = 0; m < c->n_methods; m++)
                if (report_cell(report, budget, t, m)->n > 0)
                    run = collection_cell(c, t, m)->runs[0];
            wanted = run && !reference_find(&unused, run->env);
        }
        if (wanted)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", c->tasks[t]);
    }
    if (used >= size && size > 4)
        strcpy(text + size - 4, "...");
}

static void add_measures(struct document *d, const struct report *report,
                         const struct report_aggregate *aggregates, const char *over)
{
    const struct collection *c = report->collection;
    document_table(
        d, 4 + REPORT_MEASURES, 2,
        "Normalised score over %s, with stratified bootstrap 95 %% intervals (%d repetitions). Runs: "
        "seeds, all tasks together. A smaller optimality gap is better.",
        over, report->choice.repetitions);
    static const char *const head[] = {"Method", "Preset", "Tasks", "Runs"};
    for (int k = 0; k < 4; k++)
        document_cell(d, 0, "%s", head[k]);
    for (int k = 0; k < REPORT_MEASURES; k++)
        document_cell(d, 0, "%s", report_measures[k]);
    for (int m = 0; m < c->n_methods; m++) {
        const struct report_aggregate *a = &aggregates[m];
        if (a->n_tasks == 0)
            continue;
        document_cell(d, 0, "%s", c->methods[m].label);
        document_cell(d, 0, "%s", preset_of(&c->methods[m]));
        document_cell(d, 0, "%d", a->n_tasks);
        document_cell(d, 0, "%d", a->n_scores);
        for (int k = 0; k < REPORT_MEASURES; k++)
            put_interval(d, &a->measures[k], 3);
    }
}

static void add_profile(struct document *d, const struct report *report, const struct report_budget *budget)
{
    static const int at[] = {2, 5, 10, 15, 18}; /* tau 0.1, 0.25, 0.5, 0.75, 0.9 */
    const struct collection *c = report->collection;
    document_table(
        d, 8, 2,
        "Performance profile over the same tasks: the share of runs whose normalised score is above "
        "a threshold, with 95 %% intervals.");
    document_cell(d, 0, "Method");
    document_cell(d, 0, "Preset");
    document_cell(d, 0, "Runs");
    for (int k = 0; k < 5; k++)
        document_cell(d, 0, "above %.2f", (double)at[k] / (REPORT_TAUS - 1));
    for (int m = 0; m < c->n_methods; m++) {
        const struct report_aggregate *a = &budget->shared[m];
        if (a->n_tasks == 0)
            continue;
        document_cell(d, 0, "%s", c->methods[m].label);
        document_cell(d, 0, "%s", preset_of(&c->methods[m]));
        document_cell(d, 0, "%d", a->n_scores);
        for (int k = 0; k < 5; k++)
            put_interval(d, &a->profile[at[k]], 2);
    }
}

static void add_improvements(struct document *d, const struct report *report,
                             const struct report_budget *budget)
{
    const struct collection *c = report->collection;
    char presets[400];
    if (budget->n_improvements == 0)
        return;
    write_presets(report, presets, sizeof presets);
    document_table(
        d, 4, 2,
        "Probability of improvement: that a run of X has a higher return than a run of Y, averaged over "
        "the tasks both were run on, with 95 %% intervals; %s. Seeds: those of X and of Y, all tasks "
        "together.",
        presets);
    document_cell(d, 0, "X over Y");
    document_cell(d, 0, "Seeds");
    document_cell(d, 0, "Tasks");
    document_cell(d, 0, "P(X > Y)");
    for (int i = 0; i < budget->n_improvements; i++) {
        const struct report_improvement *one = &budget->improvements[i];
        int x = 0, y = 0;
        for (int t = 0; t < c->n_tasks; t++) {
            int nx = report_cell(report, budget, t, one->x)->n,
                ny = report_cell(report, budget, t, one->y)->n;
            x += ny > 0 ? nx : 0;
            y += nx > 0 ? ny : 0;
        }
        document_cell(d, 0, "%s over %s", c->methods[one->x].label, c->methods[one->y].label);
        document_cell(d, 0, "%d, %d", x, y);
        document_cell(d, 0, "%d", one->n_tasks);
        put_interval(d, &one->interval, 3);
    }
}

static dqs_status add_aggregates(struct document *d, const struct report *report, int index, bool figures,
                                 dqs_error *error)
{
    const struct report_budget *budget = &report->budgets[index];
    char name[64], common[500], left[300], over[600];
    bool any = false;
    for (int m = 0; m < report->collection->n_methods; m++)
        any = any || budget->own[m].n_tasks > 0;
    if (!any && budget->n_improvements == 0)
        return DQS_OK;
    report_budget_name(budget, name, sizeof name);
    document_heading(d, 2, "Aggregates at %s", name);
    list_tasks(report, budget, false, left, sizeof left);
    if (any)
        document_paragraph(
            d,
            "Returns of the DeepMind Control Suite are divided by 1000. Every task weighs the same, "
            "however many seeds it has.%s%s%s",
            left[0] ? " Without a common scale, and so left out: " : "", left, left[0] ? "." : "");
    if (budget->n_common > 0) {
        list_tasks(report, budget, true, common, sizeof common);
        snprintf(over, sizeof over, "the tasks that all methods here were run on (%s)", common);
        add_measures(d, report, budget->shared, over);
        add_profile(d, report, budget);
    }
    if (any && !budget->same_tasks)
        add_measures(d, report, budget->own, "all tasks a method was run on, which are not the same for all");
    add_improvements(d, report, budget);
    if (figures && budget->n_common > 0) {
        char *svg;
        TRY(report_interval_svg(&svg, report, index, error));
        document_figure(d, svg, "Aggregates at %s over the common tasks: estimates and 95 %% intervals.",
                        name);
        TRY(report_profile_svg(&svg, report, index, error));
        document_figure(d, svg, "Performance profiles at %s, with 95 %% bands.", name);
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- comparison */

static void add_verdicts_at(struct document *d, const struct report *report,
                            const struct report_budget *budget, int counts[VERDICTS])
{
    const struct collection *c = report->collection;
    for (int t = 0; t < c->n_tasks; t++)
        for (int m = 0; m < c->n_methods; m++) {
            struct verdict_claim claim;
            const char *whose;
            char verdict[VERDICT_TEXT_SIZE];
            const struct report_cell *cell = report_cell(report, budget, t, m);
            if (!report_claim(report, budget, t, m, &claim, &whose))
                continue;
            report_verdict(report, cell, &claim, verdict);
            counts[verdict_of(cell->interval.low, cell->interval.high, &claim)]++;
            document_cell(d, 0, "%s", c->tasks[t]);
            document_cell(d, 0, "%s", c->methods[m].label);
            document_cell(d, 0, "%s", preset_of(&c->methods[m]));
            document_cell(d, 0, "%d", cell->n);
            put_interval(d, &cell->interval, 2);
            document_cell(d, 0, "%s %.2f \u00b1 %.2f", whose, claim.mean, claim.std);
            document_cell(d, 0, "%s", verdict);
        }
}

static bool has_claims(const struct report *report, const struct report_budget *budget)
{
    struct verdict_claim claim;
    for (int t = 0; t < report->collection->n_tasks; t++)
        for (int m = 0; m < report->collection->n_methods; m++)
            if (report_claim(report, budget, t, m, &claim, NULL))
                return true;
    return false;
}

static void add_sources(struct document *d, const struct report *report)
{
    bool paper = strcmp(report->choice.against, "paper") == 0;
    if (report->against >= 0)
        return;
    if (paper) {
        document_item(
            d, "published numbers: Jain, Akhound-Sadegh, Ravanbakhsh 2025, Tables 1 and 2, 10 seeds, 100 "
               "evaluation episodes; for PPO the paper counts network updates, so it is not compared here "
               "(dqs reproduce "
               "does)");
        return;
    }
    for (const struct published_row *row = published_rows; row->name; row++)
        if (published_find(report->choice.against, row->steps) == row)
            document_item(d, "%s at %ld steps: %s, %d seeds", row->name, row->steps, row->source, row->seeds);
}

static void add_verdicts(struct document *d, const struct report *report)
{
    bool any = false, paper = strcmp(report->choice.against, "paper") == 0;
    const char *word = paper ? "reproduced" : "level";
    for (int b = 0; b < report->n_budgets; b++)
        any = any || has_claims(report, &report->budgets[b]);
    if (!any)
        return;
    document_heading(d, 2, "Against %s", paper ? "the paper" : report->choice.against);
    document_paragraph(
        d,
        "The rule: %s if our 95 %% interval overlaps the other's mean \u00b1 standard deviation, above or "
        "below if it lies wholly above or below. With fewer than 3 seeds the verdict says so.",
        word);
    for (int b = 0; b < report->n_budgets; b++) {
        const struct report_budget *budget = &report->budgets[b];
        int counts[VERDICTS] = {0};
        char name[64];
        if (!has_claims(report, budget))
            continue;
        report_budget_name(budget, name, sizeof name);
        document_table(d, 7, 3,
                       "At %s: our mean with its 95 %% interval over seeds, and the other's mean \u00b1 std.",
                       name);
        const char *const head[] = {"Task",   "Method", "Preset",
                                    "Seeds",  "Ours",   report->against < 0 ? "Published" : "Other",
                                    "Verdict"};
        for (int k = 0; k < 7; k++)
            document_cell(d, 0, "%s", head[k]);
        add_verdicts_at(d, report, budget, counts);
        document_paragraph(d, "At %s: %d %s, %d above, %d below.", name, counts[VERDICT_REPRODUCED], word,
                           counts[VERDICT_ABOVE], counts[VERDICT_BELOW]);
    }
    add_sources(d, report);
}

/* ---------------------------------------------------------------- all of it */

dqs_status report_document(struct document *document, const struct report *report,
                           const struct report_words *words, bool figures, dqs_error *error)
{
    document_heading(document, 1, "%s", words->title);
    for (int b = 0; b < report->n_budgets; b++)
        add_returns(document, report, &report->budgets[b]);
    add_left_out(document, report);
    if (figures) {
        const struct figure_choice choice = {.tasks = NULL};
        char *svg;
        TRY(figure_curves_svg(&svg, report->collection, &choice, "curves-", error));
        document_figure(document, svg,
                        "Learning curves: means over seeds, bands from the lowest to the highest.");
    }
    for (int b = 0; b < report->n_budgets; b++)
        TRY(add_aggregates(document, report, b, figures, error));
    document_heading(document, 2, "Return per hour of compute");
    for (int b = 0; b < report->n_budgets; b++)
        add_per_hour(document, report, &report->budgets[b]);
    add_verdicts(document, report);
    add_methods(document, report);
    add_origins(document, report);
    manner_tell(document, report->collection, NULL, 0);
    add_notes(document, words);
    return DQS_OK;
}
