/* cmd_report: dqs report, the numbers of many runs. */
#include "args.h"
#include "cmd.h"
#include "report.h"
#include "terminal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Reads every run below the folders DIR and reports, per task and number of steps, mean and\n"
    "standard deviation over seeds as in the paper's tables; aggregates over tasks (IQM, optimality\n"
    "gap, probability of improvement, performance profile) with bootstrap 95 % intervals; return per\n"
    "hour of compute; and a verdict for each number that was published. Without --out it goes to\n"
    "standard output, as Markdown. A run still going counts as far as it got.";

static const char examples[] = "  dqs report runs\n"
                               "  dqs report runs --out report\n"
                               "  dqs report runs --at 50k,100k --format csv > numbers.csv\n"
                               "  dqs report runs --against sac\n"
                               "  dqs report runs --against TD-MPC2\n";

struct request {
    const char *at, *out, *format, *against, *repetitions;
    bool json, forms[REPORT_FORMS];
    struct report_choice choice;
    struct report_words words;
};

/* Cuts the next name off a list with commas; false at its end. */
static bool next_name(const char **list, char *name, size_t size)
{
    *list += strspn(*list, ", ");
    size_t n = strcspn(*list, ", ");
    snprintf(name, size, "%.*s", (int)(n < size ? n : size - 1), *list);
    *list += n;
    return n > 0;
}

static bool read_budgets(struct request *r)
{
    const char *list = r->at;
    char name[64];
    struct report_choice *choice = &r->choice;
    while (list && next_name(&list, name, sizeof name)) {
        long steps;
        if (!args_long("--at", name, 1, 1000000000000, &steps))
            return false;
        bool met = false;
        for (int i = 0; i < choice->n_budgets; i++)
            met = met || choice->budgets[i] == steps;
        if (met)
            continue;
        if (choice->n_budgets == REPORT_BUDGETS) {
            complain(EXIT_USAGE, "--at: more than %d numbers of steps", REPORT_BUDGETS);
            return false;
        }
        choice->budgets[choice->n_budgets++] = steps;
    }
    if (r->at && choice->n_budgets == 0)
        complain(EXIT_USAGE, "--at: '%s' names no number of steps; try --at 100k,250k", r->at);
    return !r->at || choice->n_budgets > 0;
}

static bool read_forms(struct request *r)
{
    const char *list = r->format;
    char name[64];
    int n = 0;
    while (list && next_name(&list, name, sizeof name)) {
        int k = 0;
        while (k < REPORT_FORMS && strcmp(name, report_forms[k].name) != 0)
            k++;
        if (k == REPORT_FORMS) {
            complain(EXIT_USAGE, "--format: '%s' is none of md, latex, csv, html", name);
            return false;
        }
        n += !r->forms[k];
        r->forms[k] = true;
    }
    if (r->format && n == 0) {
        complain(EXIT_USAGE, "--format: names nothing; try --format md,html");
        return false;
    }
    if (n > 1 && !r->out) {
        complain(EXIT_USAGE, "--format: several forms need a folder; add --out DIR");
        return false;
    }
    for (int k = 0; n == 0 && k < REPORT_FORMS; k++)
        r->forms[k] = r->out || k == REPORT_MARKDOWN;
    return true;
}

static bool understand(struct request *r)
{
    long repetitions = STATS_REPETITIONS;
    if (r->repetitions && !args_long("--bootstrap", r->repetitions, 100, 1000000, &repetitions))
        return false;
    r->choice.repetitions = (int)repetitions;
    r->choice.against = r->against;
    return read_budgets(r) && read_forms(r);
}

static void warn(void *user, const char *line)
{
    report_note(&((struct request *)user)->words, line);
    complain(EXIT_OK, "warning: %s", line);
}

static dqs_status print_json(const struct report *report)
{
    struct json j = {0};
    report_json(&j, report);
    puts(j.text);
    json_free(&j);
    return DQS_OK;
}

static dqs_status print_form(const struct request *r, const struct report *report, dqs_error *error)
{
    char *text;
    int form = 0;
    while (!r->forms[form])
        form++;
    dqs_status status = report_text(&text, report, &r->words, (enum report_form_index)form, error);
    if (status == DQS_OK)
        fputs(text, stdout);
    free(text);
    return status;
}

static dqs_status write_files(const struct request *r, const struct report *report, dqs_error *error)
{
    struct plot_report *files = calloc(1, sizeof *files);
    if (!files)
        return fail(error, DQS_E_MEMORY, "report: out of memory");
    dqs_status status = report_write(report, &r->words, r->out, r->forms, files, error);
    for (int i = 0; i < files->count; i++)
        fprintf(r->json ? stderr : stdout, "%s\n", files->files[i]);
    free(files);
    return status;
}

static int tell(struct request *r, const char *const *folders, int n)
{
    struct collection collection;
    struct report report = {0};
    dqs_error error = {.status = DQS_OK};
    char title[300];
    snprintf(title, sizeof title, "Report of %s%s", folders[0], n > 1 ? " and others" : "");
    report_title(&r->words, title);
    dqs_status status = collection_read(&collection, folders, n, warn, r, &error);
    if (status == DQS_OK)
        status = report_make(&report, &collection, &r->choice, &error);
    if (status == DQS_OK && r->out)
        status = write_files(r, &report, &error);
    if (status == DQS_OK && r->json)
        status = print_json(&report);
    else if (status == DQS_OK && !r->out)
        status = print_form(r, &report, &error);
    report_free(&report);
    collection_free(&collection);
    return status == DQS_OK ? EXIT_OK : complain_error(&error);
}

int cmd_report(int argc, char **argv)
{
    struct request *r = calloc(1, sizeof *r);
    const char **folders = calloc((size_t)argc, sizeof *folders);
    int n = 0;
    if (!r || !folders) {
        free(r);
        free(folders);
        return complain(EXIT_FAILED, "report: out of memory");
    }
    const struct args_flag flags[] = {
        {"--at", "STEPS,...", "the numbers of steps to report (default: 100k,250k)", .text = &r->at},
        {"--out", "DIR", "write report.md, .tex, .csv and .html there", .text = &r->out},
        {"--format", "F,...", "only these of md, latex, csv, html", .text = &r->format},
        {"--against", "WHOM", "compare with: paper (default), a method run here, or a published one",
         .text = &r->against},
        {"--bootstrap", "N", "repetitions of the bootstrap (default: 10000)", .text = &r->repetitions},
        {"--json", NULL, "every number, as one line of JSON on standard output", .on = &r->json},
        {0},
    };
    const struct args_spec spec = {.verb = "report",
                                   .usage = "DIR... [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = argc};
    int code = args_parse(&spec, argc, argv, folders, &n);
    if (code < 0)
        code = understand(r) ? tell(r, folders, n) : EXIT_USAGE;
    free(folders);
    free(r);
    return code;
}
