/* cmd_reproduce: dqs reproduce. */
#include "args.h"
#include "cmd.h"
#include "drive_sweep.h"
#include "file.h"
#include "reproduce_plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAPER_HOURS 24.0 /* of one core: more of DQS's preset `paper` needs to be insisted on */

struct words {
    const char *preset, *seeds, *steps, *tasks, *algos, *out, *jobs, *retries;
    struct args_list set, from;
    bool full, yes, dry_run, json, quiet;
};

struct session {
    const struct words *w;
    struct plan plan;
    const char *again; /* the words that go on */
    long jobs, retries;
    struct json results;
    FILE *verdicts; /* of all items, one table */
    int n_verdicts;
};

static const char about[] =
    "Trains what an item of the paper needs, draws its figures and holds our numbers against\n"
    "the paper's, cell by cell: reproduced, above, below (docs/lab.md has the rules). Several\n"
    "items may be named. Everything is in --out, runs/reproduce unless it says otherwise: the\n"
    "runs of all items in OUT/runs, tables, figures and verdicts.csv of an item in OUT/ITEM.\n"
    "What it will cost is measured and said first. The runs are a sweep: stop it as you like,\n"
    "the same command goes on; seeds come last, so every cell has its first seed before any\n"
    "has its second.";

static const char examples[] =
    "  dqs reproduce fig-gmm                        some minutes on two cores\n"
    "  dqs reproduce all --dry-run                  what there is to do, and what it costs here\n"
    "  dqs reproduce table1 --seeds 2 --steps 100k --tasks cheetah-run,walker-run\n"
    "  dqs reproduce fig-maze --full                in the paper's maze, 250 000 steps\n"
    "  dqs reproduce table1 --from results/lab --from results/baselines   verdicts on runs that are there\n";

static void warn(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "dqs: warning: %s\n", line);
}

/* ---------------------------------------------------------------- samples drawn by the stochastic policy */

static bool is_drawn(const char *folder)
{
    struct plot_data data = {0};
    dqs_error error = {0};
    bool drawn = plot_data_read_trace(&data, folder, &error) == DQS_OK && strcmp(data.mode, "explore") == 0;
    plot_data_free(&data);
    return drawn;
}

/* SAC is evaluated by its mean action, which is no sample of its distribution: as `dqs eval --mode
 * explore`. */
static void draw_samples(const struct plan_item *p, const struct drive_sweep *d, bool quiet)
{
    for (int i = 0; p->item->drawn && i < p->plan.count; i++) {
        const struct sweep_run *run = &p->plan.runs[i];
        dqs_run *opened = NULL;
        dqs_evaluation evaluation;
        dqs_error error = {.status = DQS_OK};
        if (strcmp(run->algo, p->item->drawn) || d->states[i].phase != SWEEP_DONE || is_drawn(run->folder))
            continue;
        if (!quiet)
            fprintf(stderr, "%s: drawing samples from its policy\n", run->name);
        if (dqs_run_resume(&opened, run->folder, 0, 1, &error) != DQS_OK ||
            dqs_run_evaluate(opened, 0, DQS_ACT_EXPLORE, &evaluation, &error) != DQS_OK)
            warn(NULL, error.message);
        dqs_run_free(opened);
    }
}

/* ---------------------------------------------------------------- what came out */

static void put_result(struct session *s, const struct reproduction *r, const struct plot_report *files)
{
    struct json *j = &s->results;
    json_open(j, '{');
    json_key(j, "item");
    json_string(j, r->item->name);
    json_key(j, "title");
    json_string(j, r->item->title);
    json_key(j, "presets");
    json_string(j, r->presets);
    json_key(j, "verdicts");
    reproduce_json(j, r);
    json_key(j, "files");
    json_open(j, '[');
    for (int i = 0; i < files->count; i++)
        json_string(j, files->files[i]);
    json_close(j, ']');
    json_close(j, '}');
}

