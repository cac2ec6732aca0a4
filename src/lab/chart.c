/* Canvas, axes, marks and words. Sizes are in points; the style (white paper, thin grid, one dark ink) is
 * decided here and nowhere else. */
#include "chart.h"
#include "file.h"
#include "text.h"
#include <assert.h>
#include <cairo-svg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_TITLE 11.0
#define SIZE_NOTE 8.5
#define SIZE_LABEL 9.0
#define SIZE_TICK 8.0
#define FONT "sans-serif"
#define ABOVE_NOTE 8.0 /* base lines of the words over a box */
#define ABOVE_TITLE 22.0

/* ---------------------------------------------------------------- canvas */
static cairo_status_t put(void *writer, const unsigned char *data, unsigned int size)
{
    file_put(writer, data, size);
    return CAIRO_STATUS_SUCCESS; /* file_commit reports what went wrong */
}

static cairo_status_t paint(cairo_surface_t *surface, double width, double height, chart_draw *draw,
                            const void *context)
{
    cairo_t *c = cairo_create(surface);
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
    /* Positions of letters must not depend on the raster, or PNG and SVG would differ. */
    cairo_font_options_t *font = cairo_font_options_create();
    cairo_font_options_set_hint_style(font, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(font, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(font, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(c, font);
    cairo_font_options_destroy(font);
    draw(c, width, height, context);
    cairo_status_t status = cairo_status(c);
    cairo_destroy(c);
    return status;
}

/* Ends a picture: the first thing that went wrong is reported, and nothing stays aside. */
static dqs_status finish(struct file_writer *file, cairo_surface_t *surface, cairo_status_t drawn,
                         cairo_status_t written, const char *path, dqs_error *error)
{
    cairo_surface_destroy(surface);
    cairo_status_t status = drawn != CAIRO_STATUS_SUCCESS ? drawn : written;
    if (status != CAIRO_STATUS_SUCCESS) {
        file_abandon(file);
        return fail(error, status == CAIRO_STATUS_NO_MEMORY ? DQS_E_MEMORY : DQS_E_IO, "%s: cannot draw: %s",
                    path, cairo_status_to_string(status));
    }
    return file_commit(file, error);
}

/* 52 tones a channel, five apart: the eye does not see it, and the file shrinks by a quarter. */
static void round_tones(cairo_surface_t *surface)
{
    const int tone = 5; /* divides 255: white stays white */
    cairo_surface_flush(surface);
    unsigned char *bytes = cairo_image_surface_get_data(surface);
    size_t size =
        (size_t)cairo_image_surface_get_stride(surface) * (size_t)cairo_image_surface_get_height(surface);
    for (size_t i = 0; bytes && i < size; i++)
        bytes[i] = (unsigned char)((bytes[i] + tone / 2) / tone * tone);
    cairo_surface_mark_dirty(surface);
}

dqs_status chart_write_png(const char *path, double width, double height, chart_draw *draw,
                           const void *context, dqs_error *error)
{
    struct file_writer file;
    TRY(file_begin(&file, path, error));
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)lround(width * CHART_PNG_SCALE), (int)lround(height * CHART_PNG_SCALE));
    cairo_surface_set_device_scale(surface, CHART_PNG_SCALE, CHART_PNG_SCALE);
    cairo_status_t drawn = paint(surface, width, height, draw, context);
    cairo_status_t written = drawn;
    if (drawn == CAIRO_STATUS_SUCCESS) {
        round_tones(surface);
        written = cairo_surface_write_to_png_stream(surface, put, &file);
    }
    return finish(&file, surface, drawn, written, path, error);
}

dqs_status chart_write_svg(const char *path, double width, double height, chart_draw *draw,
                           const void *context, dqs_error *error)
{
    struct file_writer file;
    TRY(file_begin(&file, path, error));
    cairo_surface_t *surface = cairo_svg_surface_create_for_stream(put, &file, width, height);
    cairo_status_t drawn = paint(surface, width, height, draw, context);
    cairo_surface_finish(surface);
    return finish(&file, surface, drawn, cairo_surface_status(surface), path, error);
}

/* The same text with a prefix after every mark that begins an id or a reference to one. */
static char *prefix_ids(const char *text, size_t size, const char *prefix)
{
    static const char *const marks[] = {" id=\"", "href=\"#", "url(#"};
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    if (!stream)
        return NULL;
    for (const char *at = text, *end = text + size; at < end;) {
        size_t n = 0;
        for (int k = 0; k < 3 && n == 0; k++)
            n = strncmp(at, marks[k], strlen(marks[k])) == 0 ? strlen(marks[k]) : 0;
        fwrite(at, 1, n ? n : 1, stream);
        if (n)
            fputs(prefix, stream);
        at += n ? n : 1;
    }
    bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return out;
    free(out);
    return NULL;
}

static cairo_status_t put_memory(void *stream, const unsigned char *data, unsigned int size)
{
    return fwrite(data, 1, size, stream) == size ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

dqs_status chart_text_svg(char **svg, double width, double height, chart_draw *draw, const void *context,
                          const char *prefix, dqs_error *error)
{
    char *text = NULL;
    size_t size = 0;
    *svg = NULL;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return fail(error, DQS_E_MEMORY, "picture: out of memory");
    cairo_surface_t *surface = cairo_svg_surface_create_for_stream(put_memory, stream, width, height);
    cairo_status_t status = paint(surface, width, height, draw, context);
    cairo_surface_finish(surface);
    status = status != CAIRO_STATUS_SUCCESS ? status : cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    bool closed = fclose(stream) == 0;
    if (closed && status == CAIRO_STATUS_SUCCESS)
        *svg = prefix ? prefix_ids(text, size, prefix) : text;
    if (*svg != text)
        free(text);
    if (status != CAIRO_STATUS_SUCCESS)
        return fail(error, DQS_E_IO, "picture: cannot draw: %s", cairo_status_to_string(status));
    return *svg ? DQS_OK : fail(error, DQS_E_MEMORY, "picture: out of memory");
}

/* ---------------------------------------------------------------- axes */
static void set_color(cairo_t *c, struct chart_color color)
{
    cairo_set_source_rgba(c, color.red, color.green, color.blue, color.alpha);
}

void chart_ticks(struct chart_ticks *ticks, struct chart_range range, int want)
{
    static const double nice[] = {1, 2, 2.5, 5, 10};
    assert(want > 0 && want <= CHART_TICKS / 3);
    ticks->count = 0;
    double width = range.high - range.low;
    double least = 4e-16 * fmax(fabs(range.low), fabs(range.high)); /* narrower than the doubles around it */
    if (!(width > least) || !isfinite(width)) {
        ticks->step = 1;
        return;
    }
    double power = pow(10, floor(log10(width / want)));
    int k = 0;
    while (k < 4 && nice[k] * power * want < width * (1 - 1e-9))
        k++;
    ticks->step = nice[k] * power;
    double first = ceil(range.low / ticks->step - 1e-9), last = floor(range.high / ticks->step + 1e-9);
    for (double i = first; i <= last && ticks->count < CHART_TICKS; i++)
        ticks->at[ticks->count++] = i * ticks->step + 0.0; /* + 0.0: no negative zero */
}

void chart_tick_label(char *text, int size, double value, double step)
{
    static const struct {
        double unit;
        const char *suffix;
    } scales[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
    int s = 0;
    while (s < 3 && step < scales[s].unit)
        s++;
    double scaled_step = step / scales[s].unit;
    int digits = 0;
    for (double d = scaled_step; digits < 6 && fabs(d - nearbyint(d)) > 1e-6 * fabs(d); d *= 10)
        digits++;
    if (fabs(value) < step * 1e-6) {
        snprintf(text, (size_t)size, "0");
        return;
    }
    const char *sign = value < 0 ? "\u2212" : "";
    if (scaled_step < 1e-4 || scaled_step >= 1e4)
        snprintf(text, (size_t)size, "%s%.3g", sign, fabs(value));
    else
        snprintf(text, (size_t)size, "%s%.*f%s", sign, digits, fabs(value) / scales[s].unit,
                 scales[s].suffix);
}

struct chart_range chart_range_of(const double *values, int n)
{
    struct chart_range range = {INFINITY, -INFINITY};
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            continue;
        range.low = fmin(range.low, values[i]);
        range.high = fmax(range.high, values[i]);
    }
    return range.low <= range.high ? range : (struct chart_range){0, 1};
}

struct chart_range chart_range_join(struct chart_range a, struct chart_range b)
{
    return (struct chart_range){fmin(a.low, b.low), fmax(a.high, b.high)};
}

struct chart_range chart_range_pad(struct chart_range range, double share)
{
    double width = range.high - range.low;
    if (!(width > 1e-9 * fmax(fabs(range.low), fabs(range.high))))
        width = fmax(1.0, fabs(range.low)); /* a constant still gets an axis */
    return (struct chart_range){range.low - share * width, range.high + share * width};
}

double chart_x(const struct chart_axes *axes, double x)
{
    return axes->box.x + (x - axes->x.low) / (axes->x.high - axes->x.low) * axes->box.width;
}

double chart_y(const struct chart_axes *axes, double y)
{
    return axes->box.y + (axes->y.high - y) / (axes->y.high - axes->y.low) * axes->box.height;
}

static int ticks_wanted(double length, double spacing)
{
    int n = (int)(length / spacing);
    return n < 2 ? 2 : n > 8 ? 8 : n;
}

static void axis_ticks(const struct chart_axes *axes, struct chart_ticks *x, struct chart_ticks *y)
{
    chart_ticks(x, axes->x, ticks_wanted(axes->box.width, 48));
    chart_ticks(y, axes->y, ticks_wanted(axes->box.height, 30));
}

void chart_begin(cairo_t *c, const struct chart_axes *axes)
{
    const struct chart_box *b = &axes->box;
    cairo_save(c);
    cairo_rectangle(c, b->x, b->y, b->width, b->height);
    cairo_clip(c);
    if (axes->no_grid)
        return;
    struct chart_ticks x, y;
    axis_ticks(axes, &x, &y);
    for (int i = 0; i < x.count; i++) {
        cairo_move_to(c, chart_x(axes, x.at[i]), b->y);
        cairo_rel_line_to(c, 0, b->height);
    }
    for (int i = 0; i < y.count; i++) {
        cairo_move_to(c, b->x, chart_y(axes, y.at[i]));
        cairo_rel_line_to(c, b->width, 0);
    }
    set_color(c, chart_ink(0.10));
    cairo_set_line_width(c, 0.6);
    cairo_stroke(c);
}

/* Returns the width of the widest label at the left. */
static double draw_ticks(cairo_t *c, const struct chart_axes *axes)
{
    const struct chart_box *b = &axes->box;
    struct chart_ticks x, y;
    char text[32];
    double widest = 0;
    axis_ticks(axes, &x, &y);
    x.count = axes->no_x_ticks ? 0 : x.count;
    y.count = axes->no_y_ticks ? 0 : y.count;
    for (int i = 0; i < x.count; i++) {
        chart_tick_label(text, sizeof text, x.at[i], x.step);
        chart_text(c, chart_x(axes, x.at[i]), b->y + b->height + 12, text, SIZE_TICK, chart_ink(0.75),
                   CHART_CENTRE, 0);
    }
    for (int i = 0; i < y.count; i++) {
        chart_tick_label(text, sizeof text, y.at[i], y.step);
        double width = chart_text(c, b->x - 6, chart_y(axes, y.at[i]), text, SIZE_TICK, chart_ink(0.75),
                                  CHART_RIGHT, CHART_MIDDLE);
        widest = fmax(widest, width);
    }
    for (int i = 0; i < x.count; i++) {
        cairo_move_to(c, chart_x(axes, x.at[i]), b->y + b->height);
        cairo_rel_line_to(c, 0, 3);
    }
    for (int i = 0; i < y.count; i++) {
        cairo_move_to(c, b->x, chart_y(axes, y.at[i]));
        cairo_rel_line_to(c, -3, 0);
    }
    set_color(c, chart_ink(0.45));
    cairo_set_line_width(c, 0.7);
    cairo_stroke(c);
    return widest;
}

void chart_end(cairo_t *c, const struct chart_axes *axes)
{
    const struct chart_box *b = &axes->box;
    cairo_restore(c);
    cairo_rectangle(c, b->x, b->y, b->width, b->height);
    set_color(c, chart_ink(0.45));
    cairo_set_line_width(c, 0.7);
    cairo_stroke(c);
    double widest = draw_ticks(c, axes);
    double top = b->y - ABOVE_NOTE;
    if (axes->note) {
        chart_text(c, b->x, top, axes->note, SIZE_NOTE, chart_ink(0.65), CHART_LEFT, 0);
        top = b->y - ABOVE_TITLE;
    }
    if (axes->title)
        chart_text(c, b->x, top, axes->title,
                   chart_text_size(c, axes->title, SIZE_TITLE, CHART_BOLD, b->width), chart_ink(1),
                   CHART_LEFT, CHART_BOLD);
    if (axes->x_label)
        chart_text(c, b->x + b->width / 2, b->y + b->height + 27, axes->x_label, SIZE_LABEL, chart_ink(0.9),
                   CHART_CENTRE, 0);
    if (axes->y_label) {
        cairo_save(c);
        cairo_translate(c, b->x - widest - 14, b->y + b->height / 2);
        cairo_rotate(c, -M_PI / 2);
        chart_text(c, 0, 0, axes->y_label, SIZE_LABEL, chart_ink(0.9), CHART_CENTRE, 0);
        cairo_restore(c);
    }
}

struct chart_box chart_grid_cell(struct chart_box area, int columns, int rows, int column, int row,
                                 double gap_x, double gap_y)
{
    double width = (area.width - gap_x * (columns - 1)) / columns,
           height = (area.height - gap_y * (rows - 1)) / rows;
    return (struct chart_box){area.x + column * (width + gap_x), area.y + row * (height + gap_y), width,
                              height};
}

/* ---------------------------------------------------------------- marks */
void chart_line(cairo_t *c, const struct chart_axes *axes, const double *x, const double *y, int n,
                struct chart_color color, double width)
{
    bool pen_down = false;
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            pen_down = false;
            continue;
        }
        (pen_down ? cairo_line_to : cairo_move_to)(c, chart_x(axes, x[i]), chart_y(axes, y[i]));
        pen_down = true;
    }
    set_color(c, color);
    cairo_set_line_width(c, width);
    cairo_set_line_cap(c, CAIRO_LINE_CAP_ROUND);
    cairo_stroke(c);
    cairo_set_line_cap(c, CAIRO_LINE_CAP_BUTT);
}

