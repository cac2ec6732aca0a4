/* Reading a run folder for its pictures. Nothing in the files is trusted. */
#include "plot_data.h"
#include "config.h"
#include "file.h"
#include "number.h"
#include "safetensors.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static dqs_status join(char *path, size_t size, const char *folder, const char *file, dqs_error *error)
{
    if ((size_t)snprintf(path, size, "%s/%s", folder, file) >= size)
        return fail(error, DQS_E_USAGE, "%s: the path is too long; try a shorter one", folder);
    return DQS_OK;
}

/* ---------------------------------------------------------------- tables */
static int count_char(const char *text, const char *end, char what)
{
    int n = 0;
    for (; text < end; text++)
        n += *text == what;
    return n;
}

/* Cuts the field at *place, which ends at a comma or at the end of its line. */
static char *cut_field(char **place)
{
    char *field = *place, *end = field + strcspn(field, ",");
    *place = *end ? end + 1 : end;
    *end = 0;
    return field;
}

/* Ends the line at *place and returns it; NULL when no whole line is left. */
static char *cut_line(char **place)
{
    char *line = *place, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *place = end + 1;
    *end = 0;
    if (end > line && end[-1] == '\r')
        end[-1] = 0;
    return line;
}

static dqs_status parse_row(struct plot_table *table, int capacity, char *line, const char *path,
                            int line_number, dqs_error *error)
{
    for (int k = 0; k < table->columns; k++) {
        double value = NAN;
        const char *field = cut_field(&line);
        if (*field && !number_read(field, &value) && strcmp(field, "nan") != 0)
            return fail(error, DQS_E_FORMAT,
                        "%s, line %d, column %s: \"%.40s\" is not a number; mend or remove the line", path,
                        line_number, table->names[k], field);
        table->values[(size_t)k * (size_t)capacity + (size_t)table->rows] = value;
    }
    table->rows++;
    return DQS_OK;
}

dqs_status plot_table_parse(struct plot_table *table, struct arena *arena, char *text, size_t size,
                            const char *path, dqs_error *error)
{
    *table = (struct plot_table){0};
    if (size > INT_MAX)
        return fail(error, DQS_E_FORMAT, "%s: too large for a table of numbers", path);
    int capacity = count_char(text, text + size, '\n'), line_number = 1;
    char *line = cut_line(&text);
    if (!line)
        return DQS_OK; /* empty: the run has only begun */
    table->columns = 1 + count_char(line, line + strlen(line), ',');
    /* A cell needs its comma, so a table has no more of them than the file has bytes; empty lines cost a
     * little. */
    if ((size_t)table->columns * (size_t)capacity > 16 * size + 65536)
        return fail(error, DQS_E_FORMAT, "%s: most rows are shorter than its header; not a table of a run",
                    path);
    table->names = arena_new(arena, char *, table->columns);
    for (int k = 0; k < table->columns; k++) {
        const char *name = cut_field(&line);
        table->names[k] = strcpy(arena_new(arena, char, strlen(name) + 1), name);
    }
    table->values = arena_new(arena, double, (size_t)table->columns *(size_t)capacity);
    while ((line = cut_line(&text))) {
        line_number++;
        if (*line)
            TRY(parse_row(table, capacity, line, path, line_number, error));
    }
    for (int k = 1; k < table->columns; k++) /* close the columns up to `rows` numbers each */
        memmove(table->values + (size_t)k * (size_t)table->rows, table->values + (size_t)k * (size_t)capacity,
                sizeof(double) * (size_t)table->rows);
    return DQS_OK;
}

dqs_status plot_table_read(struct plot_table *table, struct arena *arena, const char *folder,
                           const char *file, dqs_error *error)
{
    char path[1024];
    char *text;
    size_t size;
    *table = (struct plot_table){0};
    TRY(join(path, sizeof path, folder, file, error));
    if (!file_exists(path))
        return DQS_OK;
    TRY(file_read(path, &text, &size, error));
    dqs_status status = plot_table_parse(table, arena, text, size, path, error);
    free(text);
    return status;
}

const double *plot_column(const struct plot_table *table, const char *name)
{
    for (int k = 0; k < table->columns; k++)
        if (strcmp(table->names[k], name) == 0)
            return table->values + (size_t)k * (size_t)table->rows;
    return NULL;
}

/* ---------------------------------------------------------------- config.yaml */
static void take_pair(void *user, const char *key, const char *value)
{
    struct plot_data *d = user;
    const struct {
        const char *key;
        char *text;
        size_t size;
    } wanted[] = {{"env", d->env, sizeof d->env},
                  {"algo", d->algo, sizeof d->algo},
                  {"preset", d->preset, sizeof d->preset},
                  {"seed", d->seed, sizeof d->seed},
                  {"eval_seed", d->eval_seed, sizeof d->eval_seed},
                  {"env_options", d->env_options, sizeof d->env_options}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(key, wanted[i].key) == 0)
            snprintf(wanted[i].text, wanted[i].size, "%s", value);
}

static dqs_status read_config(struct plot_data *data, const char *run_dir, dqs_error *error)
{
    char path[1024];
    char *text;
    size_t size;
    TRY(join(path, sizeof path, run_dir, "config.yaml", error));
    if (!file_exists(path))
        return fail(error, DQS_E_IO,
                    "%s: not a run folder, it has no config.yaml; try the folder that `dqs train` printed",
                    run_dir);
    TRY(file_read(path, &text, &size, error));
    dqs_status status = config_scan(text, size, path, take_pair, data, error);
    free(text);
    if (status == DQS_OK && (!data->env[0] || !data->algo[0]))
        return fail(error, DQS_E_FORMAT, "%s: has no line `%s: ...`; the file is damaged", path,
                    data->env[0] ? "algo" : "env");
    return status;
}

