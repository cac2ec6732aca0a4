/* The tables of the paper: mean returns per task, method and budget, each cell with its verdict. */
#include "manner.h"
#include "number.h"
#include "paper_steps.h"
#include "published.h"
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\u2013"
#define BUDGETS 2
#define THE_END 0 /* as a budget: wherever the runs stand */

static const long budgets[BUDGETS] = {100000, 250000};

struct cell {
    int n;
    double mean, std;
    struct stats_interval interval;
    bool best, close;
};

struct page { /* a budget */
    struct reproduction *r;
    long budget;
    struct cell *cells; /* tasks x methods of the view */
    int filled;
    FILE *csv; /* a line per score */
    long least_episodes, most_episodes;
};

static struct cell *cell_at(const struct page *p, int task, int method)
{
    return &p->cells[task * p->r->view.n_methods + method];
}

static const struct collection_cell *runs_at(const struct page *p, int task, int method)
{
    const struct figure_view *view = &p->r->view;
    return collection_cell(view->collection, view->tasks[task], view->methods[method]);
}

/* ---------------------------------------------------------------- numbers */

static int last_row(const struct collection_run *run)
{
    const double *mean = plot_column(&run->evaluations, "mean_reward");
    int row = mean ? run->evaluations.rows - 1 : -1;
    while (row >= 0 && !isfinite(mean[row]))
        row--;
    return row;
}

static void put_score(const struct page *p, const struct collection_run *run, int row, long episodes,
                      double score)
{
    char text[NUMBER_TEXT_SIZE];
    number_write(text, score);
    fprintf(p->csv, "%s,", run->task);
    for (const char *c = p->r->collection->methods[run->method_index].label; *c; c++)
        fputc(*c == ',' || *c == '"' ? '_' : *c, p->csv);
    fprintf(p->csv, ",%s,%ld,", run->preset, run->seed);
    if (p->budget != THE_END)
        fprintf(p->csv, "%ld", p->budget);
    fprintf(p->csv, ",%.0f,%ld,%s\n", plot_column(&run->evaluations, "step")[row], episodes, text);
}

static void fill(struct page *p, int task, int method)
{
    const struct collection_cell *runs = runs_at(p, task, method);
    struct cell *cell = cell_at(p, task, method);
    double *scores = arena_new(&p->r->arena, double, runs->count + 1);
    for (int i = 0; i < runs->count; i++) {
        const struct collection_run *run = runs->runs[i];
        int row = p->budget == THE_END ? last_row(run) : collection_row(run, paper_steps(run, p->budget));
        if (row < 0)
            continue;
        const double *episodes = plot_column(&run->evaluations, "episodes");
        long count = episodes && episodes[row] >= 1 && episodes[row] < 1e9 ? (long)episodes[row] : 0;
        p->least_episodes = p->filled + cell->n == 0 || count < p->least_episodes ? count : p->least_episodes;
        p->most_episodes = count > p->most_episodes ? count : p->most_episodes;
        scores[cell->n] = plot_column(&run->evaluations, "mean_reward")[row];
        put_score(p, run, row, count, scores[cell->n++]);
    }
    cell->interval = stats_mean_interval(scores, cell->n, STATS_REPETITIONS);
    cell->mean = cell->n ? stats_mean(scores, cell->n) : NAN;
    cell->std = cell->n > 1 ? stats_std(scores, cell->n) : NAN;
    p->filled += cell->n > 0;
}

static void mark_row(struct page *p, int task)
{
    int n = p->r->view.n_methods;
    double *means = arena_new(&p->r->arena, double, 2 * n), *stds = means + n;
    bool *best = arena_new(&p->r->arena, bool, 2 * n), *close = best + n;
    for (int m = 0; m < n; m++) {
        means[m] = cell_at(p, task, m)->mean;
        stds[m] = cell_at(p, task, m)->std;
    }
    stats_mark_best(means, stds, n, best, close);
    for (int m = 0; m < n; m++) {
        cell_at(p, task, m)->best = best[m];
        cell_at(p, task, m)->close = close[m];
    }
}

static struct page fill_page(struct reproduction *r, long budget, FILE *csv)
{
    struct page p = {.r = r, .budget = budget, .csv = csv};
    p.cells = arena_new(&r->arena, struct cell, r->view.n_tasks * r->view.n_methods);
    for (int t = 0; t < r->view.n_tasks; t++) {
        for (int m = 0; m < r->view.n_methods; m++)
            fill(&p, t, m);
        mark_row(&p, t);
    }
    return p;
}

/* ---------------------------------------------------------------- words */

