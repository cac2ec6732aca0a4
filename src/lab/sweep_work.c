/* sweep_work: the hands of a sweep. A few slots, each with a lease on a run and a process that trains it.
 * Nothing is remembered that the folders do not hold, so this process may end at any moment, and others may
 * do the same work beside it. */
#define _GNU_SOURCE
#include "clock.h"
#include "file.h"
#include "sweep_child.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EVERY 0.5    /* seconds between looks at runs of our own */
#define OTHERS_AT_ONCE 50 /* of the other runs, how many are looked at each time */

struct slot {
    int run; /* -1: empty */
    pid_t pid;
    struct lease lease;
    bool asked, killed; /* to stop; with no mercy */
    bool lost;          /* the lease is another's now */
    long step;          /* where it stood at the start */
};

struct worker {
    const struct sweep_work *work;
    const struct sweep_plan *plan;
    struct sweep_state *states;
    struct slot *slots;
    int next_other;     /* the next of the other runs to look at */
    double *not_before; /* of each run: when a try makes sense again */
    double looked, beaten;
};

static void tell(const struct worker *w, enum sweep_event event, int run)
{
    if (w->work->watcher)
        w->work->watcher(w->work->user, event, run, w->plan, w->states);
}

static void forget_failures(const struct sweep_run *run)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/failures.txt", run->folder);
    unlink(path);
}

static void look(struct worker *w, int run)
{
    struct sweep_state *state = &w->states[run];
    const char *folder = w->plan->runs[run].folder;
    sweep_look(state, &w->plan->runs[run], w->work->retries, w->work->patience);
    if (state->phase == SWEEP_DONE && (state->lease.number > 0 || state->failures > 0)) {
        forget_failures(&w->plan->runs[run]); /* a dead sweep's run that came to its end without it */
        lease_clear(folder, &state->lease);
    }
}

static int stop_level(const struct worker *w)
{
    return w->work->stop ? *w->work->stop : 0;
}

/* ---------------------------------------------------------------- tries that end badly */

/* The last line of the log that says something. */
static void last_words(const struct sweep_run *run, char *line, size_t size)
{
    char path[1100], text[4096];
    snprintf(path, sizeof path, "%s/log.txt", run->folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, end > 4095 ? end - 4095 : 0) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    for (size_t k = strlen(text); k > 0 && (text[k - 1] == '\n' || text[k - 1] == ' '); k--)
        text[k - 1] = 0;
    const char *start = strrchr(text, '\n');
    snprintf(line, size, "%s", start ? start + 1 : text);
    for (char *c = line; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == 127 ? ' ' : *c;
}

static void note_failure(const struct sweep_run *run, int status, bool no_progress)
{
    char path[1100], words[200], line[400], how[64];
    last_words(run, words, sizeof words);
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "killed by signal %d", WTERMSIG(status));
    else if (no_progress)
        snprintf(how, sizeof how, "ended without a step");
    else
        snprintf(how, sizeof how, "exit code %d", WEXITSTATUS(status));
    int n = snprintf(line, sizeof line, "%s: %s\n", how, words);
    snprintf(path, sizeof path, "%s/failures.txt", run->folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, line, (size_t)n) != n)
        (void)!ftruncate(fd, 0);
    if (fd >= 0)
        close(fd);
}

/* ---------------------------------------------------------------- starting */

/* Somebody trains in the folder without a lease: `dqs train` by hand, or what a dead sweep left behind. */
static bool in_use(const struct sweep_run *run)
{
    int fd;
    if (file_lock(run->folder, &fd, NULL) != DQS_OK)
        return true;
    close(fd);
    return false;
}

static struct slot *free_slot(struct worker *w)
{
    for (int i = 0; i < w->work->jobs; i++)
        if (w->slots[i].run < 0)
            return &w->slots[i];
    return NULL;
}

static dqs_status start(struct worker *w, struct slot *slot, int index, dqs_error *error)
{
    const struct sweep_run *run = &w->plan->runs[index];
    struct sweep_state *state = &w->states[index];
    struct arena arena = {0};
    char log[1100];
    snprintf(log, sizeof log, "%s/log.txt", run->folder);
    slot->pid = child_start(sweep_command(&arena, w->work->program, run, state), log, error);
    arena_free(&arena);
    if (slot->pid < 0)
        return DQS_E_IO;
    slot->run = index;
    slot->step = state->step;
    slot->asked = slot->killed = slot->lost = false;
    state->ours = true;
    state->phase = SWEEP_RUNNING;
    state->owner[0] = 0;
    tell(w, state->begun ? SWEEP_RESUMED : SWEEP_STARTED, index);
    return DQS_OK;
}

