/* cmd_ablate: dqs ablate. */
#include "ablate.h"
#include "args.h"
#include "cmd.h"
#include "drive_sweep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words {
    const char *algo, *preset, *seeds, *steps, *out, *jobs, *retries, *measure;
    struct args_list set;
    bool json, quiet;
    const char *again; /* the words that go on */
};

static const char about[] =
    "Trains TASK with each of the values of one option, over some seeds, and tells what the\n"
    "option is worth: the score at the end and along the curve with intervals, return per\n"
    "hour, a table (ablation.md, ablation.csv) and a figure (ablation.png, ablation.svg) in\n"
    "the folder of the runs, runs/ablate/TASK-ALGO-OPTION unless --out says otherwise. The\n"
    "runs are a sweep: stop it as you like and type the same command to go on; more values or\n"
    "seeds later train only what is missing.";

static const char examples[] =
    "  dqs ablate gmm K=4,16,64 --measure mmd\n"
    "  dqs ablate pendulum kappa=0.01,0.02,0.05 --steps 10000 --seeds 5\n"
    "  dqs ablate pendulum estimator=gradient,value,mixture,shifted --set squash=clip\n"
    "  dqs ablate cheetah-run N=3,6,12 --steps 50k --seeds 2 --set eval_every=5000\n"
    "  dqs ablate pendulum lr_actor=1e-4,1e-3 --algo sac --steps 10000\n";

static void warn(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "dqs: warning: %s\n", line);
}

/* ---------------------------------------------------------------- the sweep behind it */

static dqs_status set_pair(struct sweep_spec *spec, const char *pair, dqs_error *error)
{
    char key[128];
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof key) {
        error->status = DQS_E_USAGE;
        snprintf(error->message, sizeof error->message, "%.100s: write it as key=value", pair);
        return DQS_E_USAGE;
    }
    snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
    return sweep_set(spec, key, equals + 1, error);
}

static dqs_status describe(struct sweep_spec *spec, const char *task, const char *option,
                           const struct words *w, dqs_error *error)
{
    const struct {
        const char *key, *value;
    } pairs[] = {
        {"tasks", task}, {"algos", w->algo}, {"preset", w->preset}, {"seeds", w->seeds}, {"steps", w->steps}};
    dqs_status status = DQS_OK;
    for (size_t i = 0; status == DQS_OK && i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].value)
            status = sweep_set(spec, pairs[i].key, pairs[i].value, error);
    for (int i = 0; status == DQS_OK && i < w->set.count; i++)
        status = set_pair(spec, w->set.items[i], error);
    return status == DQS_OK ? set_pair(spec, option, error) : status;
}

/* Nothing but the option and the seeds may vary. */
static int check(const struct sweep_spec *spec, const char *key)
{
    const struct sweep_axis *axis = sweep_axis(spec, key);
    if (!strcmp(key, "tasks") || !strcmp(key, "algos") || !strcmp(key, "seeds") || !strcmp(key, "steps"))
        return complain(EXIT_USAGE, "ablate: %s is not an option to vary here; dqs sweep can", key);
    if (!axis || axis->count < 2)
        return complain(EXIT_USAGE, "ablate: %s needs several values: %s=V1,V2", key, key);
    for (int i = 0; i < spec->n_axes; i++)
        if (&spec->axes[i] != axis && spec->axes[i].count > 1 && strcmp(spec->axes[i].key, "seeds"))
            return complain(EXIT_USAGE,
                            "ablate: %s has several values too; one thing at a time, or dqs sweep",
                            spec->axes[i].key);
    return -1;
}

/* ---------------------------------------------------------------- the result */

static int tell(const struct sweep_plan *plan, const char *key, const struct words *w)
{
    struct ablation ablation = {0};
    struct plot_report files = {0};
    struct document document = {0};
    dqs_error error = {.status = DQS_OK};
    dqs_status status = ablate_read(&ablation, plan, key, w->measure, warn, NULL, &error);
    if (status == DQS_OK)
        status = ablate_write(&ablation, plan->out, &files, &error);
    if (status == DQS_OK) {
        FILE *out = w->json ? stderr : stdout;
        ablate_document(&document, &ablation);
        document_markdown(out, &document);
        for (int i = 0; i < files.count; i++)
            fprintf(out, "%s\n", files.files[i]);
        fflush(out);
        if (w->json) {
            struct json j = {0};
            ablate_json(&j, &ablation);
            puts(j.text);
            json_free(&j);
        }
    }
    document_free(&document);
    ablate_free(&ablation);
    return status == DQS_OK ? EXIT_OK : complain_error(&error);
}

