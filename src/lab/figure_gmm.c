/* The paper's illustrative experiment: exact samples, the terminal positions of each method, and the log
 * partition that its critics have learned, with the level lines of the truth; and a table of all seeds. */
#include "figure.h"
#include "figure_table.h"
#include "gmm.h"
#include "gmm_cloud.h"
#include "scenery.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIDE 158.0
#define GAP_X 14.0
#define GAP_Y 72.0
#define LEFT 34.0
#define TOP 36.0
#define BOTTOM 50.0
#define BAR 46.0
#define ONE_ROW 2 /* methods: then truth, samples and maps stand side by side, as in the paper */

struct gmm_method {
    const struct collection_run *run; /* the first seed with a trace is the one drawn */
    int seeds;
    struct chart_color color;
    struct gmm_cloud cloud;
    struct chart_field value; /* columns 0: none */
    double mmd_sum, mmd_square;
    char name[128], note[128], below[2][96]; /* lines under the samples */
};

struct gmm_figure {
    struct gmm_method *methods;
    int n, maps;
    struct gmm_cloud exact;
    struct chart_field density;
    struct chart_range values;
    char exact_note[64], note[400], below[2][96]; /* lines under the exact samples */
};

/* ---------------------------------------------------------------- drawing */
static struct chart_axes panel(int column, int row)
{
    struct chart_axes axes =
        gmm_axes((struct chart_box){LEFT + column * (SIDE + GAP_X), TOP + row * (SIDE + GAP_Y), SIDE, SIDE});
    axes.no_y_ticks = column > 0 || row > 0; /* all panels show the same square */
    axes.no_x_ticks = true;
    return axes;
}

static void draw_samples(cairo_t *c, const struct gmm_figure *g, struct chart_axes axes,
                         const struct gmm_cloud *cloud, struct chart_color color)
{
    double radius = cloud->n > 3000 ? 0.55 : cloud->n > 1500 ? 0.7 : 0.85;
    chart_begin(c, &axes);
    gmm_cloud_draw(c, &axes, cloud, &g->density, chart_fade(color, 0.6), radius);
    chart_end(c, &axes);
}

static void draw_below(cairo_t *c, const struct chart_axes *axes, const char below[2][96])
{
    double middle = axes->box.x + SIDE / 2, y = axes->box.y + SIDE + 12;
    chart_text(c, middle, y, below[0], 8, chart_ink(0.95), CHART_CENTRE, 0);
    chart_text(c, middle, y + 11, below[1], 8, chart_ink(0.65), CHART_CENTRE, 0);
}

static void draw_method(cairo_t *c, const struct gmm_figure *g, int index)
{
    const struct gmm_method *m = &g->methods[index];
    struct chart_axes axes = panel(1 + index, 0);
    axes.title = m->name;
    axes.note = m->note;
    draw_samples(c, g, axes, &m->cloud, m->color);
    draw_below(c, &axes, m->below);
}

static void draw_map(cairo_t *c, const struct gmm_figure *g, struct chart_axes axes,
                     const struct gmm_method *m)
{
    chart_begin(c, &axes);
    chart_heat(c, &axes, &m->value, g->values);
    scenery_gmm_levels(c, &axes, &g->density, true);
    chart_end(c, &axes);
}

static void draw_figure(cairo_t *c, double width, double height, const void *context)
{
    const struct gmm_figure *g = context;
    bool one_row = g->n <= ONE_ROW;
    int row = one_row ? 0 : 1, column = one_row ? 1 + g->n : 1;
    struct chart_axes axes = panel(0, 0);
    axes.title = "Ground truth";
    axes.note = g->exact_note;
    draw_samples(c, g, axes, &g->exact, chart_ink(1));
    draw_below(c, &axes, g->below);
    for (int i = 0; i < g->n; i++)
        draw_method(c, g, i);
    for (int i = 0; i < g->n; i++) {
        char title[160];
        if (!g->methods[i].value.columns)
            continue;
        axes = panel(one_row ? column : 1 + i, row);
        snprintf(title, sizeof title, "%s, log partition", g->methods[i].name);
        axes.title = title;
        axes.note = "T log mean exp(Q/T)";
        draw_map(c, g, axes, &g->methods[i]);
        column++;
    }
    if (g->maps > 0)
        chart_color_bar(c, (struct chart_box){width - BAR + 8, TOP + row * (SIDE + GAP_Y), 9, SIDE},
                        g->values, NULL);
    chart_footnote(c, width, height - 8, g->note);
}

/* ---------------------------------------------------------------- data */
static void add_row(struct figure_table *table, const struct collection *c, const struct collection_run *run,
                    const struct plot_data *data, const struct gmm_metrics *m)
{
    figure_table_text(table, c->methods[run->method_index].label);
    figure_table_text(table, run->preset);
    figure_table_number(table, (double)run->seed);
    figure_table_text(table, data->step);
    figure_table_text(table, data->mode);
    figure_table_number(table, data->trace.episodes);
    figure_table_number(table, m->mmd);
    figure_table_number(table, m->mmd_floor);
    figure_table_number(table, m->mmd_median);
    figure_table_number(table, m->mmd_median_floor);
    figure_table_number(table, m->modes);
    figure_table_number(table, m->mode_entropy);
}

