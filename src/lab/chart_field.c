/* Colours, heat maps and level lines: what a field of values over the plane needs. */
#include "chart.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- colours */
struct chart_color chart_hue(int hue, double alpha)
{
    static const unsigned char rgb[CHART_HUES][3] = {
        [CHART_BLUE] = {45, 108, 178},   [CHART_ORANGE] = {222, 112, 34}, [CHART_GREEN] = {46, 145, 88},
        [CHART_PURPLE] = {132, 90, 176}, [CHART_RED] = {200, 62, 72},     [CHART_TEAL] = {24, 150, 160},
        [CHART_GREY] = {134, 142, 152}};
    const unsigned char *c = rgb[(unsigned)hue % CHART_HUES];
    return (struct chart_color){c[0] / 255.0, c[1] / 255.0, c[2] / 255.0, alpha};
}

struct chart_color chart_ink(double strength)
{
    return (struct chart_color){0.12, 0.15, 0.20, strength};
}

static double gamma_encode(double v)
{
    v = fmin(fmax(v, 0), 1);
    return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

static double gamma_decode(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

double chart_luminance(struct chart_color color)
{
    return 0.2126 * gamma_decode(color.red) + 0.7152 * gamma_decode(color.green) +
           0.0722 * gamma_decode(color.blue);
}

/* Ottosson's Oklab (2020), where equal distances look equally far apart. */
static struct chart_color from_oklab(double L, double a, double b)
{
    double l = pow(L + 0.3963377774 * a + 0.2158037573 * b, 3);
    double m = pow(L - 0.1055613458 * a - 0.0638541728 * b, 3);
    double s = pow(L - 0.0894841775 * a - 1.2914855480 * b, 3);
    return (struct chart_color){gamma_encode(+4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                                gamma_encode(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                                gamma_encode(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s), 1};
}

struct chart_color chart_map(double t)
{
    /* Lightness rises in a straight line; chroma and hue go through these points (degrees). */
    static const struct {
        double chroma, hue;
    } points[] = {{.115, 318}, {.115, 280}, {.095, 225}, {.125, 163}, {.165, 128}, {.185, 106}};
    enum { LAST = sizeof points / sizeof points[0] - 1 };
    t = t >= 0 ? fmin(t, 1) : 0;
    double place = t * LAST;
    int k = place >= LAST ? LAST - 1 : (int)place;
    double u = place - k;
    double chroma = points[k].chroma + u * (points[k + 1].chroma - points[k].chroma);
    double hue = (points[k].hue + u * (points[k + 1].hue - points[k].hue)) * M_PI / 180;
    return from_oklab(0.27 + 0.66 * t, chroma * cos(hue), chroma * sin(hue));
}

/* ---------------------------------------------------------------- heat maps */
struct chart_range chart_field_range(const struct chart_field *field)
{
    struct chart_range range = {INFINITY, -INFINITY};
    for (int i = 0; i < field->columns * field->rows; i++) {
        if (!isfinite(field->values[i]))
            continue;
        range.low = fmin(range.low, field->values[i]);
        range.high = fmax(range.high, field->values[i]);
    }
    return range.low <= range.high ? range : (struct chart_range){0, 1};
}

#define SHADES 48 /* of a heat map and its bar */

static uint32_t pixel(double value, struct chart_range range)
{
    if (isnan(value))
        return 0; /* transparent */
    double width = range.high - range.low,
           t = width > 0 ? fmin(fmax((value - range.low) / width, 0), 1) : 0.5;
    struct chart_color c = chart_map((fmin(floor(t * SHADES), SHADES - 1) + 0.5) / SHADES);
    return 0xff000000u | (uint32_t)lround(c.red * 255) << 16 | (uint32_t)lround(c.green * 255) << 8 |
           (uint32_t)lround(c.blue * 255);
}

/* The field at a share (u, v) of its width and height, v from below; bilinear. */
static double field_at(const struct chart_field *f, double u, double v)
{
    double column = fmin(fmax(u, 0), 1) * (f->columns - 1), row = fmin(fmax(v, 0), 1) * (f->rows - 1);
    int i = (int)fmin(column, f->columns - 2), j = (int)fmin(row, f->rows - 2);
    const float *low = f->values + (size_t)j * (size_t)f->columns + i, *high = low + f->columns;
    double s = column - i, t = row - j;
    return (1 - t) * ((1 - s) * low[0] + s * low[1]) + t * ((1 - s) * high[0] + s * high[1]);
}

static void paint_image(cairo_t *c, cairo_surface_t *image, struct chart_box box)
{
    cairo_save(c);
    cairo_translate(c, box.x, box.y);
    cairo_scale(c, box.width / cairo_image_surface_get_width(image),
                box.height / cairo_image_surface_get_height(image));
    cairo_set_source_surface(c, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c), CAIRO_FILTER_NEAREST);
    cairo_paint(c);
    cairo_restore(c);
}

/* Painted at the resolution of the PNG, in SHADES steps, like filled level lines: far fewer bytes than a
 * smooth one. */
void chart_heat(cairo_t *c, const struct chart_axes *axes, const struct chart_field *field,
                struct chart_range values)
{
    struct chart_box box = {chart_x(axes, field->x.low), chart_y(axes, field->y.high), 0, 0};
    box.width = chart_x(axes, field->x.high) - box.x;
    box.height = chart_y(axes, field->y.low) - box.y;
    int width = (int)lround(box.width * CHART_PNG_SCALE), height = (int)lround(box.height * CHART_PNG_SCALE);
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    if (cairo_surface_status(image) == CAIRO_STATUS_SUCCESS) {
        cairo_surface_flush(image);
        unsigned char *bytes = cairo_image_surface_get_data(image);
        int stride = cairo_image_surface_get_stride(image);
        for (int row = 0; row < height; row++) {
            uint32_t *line = (uint32_t *)(void *)(bytes + (size_t)row * (size_t)stride);
            for (int column = 0; column < width; column++)
                line[column] =
                    pixel(field_at(field, (column + 0.5) / width, 1 - (row + 0.5) / height), values);
        }
        cairo_surface_mark_dirty(image);
    }
    paint_image(c, image, box);
    cairo_surface_destroy(image);
}

static void bar_shades(cairo_t *c, struct chart_box box)
{
    for (int i = SHADES - 1; i >= 0; i--) {
        struct chart_color color = chart_map((i + 0.5) / SHADES);
        double top = box.y + box.height * (SHADES - 1 - i) / SHADES;
        /* down to the end of the bar: the darker shades are painted over it, and no seam shows */
        chart_fill_box(c, (struct chart_box){box.x, top, box.width, box.y + box.height - top}, color);
    }
}

void chart_color_bar(cairo_t *c, struct chart_box box, struct chart_range values, const char *label)
{
    struct chart_axes axes = {.box = box, .x = {0, 1}, .y = values};
    struct chart_ticks ticks;
    char text[32];
    bar_shades(c, box);
    chart_ticks(&ticks, values, 6);
    struct chart_color ink = chart_ink(0.45);
    cairo_set_source_rgba(c, ink.red, ink.green, ink.blue, ink.alpha);
    cairo_set_line_width(c, 0.7);
    cairo_rectangle(c, box.x, box.y, box.width, box.height);
    for (int i = 0; i < ticks.count; i++) {
        cairo_move_to(c, box.x + box.width, chart_y(&axes, ticks.at[i]));
        cairo_rel_line_to(c, 3, 0);
    }
    cairo_stroke(c);
    for (int i = 0; i < ticks.count; i++) {
        chart_tick_label(text, sizeof text, ticks.at[i], ticks.step);
        chart_text(c, box.x + box.width + 6, chart_y(&axes, ticks.at[i]), text, 8, chart_ink(0.75),
                   CHART_LEFT, CHART_MIDDLE);
    }
    if (label)
        chart_text(c, box.x + box.width, box.y - 8, label, 8.5, chart_ink(0.75), CHART_RIGHT, 0);
}

/* ---------------------------------------------------------------- level lines
 * A crossing is an edge of the grid whose ends lie on either side of the level. Each cell links its crossings
 * in pairs; an edge has two cells, so a crossing has at most two links, and the lines are chains of links.
 * Edge numbers: 2*node for the edge to the right of a node, 2*node + 1 for the one above it. */
struct level {
    const struct chart_field *field;
    double level;
    int *links;          /* edges x 2, -1 where there is none */
    unsigned char *done; /* edges */
    double *x, *y;       /* the chain being followed */
};

static int node(const struct chart_field *f, int column, int row)
{
    return row * f->columns + column;
}

static void link_edges(struct level *l, int a, int b)
{
    l->links[2 * a + (l->links[2 * a] >= 0)] = b;
    l->links[2 * b + (l->links[2 * b] >= 0)] = a;
}

static void link_cell(struct level *l, int column, int row)
{
    const struct chart_field *f = l->field;
    int corner[4] = {node(f, column, row), node(f, column + 1, row), node(f, column + 1, row + 1),
                     node(f, column, row + 1)};
    int edge[4] = {2 * corner[0], 2 * corner[1] + 1, 2 * corner[3],
                   2 * corner[0] + 1}; /* below, right, above, left */
    double v[4];
    int above[4], crossed[4], n = 0;
    for (int k = 0; k < 4; k++) {
        v[k] = f->values[corner[k]];
        above[k] = v[k] >= l->level;
        if (!isfinite(v[k]))
            return;
    }
    for (int k = 0; k < 4; k++)
        if (above[k] != above[(k + 1) % 4])
            crossed[n++] = edge[k];
    if (n == 2)
        link_edges(l, crossed[0], crossed[1]);
    if (n == 4) { /* a saddle: its middle says which corners hang together */
        int middle = (v[0] + v[1] + v[2] + v[3]) / 4 >= l->level;
        int turn =
            middle == above[0]; /* corners 0 and 2 joined: cut off 1 (below, right) and 3 (above, left) */
        link_edges(l, edge[0], edge[turn ? 1 : 3]);
        link_edges(l, edge[2], edge[turn ? 3 : 1]);
    }
}

static void place(const struct level *l, int edge, double *x, double *y)
{
    const struct chart_field *f = l->field;
    int here = edge / 2, upward = edge % 2, there = here + (upward ? f->columns : 1);
    double a = f->values[here], b = f->values[there];
    double share = (l->level - a) / (b - a);
    double column = here % f->columns + (upward ? 0 : share), row = here / f->columns + (upward ? share : 0);
    *x = f->x.low + column / (f->columns - 1) * (f->x.high - f->x.low);
    *y = f->y.low + row / (f->rows - 1) * (f->y.high - f->y.low);
}

static void follow(struct level *l, int start, chart_chain *chain, void *context)
{
    int n = 0, edge = start;
    while (edge >= 0 && !l->done[edge]) {
        l->done[edge] = 1;
        place(l, edge, &l->x[n], &l->y[n]);
        n++;
        const int *next = &l->links[2 * edge];
        edge = next[0] >= 0 && !l->done[next[0]] ? next[0] : next[1];
    }
    bool closed = l->links[2 * start + 1] >= 0; /* an open chain is entered at an end, which has one link */
    if (n > 1)
        chain(context, l->x, l->y, n, closed);
}

dqs_status chart_trace_level(const struct chart_field *field, double level, chart_chain *chain, void *context)
{
    size_t nodes = (size_t)field->columns * (size_t)field->rows, edges = 2 * nodes;
    struct level l = {field,
                      level,
                      malloc(2 * edges * sizeof(int)),
                      calloc(edges, 1),
                      malloc(edges * sizeof(double)),
                      malloc(edges * sizeof(double))};
    dqs_status status = l.links && l.done && l.x && l.y ? DQS_OK : DQS_E_MEMORY;
    if (status == DQS_OK) {
        for (size_t i = 0; i < 2 * edges; i++)
            l.links[i] = -1;
        for (int row = 0; row + 1 < field->rows; row++)
            for (int column = 0; column + 1 < field->columns; column++)
                link_cell(&l, column, row);
        for (int closed = 0; closed < 2; closed++) /* ends of open chains first, what is left are rings */
            for (int e = 0; e < (int)edges; e++)
                if (!l.done[e] && l.links[2 * e] >= 0 && (l.links[2 * e + 1] >= 0) == closed)
                    follow(&l, e, chain, context);
    }
    free(l.links);
    free(l.done);
    free(l.x);
    free(l.y);
    return status;
}

struct chain_pen {
    cairo_t *c;
    const struct chart_axes *axes;
};

static void draw_chain(void *context, const double *x, const double *y, int n, bool closed)
{
    const struct chain_pen *pen = context;
    cairo_new_sub_path(pen->c);
    for (int i = 0; i < n; i++)
        cairo_line_to(pen->c, chart_x(pen->axes, x[i]), chart_y(pen->axes, y[i]));
    if (closed)
        cairo_close_path(pen->c);
}

void chart_contour(cairo_t *c, const struct chart_axes *axes, const struct chart_field *field, double level,
                   struct chart_color color, double width)
{
    struct chain_pen pen = {c, axes};
    chart_trace_level(field, level, draw_chain,
                      &pen); /* without memory the line is missing; the picture stands */
    cairo_set_source_rgba(c, color.red, color.green, color.blue, color.alpha);
    cairo_set_line_width(c, width);
    cairo_stroke(c);
}