static bool is_open(const struct sweep_state *state)
{
    return state->phase == SWEEP_WAITING || state->phase == SWEEP_STOPPED;
}

/* Takes the run if it is still to be done when the lease is ours. */
static dqs_status try_run(struct worker *w, struct slot *slot, int index, dqs_error *error)
{
    const struct sweep_run *run = &w->plan->runs[index];
    struct sweep_state *state = &w->states[index];
    dqs_error why = {0};
    look(w, index);
    if (!is_open(state))
        return DQS_OK;
    TRY(file_make_folders(run->folder, error));
    if (!lease_take(&slot->lease, run->folder, &state->lease, &why))
        return why.status == DQS_OK ? DQS_OK : fail(error, why.status, "%s", why.message);
    look(w, index); /* others may have worked on it since */
    if (state->done || state->failures > w->work->retries) {
        if (state->done)
            lease_end(&slot->lease);
        else
            lease_release(&slot->lease);
        look(w, index);
        return DQS_OK;
    }
    if (in_use(run)) {
        lease_release(&slot->lease);
        w->not_before[index] = clock_seconds() + 1;
        look(w, index);
        return DQS_OK;
    }
    dqs_status status = start(w, slot, index, error);
    if (status != DQS_OK)
        lease_release(&slot->lease);
    return status;
}

static dqs_status fill_slots(struct worker *w, dqs_error *error)
{
    double now = clock_seconds();
    struct slot *slot = free_slot(w);
    for (int i = 0; slot && i < w->plan->count && !stop_level(w); i++) {
        if (!is_open(&w->states[i]) || w->not_before[i] > now)
            continue;
        TRY(try_run(w, slot, i, error));
        slot = free_slot(w);
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- ending */

static void end_slot(struct worker *w, struct slot *slot, int status)
{
    int index = slot->run;
    const struct sweep_run *run = &w->plan->runs[index];
    struct sweep_state *state = &w->states[index];
    state->ours = false;
    slot->run = -1;
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (slot->lost || slot->asked) {
        lease_release(&slot->lease);
        look(w, index);
        tell(w, state->phase == SWEEP_DONE ? SWEEP_ENDED : SWEEP_PAUSED, index);
        return;
    }
    look(w, index);
    if (good && state->done) {
        forget_failures(run);
        lease_end(&slot->lease);
        look(w, index);
        tell(w, SWEEP_ENDED, index);
        return;
    }
    /* An option such as max_minutes ends a process in good order; it goes on as long as that gets it further.
     * Whoever stops a run by hand, or a cluster that ends all processes, whose signal to us is on its way,
     * did not break it. */
    bool told = WIFSIGNALED(status) ? WTERMSIG(status) == SIGTERM : WEXITSTATUS(status) == 128 + SIGTERM;
    bool further = told || (good && state->step > slot->step);
    w->not_before[index] = clock_seconds() + (told ? 1 : 0);
    if (!further)
        note_failure(run, status, good);
    lease_release(&slot->lease);
    look(w, index);
    tell(w, further ? SWEEP_PAUSED : SWEEP_BROKE, index);
}

static void reap(struct worker *w)
{
    for (int i = 0; i < w->work->jobs; i++) {
        int status;
        if (w->slots[i].run >= 0 && waitpid(w->slots[i].pid, &status, WNOHANG) == w->slots[i].pid)
            end_slot(w, &w->slots[i], status);
    }
}

static int busy_slots(const struct worker *w)
{
    int n = 0;
    for (int i = 0; i < w->work->jobs; i++)
        n += w->slots[i].run >= 0;
    return n;
}

static void pass_on_stop(struct worker *w)
{
    for (int i = 0; i < w->work->jobs; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->run < 0)
            continue;
        if (!slot->asked)
            kill(slot->pid, SIGTERM); /* once: a second signal would make it leave without saving */
        if (stop_level(w) > 1 && !slot->killed)
            slot->killed = kill(slot->pid, SIGKILL) == 0;
        slot->asked = true;
    }
}

/* Seconds between renewals: several fit into the patience of those who watch. */
static double beat(const struct worker *w)
{
    return w->work->patience < 4 * LEASE_BEAT ? w->work->patience / 4 : LEASE_BEAT;
}

static void renew(struct worker *w)
{
    double now = clock_seconds();
    if (now - w->beaten < beat(w))
        return;
    w->beaten = now;
    for (int i = 0; i < w->work->jobs; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->run < 0 || slot->lost || lease_renew(&slot->lease))
            continue;
        slot->lost = true; /* we were silent for so long that another took it: two must not write */
        kill(slot->pid, SIGKILL);
    }
}

