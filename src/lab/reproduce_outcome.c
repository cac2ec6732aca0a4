/* reproduce_outcome: from a collection of runs to verdicts; what the judges share. */
#include "paper_steps.h"
#include "reproduce.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\u2013"

/* ---------------------------------------------------------------- tools of the judges */

const char *reproduce_keep(struct reproduction *r, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *text = arena_new(&r->arena, char, size);
    vsnprintf(text, (size_t)size, format, list);
    va_end(list);
    return text;
}

const char *reproduce_steps(struct reproduction *r, long steps)
{
    return steps > 0 && steps % 1000 == 0 ? reproduce_keep(r, "%ldk", steps / 1000)
                                          : reproduce_keep(r, "%ld", steps);
}

long reproduce_least(const struct reproduction *r, const char *task)
{
    bool full = r->item->full_task && strcmp(r->item->full_task, task) == 0;
    return full ? r->item->full_steps : r->item->least_steps;
}

struct reproduce_verdict *reproduce_add(struct reproduction *r, const char *task,
                                        const struct collection_method *method)
{
    if (r->n_verdicts == r->capacity) {
        int capacity = r->capacity ? 2 * r->capacity : 32;
        struct reproduce_verdict *more = arena_new(&r->arena, struct reproduce_verdict, capacity);
        if (r->n_verdicts)
            memcpy(more, r->verdicts, sizeof *more * (size_t)r->n_verdicts);
        r->verdicts = more;
        r->capacity = capacity;
    }
    struct reproduce_verdict *v = &r->verdicts[r->n_verdicts++];
    *v = (struct reproduce_verdict){.task = task,
                                    .method = method ? method->label : "",
                                    .preset = method ? method->preset : "",
                                    .measure = "",
                                    .ours = {NAN, NAN, NAN},
                                    .std = NAN,
                                    .claim = {NAN, NAN},
                                    .said = "",
                                    .bound = ""};
    reproduce_say(v, verdict_name(VERDICT_NONE), 0);
    return v;
}

/* Few seeds are told by the one rule for it (verdict.h), after a word of ours. */
void reproduce_say(struct reproduce_verdict *v, const char *word, int seeds)
{
    char usual[VERDICT_TEXT_SIZE];
    bool judged = strncmp(word, "no ", 3) != 0;
    verdict_write(usual, VERDICT_REPRODUCED, seeds);
    v->word = word;
    v->seeds = seeds;
    snprintf(v->text, sizeof v->text, "%s%s", word,
             judged ? usual + strlen(verdict_name(VERDICT_REPRODUCED)) : "");
}

void reproduce_claim(struct reproduce_verdict *v, const struct stats_interval *ours, double above,
                     double below, int seeds)
{
    v->ours = *ours;
    if (isnan(ours->low) || isnan(ours->high))
        reproduce_say(v, verdict_name(VERDICT_NONE), seeds);
    else
        reproduce_say(v,
                      ours->low > above    ? "reproduced"
                      : ours->high < below ? "not reproduced"
                                           : "undecided",
                      seeds);
}

static const char *digits(struct reproduction *r, double value)
{
    char text[40];
    plot_number(text, sizeof text, value);
    return reproduce_keep(r, "%s", text);
}

void reproduce_put_claims(struct reproduction *r, int first)
{
    struct document *d = &r->document;
    document_table(
        d, 8, 4,
        "What the paper says of it, and the rule: reproduced if our 95 %% interval over seeds keeps the "
        "rule, not reproduced if it lies wholly outside, undecided otherwise; %s.",
        r->presets);
    static const char *const head[] = {"Task",  "Method", "The paper", "The rule",
                                       "Seeds", "Ours",   "Interval",  "Verdict"};
    for (int k = 0; k < 8; k++)
        document_cell(d, 0, "%s", head[k]);
    for (int i = first; i < r->n_verdicts; i++) {
        const struct reproduce_verdict *v = &r->verdicts[i];
        bool there = isfinite(v->ours.value);
        document_cell(d, 0, "%s", v->task);
        document_cell(d, 0, "%s", v->method);
        document_cell(d, 0, "%s", v->said);
        document_cell(d, 0, "%s", v->bound);
        document_cell(d, 0, "%d", v->seeds);
        document_cell(d, 0, "%s", there ? digits(r, v->ours.value) : DASH);
        document_cell(d, 0, "%s",
                      there && v->seeds > 1 /* one seed has no spread */
                          ? reproduce_keep(r, "%s .. %s", digits(r, v->ours.low), digits(r, v->ours.high))
                          : DASH);
        document_cell(d, 0, "%s", v->text);
    }
}