/* The map is copied: its trace is freed. */
static struct chart_field keep_map(struct arena *arena, struct chart_field field)
{
    size_t n = (size_t)field.columns * (size_t)field.rows;
    if (n == 0)
        return field;
    float *copy = arena_new(arena, float, n);
    memcpy(copy, field.values, n * sizeof *copy);
    field.values = copy;
    return field;
}

static void take_run(struct gmm_method *m, const struct figure_view *view,
                     const struct figure_context *context, const struct collection_run *run,
                     struct figure_table *table)
{
    struct plot_data data = {0};
    struct gmm_cloud cloud;
    if (gmm_cloud_of_run(&cloud, &data, context->arena, run->path, context->warn, context->user)) {
        m->mmd_sum += cloud.metrics.mmd;
        m->mmd_square += cloud.metrics.mmd * cloud.metrics.mmd;
        if (m->seeds++ == 0) {
            m->run = run;
            m->cloud = cloud;
            m->value = keep_map(context->arena, data.value);
            snprintf(m->note, sizeof m->note, "seed %ld, %s steps%s", run->seed, data.step,
                     strcmp(data.mode, "explore") == 0 ? ", drawn actions" : "");
        }
        add_row(table, view->collection, run, &data, &cloud.metrics);
    }
    arena_free(&data.arena);
}

static void set_words(struct gmm_method *m)
{
    const struct gmm_metrics *at = &m->cloud.metrics;
    snprintf(m->below[0], sizeof m->below[0], "MMD %.3f, %d of %d modes", at->mmd, at->modes, GMM_MODES);
    int n = snprintf(m->below[1], sizeof m->below[1], "floor %.3f", at->mmd_floor);
    if (m->seeds < 2)
        return;
    double mean = m->mmd_sum / m->seeds,
           variance = fmax(0, m->mmd_square - m->seeds * mean * mean) / (m->seeds - 1);
    snprintf(m->below[1] + n, sizeof m->below[1] - (size_t)n, "; %d seeds: %.3f \u00b1 %.3f", m->seeds, mean,
             sqrt(variance));
}

static void take_method(struct gmm_figure *g, const struct figure_view *view,
                        const struct figure_context *context, const struct collection_cell *cell, int method,
                        struct figure_table *table)
{
    struct gmm_method *m = &g->methods[g->n];
    *m = (struct gmm_method){.color = view->looks[method].color};
    for (int k = 0; k < cell->count; k++)
        if (figure_takes_seed(view, cell->runs[k]->seed))
            take_run(m, view, context, cell->runs[k], table);
    if (m->seeds == 0)
        return;
    figure_name(m->name, sizeof m->name, &view->collection->methods[method]);
    set_words(m);
    if (m->value.columns) {
        struct chart_range range = gmm_value_range(context->arena, &m->value);
        g->values = g->maps++ ? chart_range_join(g->values, range) : range;
    }
    g->n++;
}

dqs_status figure_gmm(const struct figure_view *view, const struct figure_context *context, dqs_error *error)
{
    const struct collection *c = view->collection;
    struct gmm_figure g = {.methods = arena_new(context->arena, struct gmm_method, view->n_methods)};
    struct figure_table table;
    char presets[200];
    figure_table_begin(
        &table, context->arena,
        "method: preset: seed steps mode: samples mmd mmd_floor mmd_median mmd_median_floor modes "
        "mode_entropy");
    for (int i = 0; i < view->n_tasks; i++)
        for (int k = 0; k < view->n_methods && strcmp(c->tasks[view->tasks[i]], "gmm") == 0; k++)
            take_method(&g, view, context, collection_cell(c, view->tasks[i], view->methods[k]),
                        view->methods[k], &table);
    if (g.n == 0)
        return DQS_OK;
    g.exact = gmm_cloud_exact(context->arena, g.methods[0].cloud.n);
    g.density = scenery_gmm_density(context->arena);
    snprintf(g.exact_note, sizeof g.exact_note, "%d exact samples", g.exact.n);
    struct gmm_metrics walked = gmm_cloud_walk(context->arena, g.exact.n);
    snprintf(g.below[0], sizeof g.below[0], "exact Boltzmann policy: MMD %.3f", walked.mmd);
    snprintf(g.below[1], sizeof g.below[1], "%d of %d modes, floor %.3f", walked.modes, GMM_MODES,
             walked.mmd_floor);
    figure_presets(presets, sizeof presets, view);
    snprintf(g.note, sizeof g.note,
             "lines: levels of the true log density; maps: of each method's own critics and temperature, one "
             "scale%s%s",
             presets[0] ? "; " : "", presets);
    bool one_row = g.n <= ONE_ROW;
    int columns = 1 + g.n + (one_row ? g.maps : 0), rows = one_row || g.maps == 0 ? 1 : 2;
    double width = LEFT + columns * SIDE + (columns - 1) * GAP_X + (g.maps ? BAR : 12),
           height = TOP + rows * SIDE + (rows - 1) * GAP_Y +
                    (rows == 1 ? BOTTOM : 30); /* maps have no words below */
    TRY(plot_write(context->target, "fig-gmm", width, height, draw_figure, &g, error));
    return figure_table_write(
        &table, context->target, "gmm-samples",
        "Terminal positions on gmm against exact samples: maximum mean discrepancy at "
        "bandwidth 1 and at the median distance, each with its floor between exact sets.",
        error);
}
