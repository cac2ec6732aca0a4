/* Series: the lines of many methods in one picture. Three signs tell them apart, so that any one may fail:
 * the colour, the dashes, the mark at the end of the line. */
#include "chart.h"
#include <math.h>

/* Found by a search for the largest least distance in Oklab, as seen with all cones and with each kind
 * missing; tests/test_plot.c measures it anew. */
static const unsigned char colours[CHART_LOOKS][3] = {
    {0x0b, 0x4d, 0xc8}, {0xda, 0x24, 0x10}, {0x00, 0x88, 0x60}, {0x5f, 0xa5, 0xfa},
    {0x33, 0x33, 0x33}, {0xf0, 0x5e, 0xb5}, {0xdf, 0xa5, 0x06}, {0x8c, 0x10, 0x7c}};

#define DASHES 6
/* Of a line of width one; the caps are round and take one width from each gap. */
static const struct {
    int count;
    double length[DASHES];
} dashes[CHART_LOOKS] = {
    {0, {0}},      {2, {4.5, 2.6}}, {4, {5, 2.4, 0.1, 2.4}},           {2, {0.1, 2.2}},
    {2, {9, 2.6}}, {2, {2, 2.3}},   {6, {5, 2.2, 0.1, 2.2, 0.1, 2.2}}, {4, {2.6, 2.2, 0.1, 2.2}}};

struct chart_look chart_look(int index)
{
    int turn = index / CHART_LOOKS, k = index % CHART_LOOKS;
    const unsigned char *rgb = colours[k];
    /* A second round has the same colours with other dashes and marks. */
    return (struct chart_look){{rgb[0] / 255.0, rgb[1] / 255.0, rgb[2] / 255.0, 1},
                               (k + 3 * turn) % CHART_LOOKS,
                               (k + 5 * turn) % CHART_LOOKS};
}

struct chart_color chart_fade(struct chart_color color, double alpha)
{
    color.alpha *= alpha;
    return color;
}

static void set_dash(cairo_t *c, const struct chart_look *look, double width)
{
    double length[DASHES];
    int n = dashes[look->dash].count;
    for (int i = 0; i < n; i++)
        length[i] = dashes[look->dash].length[i] * width;
    cairo_set_dash(c, length, n, 0);
}

void chart_series(cairo_t *c, const struct chart_axes *axes, const double *x, const double *y, int n,
                  const struct chart_look *look, double width)
{
    set_dash(c, look, width);
    chart_line(c, axes, x, y, n, look->color, width);
    cairo_set_dash(c, NULL, 0, 0);
}

/* ---------------------------------------------------------------- marks */
static void polygon(cairo_t *c, double x, double y, const double (*corner)[2], int n, double r)
{
    for (int i = 0; i < n; i++)
        cairo_line_to(c, x + r * corner[i][0], y + r * corner[i][1]);
    cairo_close_path(c);
}

void chart_mark(cairo_t *c, double x, double y, const struct chart_look *look, double radius)
{
    static const double square[][2] = {{-.86, -.86}, {.86, -.86}, {.86, .86}, {-.86, .86}},
                        up[][2] = {{0, -1.15}, {1.1, .8}, {-1.1, .8}},
                        diamond[][2] = {{0, -1.25}, {1.05, 0}, {0, 1.25}, {-1.05, 0}},
                        down[][2] = {{0, 1.15}, {1.1, -.8}, {-1.1, -.8}},
                        left[][2] = {{-1.15, 0}, {.8, -1.1}, {.8, 1.1}},
                        right[][2] = {{1.15, 0}, {-.8, -1.1}, {-.8, 1.1}},
                        cross[][2] = {{-.4, -1.1}, {.4, -1.1}, {.4, -.4},   {1.1, -.4},
                                      {1.1, .4},   {.4, .4},   {.4, 1.1},   {-.4, 1.1},
                                      {-.4, .4},   {-1.1, .4}, {-1.1, -.4}, {-.4, -.4}};
    static const struct {
        const double (*corner)[2];
        int n;
    } shapes[CHART_LOOKS] = {{NULL, 0}, {square, 4}, {up, 3},   {diamond, 4},
                             {down, 3}, {right, 3},  {left, 3}, {cross, 12}};
    cairo_new_path(c);
    if (shapes[look->mark].n)
        polygon(c, x, y, shapes[look->mark].corner, shapes[look->mark].n, radius);
    else
        cairo_arc(c, x, y, radius, 0, 2 * M_PI);
    cairo_set_source_rgba(c, look->color.red, look->color.green, look->color.blue, look->color.alpha);
    cairo_fill_preserve(c);
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_set_line_width(c, 0.7);
    cairo_stroke(c);
}

/* ---------------------------------------------------------------- one legend for many panels */
#define SAMPLE 30.0 /* length of a line in the legend */
#define PITCH 15.0
#define BETWEEN 22.0
#define SIZE 9.5

/* Of its letters: smaller where a method has so many options that the line would not hold them. */
static double key_size(cairo_t *c, const struct chart_look_key *key, double room)
{
    return chart_text_size(c, key->text, SIZE, key->strong ? CHART_BOLD : 0, room - SAMPLE - 7);
}

static double key_width(cairo_t *c, const struct chart_look_key *key, double room)
{
    return SAMPLE + 7 + chart_text_width(c, key->text, key_size(c, key, room), key->strong ? CHART_BOLD : 0);
}

static void draw_key(cairo_t *c, double x, double y, const struct chart_look_key *key, double room)
{
    const struct chart_axes plain = {.box = {0, 0, 1, 1}, .x = {0, 1}, .y = {1, 0}};
    const double xs[] = {x, x + SAMPLE}, ys[] = {y, y};
    chart_series(c, &plain, xs, ys, 2, &key->look, key->strong ? 2.2 : 1.6);
    chart_mark(c, x + SAMPLE, y, &key->look, 2.9);
    chart_text(c, x + SAMPLE + 7, y, key->text, key_size(c, key, room), chart_ink(0.95), CHART_LEFT,
               CHART_MIDDLE | (key->strong ? CHART_BOLD : 0));
}

double chart_look_legend(cairo_t *c, struct chart_box box, const struct chart_look_key *keys, int n,
                         bool draw)
{
    double y = box.y + PITCH / 2;
    for (int first = 0; first < n; y += PITCH) {
        double total = key_width(c, &keys[first], box.width);
        int end = first + 1;
        for (; end < n && total + BETWEEN + key_width(c, &keys[end], box.width) <= box.width; end++)
            total += BETWEEN + key_width(c, &keys[end], box.width);
        double x = box.x + (box.width - total) / 2;
        for (; first < end; first++) {
            if (draw)
                draw_key(c, x, y, &keys[first], box.width);
            x += key_width(c, &keys[first], box.width) + BETWEEN;
        }
    }
    return y - PITCH / 2 - box.y;
}
