/* contact: see contact.h. */
#include "contact.h"
#include "plot_data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CELL 160.0 /* width of a frame on the sheet, in points */
#define GAP 6.0
#define EDGE 12.0
#define HEAD 34.0
#define LABEL 12.0

enum { COLUMNS = 6, ROWS = 4, SHOWN = COLUMNS * ROWS, KEPT = 4 * SHOWN };

struct print {
    cairo_surface_t *surface; /* already of its size on the sheet */
    long step;
    double seconds, score;
};

struct contact {
    cairo_surface_t *full; /* of the size of a frame */
    int width, height;     /* of a print, in pixels */
    struct print prints[KEPT];
    int count;
    long offered, stride; /* every stride-th frame is kept */
};

dqs_status contact_open(struct contact **out, int width, int height, dqs_error *error)
{
    struct contact *contact = calloc(1, sizeof *contact);
    *out = NULL;
    if (!contact)
        return fail(error, DQS_E_MEMORY, "contact sheet: out of memory");
    contact->full = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    contact->width = (int)(CELL * CHART_PNG_SCALE);
    contact->height = (int)fmax(1, lround((double)contact->width * height / width));
    contact->stride = 1;
    *out = contact;
    return DQS_OK;
}

void contact_close(struct contact *contact)
{
    if (!contact)
        return;
    for (int i = 0; i < KEPT; i++)
        cairo_surface_destroy(contact->prints[i].surface);
    cairo_surface_destroy(contact->full);
    free(contact);
}

/* Every second print is given up, its surface kept for a later one. */
static void thin(struct contact *contact)
{
    for (int i = 0; i < KEPT / 2; i++) {
        struct print gone = contact->prints[i];
        contact->prints[i] = contact->prints[2 * i];
        contact->prints[2 * i] = gone;
    }
    contact->count = KEPT / 2;
    contact->stride *= 2;
}

/* Scaled down in one go by cairo's best filter, which averages the pixels it merges. */
static cairo_status_t shrink(const struct contact *contact, cairo_surface_t *print)
{
    cairo_t *c = cairo_create(print);
    cairo_scale(c, (double)contact->width / cairo_image_surface_get_width(contact->full),
                (double)contact->height / cairo_image_surface_get_height(contact->full));
    cairo_set_source_surface(c, contact->full, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c), CAIRO_FILTER_BEST);
    cairo_pattern_set_extend(cairo_get_source(c), CAIRO_EXTEND_PAD); /* no dark edges */
    cairo_paint(c);
    cairo_status_t status = cairo_status(c);
    cairo_destroy(c);
    return status;
}

dqs_status contact_add(struct contact *contact, const struct picture *picture, long step, double seconds,
                       double score, dqs_error *error)
{
    if (contact->offered++ % contact->stride)
        return DQS_OK;
    if (contact->count == KEPT) {
        thin(contact);
        if ((contact->offered - 1) % contact->stride)
            return DQS_OK;
    }
    struct print *print = &contact->prints[contact->count];
    if (!print->surface)
        print->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, contact->width, contact->height);
    if (cairo_surface_status(contact->full) == CAIRO_STATUS_SUCCESS)
        picture_to_surface(picture, contact->full);
    if (shrink(contact, print->surface) != CAIRO_STATUS_SUCCESS)
        return fail(error, DQS_E_MEMORY, "contact sheet: cairo cannot hold a frame; try a smaller --size");
    print->step = step;
    print->seconds = seconds;
    print->score = score;
    contact->count++;
    return DQS_OK;
}

/* ---------------------------------------------------------------- the sheet */
struct sheet {
    const struct contact *contact;
    const char *title, *note;
};

static void draw_print(cairo_t *c, const struct print *print, struct chart_box box)
{
    char left[48], right[48], score[32];
    cairo_save(c);
    cairo_translate(c, box.x, box.y);
    cairo_scale(c, 1.0 / CHART_PNG_SCALE, 1.0 / CHART_PNG_SCALE);
    cairo_set_source_surface(c, print->surface, 0, 0);
    cairo_paint(c);
    cairo_restore(c);
    snprintf(left, sizeof left, "%.2f s, step %ld", print->seconds, print->step);
    plot_number(score, sizeof score, fabs(print->score) < 1e-6 ? 0 : print->score);
    snprintf(right, sizeof right, "return %s", score);
    chart_text(c, box.x, box.y + box.height + 9, left, 7, chart_ink(0.75), CHART_LEFT, 0);
    chart_text(c, box.x + box.width, box.y + box.height + 9, right, 7, chart_ink(0.75), CHART_RIGHT, 0);
}

static void draw_sheet(cairo_t *c, double width, double height, const void *context)
{
    const struct sheet *sheet = context;
    const struct contact *contact = sheet->contact;
    double cell_height = (double)contact->height / CHART_PNG_SCALE;
    int shown = contact->count < SHOWN ? contact->count : SHOWN;
    (void)height;
    chart_text(c, EDGE, 22, sheet->title, 11, chart_ink(1), CHART_LEFT, CHART_BOLD);
    chart_text(c, width - EDGE, 22, sheet->note, 8, chart_ink(0.65), CHART_RIGHT, 0);
    for (int i = 0; i < shown; i++) {
        int kept = shown > 1 ? (int)lround((double)i * (contact->count - 1) / (shown - 1)) : 0;
        struct chart_box box = {EDGE + (i % COLUMNS) * (CELL + GAP),
                                HEAD + (i / COLUMNS) * (cell_height + LABEL + GAP), CELL, cell_height};
        draw_print(c, &contact->prints[kept], box);
    }
}

dqs_status contact_write(const struct contact *contact, const char *path, const char *title, const char *note,
                         dqs_error *error)
{
    struct sheet sheet = {contact, title, note};
    int shown = contact->count < SHOWN ? contact->count : SHOWN, rows = (shown + COLUMNS - 1) / COLUMNS;
    double cell_height = (double)contact->height / CHART_PNG_SCALE;
    double width = 2 * EDGE + COLUMNS * CELL + (COLUMNS - 1) * GAP;
    return chart_write_png(path, width, HEAD + rows * (cell_height + LABEL + GAP) + EDGE - GAP, draw_sheet,
                           &sheet, error);
}
