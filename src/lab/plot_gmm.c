/* The paper's illustrative figure: exact samples, the policy's terminal positions, and the learned soft
 * value, each with the level lines of the true log density. */
#include "gmm.h"
#include "gmm_metrics.h"
#include "plot_data.h"
#include "scenery.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 264.0 /* of a panel, in points */
#define GAP 20.0
#define LEFT 44.0
#define TOP 42.0
#define BAR 52.0 /* colour bar with its labels */

struct points {
    int n;
    double *x, *y;
};

struct gmm_picture {
    const struct plot_data *data;
    struct points exact, terminal;
    struct chart_field density; /* log */
    struct chart_range values;  /* of the colours */
    struct gmm_metrics metrics;
    char algo[64], note[256];
};

static struct chart_axes panel(int index)
{
    return (struct chart_axes){.box = {LEFT + index * (SIDE + GAP), TOP, SIDE, SIDE},
                               .x = {-GMM_BOX, GMM_BOX},
                               .y = {-GMM_BOX, GMM_BOX},
                               .x_label = "x",
                               .y_label = index ? NULL : "y",
                               .no_y_ticks = index > 0,
                               .no_grid = true};
}

static void draw_points(cairo_t *c, const struct gmm_picture *p, struct chart_axes axes,
                        const struct points *points, enum chart_hue hue)
{
    chart_begin(c, &axes);
    scenery_gmm_levels(c, &axes, &p->density, false);
    chart_scatter(c, &axes, points->x, points->y, points->n, chart_hue(hue, 0.6), 0.7);
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
    char title[160], note[160];
    snprintf(title, sizeof title, "%s, %d terminal positions", p->algo, p->terminal.n);
    snprintf(note, sizeof note, "MMD %.4f (floor %.4f), %d of %d modes covered", p->metrics.mmd,
             p->metrics.mmd_floor, p->metrics.modes, GMM_MODES);
    axes.title = title;
    axes.note = note;
    draw_points(c, p, axes, &p->terminal, CHART_BLUE);
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* A tenth of the plane, far from every mode, would take most of the colours: it shares the darkest one. */
static struct chart_range value_range(const struct chart_field *field, float *sorted)
{
    size_t n = 0;
    for (int i = 0; i < field->columns * field->rows; i++)
        if (isfinite(field->values[i]))
            sorted[n++] = field->values[i];
    if (n == 0)
        return (struct chart_range){0, 1};
    qsort(sorted, n, sizeof *sorted, compare_floats);
    return (struct chart_range){sorted[n / 10], sorted[n - 1]};
}

static void draw_value(cairo_t *c, const struct gmm_picture *p)
{
    const struct chart_field *value = &p->data->value;
    struct chart_axes axes = panel(2);
    axes.title = "Soft value";
    axes.note = "T log mean exp(Q/T) over the actions";
    chart_begin(c, &axes);
    chart_heat(c, &axes, value, p->values);
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

/* ---------------------------------------------------------------- data */
static struct points points_new(struct arena *arena, const float *xy, int n)
{
    struct points p = {n, arena_new(arena, double, n), arena_new(arena, double, n)};
    for (int i = 0; i < n; i++) {
        p.x[i] = xy[2 * i];
        p.y[i] = xy[2 * i + 1];
    }
    return p;
}

static dqs_status take_terminal(float *xy, const dqs_trace *trace, dqs_error *error)
{
    if (trace->obs_dim != 2)
        return fail(error, DQS_E_MISMATCH,
                    "trace.safetensors: observations of %d numbers are not of gmm; try: dqs eval",
                    trace->obs_dim);
    for (int e = 0; e < trace->episodes; e++) {
        const float *last = trace->obs + ((size_t)e * (size_t)trace->stride + (size_t)trace->length[e]) * 2;
        if (!(fabsf(last[0]) <= GMM_BOX) || !(fabsf(last[1]) <= GMM_BOX))
            return fail(error, DQS_E_MISMATCH,
                        "trace.safetensors: episode %d ends at (%g, %g), outside the box of gmm; "
                        "try: dqs eval",
                        e, last[0], last[1]);
        xy[2 * e] = last[0];
        xy[2 * e + 1] = last[1];
    }
    return DQS_OK;
}

static void upper_case(char *text)
{
    for (; *text; text++)
        *text = (char)toupper((unsigned char)*text);
}

dqs_status plot_gmm(struct plot_data *data, const struct plot_target *target, dqs_error *error)
{
    int n = data->trace.episodes;
    float *xy = arena_new(&data->arena, float, 2 * (size_t)n),
          *exact = arena_new(&data->arena, float, 2 * (size_t)n);
    struct gmm_picture p = {.data = data};
    struct rng rng;
    TRY(take_terminal(xy, &data->trace, error));
    rng_seed(&rng, 0, RNG_DIAGNOSE);
    gmm_sample(exact, n, &rng);
    p.exact = points_new(&data->arena, exact, n);
    p.terminal = points_new(&data->arena, xy, n);
    p.density = scenery_gmm_density(&data->arena);
    p.values =
        value_range(&data->value, arena_new(&data->arena, float, data->value.columns * data->value.rows));
    gmm_measure(&p.metrics, xy, n);
    snprintf(p.algo, sizeof p.algo, "%s", data->algo);
    upper_case(p.algo);
    plot_origin(data, true, p.note, sizeof p.note);
    int panels = data->value.columns ? 3 : 2;
    double width = LEFT + panels * SIDE + (panels - 1) * GAP + (data->value.columns ? BAR : 14);
    return plot_write(target, "gmm", width, TOP + SIDE + 42, draw_gmm, &p, error);
}
