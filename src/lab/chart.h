/* chart: a small vocabulary for drawings, over cairo. A picture is one function that draws on a cairo
 * context in points (1/72 inch); the same function is written as PNG (at twice that many pixels) and as SVG.
 * Panels are struct chart_axes: chart_begin, marks in data coordinates, chart_end. Nothing here knows a task
 * or a file of a run. */
#ifndef LAB_CHART_H
#define LAB_CHART_H

#include "status.h"
#include <cairo.h>
#include <stdbool.h>

/* ---------------------------------------------------------------- canvas */
#define CHART_PNG_SCALE 2

typedef void chart_draw(cairo_t *c, double width, double height, const void *context);
/* Each file is written aside and renamed, so a picture is whole or absent. */
dqs_status chart_write_png(const char *path, double width, double height, chart_draw *draw,
                           const void *context, dqs_error *error);
dqs_status chart_write_svg(const char *path, double width, double height, chart_draw *draw,
                           const void *context, dqs_error *error);
/* The SVG as malloc'd text with a 0 at its end, for a page that holds it. Element ids begin with `prefix`, or
 * two pictures on one page would share them; NULL: as cairo has them. */
dqs_status chart_text_svg(char **svg, double width, double height, chart_draw *draw, const void *context,
                          const char *prefix, dqs_error *error);

/* ---------------------------------------------------------------- colours */
struct chart_color {
    double red, green, blue, alpha;
};
enum chart_hue {
    CHART_BLUE,
    CHART_ORANGE,
    CHART_GREEN,
    CHART_PURPLE,
    CHART_RED,
    CHART_TEAL,
    CHART_GREY,
    CHART_HUES
};

struct chart_color chart_hue(int hue, double alpha); /* for categories; wraps around */
struct chart_color chart_ink(double strength);       /* 0 invisible .. 1 the colour of text */
struct chart_color chart_map(double t); /* t in [0,1]: purple, blue, green, yellow, evenly brighter */
double chart_luminance(struct chart_color color); /* CIE Y of the sRGB colour, 0 .. 1 */

/* ---------------------------------------------------------------- axes */
struct chart_box {
    double x, y, width, height; /* points, y downward */
};
struct chart_range {
    double low, high;
};
struct chart_axes {
    struct chart_box box; /* of the data area; labels stand outside */
    struct chart_range x, y;
    const char *title, *note; /* either may be NULL; the note is a lighter line under the title */
    const char *x_label, *y_label;
    bool no_grid, no_x_ticks, no_y_ticks;
};

#define CHART_TICKS 24
struct chart_ticks {
    int count;
    double step, at[CHART_TICKS];
};
/* About `want` multiples of 1, 2, 2.5 or 5 times a power of ten, inside the range. */
void chart_ticks(struct chart_ticks *ticks, struct chart_range range, int want);
/* "0", "-0.25", "2.5k", "3M": as many digits as the step needs. The minus is a real one. */
void chart_tick_label(char *text, int size, double value, double step);
/* The smallest range that holds all finite values; {0,1} if there are none. */
struct chart_range chart_range_of(const double *values, int n);
struct chart_range chart_range_join(struct chart_range a, struct chart_range b);
/* A share of the width more on either side; never empty. */
struct chart_range chart_range_pad(struct chart_range range, double share);

double chart_x(const struct chart_axes *axes, double x); /* data -> points */
double chart_y(const struct chart_axes *axes, double y);
/* Marks between begin (paper, grid) and end (frame, ticks, labels) are clipped to the box. */
void chart_begin(cairo_t *c, const struct chart_axes *axes);
void chart_end(cairo_t *c, const struct chart_axes *axes);
/* Cell (column, row) of a grid of equal boxes inside `area`, with gaps. */
struct chart_box chart_grid_cell(struct chart_box area, int columns, int rows, int column, int row,
                                 double gap_x, double gap_y);

/* ---------------------------------------------------------------- marks, in data coordinates */
/* Not-a-number breaks a line. */
void chart_line(cairo_t *c, const struct chart_axes *axes, const double *x, const double *y, int n,
                struct chart_color color, double width);
