/* cmd_sweep: dqs sweep. */
#define _GNU_SOURCE
#include "args.h"
#include "cmd.h"
#include "drive_sweep.h"
#include "terminal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct words {
    const char *out, *seeds, *steps, *jobs, *retries, *lease;
    const char *tasks, *cpus, *partition, *time, *notice;
    struct args_list set, sbatch;
    bool dry_run, status, json, quiet, slurm, worker;
};

static const char about[] =
    "Trains every run of a grid: the tasks, algorithms, seeds and option values that FILE\n"
    "lists (docs/lab.md; FILE may also be the folder of a sweep). Each run is a process\n"
    "with one thread and a folder OUT/TASK/ALGO/VARIANT-sSEED of its own, so a crash costs\n"
    "one run. Stop it as you like, even with kill -9, and start it again: it goes on where\n"
    "every run stood, to the same results. Several processes, also on other machines that\n"
    "share the folder, may work on one sweep: they take runs by lease.\n"
    "With --slurm the same file becomes a job array.";

static const char examples[] =
    "  dqs sweep examples/sweeps/small.yaml\n"
    "  dqs sweep examples/sweeps/small.yaml --jobs 2 --steps 3000\n"
    "  dqs sweep examples/sweeps/small.yaml --status\n"
    "  dqs sweep examples/sweeps/table1.yaml --seeds 2 --set algos=dqs --dry-run\n"
    "  dqs sweep examples/sweeps/table1.yaml --slurm --tasks 64 --time 4:00:00 --partition cpu\n";

static dqs_status set_pair(struct sweep_spec *spec, const char *pair, dqs_error *error)
{
    char key[128];
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof key) {
        error->status = DQS_E_USAGE;
        snprintf(error->message, sizeof error->message,
                 "--set %.100s: write it as key=value or key=value,value", pair);
        return DQS_E_USAGE;
    }
    snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
    return sweep_set(spec, key, equals + 1, error);
}

static dqs_status override(struct sweep_spec *spec, const struct words *w, dqs_error *error)
{
    const struct {
        const char *key, *value;
    } flags[] = {{"out", w->out}, {"seeds", w->seeds}, {"steps", w->steps}};
    dqs_status status = DQS_OK;
    for (size_t i = 0; status == DQS_OK && i < sizeof flags / sizeof *flags; i++)
        if (flags[i].value)
            status = sweep_set(spec, flags[i].key, flags[i].value, error);
    for (int i = 0; status == DQS_OK && i < w->set.count; i++)
        status = set_pair(spec, w->set.items[i], error);
    return status;
}

/* ---------------------------------------------------------------- without working */

static void print_plan(const struct sweep_plan *plan, const struct sweep_state *states)
{
    char word[1200];
    for (int i = 0; i < plan->count; i++) {
        struct arena arena = {0};
        if (states[i].phase == SWEEP_DONE) {
            printf("# done: %s\n", plan->runs[i].folder);
            continue;
        }
        char **words = sweep_command(&arena, program_name(), &plan->runs[i], &states[i]);
        for (int k = 0; words[k]; k++) {
            format_shell_word(word, sizeof word, words[k]);
            printf("%s%s", k ? " " : "", word);
        }
        putchar('\n');
        arena_free(&arena);
    }
}

static int slurm(const struct words *w, const struct drive_sweep *d, const struct sweep_slurm *s)
{
    char job[200];
    dqs_error error = {.status = DQS_OK};
    if (w->dry_run) {
        char *script = sweep_slurm_script(s);
        if (!script)
            return complain(EXIT_FAILED, "sweep: the job script cannot be written: out of memory");
        fputs(script, stdout);
        free(script);
        return EXIT_OK;
    }
    dqs_status status = drive_sweep_record(d, &error);
    if (status == DQS_OK)
        status = sweep_slurm_submit(s, job, sizeof job, &error);
    if (status != DQS_OK)
        return complain_error(&error);
    printf("submitted job %s: %d task%s for %d run%s in %s\n", job, s->tasks, s->tasks == 1 ? "" : "s",
           d->plan->count, d->plan->count == 1 ? "" : "s", d->plan->out);
    printf("look at it: %s sweep %s --status; squeue -j %s\n", program_name(), d->plan->out, job);
    return EXIT_OK;
}

static int submit(const struct words *w, const struct drive_sweep *d)
{
    char folder[1100], name[200], here[1000] = "";
    long tasks = d->plan->count < 1000 ? d->plan->count : 1000, cpus = 1, notice = 120;
    if ((w->tasks && !args_long("--tasks", w->tasks, 1, 100000, &tasks)) ||
        (w->cpus && !args_long("--cpus", w->cpus, 1, 1024, &cpus)) ||
        (w->notice && !args_long("--notice", w->notice, 0, 65535, &notice)))
        return EXIT_USAGE;
    if (d->plan->out[0] != '/' && !getcwd(here, sizeof here))
        return complain(EXIT_FAILED, "sweep: the working folder has no name");
    snprintf(folder, sizeof folder, "%s%s%s", here, here[0] ? "/" : "", d->plan->out);
    const char *slash = strrchr(d->plan->out, '/');
    snprintf(name, sizeof name, "dqs-%.150s", slash ? slash + 1 : d->plan->out);
    char *grid = sweep_write(d->spec);
    if (!grid)
        return complain(EXIT_FAILED, "sweep: out of memory");
    struct sweep_slurm s = {.program = d->work.program,
                            .job_name = name,
                            .folder = folder,
                            .grid = grid,
                            .partition = w->partition,
                            .time = w->time,
                            .tasks = (int)tasks,
                            .cpus = (int)cpus,
                            .retries = d->work.retries,
                            .patience = (int)d->work.patience,
                            .notice = (int)notice,
                            .extra = w->sbatch.items,
                            .n_extra = w->sbatch.count};
    int code = slurm(w, d, &s);
    free(grid);
    return code;
}

