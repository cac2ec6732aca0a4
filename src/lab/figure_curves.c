/* Learning curves: a panel per task, a line per method: the mean over seeds at every evaluation, and a band
 * from the worst to the best seed or around the mean. One legend; a method looks the same everywhere. */
#include "curve.h"
#include "figure.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PANEL_WIDTH 172.0
#define PANEL_HEIGHT 122.0
#define GAP_X 40.0
#define GAP_Y 46.0
#define LEFT 50.0
#define RIGHT 14.0
#define TOP 24.0
#define BOTTOM 36.0 /* ticks and label of x; the legend stands below */

struct panel {
    const char *title;
    struct curve *curves;
    int *methods; /* whose they are */
    int n;
    struct chart_range x, y;
};

struct grid {
    const struct figure_view *view;
    struct panel *panels;
    int n, columns, rows;
    struct chart_look_key *keys; /* of the methods that have a curve */
    int n_keys;
    struct chart_range seeds; /* the least and the most that a method has on a task */
    char note[500];
    double legend; /* its height */
};

/* ---------------------------------------------------------------- data */
static struct panel take_panel(struct arena *arena, const struct figure_view *view, int task)
{
    const struct collection *c = view->collection;
    struct panel p = {.title = c->tasks[task],
                      .curves = arena_new(arena, struct curve, view->n_methods),
                      .methods = arena_new(arena, int, view->n_methods)};
    struct chart_range y = {INFINITY, -INFINITY};
    double end = 0;
    for (int i = 0; i < view->n_methods; i++) {
        int method = view->methods[i];
        const struct collection_cell *cell = collection_cell(c, task, method);
        const struct collection_run **runs = arena_new(arena, const struct collection_run *, cell->count);
        int n = 0;
        for (int k = 0; k < cell->count; k++)
            if (figure_takes_seed(view, cell->runs[k]->seed))
                runs[n++] = cell->runs[k];
        struct curve v = curve_take(arena, runs, n, &view->choice.rule);
        if (v.n == 0)
            continue;
        p.methods[p.n] = method;
        p.curves[p.n++] = v;
        y = chart_range_join(y, v.ys);
        end = fmax(end, v.xs.high);
    }
    end = end > 0 ? end : 1;
    /* Returns that are never negative are seen from zero. */
    struct chart_range padded = chart_range_pad(y, 0.05);
    if (y.low >= 0 && y.low < 0.6 * y.high)
        padded.low = fmin(0, padded.low) < 0 ? -0.02 * padded.high : 0;
    p.y = padded;
    p.x = (struct chart_range){0, 1.025 * end};
    return p;
}

/* ---------------------------------------------------------------- words */
static const char *copy_text(struct arena *arena, const char *text)
{
    return strcpy(arena_new(arena, char, strlen(text) + 1), text);
}

/* How many seeds a method has, over the tasks that it was run on; {0, 0}: it was not. */
static struct chart_range seeds_of(const struct grid *g, int method)
{
    struct chart_range seeds = {0, 0};
    for (int p = 0; p < g->n; p++)
        for (int k = 0; k < g->panels[p].n; k++) {
            const struct curve *v = &g->panels[p].curves[k];
            if (g->panels[p].methods[k] != method)
                continue;
            seeds.low = seeds.high == 0 ? v->seeds : fmin(seeds.low, v->seeds);
            seeds.high = fmax(seeds.high, v->seeds);
        }
    return seeds;
}

static void seeds_text(char *text, size_t size, struct chart_range seeds)
{
    if (seeds.low == seeds.high)
        snprintf(text, size, "%.0f seed%s", seeds.high, seeds.high == 1 ? "" : "s");
    else
        snprintf(text, size, "%.0f\u2013%.0f seeds", seeds.low, seeds.high);
}

