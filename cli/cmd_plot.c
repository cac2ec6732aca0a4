/* cmd_plot: dqs plot. */
#include "args.h"
#include "cmd.h"
#include "figure.h"
#include "file.h"
#include "json.h"
#include "plot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Draws what the folders have data for, as PNG and SVG, and prints the file names. Of a run:\n"
    "the learning curve of any task; the samples, density and soft value of gmm; the paths\n"
    "through a maze. Of a folder with runs below it: the learning curves of all methods in a\n"
    "grid of tasks (fig-curves), the mazes of all methods side by side with a table of goals\n"
    "and ways (fig-maze, maze-goals), samples and log partitions on gmm with a table\n"
    "(fig-gmm, gmm-samples). May be used while runs are training.";

static const char examples[] = "  dqs plot runs/gmm/dqs/default-s0\n"
                               "  dqs plot runs/maze-small/dqs/*\n"
                               "  dqs plot runs --out pictures --band ci\n"
                               "  dqs plot runs --tasks cheetah-run,walker-run --algos dqs,sac --x hours\n"
                               "  dqs plot runs/a runs/b --together --out pictures\n";

struct request {
    const char *out, *band, *x, *smooth;
    struct figure_choice choice;
    bool together, json;
    struct json files; /* names, as JSON */
};

static void warn(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "dqs: warning: %s\n", line);
}

/* The index of the word in the list, which ends with NULL; -1 with a complaint. */
static int word_of(const char *flag, const char *word, const char *const *list, const char *all)
{
    for (int i = 0; list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return i;
    complain(EXIT_USAGE, "%s: no '%s'; there are %s", flag, word, all);
    return -1;
}

static bool understand(struct request *r)
{
    static const char *const bands[] = {
        [CURVE_MINMAX] = "minmax", [CURVE_CI] = "ci", [CURVE_NO_BAND] = "none", NULL};
    static const char *const axes[] = {"steps", "hours", NULL};
    int band = word_of("--band", r->band, bands, "minmax, ci and none"),
        x = band < 0 ? -1 : word_of("--x", r->x, axes, "steps and hours");
    long smooth = 0;
    if (band < 0 || x < 0 || (r->smooth && !args_long("--smooth", r->smooth, 0, 1000, &smooth)))
        return false;
    r->choice.rule.band = (enum curve_band)band;
    r->choice.rule.hours = x == 1;
    r->choice.rule.smooth = (int)smooth;
    return true;
}

static bool is_run(const char *folder)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/config.yaml", folder);
    return file_exists(path);
}

/* What was written is listed even if something went wrong afterwards. */
static int tell(struct request *r, const struct plot_report *report, dqs_status status,
                const dqs_error *error)
{
    for (int f = 0; f < report->count; f++) {
        json_string(&r->files, report->files[f]);
        if (!r->json)
            puts(report->files[f]);
    }
    return status == DQS_OK ? EXIT_OK : complain_error(error);
}

static int draw(struct request *r, const char **folders, int n)
{
    struct plot_report *report = calloc(1, sizeof *report); /* too large for a stack */
    int code = report ? EXIT_OK : complain(EXIT_FAILED, "plot: out of memory");
    dqs_error error = {.status = DQS_OK};
    if (r->together && report) {
        dqs_status status =
            figure_all(folders, n, &r->choice, r->out ? r->out : folders[0], report, warn, NULL, &error);
        code = tell(r, report, status, &error);
    }
    for (int i = 0; i < n && report && !r->together; i++) {
        dqs_status status = is_run(folders[i])
                                ? plot_run(folders[i], r->out, report, &error)
                                : figure_all(&folders[i], 1, &r->choice, r->out ? r->out : folders[i], report,
                                             warn, NULL, &error);
        /* One bad folder does not cost the others their pictures. */
        int one = tell(r, report, status, &error);
        code = one != EXIT_OK ? one : code;
    }
    free(report);
    return code;
}

int cmd_plot(int argc, char **argv)
{
    struct request r = {.band = "minmax", .x = "steps"};
    const char **folders = calloc((size_t)argc, sizeof *folders);
    int n = 0;
    if (!folders)
        return complain(EXIT_FAILED, "plot: out of memory");
    const struct args_flag flags[] = {
        {"--out", "DIR", "where to put the pictures (default: the folder itself)", .text = &r.out},
        {"--together", NULL, "all folders, also single runs, as one collection", .on = &r.together},
        {"--tasks", "T,...", "only these tasks, in this order", .text = &r.choice.tasks},
        {"--algos", "A,...", "only these algorithms (or methods: \"dqs K=8\"), in this order",
         .text = &r.choice.algos},
        {"--seeds", "S,...", "only these seeds", .text = &r.choice.seeds},
        {"--band", "B", "around the mean over seeds: minmax (default), ci (95 % bootstrap) or none",
         .text = &r.band},
        {"--x", "X", "along x: steps (default) or hours of training", .text = &r.x},
        {"--smooth", "N", "running mean over N evaluations (default: none)", .text = &r.smooth},
        {"--json", NULL, "the file names as one line of JSON", .on = &r.json},
        {0},
    };
    const struct args_spec spec = {.verb = "plot",
                                   .usage = "DIR... [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = argc};
    int code = args_parse(&spec, argc, argv, folders, &n);
    if (code < 0 && r.out && n > 1 && !r.together)
        code = complain(EXIT_USAGE, "plot: --out takes one folder, or several --together; the pictures of "
                                    "several would collide");
    if (code < 0 && !understand(&r))
        code = EXIT_USAGE;
    for (int i = 0; i < n && code < 0 && !r.together; i++)
        if (is_run(folders[i]) && (r.choice.tasks || r.choice.algos || r.choice.seeds || r.smooth))
            code = complain(EXIT_USAGE,
                            "plot: %s is a single run, of which --tasks, --algos, --seeds and --smooth "
                            "choose nothing; leave them out, or add --together",
                            folders[i]);
    if (code < 0) {
        json_open(&r.files, '[');
        code = draw(&r, folders, n);
        json_close(&r.files, ']');
        if (r.json)
            puts(r.files.text);
        json_free(&r.files);
    }
    free(folders);
    return code;
}
