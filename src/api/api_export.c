/* api_export: dqs_policy_export: writes a policy in a format, runs what it wrote, and tells how far it is
 * from the library. */
#include "export.h"
#include "file.h"
#include "handles.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 1000 /* to compare at, if nobody says */

/* ---------------------------------------------------------------- names */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    return strlen(name) < EXPORT_NAME_SIZE;
}

static dqs_status choose_name(struct export_job *job, const char *wanted, const char *ending,
                              dqs_error *error)
{
    const char *file = last_part(job->path);
    size_t stem = strlen(file) - strlen(ending);
    if (wanted && !is_identifier(wanted))
        return fail(error, DQS_E_OPTION,
                    "export: the name '%.60s' is no C identifier; use letters, digits and _", wanted);
    if (wanted) {
        snprintf(job->name, sizeof job->name, "%s", wanted);
        return DQS_OK;
    }
    /* arm-2.c becomes arm_2_act */
    snprintf(job->name, sizeof job->name, "%.*s",
             (int)(stem < EXPORT_NAME_SIZE - 2 ? stem : EXPORT_NAME_SIZE - 2), file);
    for (char *c = job->name; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    if (isdigit((unsigned char)job->name[0])) {
        memmove(job->name + 1, job->name, strlen(job->name) + 1);
        job->name[0] = '_';
    }
    return DQS_OK;
}

static dqs_status choose_path(struct export_job *job, const char *path, const struct export_format *format,
                              dqs_error *error)
{
    size_t length = strlen(path), end = strlen(format->ending), stem = strlen(last_part(path));
    char folder[EXPORT_PATH_SIZE];
    if (length >= sizeof job->path - 16)
        return fail(error, DQS_E_USAGE, "export: the path is longer than %d characters",
                    EXPORT_PATH_SIZE - 17);
    if (stem <= end || strcmp(path + length - end, format->ending) != 0)
        return fail(error, DQS_E_USAGE, "%s: a file of format %s ends in %s; name one", path, format->name,
                    format->ending);
    for (const char *c = last_part(path); *c; c++) /* it will stand in an #include, and in a comment */
        if (strchr("\"\\*?", *c) || (unsigned char)*c < ' ')
            return fail(error, DQS_E_USAGE, "%s: a file name with '%c'; use letters, digits, - and _", path,
                        *c);
    snprintf(job->path, sizeof job->path, "%s", path);
    snprintf(folder, sizeof folder, "%.*s", (int)(length - stem), path);
    return *folder ? file_make_folders(folder, error) : DQS_OK;
}

/* What a file says of itself may be anything; in a comment it must stay one. */
static void put_comment(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%.*s", (int)size - 1, *from ? from : "a task of its own");
    for (char *c = to; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_./: ", *c))
            *c = '?';
    for (char *c = to; (c = strstr(c, "//"));)
        *c = '?';
}

/* ---------------------------------------------------------------- scaling */
static dqs_status choose_scale(struct export_job *job, const struct deployed *policy, const dqs_export *how,
                               struct arena *arena, dqs_error *error)
{
    int d = policy->shape.act_dim;
    const float *low = how->act_low ? how->act_low : policy->low,
                *high = how->act_high ? how->act_high : policy->high;
    float *centre = arena_new(arena, float, d), *reach = arena_new(arena, float, d);
    bool box = true;
    if (!low || !high)
        return DQS_OK;
    for (int i = 0; i < d; i++) {
        if (!isfinite(low[i]) || !isfinite(high[i]) || low[i] >= high[i])
            return fail(error, DQS_E_USAGE,
                        "export: action %d has the bounds %g and %g; they must be finite and apart", i,
                        (double)low[i], (double)high[i]);
        centre[i] = 0.5f * (low[i] + high[i]);
        reach[i] = 0.5f * (high[i] - low[i]);
        box = box && low[i] == -1 && high[i] == 1;
    }
    job->centre = box ? NULL : centre;
    job->reach = box ? NULL : reach;
    return DQS_OK;
}

/* ---------------------------------------------------------------- comparing */
static void remove_folder(const char *folder)
{
    static const char *const files[] = {"parity.c", "parity.py", "parity.bin", "parity"};
    char path[EXPORT_PATH_SIZE + 32];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

static dqs_status make_folder(char folder[EXPORT_PATH_SIZE], const char *keep, dqs_error *error)
{
    const char *place = getenv("TMPDIR");
    if (keep) {
        if (strlen(keep) > EXPORT_PATH_SIZE - 64)
            return fail(error, DQS_E_USAGE, "export: the folder to keep has too long a name");
        snprintf(folder, EXPORT_PATH_SIZE, "%s", keep);
        return file_make_folders(folder, error);
    }
    snprintf(folder, EXPORT_PATH_SIZE, "%.900s/dqs-export-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(folder))
        return fail(error, DQS_E_IO, "%s: cannot make a folder for the comparison; set TMPDIR", folder);
    return DQS_OK;
}

static dqs_status compare(struct deployed *policy, const struct export_job *job,
                          const struct export_format *format, const dqs_export *how, struct arena *arena,
                          dqs_parity *parity, dqs_error *error)
{
    struct export_sample sample;
    struct export_outcome outcome = {0};
    char folder[EXPORT_PATH_SIZE];
    int rows = how->obs ? how->rows : ROWS;
    const float *obs = how->obs ? how->obs : export_observations(job->b, rows, arena);
    TRY(export_decide(policy, job, obs, rows, how->mode, arena, &sample, &parity->library_us, error));
    if (parity->decides)
        TRY(export_rounding(policy, obs, rows, how->mode, &parity->rounding, error));
    TRY(make_folder(folder, how->keep, error));
    dqs_status status = format->run(job, &sample, folder, &outcome, error);
    if (!how->keep)
        remove_folder(folder);
    parity->rows = outcome.rows;
    parity->beyond = outcome.beyond;
    parity->most = outcome.most;
    parity->us = outcome.us;
    snprintf(parity->note, sizeof parity->note, "%s", outcome.note);
    return status;
}

static dqs_status export_with(struct deployed *policy, const dqs_export *how, struct arena *arena,
                              dqs_parity *parity, dqs_error *error)
{
    struct blueprint blueprint;
    struct export_job job = {.b = &blueprint, .half = how->weights && strcmp(how->weights, "fp16") == 0};
    const struct export_format *format = export_find(how->format, error);
    if (!format)
        return DQS_E_OPTION;
    if (how->weights && !job.half && strcmp(how->weights, "fp32") != 0)
        return fail(error, DQS_E_OPTION, "export: no weights '%.40s'; there are fp32 and fp16", how->weights);
    if (!policy->algo->describe)
        return fail(error, DQS_E_UNSUPPORTED, "%s: this algorithm cannot be exported", policy->algo->name);
    TRY(policy->algo->describe(policy->self, &blueprint, arena, how->mode, error));
    TRY(choose_path(&job, how->path, format, error));
    TRY(choose_name(&job, how->name, format->ending, error));
    put_comment(job.env, sizeof job.env, policy->env);
    job.repeat = policy->repeat;
    snprintf(job.algo, sizeof job.algo, "%s", policy->algo->name);
    TRY(choose_scale(&job, policy, how, arena, error));
    TRY(export_check(&job, error));
    TRY(format->write(&job, error));
    parity->weights = (long)export_weights(&blueprint);
    parity->decides = blueprint.particles > 1 || blueprint.corrector > 0;
    export_summary(&blueprint, parity->summary, sizeof parity->summary);
    return compare(policy, &job, format, how, arena, parity, error);
}

dqs_status dqs_policy_export(dqs_policy *policy, const dqs_export *how, dqs_parity *parity, dqs_error *error)
{
    dqs_parity nobody_asks;
    struct arena arena = {0};
    NEED(policy, error);
    NEED(how, error);
    NEED(how->format, error);
    NEED(how->path, error);
    parity = parity ? parity : &nobody_asks;
    memset(parity, 0, sizeof *parity);
    if (how->obs && (how->rows < 1 || how->rows > 1000000))
        return fail(error, DQS_E_USAGE, "export: %d observations to compare at; 1 to a million", how->rows);
    dqs_status status = export_with(policy_inside(policy), how, &arena, parity, error);
    arena_free(&arena);
    return status;
}