/* "DQS", with ", 3 seeds" if methods differ in that; then the note below cannot say it for all. */
static void set_keys(struct grid *g, struct arena *arena)
{
    const struct figure_view *view = g->view;
    g->seeds = (struct chart_range){INFINITY, 0};
    for (int i = 0; i < view->n_methods; i++) {
        struct chart_range seeds = seeds_of(g, view->methods[i]);
        if (seeds.high > 0)
            g->seeds = chart_range_join(g->seeds, seeds);
    }
    for (int i = 0; i < view->n_methods; i++) {
        int method = view->methods[i];
        struct chart_range seeds = seeds_of(g, method);
        char name[400], count[40], text[460];
        if (seeds.high == 0)
            continue;
        figure_name(name, sizeof name, &view->collection->methods[method]);
        seeds_text(count, sizeof count, seeds);
        bool alike = g->seeds.low == g->seeds.high;
        snprintf(text, sizeof text, "%s%s%s", name, alike ? "" : ", ", alike ? "" : count);
        /* The first method of the list is the one that the figure is about. */
        g->keys[g->n_keys++] =
            (struct chart_look_key){view->looks[method], copy_text(arena, text), method == view->methods[0]};
    }
}

/* Is it so at some point of some curve? */
static bool some(const struct grid *g, bool (*is)(const struct curve *v, int i))
{
    for (int p = 0; p < g->n; p++)
        for (int k = 0; k < g->panels[p].n; k++)
            for (int i = 0; i < g->panels[p].curves[k].n; i++)
                if (is(&g->panels[p].curves[k], i))
                    return true;
    return false;
}

static bool is_partial(const struct curve *v, int i)
{
    return !isfinite(v->whole[i]);
}

static bool has_band(const struct curve *v, int i)
{
    return isfinite(v->low[i]);
}

static void set_note(struct grid *g)
{
    static const char *const bands[] = {[CURVE_MINMAX] = "; band: from the worst to the best seed",
                                        [CURVE_CI] = "; band: 95 % bootstrap interval of the mean",
                                        [CURVE_NO_BAND] = ""};
    const char *time =
        g->view->choice.rule.hours && g->seeds.high > 1 ? " at the same step, at their mean time" : "";
    char presets[200], smoothed[64] = "", seeds[40] = "seeds";
    int width = g->view->choice.rule.smooth;
    figure_presets(presets, sizeof presets, g->view);
    if (width > 1)
        snprintf(smoothed, sizeof smoothed, "; running mean of %d evaluations", width);
    if (g->seeds.low == g->seeds.high)
        seeds_text(seeds, sizeof seeds, g->seeds);
    bool updates = false;
    for (int i = 0; i < g->view->n_methods && g->view->choice.rule.paper_steps; i++)
        updates = updates || strcmp(g->view->collection->methods[g->view->methods[i]].algo, "ppo") == 0;
    snprintf(g->note, sizeof g->note, "%s%s%s%s%s%s%s%s%s", g->seeds.high == 1 ? "" : "line: mean over ",
             seeds, time, some(g, has_band) ? bands[g->view->choice.rule.band] : "",
             some(g, is_partial) ? "; pale: not all seeds have come so far" : "", smoothed,
             presets[0] ? "; " : "", presets, updates ? "; PPO: network updates along x" : "");
}

/* ---------------------------------------------------------------- drawing */
static void draw_curve(cairo_t *c, const struct chart_axes *axes, const struct curve *v,
                       struct chart_look look, bool strong)
{
    double width = strong ? 2.0 : 1.4;
    struct chart_look pale = look;
    pale.color.alpha = 0.4;
    chart_series(c, axes, v->x, v->mean, v->n, &pale, 0.8 * width);
    chart_series(c, axes, v->x, v->whole, v->n, &look, width);
}

static void draw_end(cairo_t *c, const struct chart_axes *axes, const struct curve *v, struct chart_look look)
{
    int last = v->n - 1;
    while (last > 0 && !isfinite(v->whole[last]))
        last--;
    if (isfinite(v->whole[last]))
        chart_mark(c, chart_x(axes, v->x[last]), chart_y(axes, v->whole[last]), &look, 2.6);
    else
        chart_mark(c, chart_x(axes, v->x[v->n - 1]), chart_y(axes, v->mean[v->n - 1]), &look, 2.6);
}