/* whole: the document too, otherwise one line. */
static int tell(struct session *s, const struct reproduce_item *item, const char *const *folders, int n,
                bool whole)
{
    const struct reproduce_scope scope = {s->w->tasks, s->w->algos};
    struct collection collection;
    struct reproduction r = {0};
    struct plot_report *files = calloc(1, sizeof *files);
    char folder[1100], count[300];
    dqs_error error = {.status = DQS_OK};
    FILE *out = s->w->json ? stderr : stdout;
    if (!files)
        return complain(EXIT_FAILED, "reproduce: out of memory");
    snprintf(folder, sizeof folder, "%.1000s/%s", s->w->out, item->name);
    dqs_status status = collection_read(&collection, folders, n, warn, NULL, &error);
    if (status == DQS_OK)
        status = reproduce_make(&r, item, scope, &collection, warn, NULL, &error);
    if (status == DQS_OK)
        status = reproduce_write(&r, folder, files, &error);
    if (status == DQS_OK) {
        reproduce_count(count, sizeof count, r.verdicts, r.n_verdicts);
        if (whole)
            document_markdown(out, &r.document);
        else
            fprintf(out, "%s so far: %s\n", item->name, count);
        fprintf(out, "\n");
        for (int i = 0; i < files->count; i++)
            fprintf(out, "%s\n", files->files[i]);
        fflush(out);
        put_result(s, &r, files);
        reproduce_csv(s->verdicts, &r);
        s->n_verdicts += r.n_verdicts;
    }
    reproduce_free(&r);
    collection_free(&collection);
    free(files);
    return status == DQS_OK ? EXIT_OK : complain_error(&error);
}

static bool is_run(const char *folder)
{
    char path[1100];
    snprintf(path, sizeof path, "%.1000s/config.yaml", folder);
    return file_exists(path);
}

static int tell_plan(struct session *s, const struct plan_item *p, bool whole)
{
    const char **folders = calloc((size_t)p->plan.count + 1, sizeof *folders);
    int n = 0;
    for (int i = 0; folders && i < p->plan.count; i++)
        if (is_run(p->plan.runs[i].folder))
            folders[n++] = p->plan.runs[i].folder;
    int code = n > 0 ? tell(s, p->item, folders, n, whole)
                     : complain(EXIT_FAILED, "%s: no run was made", p->item->name);
    free(folders);
    return code;
}

/* ---------------------------------------------------------------- training */

static int carry_out(struct session *s, const struct plan_item *p)
{
    struct drive_sweep d = {
        .spec = &p->spec, .plan = &p->plan, .words = s->again, .quiet = s->w->quiet, .aside = true};
    int code = EXIT_FAILED;
    if (!s->w->quiet && s->plan.n > 1)
        fprintf(stderr, "\n%s: %s\n", p->item->name, p->item->title);
    if (drive_sweep_begin(&d, (int)s->jobs, (int)s->retries, LEASE_PATIENCE))
        code = drive_sweep(&d);
    bool stopped = code > 128;
    if (d.states && code != EXIT_USAGE) {
        if (!stopped)
            draw_samples(p, &d, s->w->quiet);
        int told = tell_plan(s, p, !stopped);
        code = code == EXIT_OK ? told : code;
    }
    drive_sweep_end(&d);
    return code;
}

