/* Which picture belongs to which task, and the walk over them. */
#include "plot.h"
#include "file.h"
#include "plot_data.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *env;
    plot_picture *draw;
} pictures[] = {
    {"gmm", plot_gmm},
    {"maze", plot_maze},
    {"maze-small", plot_maze},
};

static plot_picture *picture_of(const char *env)
{
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++)
        if (strcmp(pictures[i].env, env) == 0)
            return pictures[i].draw;
    return NULL;
}

/* The path of the next file of the report, which the caller counts once it is written. */
static dqs_status next_path(const struct plot_target *target, const char *name, const char *ending,
                            char **path, dqs_error *error)
{
    struct plot_report *report = target->report;
    size_t size = sizeof report->files[0];
    if (report->count >= PLOT_FILES)
        return fail(error, DQS_E_USAGE, "%s: more than %d files at once; draw fewer tasks", target->folder,
                    PLOT_FILES);
    *path = report->files[report->count];
    if ((size_t)snprintf(*path, size, "%s/%s.%s", target->folder, name, ending) >= size)
        return fail(error, DQS_E_USAGE, "%s: the path is too long for a picture; try a shorter one",
                    target->folder);
    return DQS_OK;
}

dqs_status plot_write(const struct plot_target *target, const char *name, double width, double height,
                      chart_draw *draw, const void *context, dqs_error *error)
{
    char *path = NULL;
    TRY(next_path(target, name, "png", &path, error));
    TRY(chart_write_png(path, width, height, draw, context, error));
    target->report->count++;
    TRY(next_path(target, name, "svg", &path, error));
    TRY(chart_write_svg(path, width, height, draw, context, error));
    target->report->count++;
    return DQS_OK;
}

dqs_status plot_write_text(const struct plot_target *target, const char *name, const char *ending,
                           const char *text, dqs_error *error)
{
    char *path = NULL;
    TRY(next_path(target, name, ending, &path, error));
    TRY(file_write_text(path, text, error));
    target->report->count++;
    return DQS_OK;
}

static int add(char *text, int size, int used, const char *format, const char *value)
{
    if (value[0] && used < size)
        used += snprintf(text + used, (size_t)(size - used), format, value);
    return used;
}

void plot_origin(const struct plot_data *data, bool with_trace, char *text, int size)
{
    int n = add(text, size, 0, "%s", data->algo);
    n = add(text, size, n, ", preset %s", data->preset);
    n = add(text, size, n, ", seed %s", data->seed);
    if (!with_trace)
        return;
    n = add(text, size, n, ", %s steps", data->step);
    if (strcmp(data->mode, "evaluate") != 0)
        add(text, size, n, ", mode %s", data->mode);
}

void plot_number(char *text, int size, double value)
{
    snprintf(text, (size_t)size, "%s%.4g", value < 0 ? "\u2212" : "", value < 0 ? -value : value);
}

static dqs_status draw_all(struct plot_data *data, const char *run_dir, const struct plot_target *target,
                           dqs_error *error)
{
    if (data->evaluations.rows > 0 || data->progress.rows > 0)
        TRY(plot_curve(data, target, error));
    plot_picture *draw = picture_of(data->env);
    if (draw) {
        TRY(plot_data_read_trace(data, run_dir, error));
        if (data->trace.episodes > 0)
            TRY(draw(data, target, error));
    }
    if (target->report->count == 0)
        return fail(error, DQS_E_IO, "%s: nothing to draw yet, no evaluation is recorded; try: dqs eval %s",
                    run_dir, run_dir);
    return DQS_OK;
}

dqs_status plot_run(const char *run_dir, const char *out_dir, struct plot_report *report, dqs_error *error)
{
    struct plot_data data;
    struct plot_target target = {out_dir ? out_dir : run_dir, report};
    report->count = 0;
    dqs_status status = plot_data_read(&data, run_dir, error);
    if (status == DQS_OK && out_dir)
        status = file_make_folders(out_dir, error);
    if (status == DQS_OK)
        status = draw_all(&data, run_dir, &target, error);
    plot_data_free(&data);
    return status;
}