/* ---------------------------------------------------------------- trace.safetensors */
struct trace_reader {
    const struct safetensors *file;
    struct arena *arena;
    const char *path;
};

/* A copy of the tensor, aligned; NULL (with the reason in *error) if it is absent or not of that form. */
static void *take(const struct trace_reader *r, const char *name, enum visit_type type, int rank,
                  dqs_error *error)
{
    const struct safetensors_tensor *t = safetensors_find(r->file, name);
    if (!t || t->type != type || t->rank != rank) {
        fail(error, DQS_E_FORMAT, "%s: tensor %s is missing or not %s of rank %d; try: dqs eval", r->path,
             name, safetensors_type_name(type), rank);
        return NULL;
    }
    return memcpy(arena_take(r->arena, t->bytes), t->data, t->bytes);
}

static size_t extent(const struct trace_reader *r, const char *name, int axis)
{
    return safetensors_find(r->file, name)->shape[axis];
}

static dqs_status read_episodes(struct plot_data *data, const struct trace_reader *r, dqs_error *error)
{
    const float *obs = take(r, "obs", VISIT_F32, 3, error);
    const int64_t *length = obs ? take(r, "length", VISIT_I64, 1, error) : NULL;
    const double *returns = length ? take(r, "returns", VISIT_F64, 1, error) : NULL;
    if (!returns)
        return DQS_E_FORMAT;
    size_t episodes = extent(r, "obs", 0), stride = extent(r, "obs", 1), obs_dim = extent(r, "obs", 2);
    if (episodes == 0 || stride == 0 || obs_dim == 0 || episodes > INT_MAX || stride > INT_MAX ||
        obs_dim > INT_MAX || extent(r, "length", 0) != episodes || extent(r, "returns", 0) != episodes)
        return fail(error, DQS_E_FORMAT,
                    "%s: obs, length and returns do not agree on the episodes; try: dqs eval", r->path);
    int *steps = arena_new(r->arena, int, episodes);
    for (size_t e = 0; e < episodes; e++) {
        if (length[e] < 0 || (uint64_t)length[e] >= stride)
            return fail(error, DQS_E_FORMAT,
                        "%s: episode %zu has %lld steps, but there is room for %zu; try: dqs eval", r->path,
                        e, (long long)length[e], stride - 1);
        steps[e] = (int)length[e];
    }
    data->trace = (dqs_trace){(int)episodes, (int)obs_dim, (int)stride, obs, steps, returns};
    return DQS_OK;
}

/* The coordinates of the grid along one axis: evenly spaced, so the ends say it all. */
static dqs_status read_axis(struct chart_range *range, const struct trace_reader *r, const char *name,
                            size_t count, dqs_error *error)
{
    const double *at = take(r, name, VISIT_F64, 1, error);
    if (!at)
        return DQS_E_FORMAT;
    if (extent(r, name, 0) != count || !(at[0] < at[count - 1]) || !isfinite(at[count - 1] - at[0]))
        return fail(error, DQS_E_FORMAT, "%s: %s is not the axis of soft_value; try: dqs eval", r->path,
                    name);
    *range = (struct chart_range){at[0], at[count - 1]};
    return DQS_OK;
}

static dqs_status read_soft_value(struct plot_data *data, const struct trace_reader *r, dqs_error *error)
{
    struct chart_field field = {0};
    if (!safetensors_find(r->file, "soft_value"))
        return DQS_OK;
    field.values = take(r, "soft_value", VISIT_F32, 2, error);
    if (!field.values)
        return DQS_E_FORMAT;
    size_t rows = extent(r, "soft_value", 0), columns = extent(r, "soft_value", 1);
    if (rows < 2 || columns < 2 || rows > 4096 || columns > 4096)
        return fail(error, DQS_E_FORMAT, "%s: soft_value of %zu x %zu is not a map; try: dqs eval", r->path,
                    rows, columns);
    TRY(read_axis(&field.x, r, "soft_value_x", columns, error));
    TRY(read_axis(&field.y, r, "soft_value_y", rows, error));
    field.rows = (int)rows;
    field.columns = (int)columns;
    data->value = field;
    return DQS_OK;
}

dqs_status plot_data_read_trace(struct plot_data *data, const char *run_dir, dqs_error *error)
{
    char path[1024];
    TRY(join(path, sizeof path, run_dir, "trace.safetensors", error));
    if (!file_exists(path))
        return DQS_OK;
    struct safetensors file;
    TRY(safetensors_open(path, &file, error));
    struct trace_reader reader = {&file, &data->arena, path};
    dqs_status status = read_episodes(data, &reader, error);
    if (status == DQS_OK)
        status = read_soft_value(data, &reader, error);
    const char *step = safetensors_metadata(&file, "step"), *mode = safetensors_metadata(&file, "mode");
    snprintf(data->step, sizeof data->step, "%s", step ? step : "");
    snprintf(data->mode, sizeof data->mode, "%s", mode ? mode : "");
    safetensors_close(&file);
    return status;
}

/* ---------------------------------------------------------------- all of it */
dqs_status plot_data_read(struct plot_data *data, const char *run_dir, dqs_error *error)
{
    *data = (struct plot_data){0};
    TRY(read_config(data, run_dir, error));
    TRY(plot_table_read(&data->evaluations, &data->arena, run_dir, "evaluations.csv", error));
    return plot_table_read(&data->progress, &data->arena, run_dir, "progress.csv", error);
}

void plot_data_free(struct plot_data *data)
{
    arena_free(&data->arena);
}