static int train_and_tell(const struct sweep_spec *spec, const struct sweep_plan *plan, const char *key,
                          const struct words *w, long jobs, long retries)
{
    struct drive_sweep d = {.spec = spec, .plan = plan, .words = w->again, .quiet = w->quiet, .aside = true};
    int code = EXIT_FAILED;
    if (drive_sweep_begin(&d, (int)jobs, (int)retries, LEASE_PATIENCE))
        code = drive_sweep(&d);
    bool any = false;
    for (int i = 0; d.states && i < plan->count; i++)
        any = any || d.states[i].phase == SWEEP_DONE;
    drive_sweep_end(&d);
    if (code > EXIT_FAILED || !any)
        return code;
    int told = tell(plan, key, w);
    return told == EXIT_OK ? code : told;
}

static int ablate(const char *task, const char *option, const struct words *w, long jobs, long retries)
{
    char out[1024], key[128];
    struct sweep_spec spec = {0};
    struct sweep_plan plan = {0};
    dqs_error error = {.status = DQS_OK};
    snprintf(key, sizeof key, "%.*s", (int)strcspn(option, "="), option);
    const char *slash = strrchr(task, '/');
    snprintf(out, sizeof out, "runs/ablate/%.200s-%.60s-%s", slash ? slash + 1 : task, w->algo, key);
    sweep_begin(&spec, "ablate", w->out ? w->out : out);
    dqs_status status = describe(&spec, task, option, w, &error);
    int code = status == DQS_OK ? check(&spec, key) : complain_error(&error);
    if (code < 0) {
        status = sweep_plan(&plan, &spec, &error);
        code =
            status == DQS_OK ? train_and_tell(&spec, &plan, key, w, jobs, retries) : complain_error(&error);
    }
    sweep_plan_free(&plan);
    sweep_free(&spec);
    return code;
}

int cmd_ablate(int argc, char **argv)
{
    struct words w = {.algo = "dqs", .seeds = "3", .measure = "mean_reward"};
    const char *words[2];
    char again[4000];
    long jobs = 0, retries = 1;
    const struct args_flag flags[] = {
        {"--algo", "A", "the algorithm ('dqs algos'; default: dqs)", .text = &w.algo},
        {"--preset", "P", "where the other values come from (default)", .text = &w.preset},
        {"--seeds", "LIST", "3, 0,5 or 0..9 (3)", .text = &w.seeds},
        {"--steps", "N", "environment steps of each run", .text = &w.steps},
        {"--set", "KEY=VALUE", "any other option; may be given many times", .list = &w.set},
        {"--measure", "NAME", "a column of evaluations.csv: mean_reward, mmd, success, ...",
         .text = &w.measure},
        {"--out", "DIR", "where the runs, the table and the figure go", .text = &w.out},
        {"--jobs", "N", "runs at a time (default: the cores)", .text = &w.jobs},
        {"--retries", "N", "how often a run that failed is tried again (1)", .text = &w.retries},
        {"--json", NULL, "one JSON object on stdout, everything else on stderr", .on = &w.json},
        {"--quiet", NULL, "no progress, only the result", .on = &w.quiet},
        {0},
    };
    const struct args_spec spec = {.verb = "ablate",
                                   .usage = "TASK OPTION=V1,V2,... [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 2,
                                   .most = 2,
                                   .settings = true};
    args_again(again, sizeof again, argc, argv);
    w.again = again;
    int code = args_parse(&spec, argc, argv, words, NULL);
    if (code < 0 && ((w.jobs && !args_long("--jobs", w.jobs, 1, 1024, &jobs)) ||
                     (w.retries && !args_long("--retries", w.retries, 0, 1000, &retries))))
        code = EXIT_USAGE;
    if (code < 0)
        code = ablate(words[0], words[1], &w, jobs, retries);
    args_list_free(&w.set);
    return code;
}
