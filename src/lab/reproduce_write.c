/* reproduce_write: what an item says, as files, CSV and JSON. */
#include "file.h"
#include "number.h"
#include "report.h"
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- rows */

/* No quotes: what would need them becomes `_`, as in the tables of runs. */
static void put_word(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(*text == ',' || *text == '"' || *text == '\n' ? '_' : *text, out);
}

static void put_number(FILE *out, double value)
{
    char text[NUMBER_TEXT_SIZE] = "";
    if (isfinite(value))
        number_write(text, value);
    fprintf(out, ",%s", text);
}

void reproduce_csv_head(FILE *out)
{
    fprintf(out,
            "item,task,method,preset,measure,seeds,ours,std,low,high,paper,paper_std,claim,rule,verdict\n");
}

void reproduce_csv(FILE *out, const struct reproduction *r)
{
    for (int i = 0; i < r->n_verdicts; i++) {
        const struct reproduce_verdict *v = &r->verdicts[i];
        const char *words[] = {r->item->name, v->task, v->method, v->preset, v->measure};
        const double numbers[] = {v->ours.value, v->std,        v->ours.low,
                                  v->ours.high,  v->claim.mean, v->claim.std};
        for (int k = 0; k < 5; k++) {
            put_word(out, words[k]);
            fputc(',', out);
        }
        fprintf(out, "%d", v->seeds);
        for (int k = 0; k < 6; k++)
            put_number(out, numbers[k]);
        fputc(',', out);
        put_word(out, v->said);
        fputc(',', out);
        put_word(out, v->bound);
        fputc(',', out);
        put_word(out, v->text);
        fputc('\n', out);
    }
}

void reproduce_json(struct json *j, const struct reproduction *r)
{
    json_open(j, '[');
    for (int i = 0; i < r->n_verdicts; i++) {
        const struct reproduce_verdict *v = &r->verdicts[i];
        const struct {
            const char *key, *text;
        } words[] = {{"task", v->task},       {"method", v->method}, {"preset", v->preset},
                     {"measure", v->measure}, {"claim", v->said},    {"rule", v->bound},
                     {"verdict", v->text}};
        const struct {
            const char *key;
            double value;
        } numbers[] = {{"ours", v->ours.value}, {"std", v->std},          {"low", v->ours.low},
                       {"high", v->ours.high},  {"paper", v->claim.mean}, {"paper_std", v->claim.std}};
        json_open(j, '{');
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            json_key(j, words[k].key);
            json_string(j, words[k].text);
        }
        json_key(j, "seeds");
        json_integer(j, v->seeds);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            json_key(j, numbers[k].key);
            json_number(j, numbers[k].value);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* ---------------------------------------------------------------- files */

static void write_markdown(FILE *out, const struct reproduction *r)
{
    document_markdown(out, &r->document);
}

static void write_latex(FILE *out, const struct reproduction *r)
{
    document_latex(out, &r->document);
}

static void write_scores(FILE *out, const struct reproduction *r)
{
    fputs(r->csv, out);
}

static void write_verdicts(FILE *out, const struct reproduction *r)
{
    reproduce_csv_head(out);
    reproduce_csv(out, r);
}

static dqs_status write_one(const struct reproduction *r, const struct plot_target *target, const char *name,
                            const char *ending, void (*write)(FILE *, const struct reproduction *),
                            dqs_error *error)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return fail(error, DQS_E_MEMORY, "reproduce: out of memory");
    write(out, r);
    dqs_status status = fclose(out) == 0 ? plot_write_text(target, name, ending, text, error)
                                         : fail(error, DQS_E_MEMORY, "reproduce: out of memory");
    free(text);
    return status;
}

static dqs_status draw(const struct reproduction *r, const struct plot_target *target, dqs_error *error)
{
    struct arena arena = {0};
    const struct figure_context context = {&arena, target, r->warn, r->user};
    dqs_status status = DQS_OK;
    for (const struct reproduce_figure *f = r->item->figures; status == DQS_OK && f->draw; f++) {
        struct figure_view view = r->view;
        view.choice.note = r->note;
        view.choice.name = f->name;
        view.methods = arena_new(&arena, int, r->view.n_methods);
        view.n_methods = 0;
        for (int i = 0; i < r->view.n_methods; i++) {
            const char *algo = r->collection->methods[r->view.methods[i]].algo;
            const char *found = f->algos ? strstr(f->algos, algo) : algo;
            if (found) /* no name of an algorithm is a part of another's */
                view.methods[view.n_methods++] = r->view.methods[i];
        }
        status = f->draw(&view, &context, error);
    }
    arena_free(&arena);
    return status;
}

/* Aggregates, profiles, return per hour: the page of `dqs report` for these runs. Runs without any evaluation
 * have none. */
static dqs_status write_report(const struct reproduction *r, const struct plot_target *target,
                               dqs_error *error)
{
    struct report report = {0};
    struct report_words *words = calloc(1, sizeof *words);
    struct plot_report *files = calloc(1, sizeof *files);
    const struct report_choice choice = {.n_budgets = 0};
    const bool forms[REPORT_FORMS] = {[REPORT_HTML] = true};
    if (!words || !files) {
        free(words);
        free(files);
        return fail(error, DQS_E_MEMORY, "reproduce: out of memory");
    }
    report_title(words, r->item->title);
    dqs_error none = {0};
    dqs_status status = DQS_OK;
    if (report_make(&report, r->collection, &choice, &none) == DQS_OK)
        status = report_write(&report, words, target->folder, forms, files, error);
    for (int i = 0; i < files->count && target->report->count < PLOT_FILES; i++)
        strcpy(target->report->files[target->report->count++], files->files[i]);
    report_free(&report);
    free(words);
    free(files);
    return status;
}

dqs_status reproduce_write(const struct reproduction *r, const char *folder, struct plot_report *files,
                           dqs_error *error)
{
    const struct plot_target target = {folder, files};
    files->count = 0;
    TRY(file_make_folders(folder, error));
    TRY(write_one(r, &target, r->item->name, "md", write_markdown, error));
    TRY(write_one(r, &target, r->item->name, "tex", write_latex, error));
    if (r->csv)
        TRY(write_one(r, &target, r->item->name, "csv", write_scores, error));
    TRY(draw(r, &target, error));
    if (r->item->report)
        TRY(write_report(r, &target, error));
    return write_one(r, &target, "verdicts", "csv", write_verdicts, error);
}
