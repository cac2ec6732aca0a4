/* csv_table: one row, one write call. */
#include "csv_table.h"
#include "file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Names may come from plug-ins: nothing in them may break a line or a cell. */
static void clean_name(char out[CSV_NAME_SIZE], const char *name)
{
    size_t i = 0;
    for (; name[i] && i < CSV_NAME_SIZE - 1; i++) {
        unsigned char c = (unsigned char)name[i];
        out[i] = c <= ' ' || c == 127 || c == ',' || c == '"' ? '_' : (char)c;
    }
    out[i] = 0;
}

static int find_column(struct csv_table *table, const char *name)
{
    char clean[CSV_NAME_SIZE];
    clean_name(clean, name);
    for (int i = 0; i < table->count; i++)
        if (!strcmp(table->names[i], clean))
            return i;
    if (table->count == CSV_COLUMNS)
        return -1;
    memcpy(table->names[table->count], clean, sizeof clean);
    return table->count++;
}

/* ---------------------------------------------------------------- writing anew */
static void put_header(const struct csv_table *table, struct file_writer *writer)
{
    for (int i = 0; i < table->count; i++) {
        if (i)
            file_put(writer, ",", 1);
        file_put(writer, table->names[i], strlen(table->names[i]));
    }
    file_put(writer, "\n", 1);
}

/* A row of `columns` cells whose step is at most keep_step. `line` has a newline after its `size` bytes. */
static bool keep_row(const char *line, size_t size, int columns, long keep_step)
{
    int cells = 1;
    for (size_t i = 0; i < size; i++)
        cells += line[i] == ',';
    char *end;
    errno = 0;
    long step = size && line[0] >= '0' && line[0] <= '9' ? strtol(line, &end, 10) : -1;
    return cells == columns && step >= 0 && step <= keep_step && errno == 0 && (*end == ',' || *end == '\n');
}

static void put_rows(struct csv_table *table, struct file_writer *writer, const char *rows, int columns,
                     long keep_step, long most)
{
    const char *newline;
    for (; table->rows < most && (newline = strchr(rows, '\n')); rows = newline + 1) {
        size_t size = (size_t)(newline - rows);
        if (!keep_row(rows, size, columns, keep_step))
            continue;
        table->rows++;
        file_put(writer, rows, size);
        for (int i = columns; i < table->count; i++)
            file_put(writer, ",", 1);
        file_put(writer, "\n", 1);
    }
}

/* Replaces the file by one with the columns known now and those rows of `text` (NULL: none) that are to be
 * kept: `most` at most, none beyond keep_step. */
static dqs_status write_anew(struct csv_table *table, const char *text, int columns, long keep_step,
                             long most, dqs_error *error)
{
    struct file_writer writer;
    TRY(file_begin(&writer, table->file.path, error));
    put_header(table, &writer);
    table->rows = 0;
    const char *newline = text ? strchr(text, '\n') : NULL;
    if (newline)
        put_rows(table, &writer, newline + 1, columns, keep_step, most);
    TRY(file_commit(&writer, error));
    char path[sizeof table->file.path];
    memcpy(path, table->file.path, sizeof path);
    append_close(&table->file);
    TRY(append_open(&table->file, path, 0, error));
    table->written = table->count;
    return DQS_OK;
}

static dqs_status rewrite(struct csv_table *table, long most, dqs_error *error)
{
    char *text;
    size_t size;
    TRY(file_read(table->file.path, &text, &size, error));
    dqs_status status = write_anew(table, text, table->written, LONG_MAX, most, error);
    free(text);
    return status;
}

dqs_status csv_cut(struct csv_table *table, long rows, dqs_error *error)
{
    return table->rows > rows ? rewrite(table, rows, error) : DQS_OK;
}

/* ---------------------------------------------------------------- going on */
static dqs_status read_header(struct csv_table *table, const char *text, const char *step_name,
                              dqs_error *error)
{
    size_t left = strcspn(text, "\n");
    for (;;) {
        size_t size = strcspn(text, ",\n");
        char name[CSV_NAME_SIZE];
        bool fits = size < sizeof name && table->count < CSV_COLUMNS;
        if (fits) {
            memcpy(name, text, size);
            name[size] = 0;
            int before = table->count;
            fits = find_column(table, name) == before;
        }
        if (!fits || strcmp(table->names[0], step_name))
            return fail(error, DQS_E_FORMAT,
                        "%s: its header is not one of ours; move the file away and resume", table->file.path);
        if (size == left)
            return DQS_OK;
        text += size + 1;
        left -= size + 1;
    }
}

static dqs_status go_on(struct csv_table *table, const char *step_name, long keep_step, dqs_error *error)
{
    char *text;
    size_t size;
    TRY(file_read(table->file.path, &text, &size, error));
    dqs_status status;
    if (!memchr(text, '\n', size)) { /* killed before the first header was whole */
        find_column(table, step_name);
        status = write_anew(table, NULL, 0, 0, 0, error);
    } else {
        status = read_header(table, text, step_name, error);
        if (status == DQS_OK)
            status = write_anew(table, text, table->count, keep_step, LONG_MAX, error);
    }
    free(text);
    return status;
}

dqs_status csv_open(struct csv_table *table, const char *path, const char *step_name, long keep_step,
                    dqs_error *error)
{
    table->file.fd = -1;
    table->count = table->written = 0;
    table->rows = 0;
    csv_begin(table);
    if (strlen(path) >= sizeof table->file.path)
        return fail(error, DQS_E_IO, "%.200s...: the path is too long; choose a shorter run folder", path);
    strcpy(table->file.path, path);
    if (keep_step >= 0 && file_exists(path))
        return go_on(table, step_name, keep_step, error);
    find_column(table, step_name);
    return write_anew(table, NULL, 0, 0, 0, error);
}

/* ---------------------------------------------------------------- rows */
void csv_begin(struct csv_table *table)
{
    memset(table->present, 0, sizeof table->present);
    table->overfull = false;
}

void csv_cell(struct csv_table *table, const char *name, double value)
{
    int column = find_column(table, name);
    if (column < 0) {
        table->overfull = true;
    } else if (column > 0) { /* column 0 is the step's */
        table->values[column] = value;
        table->present[column] = true;
    }
}

static size_t format_row(struct csv_table *table, long step)
{
    size_t used = (size_t)snprintf(table->row, sizeof table->row, "%ld", step);
    for (int i = 1; i < table->count; i++) {
        table->row[used++] = ',';
        if (!table->present[i])
            continue;
        number_write(table->row + used, table->values[i]);
        used += strlen(table->row + used);
    }
    table->row[used++] = '\n';
    return used;
}

dqs_status csv_end(struct csv_table *table, long step, dqs_error *error)
{
    if (table->overfull)
        return fail(error, DQS_E_UNSUPPORTED, "%s: more than %d columns; report fewer different names",
                    table->file.path, CSV_COLUMNS);
    if (table->count > table->written || table->file.fd < 0)
        TRY(rewrite(table, LONG_MAX, error));
    TRY(append_record(&table->file, table->row, format_row(table, step), error));
    table->rows++;
    return DQS_OK;
}

void csv_close(struct csv_table *table)
{
    append_close(&table->file);
}
