/* sweep_slurm: a sweep as a job array. Every task is the same worker: it takes runs by lease until none is
 * left. Ahead of its time limit Slurm sends it SIGUSR1: it stops its runs with their checkpoints and goes
 * back into the queue. A task that is preempted, or whose node dies, is queued again by Slurm itself
 * (--requeue) and goes on the same way. */
#define _GNU_SOURCE
#include "file.h"
#include "process.h"
#include "sweep.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A program of Slurm's to its end. */
static dqs_status ask(const char *const *words, char *output, size_t size, dqs_error *error)
{
    int code = process_run(words, output, size);
    for (size_t n = strlen(output); n > 0 && (output[n - 1] == '\n' || output[n - 1] == ' '); n--)
        output[n - 1] = 0;
    if (code == PROCESS_ABSENT)
        return fail(error, DQS_E_IO, "%s: cannot be run; is it installed?", words[0]);
    if (code != 0)
        return fail(error, DQS_E_IO, "%s failed: %.300s", words[0], output[0] ? output : "it said nothing");
    return DQS_OK;
}

/* A word of a shell command, quoted so that it is one. */
static void put_word(FILE *out, const char *word)
{
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

/* Slurm reads these lines by itself, not by a shell: double quotes keep spaces together. */
static void put_option(FILE *out, const char *option, const char *value)
{
    const char *quote = strpbrk(value, " '\t") ? "\"" : "";
    fprintf(out, "#SBATCH %s%s%s%s\n", option, quote, value, quote);
}

static void put_number(FILE *out, const char *option, int value)
{
    fprintf(out, "#SBATCH %s%d\n", option, value);
}

/* Several sweeps may share a folder, whose sweep.yaml is the last one's: tasks that start later must not
 * follow that. */
static void grid_path(char *path, size_t size, const struct sweep_slurm *s)
{
    snprintf(path, size, "%.1050s/slurm/grid-%08x.yaml", s->folder,
             (unsigned)file_crc32(0, s->grid, strlen(s->grid)));
}

char *sweep_slurm_script(const struct sweep_slurm *s)
{
    char *text = NULL, here[PATH_MAX], log[1200], grid[1200];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out || !getcwd(here, sizeof here))
        return NULL;
    snprintf(log, sizeof log, "%.1100s/slurm/%%A_%%a.log", s->folder);
    fputs("#!/bin/sh\n", out);
    put_option(out, "--job-name=", s->job_name);
    fprintf(out, "#SBATCH --array=0-%d\n", s->tasks - 1);
    put_number(out, "--cpus-per-task=", s->cpus);
    if (s->partition)
        put_option(out, "--partition=", s->partition);
    if (s->time)
        put_option(out, "--time=", s->time);
    for (int i = 0; i < s->n_extra; i++)
        put_option(out, "", s->extra[i]);
    put_option(out, "--chdir=", here);
    put_option(out, "--output=", log);
    fputs("#SBATCH --open-mode=append\n#SBATCH --requeue\n", out);
    put_number(out, "--signal=B:USR1@", s->notice);
    fputs("# The shell becomes the worker, so that signals meet it.\nexec ", out);
    put_word(out, s->program);
    fputs(" sweep ", out);
    grid_path(grid, sizeof grid, s);
    put_word(out, grid);
    fprintf(out, " --worker --jobs %d --retries %d --lease %d\n", s->cpus, s->retries, s->patience);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

dqs_status sweep_slurm_submit(const struct sweep_slurm *s, char *job, size_t size, dqs_error *error)
{
    char folder[1100], path[1200], grid[1200];
    char *text = sweep_slurm_script(s);
    if (!text)
        return fail(error, DQS_E_MEMORY, "sweep: out of memory");
    snprintf(folder, sizeof folder, "%.1050s/slurm",
             s->folder); /* Slurm does not make the folder of its logs */
    snprintf(path, sizeof path, "%s/job.sh", folder);
    dqs_status status = file_make_folders(folder, error);
    if (status == DQS_OK)
        status = file_write_text(path, text, error);
    free(text);
    if (status == DQS_OK) {
        grid_path(grid, sizeof grid, s);
        status = file_write_text(grid, s->grid, error);
    }
    TRY(status);
    const char *const words[] = {"sbatch", "--parsable", path, NULL};
    TRY(ask(words, job, size, error));
    job[strcspn(job, ";\n")] = 0; /* "12;cluster" */
    return DQS_OK;
}

dqs_status sweep_slurm_requeue(dqs_error *error)
{
    char job[200], output[300];
    const char *id = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID"),
               *task = getenv("SLURM_ARRAY_TASK_ID");
    if (!id)
        return fail(error, DQS_E_USAGE, "not inside a Slurm job: start it again to go on");
    /* The last task of an array has the array's own number: by that alone the whole array would be queued
     * again. */
    if (array && task)
        snprintf(job, sizeof job, "%.90s_%.90s", array, task);
    else
        snprintf(job, sizeof job, "%.190s", id);
    const char *const words[] = {"scontrol", "requeue", job, NULL};
    return ask(words, output, sizeof output, error);
}