void chart_band(cairo_t *c, const struct chart_axes *axes, const double *x, const double *low,
                const double *high, int n, struct chart_color color);
void chart_scatter(cairo_t *c, const struct chart_axes *axes, const double *x, const double *y, int n,
                   struct chart_color color, double radius);
void chart_disc(cairo_t *c, const struct chart_axes *axes, double x, double y, double radius,
                struct chart_color fill, struct chart_color edge); /* radius in data units of x */
/* Adds to the path, for chart_fill: cells filled in one go meet without seams. */
void chart_add_rectangle(cairo_t *c, const struct chart_axes *axes, struct chart_range x,
                         struct chart_range y);
void chart_fill(cairo_t *c, struct chart_color color);
void chart_fill_box(cairo_t *c, struct chart_box box, struct chart_color fill); /* in points */

/* Values on the nodes of a regular grid: row 0 at y.low, column 0 at x.low. */
struct chart_field {
    const float *values; /* rows x columns */
    int columns, rows;
    struct chart_range x, y;
};
struct chart_range chart_field_range(const struct chart_field *field);
/* Values outside the range take its end colours, not-a-number stays paper. */
void chart_heat(cairo_t *c, const struct chart_axes *axes, const struct chart_field *field,
                struct chart_range values);
void chart_color_bar(cairo_t *c, struct chart_box box, struct chart_range values, const char *label);

/* Marching squares: the level lines as chains of points in data coordinates. DQS_OK or DQS_E_MEMORY. */
typedef void chart_chain(void *context, const double *x, const double *y, int n, bool closed);
dqs_status chart_trace_level(const struct chart_field *field, double level, chart_chain *chain,
                             void *context);
void chart_contour(cairo_t *c, const struct chart_axes *axes, const struct chart_field *field, double level,
                   struct chart_color color, double width);

/* ---------------------------------------------------------------- words */
enum chart_align { CHART_LEFT, CHART_CENTRE, CHART_RIGHT };
#define CHART_BOLD 1
#define CHART_MIDDLE 2 /* y is the middle of the letters, not their base line */
/* Returns the width in points. */
double chart_text(cairo_t *c, double x, double y, const char *text, double size, struct chart_color color,
                  enum chart_align align, int flags);
double chart_text_width(cairo_t *c, const char *text, double size, int flags);
/* The size, or a smaller one with which the text keeps to the room. */
double chart_text_size(cairo_t *c, const char *text, double size, int flags, double room);
/* What is to be known of a figure, centred below it: one line, in smaller letters where it is long. */
void chart_footnote(cairo_t *c, double width, double y, const char *text);

enum chart_key_kind { CHART_KEY_LINE, CHART_KEY_BAND, CHART_KEY_DOT };
struct chart_key {
    enum chart_key_kind kind;
    struct chart_color color;
    const char *text;
};
/* On a plate in a corner of the box (0 top left, 1 top right, 2 bottom left, 3 bottom right), or in one row
 * above its right end: -1 at the height of the note, -2 at that of the title. */
void chart_legend(cairo_t *c, struct chart_box box, int corner, const struct chart_key *keys, int n);

/* ---------------------------------------------------------------- series: lines of many methods */
#define CHART_LOOKS 8
/* Safe for the colour-blind, and without any colour by its dashes and its mark. */
struct chart_look {
    struct chart_color color;
    int dash, mark;
};
struct chart_look chart_look(int index); /* >= 0; after CHART_LOOKS colours return with other dashes */
struct chart_color chart_fade(struct chart_color color, double alpha);
void chart_series(cairo_t *c, const struct chart_axes *axes, const double *x, const double *y, int n,
                  const struct chart_look *look, double width);
void chart_mark(cairo_t *c, double x, double y, const struct chart_look *look, double radius); /* in points */

struct chart_look_key {
    struct chart_look look;
    const char *text;
    bool strong;
};
/* Centred rows from the top of the box, as many as its width asks for; returns their height. draw false: only
 * measured. */
double chart_look_legend(cairo_t *c, struct chart_box box, const struct chart_look_key *keys, int n,
                         bool draw);

#endif
