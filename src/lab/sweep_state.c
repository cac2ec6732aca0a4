/* sweep_state: how a run stands, by its folder alone. Looked at every second for many runs, so of the tables
 * only the first and the last line are read. */
#define _GNU_SOURCE
#include "file.h"
#include "number.h"
#include "sweep.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const sweep_phase_name[SWEEP_PHASES] = {"waiting", "stopped", "running", "failed", "done"};

#define TAIL 16384 /* bytes: a row of 256 columns has less */

/* ---------------------------------------------------------------- ends of files */

static bool path_in(char path[1100], const struct sweep_run *run, const char *file)
{
    return snprintf(path, 1100, "%s/%s", run->folder, file) < 1100;
}

/* Up to `size - 1` bytes from the start (from_end: the end) of a file; how old it is in seconds. */
static size_t read_part(const char *path, char *text, size_t size, bool from_end, double *age)
{
    struct stat about;
    struct timespec now;
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    text[0] = 0;
    if (fd < 0)
        return 0;
    if (fstat(fd, &about) == 0) {
        off_t begin = from_end && about.st_size > (off_t)size - 1 ? about.st_size - (off_t)size + 1 : 0;
        ssize_t n = pread(fd, text, size - 1, begin);
        used = n > 0 ? (size_t)n : 0;
        clock_gettime(CLOCK_REALTIME, &now);
        if (age)
            *age = (double)(now.tv_sec - about.st_mtim.tv_sec);
    }
    close(fd);
    text[used] = 0;
    return used;
}

/* The last line that has its end. NULL: there is none. */
static char *last_line(char *text, size_t size)
{
    char *end = memrchr(text, '\n', size);
    if (!end)
        return NULL;
    *end = 0;
    char *before = memrchr(text, '\n', (size_t)(end - text));
    return before ? before + 1 : text;
}

/* The field of the line `row` that stands where `name` stands in `names`; NaN if it is not there. */
static double field(const char *names, const char *row, const char *name)
{
    double value;
    char text[64];
    size_t length = strlen(name);
    for (;;) {
        size_t n = strcspn(names, ",\n"), m = strcspn(row, ",\n");
        if (n == length && !strncmp(names, name, n) && m < sizeof text) {
            snprintf(text, sizeof text, "%.*s", (int)m, row);
            return number_read(text, &value) ? value : NAN;
        }
        if (names[n] != ',' || row[m] != ',')
            return NAN;
        names += n + 1;
        row += m + 1;
    }
}

struct table_end {
    char names[TAIL], text[TAIL];
    char *row; /* NULL: no rows */
    double age;
};

static void read_table(struct table_end *t, const struct sweep_run *run, const char *file)
{
    char path[1100];
    t->row = NULL;
    t->age = 0;
    if (!path_in(path, run, file))
        return;
    size_t header = read_part(path, t->names, sizeof t->names, false, NULL);
    char *end = memchr(t->names, '\n', header);
    if (!end)
        return;
    *end = 0;
    size_t size = read_part(path, t->text, sizeof t->text, true, &t->age);
    t->row = last_line(t->text, size);
    if (t->row && !strcmp(t->row, t->names))
        t->row = NULL;
}

static void read_tables(struct sweep_state *state, const struct sweep_run *run)
{
    static const double none = NAN;
    struct table_end *t = malloc(sizeof *t);
    state->step = 0;
    state->seconds = 0;
    state->eta = state->eval_mean = none;
    if (!t)
        return;
    read_table(t, run, "evaluations.csv");
    if (t->row)
        state->eval_mean = field(t->names, t->row, "mean_reward");
    read_table(t, run, "progress.csv");
    double step = t->row ? field(t->names, t->row, "time/total_timesteps") : NAN, seconds = NAN, speed = NAN;
    for (int i = 0; i < 8 && t->row && isnan(seconds); i++) { /* rows of evaluations do not tell the time */
        seconds = field(t->names, t->row, "time/time_elapsed");
        speed = field(t->names, t->row, "time/fps");
        t->row = t->row > t->text ? last_line(t->text, (size_t)(t->row - t->text)) : NULL;
    }
    state->step = step >= 0 && step <= 1e15 ? (long)step : 0;
    state->seconds = seconds > 0 ? seconds : 0;
    double left = (double)(run->steps - state->step);
    if (speed > 0 && left >= 0)
        state->eta = fmax(left / speed - t->age, 0);
    free(t);
}

/* ---------------------------------------------------------------- small files */

/* The number of a line `key: number`; NaN if there is none. */
static double line_value(const char *text, const char *key)
{
    double value;
    char number[64];
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, key, length) && line[length] == ':' && line[length + 1] == ' ') {
            snprintf(number, sizeof number, "%.*s", (int)strcspn(line + length + 2, "\n"), line + length + 2);
            return number_read(number, &value) ? value : NAN;
        }
    return NAN;
}