static bool band_holds(const double *x, const double *low, const double *high, int i)
{
    return isfinite(x[i]) && isfinite(low[i]) && isfinite(high[i]);
}

void chart_band(cairo_t *c, const struct chart_axes *axes, const double *x, const double *low,
                const double *high, int n, struct chart_color color)
{
    set_color(c, color);
    for (int first = 0; first < n;) {
        int end = first;
        while (end < n && band_holds(x, low, high, end))
            end++;
        for (int i = first; i < end; i++)
            cairo_line_to(c, chart_x(axes, x[i]), chart_y(axes, low[i]));
        for (int i = end - 1; i >= first; i--)
            cairo_line_to(c, chart_x(axes, x[i]), chart_y(axes, high[i]));
        cairo_close_path(c);
        cairo_fill(c);
        first = end + 1;
    }
}

void chart_scatter(cairo_t *c, const struct chart_axes *axes, const double *x, const double *y, int n,
                   struct chart_color color, double radius)
{
    /* Dots of no length with round caps: few bytes each in SVG. Some per stroke, so that crowded places
     * still darken. */
    enum { PER_STROKE = 50 };
    set_color(c, color);
    cairo_set_line_cap(c, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_width(c, 2 * radius);
    for (int first = 0; first < n; first += PER_STROKE) {
        for (int i = first; i < n && i < first + PER_STROKE; i++) {
            if (!isfinite(x[i]) || !isfinite(y[i]))
                continue;
            cairo_move_to(c, chart_x(axes, x[i]), chart_y(axes, y[i]));
            cairo_close_path(c);
        }
        cairo_stroke(c);
    }
    cairo_set_line_cap(c, CAIRO_LINE_CAP_BUTT);
}

void chart_disc(cairo_t *c, const struct chart_axes *axes, double x, double y, double radius,
                struct chart_color fill, struct chart_color edge)
{
    double points = radius / (axes->x.high - axes->x.low) * axes->box.width;
    cairo_new_sub_path(c);
    cairo_arc(c, chart_x(axes, x), chart_y(axes, y), points, 0, 2 * M_PI);
    set_color(c, fill);
    cairo_fill_preserve(c);
    set_color(c, edge);
    cairo_set_line_width(c, 1.2);
    cairo_stroke(c);
}

void chart_add_rectangle(cairo_t *c, const struct chart_axes *axes, struct chart_range x,
                         struct chart_range y)
{
    double left = chart_x(axes, x.low), top = chart_y(axes, y.high);
    cairo_rectangle(c, left, top, chart_x(axes, x.high) - left, chart_y(axes, y.low) - top);
}

void chart_fill(cairo_t *c, struct chart_color color)
{
    set_color(c, color);
    cairo_fill(c);
}

void chart_fill_box(cairo_t *c, struct chart_box box, struct chart_color fill)
{
    cairo_rectangle(c, box.x, box.y, box.width, box.height);
    chart_fill(c, fill);
}

/* ---------------------------------------------------------------- words */
static void set_font(cairo_t *c, double size, int flags)
{
    cairo_select_font_face(c, FONT, CAIRO_FONT_SLANT_NORMAL,
                           flags & CHART_BOLD ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, size);
}

/* A name cut to its room may end within a letter, and cairo draws nothing more after one bad byte. */
#define TEXT_MOST 600
static const char *drawable(char room[TEXT_MOST], const char *text)
{
    snprintf(room, TEXT_MOST, "%s", text);
    text_clean(room, true);
    return room;
}

double chart_text_width(cairo_t *c, const char *text, double size, int flags)
{
    cairo_text_extents_t extents;
    char room[TEXT_MOST];
    set_font(c, size, flags);
    cairo_text_extents(c, drawable(room, text), &extents);
    return extents.x_advance;
}

double chart_text(cairo_t *c, double x, double y, const char *text, double size, struct chart_color color,
                  enum chart_align align, int flags)
{
    char room[TEXT_MOST];
    double width = chart_text_width(c, text, size, flags);
    double left = align == CHART_LEFT ? x : align == CHART_CENTRE ? x - width / 2 : x - width;
    cairo_move_to(c, left, flags & CHART_MIDDLE ? y + 0.36 * size : y); /* 0.36: half the height of a digit */
    set_color(c, color);
    cairo_show_text(c, drawable(room, text));
    cairo_new_path(c);
    return width;
}

double chart_text_size(cairo_t *c, const char *text, double size, int flags, double room)
{
    double wanted = chart_text_width(c, text, size, flags);
    return wanted > room ? size * room / wanted : size;
}

void chart_footnote(cairo_t *c, double width, double y, const char *text)
{
    chart_text(c, width / 2, y, text, chart_text_size(c, text, 7.5, 0, width - 8), chart_ink(0.6),
               CHART_CENTRE, 0);
}

static void rounded(cairo_t *c, struct chart_box b, double r)
{
    cairo_new_sub_path(c);
    cairo_arc(c, b.x + b.width - r, b.y + r, r, -M_PI / 2, 0);
    cairo_arc(c, b.x + b.width - r, b.y + b.height - r, r, 0, M_PI / 2);
    cairo_arc(c, b.x + r, b.y + b.height - r, r, M_PI / 2, M_PI);
    cairo_arc(c, b.x + r, b.y + r, r, M_PI, 1.5 * M_PI);
    cairo_close_path(c);
}

/* The plate itself; returns the box of what will stand on it. */
static struct chart_box plate(cairo_t *c, struct chart_box box, int corner, double width, double height)
{
    const double margin = 6, inset = 6;
    struct chart_box p = {0, 0, width + 2 * inset, height + 2 * inset};
    p.x = corner & 1 ? box.x + box.width - margin - p.width : box.x + margin;
    p.y = corner & 2 ? box.y + box.height - margin - p.height : box.y + margin;
    rounded(c, p, 3);
    cairo_set_source_rgba(c, 1, 1, 1, 0.88);
    cairo_fill_preserve(c);
    set_color(c, chart_ink(0.2));
    cairo_set_line_width(c, 0.6);
    cairo_stroke(c);
    return (struct chart_box){p.x + inset, p.y + inset, width, height};
}

static void key_line(cairo_t *c, double x, double y, struct chart_color color)
{
    cairo_move_to(c, x, y);
    cairo_rel_line_to(c, 16, 0);
    set_color(c, color);
    cairo_set_line_width(c, 2);
    cairo_stroke(c);
}

static void key_band(cairo_t *c, double x, double y, struct chart_color color)
{
    chart_fill_box(c, (struct chart_box){x, y - 4, 16, 8}, color);
}

static void key_dot(cairo_t *c, double x, double y, struct chart_color color)
{
    cairo_arc(c, x + 8, y, 3.2, 0, 2 * M_PI);
    set_color(c, color);
    cairo_fill(c);
}

static void draw_key(cairo_t *c, double x, double y, const struct chart_key *key)
{
    static void (*const draw[])(cairo_t *, double, double, struct chart_color) = {
        [CHART_KEY_LINE] = key_line, [CHART_KEY_BAND] = key_band, [CHART_KEY_DOT] = key_dot};
    draw[key->kind](c, x, y, key->color);
    chart_text(c, x + 22, y, key->text, SIZE_NOTE, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
}

void chart_legend(cairo_t *c, struct chart_box box, int corner, const struct chart_key *keys, int n)
{
    const double pitch = 13, gap = 18;
    double widest = 0, total = 0;
    for (int i = 0; i < n; i++) {
        double width = 22 + chart_text_width(c, keys[i].text, SIZE_NOTE, 0);
        widest = fmax(widest, width);
        total += width + (i ? gap : 0);
    }
    if (corner < 0) {
        double x = box.x + box.width - total,
               y = box.y - (corner == -1 ? ABOVE_NOTE : ABOVE_TITLE) - 0.36 * SIZE_NOTE;
        for (int i = 0; i < n; i++) {
            draw_key(c, x, y, &keys[i]);
            x += 22 + chart_text_width(c, keys[i].text, SIZE_NOTE, 0) + gap;
        }
        return;
    }
    struct chart_box p = plate(c, box, corner, widest, n * pitch - 4);
    for (int i = 0; i < n; i++)
        draw_key(c, p.x, p.y + 4.5 + i * pitch, &keys[i]);
}
