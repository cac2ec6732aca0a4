/* figure_table: see figure_table.h. */
#include "figure_table.h"
#include "number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *keep(struct arena *arena, const char *text, size_t n)
{
    char *copy = arena_new(arena, char, n + 1);
    memcpy(copy, text, n);
    return copy;
}

void figure_table_begin(struct figure_table *table, struct arena *arena, const char *names)
{
    *table = (struct figure_table){.arena = arena};
    while (*names && table->columns < FIGURE_COLUMNS) {
        size_t n = strcspn(names, " ");
        bool words = n > 0 && names[n - 1] == ':';
        table->words[table->columns] = words;
        table->names[table->columns++] = keep(arena, names, n - words);
        names += n + strspn(names + n, " ");
    }
}

void figure_table_text(struct figure_table *table, const char *text)
{
    int count = table->rows++; /* counts cells until the table is written */
    if (count == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 16 * table->columns;
        const char **more = arena_new(table->arena, const char *, capacity);
        if (count)
            memcpy(more, table->cells, sizeof *more * (size_t)count);
        table->cells = more;
        table->capacity = capacity;
    }
    table->cells[count] = keep(table->arena, text, strlen(text));
}

void figure_table_number(struct figure_table *table, double value)
{
    char text[NUMBER_TEXT_SIZE];
    number_write(text, value);
    figure_table_text(table, isfinite(value) ? text : "");
}

/* ---------------------------------------------------------------- writing */
static void put_csv(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

/* Three decimals are enough for people; a bar would end the cell. */
static void put_markdown(FILE *f, const char *text, bool words)
{
    double value;
    if (!words && number_read(text, &value)) {
        fprintf(f, value == nearbyint(value) ? "%.0f" : "%.3f", value);
        return;
    }
    for (; *text; text++)
        fprintf(f, *text == '|' ? "\\|" : "%c", *text);
}

static void write_csv(FILE *f, const struct figure_table *t, int rows)
{
    for (int r = -1; r < rows; r++)
        for (int k = 0; k < t->columns; k++) {
            put_csv(f, r < 0 ? t->names[k] : t->cells[r * t->columns + k]);
            fputc(k + 1 < t->columns ? ',' : '\n', f);
        }
}

static void write_markdown(FILE *f, const struct figure_table *t, int rows, const char *title)
{
    fprintf(f, "%s\n\n", title);
    for (int r = -2; r < rows; r++) {
        for (int k = 0; k < t->columns; k++) {
            fputs(k ? " | " : "| ", f);
            if (r == -1)
                fputs(t->words[k] ? "---" : "---:", f);
            else if (r == -2)
                for (const char *c = t->names[k]; *c; c++)
                    fputc(*c == '_' ? ' ' : *c, f);
            else
                put_markdown(f, t->cells[r * t->columns + k], t->words[k]);
        }
        fputs(" |\n", f);
    }
}

dqs_status figure_table_write(const struct figure_table *table, const struct plot_target *target,
                              const char *name, const char *title, dqs_error *error)
{
    int rows = table->columns ? table->rows / table->columns : 0;
    for (int kind = 0; kind < 2 && rows > 0; kind++) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        if (!f)
            return fail(error, DQS_E_MEMORY, "%s: out of memory", name);
        if (kind == 0)
            write_csv(f, table, rows);
        else
            write_markdown(f, table, rows, title);
        dqs_status status = fclose(f) == 0 ? plot_write_text(target, name, kind ? "md" : "csv", text, error)
                                           : fail(error, DQS_E_MEMORY, "%s: out of memory", name);
        free(text);
        TRY(status);
    }
    return DQS_OK;
}