/* Costs, and whether they are accepted. */
static int announce(struct session *s)
{
    double core_hours, update;
    FILE *out = s->w->dry_run && !s->w->json ? stdout : stderr;
    int jobs = (int)s->jobs;
    struct drive_sweep d = {.plan = &s->plan.items[0].plan};
    if (jobs == 0 && drive_sweep_begin(&d, 0, 0, LEASE_PATIENCE)) /* knows the cores */
        jobs = d.work.jobs;
    drive_sweep_end(&d);
    plan_estimate(&s->plan, jobs, s->w->quiet || s->w->dry_run);
    if (!s->w->quiet)
        plan_print(out, &s->plan);
    bool slow = plan_paper_dqs(&s->plan, &core_hours, &update);
    if (slow && !s->w->quiet)
        fprintf(out,
                "preset paper: DQS with 1000 samples and 1000 integration steps takes %.2g s an update here, "
                "%.0f hours "
                "of one core; it is meant for short comparisons\n",
                update, core_hours);
    if (s->w->dry_run)
        return -1;
    if (!s->w->quiet && plan_left(&s->plan) > 0)
        fprintf(out, "stop it with Ctrl-C at any time; to go on: %s %s\n", program_name(), s->again);
    if (slow && core_hours > PAPER_HOURS && !s->w->yes)
        return complain(
            EXIT_USAGE,
            "preset paper: %.2g s an update, %.0f hours of one core for DQS; add --yes to train it "
            "nevertheless, or fewer --steps, or take --preset default",
            update, core_hours);
    return -1;
}

/* ---------------------------------------------------------------- the verb */

static int write_verdicts(const struct session *s, const char *text)
{
    char path[1100];
    dqs_error error = {.status = DQS_OK};
    snprintf(path, sizeof path, "%.1000s/verdicts.csv", s->w->out);
    if (s->n_verdicts == 0)
        return EXIT_OK;
    if (file_write_text(path, text, &error) != DQS_OK)
        return complain_error(&error);
    fprintf(s->w->json ? stderr : stdout, "%s\n", path);
    return EXIT_OK;
}

static int work(struct session *s, const struct reproduce_item *const *items, int n)
{
    int code = EXIT_OK;
    for (int i = 0; i < n && code <= 128; i++) {
        int one = s->w->from.count > 0 ? tell(s, items[i], s->w->from.items, s->w->from.count, true)
                                       : carry_out(s, &s->plan.items[i]);
        code = one != EXIT_OK ? one : code;
    }
    return code;
}

static int finish(struct session *s, int code, char *verdicts, bool several)
{
    if (several && write_verdicts(s, verdicts) != EXIT_OK && code == EXIT_OK)
        code = EXIT_FAILED;
    if (s->w->json) {
        struct json j = {0};
        json_open(&j, '{');
        json_key(&j, "plan");
        plan_json(&j, &s->plan);
        json_key(&j, "stopped");
        json_bool(&j, code > 128);
        json_key(&j, "items");
        json_raw(&j, s->results.text);
        json_close(&j, '}');
        puts(j.text);
        json_free(&j);
    }
    return code;
}

static int reproduce(struct session *s, const struct reproduce_item *const *items, int n)
{
    const struct words *w = s->w;
    const struct reproduce_request request = {.preset = w->preset,
                                              .seeds = w->seeds,
                                              .steps = w->steps,
                                              .tasks = w->tasks,
                                              .algos = w->algos,
                                              .full = w->full,
                                              .settings = w->set.items,
                                              .n_settings = w->set.count,
                                              .out = w->out};
    char *verdicts = NULL;
    size_t size;
    dqs_error error = {.status = DQS_OK};
    int code = -1;
    for (int i = 0; i < n && code < 0 && w->from.count == 0; i++)
        if (plan_add(&s->plan, items[i], &request, &error) != DQS_OK)
            code = complain_error(&error);
    if (code < 0 && w->from.count == 0)
        code = announce(s);
    s->verdicts = open_memstream(&verdicts, &size);
    if (code < 0 && !s->verdicts)
        code = complain(EXIT_FAILED, "reproduce: out of memory");
    if (code < 0) {
        reproduce_csv_head(s->verdicts);
        json_open(&s->results, '[');
        code = w->dry_run ? EXIT_OK : work(s, items, n);
        json_close(&s->results, ']');
        fflush(s->verdicts);
        code = finish(s, code, verdicts, n > 1);
    }
    if (s->verdicts)
        fclose(s->verdicts);
    free(verdicts);
    json_free(&s->results);
    plan_free(&s->plan);
    return code;
}

