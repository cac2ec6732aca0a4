/* The paper's illustrative figure for one run: exact samples, the policy's terminal positions, and the
 * learned soft value, each with the level lines of the true log density. */
#include "gmm.h"
#include "gmm_cloud.h"
#include "plot_data.h"
#include "scenery.h"
#include <ctype.h>
#include <stdio.h>

#define SIDE 264.0 /* of a panel, in points */
#define GAP 20.0
#define LEFT 44.0
#define TOP 42.0
#define BAR 52.0 /* colour bar with its labels */

struct gmm_picture {
    const struct plot_data *data;
    struct gmm_cloud exact, terminal;
    struct chart_field density; /* log */
    struct chart_range values;  /* of the colours */
    char algo[64], note[256];
};

static struct chart_axes panel(int index)
{
    struct chart_axes axes = gmm_axes((struct chart_box){LEFT + index * (SIDE + GAP), TOP, SIDE, SIDE});
    axes.x_label = "x";
    axes.y_label = index ? NULL : "y";
    axes.no_y_ticks = index > 0;
    return axes;
}

static void draw_points(cairo_t *c, const struct gmm_picture *p, struct chart_axes axes,
                        const struct gmm_cloud *cloud, enum chart_hue hue)
{
    chart_begin(c, &axes);
    gmm_cloud_draw(c, &axes, cloud, &p->density, chart_hue(hue, 0.6), 0.7);
    chart_end(c, &axes);
}

static void draw_exact(cairo_t *c, const struct gmm_picture *p)
{
    struct chart_axes axes = panel(0);
    char note[96];
    snprintf(note, sizeof note, "%d exact samples; level lines of their log density", p->exact.n);
    axes.title = "Ground truth";
    axes.note = note;
    draw_points(c, p, axes, &p->exact, CHART_GREEN);
}

static void draw_terminal(cairo_t *c, const struct gmm_picture *p)
{
    struct chart_axes axes = panel(1);
    const struct gmm_metrics *m = &p->terminal.metrics;
    char title[160], note[160];
    snprintf(title, sizeof title, "%s, %d terminal positions", p->algo, p->terminal.n);
    snprintf(note, sizeof note, "MMD %.4f (floor %.4f), %d of %d modes covered", m->mmd, m->mmd_floor,
             m->modes, GMM_MODES);
    axes.title = title;
    axes.note = note;
    draw_points(c, p, axes, &p->terminal, CHART_BLUE);
}

static void draw_value(cairo_t *c, const struct gmm_picture *p)
{
    struct chart_axes axes = panel(2);
    axes.title = "Soft value";
    axes.note = "T log mean exp(Q/T) over the actions";
    chart_begin(c, &axes);
    chart_heat(c, &axes, &p->data->value, p->values);
    scenery_gmm_levels(c, &axes, &p->density, true);
    chart_end(c, &axes);
    chart_color_bar(c, (struct chart_box){axes.box.x + SIDE + 10, TOP, 10, SIDE}, p->values, NULL);
}

static void draw_gmm(cairo_t *c, double width, double height, const void *context)
{
    const struct gmm_picture *p = context;
    draw_exact(c, p);
    draw_terminal(c, p);
    if (p->data->value.columns)
        draw_value(c, p);
    chart_text(c, width - 10, height - 8, p->note, 7.5, chart_ink(0.5), CHART_RIGHT, 0);
}

static void upper_case(char *text)
{
    for (; *text; text++)
        *text = (char)toupper((unsigned char)*text);
}

dqs_status plot_gmm(struct plot_data *data, const struct plot_target *target, dqs_error *error)
{
    struct gmm_picture p = {.data = data};
    TRY(gmm_cloud_read(&p.terminal, &data->arena, &data->trace, "trace.safetensors", error));
    p.exact = gmm_cloud_exact(&data->arena, p.terminal.n);
    p.density = scenery_gmm_density(&data->arena);
    p.values = gmm_value_range(&data->arena, &data->value);
    snprintf(p.algo, sizeof p.algo, "%s", data->algo);
    upper_case(p.algo);
    plot_origin(data, true, p.note, sizeof p.note);
    int panels = data->value.columns ? 3 : 2;
    double width = LEFT + panels * SIDE + (panels - 1) * GAP + (data->value.columns ? BAR : 14);
    return plot_write(target, "gmm", width, TOP + SIDE + 42, draw_gmm, &p, error);
}
