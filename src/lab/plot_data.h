/* plot_data: what the pictures need of a run folder, read once. docs/formats.md describes the files. */
#ifndef LAB_PLOT_DATA_H
#define LAB_PLOT_DATA_H

#include "arena.h"
#include "chart.h"
#include "plot.h"

/* A CSV file of numbers. Values are stored column by column; an empty field is not-a-number. */
struct plot_table {
    int rows, columns; /* 0, 0: there was no file */
    char **names;
    double *values;
};
const double *plot_column(const struct plot_table *table, const char *name); /* rows numbers, or NULL */
/* `file` inside `folder`; a missing file is an empty table. A last line without its line end is left out: the
 * writer may be at work on it. */
dqs_status plot_table_read(struct plot_table *table, struct arena *arena, const char *folder,
                           const char *file, dqs_error *error);
/* The same from a text of `size` bytes and a 0 after them, which is cut to pieces; `path` names it. */
dqs_status plot_table_parse(struct plot_table *table, struct arena *arena, char *text, size_t size,
                            const char *path, dqs_error *error);

struct plot_data {
    struct arena arena;
    /* from config.yaml; empty if absent there */
    char env[1024], algo[64], preset[64], seed[32], eval_seed[32], env_options[256];
    struct plot_table evaluations, progress;
    char step[32], mode[32];  /* from the trace: when and how it was made */
    dqs_trace trace;          /* episodes 0: there was no file */
    struct chart_field value; /* soft value over the plane; columns 0: none */
};
dqs_status plot_data_read(struct plot_data *data, const char *run_dir, dqs_error *error);
/* Reads trace.safetensors into data->trace and data->value. Apart, so that a damaged one does not cost the
 * curve. */
dqs_status plot_data_read_trace(struct plot_data *data, const char *run_dir, dqs_error *error);
void plot_data_free(struct plot_data *data);

/* A kind of picture. */
struct plot_target {
    const char *folder;
    struct plot_report *report;
};
/* Writes folder/name.png and folder/name.svg and lists them in the report. */
dqs_status plot_write(const struct plot_target *target, const char *name, double width, double height,
                      chart_draw *draw, const void *context, dqs_error *error);
/* Writes folder/name.ending and lists it. */
dqs_status plot_write_text(const struct plot_target *target, const char *name, const char *ending,
                           const char *text, dqs_error *error);

typedef dqs_status plot_picture(struct plot_data *data, const struct plot_target *target, dqs_error *error);
plot_picture plot_curve; /* needs a table */
plot_picture plot_gmm;   /* these need the trace */
plot_picture plot_maze;

/* "dqs, preset default, seed 1": where a picture comes from; with_trace adds ", 20000 steps", and the mode of
 * acting if it is not the usual one. */
void plot_origin(const struct plot_data *data, bool with_trace, char *text, int size);
/* A number for people: four digits, a real minus. */
void plot_number(char *text, int size, double value);

#endif