/* ---------------------------------------------------------------- the loop */

/* Our own runs each time; the others, whose folders other processes may change, in turns. */
static void look_around(struct worker *w)
{
    double now = clock_seconds();
    if (now - w->looked < LOOK_EVERY)
        return;
    w->looked = now;
    for (int i = 0; i < w->work->jobs; i++)
        if (w->slots[i].run >= 0)
            look(w, w->slots[i].run);
    int most = w->plan->count < OTHERS_AT_ONCE ? w->plan->count : OTHERS_AT_ONCE;
    for (int i = 0; i < most; i++) {
        w->next_other = (w->next_other + 1) % w->plan->count;
        struct sweep_state *state = &w->states[w->next_other];
        if (!state->ours && state->phase != SWEEP_DONE)
            look(w, w->next_other);
    }
    tell(w, SWEEP_TICK, -1);
}

static void rest(void)
{
    const struct timespec pause = {0, 50 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

/* Is there nothing more to do for this process? */
static bool finished(const struct worker *w, double idle_since)
{
    bool open = false, elsewhere = false;
    if (busy_slots(w) > 0)
        return false;
    for (int i = 0; i < w->plan->count; i++) {
        open = open || is_open(&w->states[i]);
        elsewhere = elsewhere || w->states[i].phase == SWEEP_RUNNING;
    }
    if (open)
        return false;
    /* A dead owner on another machine is only known by its silence. */
    return !elsewhere || (w->work->until_idle && clock_seconds() - idle_since > w->work->patience + beat(w));
}

static dqs_status run_all(struct worker *w, dqs_error *error)
{
    double idle_since = clock_seconds();
    for (;;) {
        reap(w);
        if (stop_level(w)) {
            pass_on_stop(w);
            if (busy_slots(w) == 0)
                return fail(error, DQS_STOPPED, "stopped; start it again to go on");
        } else {
            TRY(fill_slots(w, error));
        }
        renew(w);
        if (busy_slots(w) > 0)
            idle_since = clock_seconds();
        look_around(w);
        if (!stop_level(w) && finished(w, idle_since))
            return DQS_OK;
        rest();
    }
}

/* After an error of our own the children are stopped in good order too. */
static void wind_up(struct worker *w)
{
    while (busy_slots(w) > 0) {
        pass_on_stop(w);
        reap(w);
        rest();
    }
}

dqs_status sweep_work(const struct sweep_work *work, const struct sweep_plan *plan,
                      struct sweep_state *states, dqs_error *error)
{
    struct worker w = {.work = work, .plan = plan, .states = states};
    w.slots = calloc((size_t)work->jobs, sizeof *w.slots);
    w.not_before = calloc((size_t)plan->count + 1, sizeof *w.not_before);
    dqs_status status = w.slots && w.not_before ? DQS_OK : fail(error, DQS_E_MEMORY, "sweep: out of memory");
    for (int i = 0; status == DQS_OK && i < work->jobs; i++)
        w.slots[i].run = -1;
    for (int i = 0; status == DQS_OK && i < plan->count; i++) {
        look(&w, i);
        if (!work->keep_failures && states[i].failures > 0 && states[i].phase != SWEEP_RUNNING) {
            forget_failures(&plan->runs[i]);
            look(&w, i);
        }
    }
    if (status == DQS_OK) {
        tell(&w, SWEEP_TICK, -1);
        status = run_all(&w, error);
        wind_up(&w);
    }
    free(w.slots);
    free(w.not_before);
    return status;
}