static void draw_panel(cairo_t *c, const struct grid *g, const struct panel *p, struct chart_axes axes)
{
    const struct figure_view *view = g->view;
    chart_begin(c, &axes);
    for (int k = p->n - 1; k >= 0; k--) { /* the first lies on top */
        const struct curve *v = &p->curves[k];
        chart_band(c, &axes, v->x, v->low, v->high, v->n, chart_fade(view->looks[p->methods[k]].color, 0.16));
    }
    for (int k = p->n - 1; k >= 0; k--) {
        const struct curve *v = &p->curves[k];
        draw_curve(c, &axes, v, view->looks[p->methods[k]], p->methods[k] == view->methods[0]);
    }
    for (int k = p->n - 1; k >= 0; k--)
        draw_end(c, &axes, &p->curves[k], view->looks[p->methods[k]]);
    chart_end(c, &axes);
}

static void draw_grid(cairo_t *c, double width, double height, const void *context)
{
    const struct grid *g = context;
    const struct chart_box area = {LEFT, TOP, width - LEFT - RIGHT,
                                   g->rows * PANEL_HEIGHT + (g->rows - 1) * GAP_Y};
    for (int i = 0; i < g->n; i++) {
        const struct panel *p = &g->panels[i];
        int column = i % g->columns, row = i / g->columns;
        struct chart_axes axes = {.box =
                                      chart_grid_cell(area, g->columns, g->rows, column, row, GAP_X, GAP_Y),
                                  .x = p->x,
                                  .y = p->y,
                                  .title = p->title,
                                  .y_label = column == 0 ? "return" : NULL};
        if (i + g->columns >= g->n)
            axes.x_label = g->view->choice.rule.hours ? "hours of training" : "environment steps";
        draw_panel(c, g, p, axes);
    }
    const struct chart_box legend = {12, area.y + area.height + BOTTOM, width - 24, 0};
    chart_look_legend(c, legend, g->keys, g->n_keys, true);
    chart_footnote(c, width, height - 8, g->note);
}

/* ---------------------------------------------------------------- all of it */
static double legend_height(const struct grid *g, double width)
{
    cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
    cairo_t *c = cairo_create(surface);
    double height = chart_look_legend(c, (struct chart_box){12, 0, width - 24, 0}, g->keys, g->n_keys, false);
    cairo_destroy(c);
    cairo_surface_destroy(surface);
    return height;
}

/* Four in a row, as in the paper; five and six look better in threes, and few in one row. */
static int columns_for(int n)
{
    return n <= 4 ? n : n <= 6 ? 3 : 4;
}

static void build(struct grid *g, struct arena *arena, const struct figure_view *view, double *width,
                  double *height)
{
    *g = (struct grid){.view = view,
                       .panels = arena_new(arena, struct panel, view->n_tasks),
                       .keys = arena_new(arena, struct chart_look_key, view->n_methods)};
    for (int i = 0; i < view->n_tasks; i++) {
        g->panels[g->n] = take_panel(arena, view, view->tasks[i]);
        g->n += g->panels[g->n].n > 0;
    }
    if (g->n == 0)
        return;
    set_keys(g, arena);
    set_note(g);
    g->columns = columns_for(g->n);
    g->rows = (g->n + g->columns - 1) / g->columns;
    *width = fmax(LEFT + g->columns * PANEL_WIDTH + (g->columns - 1) * GAP_X + RIGHT, 420);
    g->legend = legend_height(g, *width);
    *height = TOP + g->rows * PANEL_HEIGHT + (g->rows - 1) * GAP_Y + BOTTOM + g->legend + 22;
}

dqs_status figure_curves(const struct figure_view *view, const struct figure_context *context,
                         dqs_error *error)
{
    struct grid g;
    double width, height;
    build(&g, context->arena, view, &width, &height);
    if (g.n == 0)
        return DQS_OK;
    return plot_write(context->target, view->choice.name ? view->choice.name : "fig-curves", width, height,
                      draw_grid, &g, error);
}

dqs_status figure_curves_svg(char **svg, const struct collection *collection,
                             const struct figure_choice *choice, const char *prefix, dqs_error *error)
{
    struct arena arena = {0};
    struct figure_view view;
    struct grid g;
    double width, height;
    *svg = NULL;
    dqs_status status = figure_view(&view, &arena, collection, choice, error);
    if (status == DQS_OK) {
        build(&g, &arena, &view, &width, &height);
        if (g.n > 0)
            status = chart_text_svg(svg, width, height, draw_grid, &g, prefix, error);
    }
    arena_free(&arena);
    return status;
}