void reproduce_tell_ppo(struct reproduction *r)
{
    for (int i = 0; i < r->collection->n_runs; i++)
        if (strcmp(r->collection->runs[i].algo, "ppo") == 0) {
            document_item(
                &r->document,
                "PPO's steps are network updates, as in the paper; an update is %.3g environment steps.",
                paper_steps_ratio(&r->collection->runs[i]));
            return;
        }
}

/* ---------------------------------------------------------------- which runs */

/* The names of the list that the collection has, in the order of the list; false: none. */
static bool present(char *out, size_t size, const char *list, const struct collection *c, bool tasks)
{
    size_t used = 0;
    out[0] = 0;
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        bool found = false;
        for (int i = 0; i < c->n_runs; i++) {
            const char *name = tasks ? c->runs[i].task : c->runs[i].algo;
            found = found || (strlen(name) == n && strncmp(name, p, n) == 0);
        }
        if (found && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "," : "", (int)n, p);
        p += n + (p[n] == ',');
    }
    return used > 0;
}

static dqs_status choose(struct reproduction *r, struct reproduce_scope scope, dqs_error *error)
{
    char tasks[600], algos[200], wanted[600];
    if (!scope.algos)
        scope.algos = r->item->algos;
    if (scope.tasks)
        snprintf(wanted, sizeof wanted, "%s", scope.tasks);
    else
        snprintf(wanted, sizeof wanted, "%s%s%s", r->item->tasks, r->item->full_task ? "," : "",
                 r->item->full_task ? r->item->full_task : "");
    if (!present(tasks, sizeof tasks, wanted, r->collection, true) ||
        !present(algos, sizeof algos, scope.algos, r->collection, false))
        return fail(error, DQS_E_IO, "%s: no run of it is there; its tasks: %.300s; its algorithms: %s",
                    r->item->name, wanted, scope.algos);
    const struct figure_choice choice = {.tasks = reproduce_keep(r, "%s", tasks),
                                         .algos = reproduce_keep(r, "%s", algos),
                                         .rule.paper_steps = true};
    TRY(figure_view(&r->view, &r->arena, r->collection, &choice, error));
    figure_presets(r->presets, sizeof r->presets, &r->view);
    if (!r->presets[0])
        snprintf(r->presets, sizeof r->presets, "preset not recorded");
    return DQS_OK;
}

/* ---------------------------------------------------------------- all of it */

static void describe(struct reproduction *r)
{
    int runs = 0, finished = 0;
    for (int t = 0; t < r->view.n_tasks; t++)
        for (int m = 0; m < r->view.n_methods; m++) {
            const struct collection_cell *cell =
                collection_cell(r->collection, r->view.tasks[t], r->view.methods[m]);
            runs += cell->count;
            for (int i = 0; i < cell->count; i++)
                finished += collection_finished(cell->runs[i]);
        }
    document_heading(&r->document, 1, "%s", r->item->title);
    document_paragraph(&r->document, "Of Jain, Akhound-Sadegh, Ravanbakhsh 2025. %d run%s, %d finished; %s.",
                       runs, runs == 1 ? "" : "s", finished, r->presets);
}

dqs_status reproduce_make(struct reproduction *r, const struct reproduce_item *item,
                          struct reproduce_scope scope, const struct collection *collection,
                          collection_warning *warn, void *user, dqs_error *error)
{
    char count[300];
    *r = (struct reproduction){.item = item, .collection = collection, .warn = warn, .user = user};
    TRY(choose(r, scope, error));
    describe(r);
    TRY(item->judge(r, error));
    if (r->note[0])
        document_item(&r->document, "Other than in the paper: %s", r->note);
    reproduce_count(count, sizeof count, r->verdicts, r->n_verdicts);
    document_paragraph(&r->document, "In all: %s.", count);
    return DQS_OK;
}

void reproduce_free(struct reproduction *r)
{
    free(r->csv);
    document_free(&r->document);
    arena_free(&r->arena);
    *r = (struct reproduction){0};
}

void reproduce_count(char *text, size_t size, const struct reproduce_verdict *verdicts, int n)
{
    size_t used = 0;
    snprintf(text, size, "no verdict");
    for (int i = 0; i < n; i++) {
        int count = 0, earlier = 0;
        for (int k = 0; k < n; k++) {
            bool same = strcmp(verdicts[k].word, verdicts[i].word) == 0;
            count += same;
            earlier += same && k < i;
        }
        if (earlier == 0 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%d %s", used ? ", " : "", count,
                                     verdicts[i].word);
    }
}
