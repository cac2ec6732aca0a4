/* drive_sweep: see drive_sweep.h. The first signal stops the runs with their checkpoints, the second kills
 * them. */
#define _GNU_SOURCE
#include "drive_sweep.h"
#include "clock.h"
#include "cmd.h"
#include "file.h"
#include "terminal.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A signal handler has no argument of its own. */
static volatile int stop_level;
static volatile sig_atomic_t caught, speaks;

static void on_signal(int number)
{
    static const char again[] = "\nstopping: the runs save their state; once more to leave without\n";
    if (stop_level < 2)
        stop_level++;
    if (stop_level == 1 && speaks && write(STDERR_FILENO, again, sizeof again - 1) < 0)
        speaks = 0;
    caught = number;
}

static void take_signals(bool terminal, bool worker)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct sigaction action, before;
    stop_level = 0;
    caught = 0;
    speaks = terminal;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers - !worker; i++) {
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN); /* a closed pipe downstream must not cost the runs */
}

/* The cores that this process may use: fewer than the machine has under taskset or in a job. */
static int cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

bool drive_sweep_begin(struct drive_sweep *d, int jobs, int retries, double patience)
{
    ssize_t n = readlink("/proc/self/exe", d->program, sizeof d->program - 1);
    if (n > 0)
        d->program[n] = 0;
    else
        snprintf(d->program, sizeof d->program, "%s", program_name());
    d->work = (struct sweep_work){.program = d->program,
                                  .jobs = jobs > 0 ? jobs : cores(),
                                  .retries = retries,
                                  .patience = patience,
                                  .until_idle = d->worker,
                                  .keep_failures = d->worker,
                                  .stop = &stop_level};
    d->states = calloc((size_t)d->plan->count + 1, sizeof *d->states);
    if (!d->states)
        complain(EXIT_FAILED, "sweep: out of memory");
    return d->states != NULL;
}

dqs_status drive_sweep_record(const struct drive_sweep *d, dqs_error *error)
{
    char path[1100], *text = sweep_write(d->spec);
    snprintf(path, sizeof path, "%.1000s/sweep.yaml", d->plan->out);
    dqs_status status = sweep_check(d->plan, error);
    if (status == DQS_OK)
        status = file_make_folders(d->plan->out, error);
    if (status == DQS_OK && text)
        status = file_write_text(path, text, error);
    free(text);
    return status;
}

/* ---------------------------------------------------------------- how it ends */

static void print_failures(FILE *out, const struct drive_sweep *d)
{
    for (int i = 0; i < d->plan->count; i++)
        if (d->states[i].phase == SWEEP_FAILED)
            fprintf(out, "failed: %s: %s; its log: %s/log.txt\n", d->plan->runs[i].name, d->states[i].message,
                    d->plan->runs[i].folder);
}

static int close_up(struct drive_sweep *d, dqs_status status, double seconds)
{
    char summary[300], took[32], name[1100], folder[1100];
    struct sweep_count count;
    FILE *out = d->json || d->aside ? stderr : stdout;
    sweep_count(&count, d->plan, d->states, d->work.jobs);
    sweep_summary(summary, sizeof summary, &count);
    format_duration(took, sizeof took, seconds);
    format_shell_word(name, sizeof name, program_name());
    format_shell_word(folder, sizeof folder, d->again ? d->again : d->plan->out);
    print_failures(out, d);
    if (status == DQS_STOPPED)
        fprintf(out, "stopped: %s; to go on: %s %s%s\n", summary, name, d->words ? d->words : "sweep ",
                d->words ? "" : folder);
    else
        fprintf(out, "%s in %s, in %s\n", summary, took, d->plan->out);
    fflush(out);
    if (d->json)
        sweep_print_json(d->plan, d->states, d->work.jobs);
    if (status == DQS_STOPPED)
        return 128 + caught;
    return count.phase[SWEEP_FAILED] > 0 ? EXIT_FAILED : EXIT_OK;
}

/* Told ahead of the time limit, with work left: Slurm would end the task for good. */
static int go_back_to_queue(void)
{
    dqs_error error = {.status = DQS_OK};
    fprintf(stderr, "time is nearly up: back into the queue\n");
    fflush(stderr);
    return sweep_slurm_requeue(&error) == DQS_OK ? EXIT_OK : complain_error(&error);
}

int drive_sweep(struct drive_sweep *d)
{
    struct sweep_view view;
    dqs_error error = {.status = DQS_OK};
    double begin = clock_seconds();
    const char *slash = strrchr(d->plan->out, '/');
    if (!d->worker && drive_sweep_record(d, &error) != DQS_OK)
        return complain_error(&error);
    sweep_view_begin(&view, slash ? slash + 1 : d->plan->out, d->work.jobs, d->work.retries + 1, d->quiet);
    if (!d->quiet)
        fprintf(stderr, "%d runs in %s, %d at a time\n", d->plan->count, d->plan->out, d->work.jobs);
    d->work.watcher = sweep_view_watch;
    d->work.user = &view;
    take_signals(view.redraw, d->worker);
    dqs_status status = sweep_work(&d->work, d->plan, d->states, &error);
    sweep_view_end(&view);
    if (status != DQS_OK && status != DQS_STOPPED)
        return complain_error(&error);
    int code = close_up(d, status, clock_seconds() - begin);
    return status == DQS_STOPPED && caught == SIGUSR1 ? go_back_to_queue() : code;
}

void drive_sweep_end(struct drive_sweep *d)
{
    free(d->states);
    d->states = NULL;
}
