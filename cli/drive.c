/* drive: see drive.h. The first signal asks the run to stop and save, the second leaves at once. */
#define _POSIX_C_SOURCE 200809L
#include "drive.h"
#include "cmd.h"
#include "live.h"
#include "result.h"
#include "sweep_child.h"
#include "terminal.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* A signal handler has no argument of its own: the only mutable globals of the command line. */
static dqs_run *volatile handled_run;
static volatile sig_atomic_t caught, speaks, patient;

static void on_signal(int number)
{
    static const char again[] = "\nstopping after this step; once more to leave without saving\n";
    static const char newline[] = "\n";
    if (caught && patient)
        return;
    if (caught) {
        if (speaks && write(STDERR_FILENO, newline, sizeof newline - 1) < 0)
            _exit(128 + number);
        _exit(128 + number);
    }
    caught = number;
    dqs_run_stop(handled_run);
    if (speaks && write(STDERR_FILENO, again, sizeof again - 1) < 0)
        return;
}

enum { SIGNALS = 4 };
static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

static void signals_take(dqs_run *run, struct sigaction *before, bool terminal)
{
    handled_run = run;
    caught = 0;
    speaks = terminal;
    /* A cluster ends sweep and runs with the same signal, and the sweep passes its own on: these are one
     * wish. */
    patient = getenv(CHILD_OF) != NULL;
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        /* A closed pipe downstream must not cost the run. */
        action.sa_handler = signals[i] == SIGPIPE ? SIG_IGN : on_signal;
        action.sa_flags = SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(signals[i], &action, NULL);
    }
}

/* A run that a sweep started ends with it: nobody would be there to wait for it or to show it. */
static void follow_sweep(dqs_run *run)
{
    const char *sweep = getenv(CHILD_OF);
    if (!sweep)
        return;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != strtol(sweep, NULL, 10)) /* it was gone before we asked */
        dqs_run_stop(run);
}

static void signals_give_back(const struct sigaction *before)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
}

static void hints(const dqs_run *run, bool json)
{
    char name[1100], folder[1100];
    format_shell_word(name, sizeof name, program_name());
    format_shell_word(folder, sizeof folder, dqs_run_dir(run));
    fprintf(json ? stderr : stdout, "pictures: %s plot %s\n", name, folder);
}

/* The loop evaluates at its end; a run that was already complete has to be asked. */
static dqs_status last_evaluation(dqs_run *run, struct live *live, long step, dqs_error *error)
{
    if (live->evaluated && live->evaluation.step == step)
        return DQS_OK;
    return dqs_run_evaluate(run, 0, DQS_ACT_EVALUATE, &live->evaluation, error);
}

int drive_to_end(dqs_run *run, bool json, bool quiet)
{
    struct sigaction before[SIGNALS];
    struct live live;
    dqs_progress progress;
    dqs_error error = {.status = DQS_OK};

    live_begin(&live, run, quiet);
    dqs_run_watch(run, live_watch, &live);
    signals_take(run, before, live.redraw);
    follow_sweep(run);
    dqs_status status = dqs_run_step(run, -1, &error);
    signals_give_back(before);
    dqs_run_watch(run, NULL, NULL);
    live_end(&live);

    dqs_run_progress(run, &progress);
    struct result result = {.run = run, .seconds = progress.seconds, .steps = progress.step};
    /* Over the whole life of the run: the last seconds were spent on evaluation. */
    result.steps_per_second = progress.seconds > 0 ? (double)progress.step / progress.seconds : 0;
    if (status == DQS_STOPPED) {
        result.stopped = true;
        result.evaluation = live.evaluated ? &live.evaluation : NULL;
        result_print(&result, json);
        return caught ? 128 + caught : EXIT_OK; /* an option such as max_minutes may have asked for it */
    }
    if (status == DQS_OK)
        status = last_evaluation(run, &live, progress.step, &error);
    if (status != DQS_OK)
        return complain_error(&error);
    result.evaluation = &live.evaluation;
    if (progress.updates == 0)
        fprintf(stderr,
                "dqs: warning: nothing was learned: no update was made in %ld steps (warmup, n_steps, "
                "updates_per_step); try more --steps\n",
                progress.step);
    if (!quiet)
        hints(run, json);
    result_print(&result, json);
    return EXIT_OK;
}