static void put_returns(const struct page *p)
{
    struct document *d = &p->r->document;
    const struct figure_view *view = &p->r->view;
    char name[128], episodes[64];
    if (p->least_episodes == p->most_episodes)
        snprintf(episodes, sizeof episodes, "%ld", p->most_episodes);
    else
        snprintf(episodes, sizeof episodes, "%ld to %ld", p->least_episodes, p->most_episodes);
    document_table(
        d, 1 + view->n_methods, 1,
        "Mean return of %s evaluation episodes \u00b1 standard deviation over seeds, in parentheses the "
        "number of seeds; %s. Bold: the highest mean of the row; underlined: not below it by more than its "
        "standard deviation.",
        episodes, p->r->presets);
    document_cell(d, 0, "Task");
    for (int m = 0; m < view->n_methods; m++) {
        figure_name(name, sizeof name, &view->collection->methods[view->methods[m]]);
        document_cell(d, 0, "%s", name);
    }
    for (int t = 0; t < view->n_tasks; t++) {
        document_cell(d, 0, "%s", view->collection->tasks[view->tasks[t]]);
        for (int m = 0; m < view->n_methods; m++) {
            const struct cell *cell = cell_at(p, t, m);
            int style = cell->best ? DOCUMENT_BOLD : cell->close ? DOCUMENT_UNDERLINE : 0;
            if (cell->n == 0)
                document_cell(d, 0, DASH);
            else if (cell->n == 1)
                document_cell(d, style, "%.2f (1)", cell->mean);
            else
                document_cell(d, style, "%.2f \u00b1 %.2f (%d)", cell->mean, cell->std, cell->n);
        }
    }
}

static void judge_cell(const struct page *p, int task, int method, const char *measure)
{
    struct reproduction *r = p->r;
    const struct cell *cell = cell_at(p, task, method);
    const struct collection_method *m = &r->collection->methods[r->view.methods[method]];
    const char *name = r->collection->tasks[r->view.tasks[task]];
    struct reproduce_verdict *v = reproduce_add(r, name, m);
    const struct verdict_claim *claim = published_cell(published_paper(m->algo, p->budget), name);
    v->measure = measure;
    v->ours = cell->interval;
    v->std = cell->std;
    if (claim)
        v->claim = *claim;
    if (p->budget == THE_END)
        reproduce_say(v, "no verdict: too few steps", cell->n);
    else if (!claim)
        reproduce_say(v, "no number in the paper", cell->n);
    else
        reproduce_say(v, verdict_name(verdict_of(cell->interval.low, cell->interval.high, claim)), cell->n);
}

static void put_verdicts(struct reproduction *r, int first)
{
    struct document *d = &r->document;
    static const char *const head[] = {"Task", "Method", "Preset", "Seeds", "Ours", "The paper", "Verdict"};
    document_table(
        d, 7, 3,
        "Our mean with its 95 %% interval over seeds, and the paper's mean \u00b1 standard deviation over 10 "
        "seeds. Reproduced: they overlap; above, below: ours lies wholly above or below. With fewer than 3 "
        "seeds the verdict says so.");
    for (int k = 0; k < 7; k++)
        document_cell(d, 0, "%s", head[k]);
    for (int i = first; i < r->n_verdicts; i++) {
        const struct reproduce_verdict *v = &r->verdicts[i];
        document_cell(d, 0, "%s", v->task);
        document_cell(d, 0, "%s", v->method);
        document_cell(d, 0, "%s", v->preset);
        document_cell(d, 0, "%d", v->seeds);
        if (v->seeds == 1) /* one seed has no spread */
            document_cell(d, 0, "%.1f", v->ours.value);
        else if (v->seeds > 1)
            document_cell(d, 0, "%.1f [%.1f, %.1f]", v->ours.value, v->ours.low, v->ours.high);
        else
            document_cell(d, 0, DASH);
        if (isfinite(v->claim.mean))
            document_cell(d, 0, "%.1f \u00b1 %.1f", v->claim.mean, v->claim.std);
        else
            document_cell(d, 0, DASH);
        document_cell(d, 0, "%s", v->text);
    }
}

static void put_page(const struct page *p)
{
    struct reproduction *r = p->r;
    bool end = p->budget == THE_END;
    const char *where =
        end ? "the end of the runs" : reproduce_keep(r, "%s steps", reproduce_steps(r, p->budget));
    const char *measure = reproduce_keep(r, "return at %s", where);
    int first = r->n_verdicts;
    char count[300];
    document_heading(&r->document, 2, "At %s", where);
    put_returns(p);
    for (int t = 0; t < r->view.n_tasks; t++)
        for (int m = 0; m < r->view.n_methods; m++)
            if (runs_at(p, t, m)->count > 0)
                judge_cell(p, t, m, measure);
    if (end) {
        document_paragraph(&r->document, "No run has come to the %s steps at which the paper has numbers.",
                           reproduce_steps(r, budgets[0]));
        return;
    }
    put_verdicts(r, first);
    reproduce_count(count, sizeof count, r->verdicts + first, r->n_verdicts - first);
    document_paragraph(&r->document, "At %s: %s.", where, count);
}

dqs_status reproduce_cells(struct reproduction *r, dqs_error *error)
{
    int shown = 0;
    size_t size;
    FILE *csv = open_memstream(&r->csv, &size);
    if (!csv)
        return fail(error, DQS_E_MEMORY, "reproduce: out of memory");
    fprintf(csv, "task,method,preset,seed,budget,step,episodes,return\n");
    for (int b = 0; b < BUDGETS; b++) {
        struct page p = fill_page(r, budgets[b], csv);
        if (p.filled == 0)
            continue;
        put_page(&p);
        shown++;
    }
    if (shown == 0) {
        struct page p = fill_page(r, THE_END, csv);
        put_page(&p);
    }
    reproduce_tell_ppo(r);
    manner_tell(&r->document, r->collection, r->view.methods, r->view.n_methods);
    return fclose(csv) == 0 ? DQS_OK : fail(error, DQS_E_MEMORY, "reproduce: out of memory");
}