static bool is_done(struct sweep_state *state, const struct sweep_run *run)
{
    char path[1100], text[TAIL];
    state->longer = false;
    if (!path_in(path, run, "DONE") || !read_part(path, text, sizeof text, false, NULL))
        return false;
    double steps = line_value(text, "steps"), mean = line_value(text, "eval_mean");
    if (!(steps >= (double)run->steps)) {
        /* Ended by a limit on updates, or because it was made with fewer steps than the plan has now? */
        path_in(path, run, "config.yaml");
        read_part(path, text, sizeof text, false, NULL);
        state->longer = line_value(text, "steps") < (double)run->steps;
    }
    if (state->longer)
        return false;
    state->step = steps >= 0 && steps <= 1e15 ? (long)steps : 0;
    state->eval_mean = mean;
    return true;
}

/* A line per try that ended badly. */
static void read_failures(struct sweep_state *state, const struct sweep_run *run)
{
    char path[1100], text[TAIL];
    state->failures = 0;
    state->message[0] = 0;
    if (!path_in(path, run, "failures.txt"))
        return;
    size_t size = read_part(path, text, sizeof text, true, NULL);
    for (size_t i = 0; i < size; i++)
        state->failures += text[i] == '\n';
    const char *line = last_line(text, size);
    if (line)
        snprintf(state->message, sizeof state->message, "%s", line);
}

/* ---------------------------------------------------------------- all of it */

void sweep_look(struct sweep_state *state, const struct sweep_run *run, int retries, double patience)
{
    char path[1100];
    bool ours = state->ours;
    lease_look(&state->lease, run->folder, &state->watch, patience);
    read_tables(state, run);
    read_failures(state, run);
    state->begun = path_in(path, run, "checkpoint.safetensors") && file_exists(path);
    state->done = is_done(state, run); /* also says whether it is to be longer */
    snprintf(state->owner, sizeof state->owner, "%s", state->lease.held && !ours ? state->lease.owner : "");
    if (ours || state->lease.held)
        state->phase = SWEEP_RUNNING;
    else if (state->done)
        state->phase = SWEEP_DONE;
    else if (state->failures > retries)
        state->phase = SWEEP_FAILED;
    else
        state->phase = state->begun || state->step > 0 ? SWEEP_STOPPED : SWEEP_WAITING;
    if (state->phase != SWEEP_RUNNING)
        state->eta = NAN;
}

/* Seconds a step: of the run itself, of runs of the same task and algorithm, of any. */
static double pace_of(const struct sweep_plan *plan, const struct sweep_state *states,
                      const struct sweep_run *run)
{
    double like[2] = {0}, all[2] = {0}; /* seconds, steps */
    for (int i = 0; i < plan->count; i++) {
        const struct sweep_run *other = &plan->runs[i];
        if (states[i].step <= 0 || states[i].seconds <= 0)
            continue;
        bool same = !strcmp(other->algo, run->algo) && !strcmp(other->task, run->task);
        double *sums[] = {all, same ? like : NULL};
        for (int k = 0; k < 2 && sums[k]; k++) {
            sums[k][0] += states[i].seconds;
            sums[k][1] += (double)states[i].step;
        }
    }
    return like[1] > 0 ? like[0] / like[1] : all[1] > 0 ? all[0] / all[1] : NAN;
}

void sweep_count(struct sweep_count *count, const struct sweep_plan *plan, const struct sweep_state *states,
                 int jobs)
{
    enum { MANY = 1000 }; /* beyond, one pace for all: the sums below are over all runs, for each run */
    double left = 0, longest = 0, pace = NAN;
    const struct sweep_run *last = NULL;
    *count = (struct sweep_count){.eta = NAN};
    for (int i = 0; i < plan->count; i++) {
        const struct sweep_run *run = &plan->runs[i];
        count->phase[states[i].phase]++;
        if (states[i].phase == SWEEP_DONE || states[i].phase == SWEEP_FAILED)
            continue;
        /* Neighbours in the plan differ in task or algorithm; only then is the pace summed anew. */
        if (!last ||
            (plan->count <= MANY && (strcmp(last->task, run->task) || strcmp(last->algo, run->algo))))
            pace = pace_of(plan, states, run);
        last = run;
        double own = states[i].phase == SWEEP_RUNNING && !isnan(states[i].eta)
                         ? states[i].eta
                         : pace * (double)(run->steps - states[i].step);
        left += own;
        longest = fmax(longest, own);
    }
    int busy = count->phase[SWEEP_RUNNING] > jobs ? count->phase[SWEEP_RUNNING] : jobs;
    if (last && !isnan(left))
        count->eta = fmax(left / (busy > 0 ? busy : 1), longest);
}
