/* figure_table: the numbers beside a figure, as CSV for machines and Markdown for people. */
#ifndef LAB_FIGURE_TABLE_H
#define LAB_FIGURE_TABLE_H

#include "plot_data.h"

#define FIGURE_COLUMNS 20

struct figure_table {
    struct arena *arena;
    int columns, rows, capacity;
    const char *names[FIGURE_COLUMNS];
    bool words[FIGURE_COLUMNS]; /* aligned to the left; numbers to the right */
    const char **cells;         /* rows x columns */
};

/* Names with blanks between them; a name that ends with ':' heads a column of words. */
void figure_table_begin(struct figure_table *table, struct arena *arena, const char *names);
/* Cells from left to right, row by row; a copy is kept. */
void figure_table_text(struct figure_table *table, const char *text);
void figure_table_number(struct figure_table *table, double value); /* exact */
/* name.csv and name.md; nothing if there is no row. */
dqs_status figure_table_write(const struct figure_table *table, const struct plot_target *target,
                              const char *name, const char *title, dqs_error *error);

#endif
