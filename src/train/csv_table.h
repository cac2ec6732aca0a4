/* csv_table: rows of named numbers, the first column a step. Columns may appear at any time: the file is then
 * written anew, atomically, with empty cells for the rows before; otherwise it only grows. */
#ifndef TRAIN_CSV_TABLE_H
#define TRAIN_CSV_TABLE_H

#include "append.h"
#include "number.h"

#define CSV_COLUMNS 256
#define CSV_NAME_SIZE 64

struct csv_table {
    struct append_file file;
    int count, written; /* columns known, columns of the file on disk */
    long rows;          /* whole rows of the file on disk */
    char names[CSV_COLUMNS][CSV_NAME_SIZE];
    double values[CSV_COLUMNS];
    bool present[CSV_COLUMNS];
    bool overfull;
    char row[CSV_COLUMNS * (NUMBER_TEXT_SIZE + 1) + 2];
};

/* `step_name` is the first column's name. keep_step < 0: an empty table, whatever was there. Otherwise an
 * existing file goes on after its last row with step <= keep_step; later rows and broken ones are dropped. */
dqs_status csv_open(struct csv_table *table, const char *path, const char *step_name, long keep_step,
                    dqs_error *error);
/* Only the first `rows` rows stay; more than there are changes nothing. */
dqs_status csv_cut(struct csv_table *table, long rows, dqs_error *error);
void csv_begin(struct csv_table *table);
void csv_cell(struct csv_table *table, const char *name, double value);
dqs_status csv_end(struct csv_table *table, long step,
                   dqs_error *error); /* the row is in the file, or nothing of it */
void csv_close(struct csv_table *table);

#endif