/* ---------------------------------------------------------------- the verb */

static int carry_out(const struct words *w, struct drive_sweep *d)
{
    if (w->status || w->dry_run)
        for (int i = 0; i < d->plan->count; i++)
            sweep_look(&d->states[i], &d->plan->runs[i], d->work.retries, d->work.patience);
    if (w->dry_run && !w->json) {
        print_plan(d->plan, d->states);
        fprintf(stderr, "%d runs in %s\n", d->plan->count, d->plan->out);
    }
    if (w->slurm)
        return submit(w, d);
    if ((w->status || w->dry_run) && w->json)
        sweep_print_json(d->plan, d->states, d->work.jobs);
    else if (w->status)
        sweep_print_table(d->plan, d->states, d->work.jobs);
    return w->status || w->dry_run ? EXIT_OK : drive_sweep(d);
}

static int sweep(const char *file, const struct words *w, long jobs, long retries, long patience)
{
    struct sweep_spec spec = {0};
    struct sweep_plan plan = {0};
    dqs_error error = {.status = DQS_OK};
    dqs_status status = sweep_read_file(&spec, file, &error);
    if (status == DQS_OK)
        status = override(&spec, w, &error);
    if (status == DQS_OK)
        status = sweep_plan(&plan, &spec, &error);
    if (status == DQS_OK && w->dry_run)
        status = sweep_check(&plan, &error);
    int code = status == DQS_OK ? EXIT_OK : complain_error(&error);
    if (status == DQS_OK) {
        struct drive_sweep d = {
            .spec = &spec, .plan = &plan, .again = file, .json = w->json, .quiet = w->quiet};
        d.worker = w->worker;
        code =
            drive_sweep_begin(&d, (int)jobs, (int)retries, (double)patience) ? carry_out(w, &d) : EXIT_FAILED;
        drive_sweep_end(&d);
    }
    sweep_plan_free(&plan);
    sweep_free(&spec);
    return code;
}

int cmd_sweep(int argc, char **argv)
{
    struct words w = {.out = NULL};
    const char *file;
    long jobs = 0, retries = 1, patience = LEASE_PATIENCE;
    const struct args_flag flags[] = {
        {"--jobs", "N", "runs at a time (default: the cores)", .text = &w.jobs},
        {"--seeds", "LIST", "instead of the file's: 3, 0,5 or 0..9", .text = &w.seeds},
        {"--steps", "N", "instead of the file's", .text = &w.steps},
        {"--set", "KEY=VALUES", "any option, one value or several; may be given many times", .list = &w.set},
        {"--out", "DIR", "where the runs go (default: the file's `out`, or runs/NAME)", .text = &w.out},
        {"--retries", "N", "how often a run that failed is tried again (1)", .text = &w.retries},
        {"--lease", "SECONDS", "silence after which a run of another machine is taken over (120)",
         .text = &w.lease},
        {"--status", NULL, "print how every run stands, and end", .on = &w.status},
        {"--dry-run", NULL, "print the commands (with --slurm also the job script), and end",
         .on = &w.dry_run},
        {"--slurm", NULL, "submit a job array instead of working here", .on = &w.slurm},
        {"--tasks", "N", "of the job array (default: one for each run, at most 1000)", .text = &w.tasks},
        {"--cpus", "N", "of a task, and its runs at a time (1)", .text = &w.cpus},
        {"--partition", "P", "handed to sbatch", .text = &w.partition},
        {"--time", "T", "time limit of a task, handed to sbatch", .text = &w.time},
        {"--notice", "SECONDS", "how long before the time limit a task stops and queues again (120)",
         .text = &w.notice},
        {"--sbatch", "WORD", "any option of sbatch: --sbatch=--mem=4G; may be given many times",
         .list = &w.sbatch},
        {"--worker", NULL, "what the tasks do: take what is free, end when nothing is", .on = &w.worker},
        {"--json", NULL, "one JSON object on stdout, everything else on stderr", .on = &w.json},
        {"--quiet", NULL, "no progress, only the result", .on = &w.quiet},
        {0},
    };
    const struct args_spec spec = {.verb = "sweep",
                                   .usage = "FILE [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = 1,
                                   .settings = true};
    int code = args_parse(&spec, argc, argv, &file, NULL);
    if (code < 0 && ((w.jobs && !args_long("--jobs", w.jobs, 1, 1024, &jobs)) ||
                     (w.retries && !args_long("--retries", w.retries, 0, 1000, &retries)) ||
                     (w.lease && !args_long("--lease", w.lease, 1, 86400, &patience))))
        code = EXIT_USAGE;
    if (code < 0 && w.status && w.slurm)
        code = complain(EXIT_USAGE, "sweep: --status and --slurm exclude each other");
    if (code < 0)
        code = sweep(file, &w, jobs, retries, patience);
    args_list_free(&w.set);
    args_list_free(&w.sbatch);
    return code;
}