static int find_items(const char *const *names, int n, const struct reproduce_item **items, int *count)
{
    for (int i = 0; i < n; i++) {
        bool all = strcmp(names[i], "all") == 0;
        const struct reproduce_item *item = reproduce_items;
        struct args_nearest nearest = {.word = names[i]};
        int before = *count;
        for (; item->name; item++) {
            bool there = false;
            args_offer(&nearest, item->name);
            for (int k = 0; k < *count; k++)
                there = there || items[k] == item;
            if (!there && (all || strcmp(names[i], item->name) == 0))
                items[(*count)++] = item;
        }
        if (*count > before || all || reproduce_find(names[i]))
            continue;
        if (nearest.best)
            return complain(EXIT_USAGE, "reproduce: no item '%s'; did you mean %s?", names[i], nearest.best);
        return complain(EXIT_USAGE,
                        "reproduce: no item '%s'; there are table1, table2, fig-gmm, fig-dmc, fig-maze, all",
                        names[i]);
    }
    return -1;
}

int cmd_reproduce(int argc, char **argv)
{
    struct words w = {.out = "runs/reproduce"};
    const char *names[PLAN_ITEMS];
    const struct reproduce_item *items[PLAN_ITEMS];
    struct session *s = calloc(1, sizeof *s);
    char again[4000];
    int n = 0, count = 0;
    const struct args_flag flags[] = {
        {"--seeds", "LIST", "3, 0,5 or 0..9 (default: 1 for fig-gmm, 3 for the others)", .text = &w.seeds},
        {"--steps", "N", "as the paper counts them (default: 20k fig-gmm, 30k fig-maze, else 250k)",
         .text = &w.steps},
        {"--preset", "P", "default, or paper, which is slow", .text = &w.preset},
        {"--tasks", "T,...", "only these", .text = &w.tasks},
        {"--algos", "A,...", "only these", .text = &w.algos},
        {"--full", NULL, "fig-maze in the paper's maze, 250k steps", .on = &w.full},
        {"--set", "KEY=VALUE", "any other option, for the algorithms that have it; may be repeated",
         .list = &w.set},
        {"--out", "DIR", "where runs, tables and figures go (runs/reproduce)", .text = &w.out},
        {"--from", "DIR", "train nothing: judge the runs below DIR; may be repeated", .list = &w.from},
        {"--jobs", "N", "runs at a time (default: the cores)", .text = &w.jobs},
        {"--retries", "N", "how often a run that failed is tried again (1)", .text = &w.retries},
        {"--dry-run", NULL, "print what there is to do and what it costs, and end", .on = &w.dry_run},
        {"--yes", NULL, "also what takes days: DQS with the preset paper", .on = &w.yes},
        {"--json", NULL, "one JSON object on stdout, everything else on stderr", .on = &w.json},
        {"--quiet", NULL, "no progress, only the result", .on = &w.quiet},
        {0},
    };
    const struct args_spec spec = {.verb = "reproduce",
                                   .usage = "table1|table2|fig-gmm|fig-dmc|fig-maze|all [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = PLAN_ITEMS,
                                   .settings = true};
    if (!s)
        return complain(EXIT_FAILED, "reproduce: out of memory");
    s->w = &w;
    s->again = again;
    s->retries = 1;
    args_again(again, sizeof again, argc, argv);
    int code = args_parse(&spec, argc, argv, names, &n);
    if (code < 0 && ((w.jobs && !args_long("--jobs", w.jobs, 1, 1024, &s->jobs)) ||
                     (w.retries && !args_long("--retries", w.retries, 0, 1000, &s->retries))))
        code = EXIT_USAGE;
    if (code < 0 && w.from.count > 0 && (w.dry_run || w.steps || w.seeds || w.preset || w.set.count))
        code =
            complain(EXIT_USAGE,
                     "reproduce: --from takes the runs as they are; leave out what says how to train them");
    if (code < 0)
        code = find_items(names, n, items, &count);
    if (code < 0)
        code = reproduce(s, items, count);
    args_list_free(&w.set);
    args_list_free(&w.from);
    free(s);
    return code;
}
