/* Learning curves: a panel per task, a line per method: the mean over seeds at every evaluation, and a band
 * from the worst to the best seed or around the mean. One legend; a method looks the same everywhere. */
#include "figure.h"
#include "rng.h"
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
#define RESAMPLES 2000

struct seed_curve {
    int n;
    double *x, *y;
};

struct curve {
    int method, seeds, n;
    double *x, *mean;       /* over the seeds that got so far */
    double *whole;          /* the mean where all seeds did, else not-a-number */
    double *low, *high;     /* of the band, where all seeds did */
    struct chart_range xs, ys;
};

struct panel {
    const char *title;
    struct curve *curves;
    int n;
    struct chart_range x, y;
};

struct grid {
    const struct figure_view *view;
    struct panel *panels;
    int n, columns, rows;
    struct chart_look_key *keys; /* of the methods that have a curve */
    int n_keys;
    char note[400];
    double legend; /* its height */
};

/* ---------------------------------------------------------------- one seed */
/* A running mean over the evaluations about each: as many on either side as are wanted and there. */
static void smooth(struct seed_curve *s, int width, double *copy)
{
    memcpy(copy, s->y, sizeof *copy * (size_t)s->n);
    for (int i = 0; i < s->n && width > 1; i++) {
        int reach = (width - 1) / 2;
        reach = reach < i ? reach : i;
        reach = reach < s->n - 1 - i ? reach : s->n - 1 - i;
        double sum = 0;
        for (int k = i - reach; k <= i + reach; k++)
            sum += copy[k];
        s->y[i] = sum / (2 * reach + 1);
    }
}

/* Evaluations in the order of x; of those at the same step the last counts, which is the largest. */
static struct seed_curve take_seed(struct arena *arena, const struct collection_run *run,
                                   const struct figure_choice *choice)
{
    const struct plot_table *t = &run->evaluations;
    const double *step = plot_column(t, "step"), *mean = plot_column(t, "mean_reward");
    struct seed_curve s = {0, arena_new(arena, double, t->rows), arena_new(arena, double, t->rows)};
    for (int i = 0; step && mean && i < t->rows; i++) {
        if (!isfinite(mean[i]) || !(step[i] >= 0 && step[i] < 9e15))
            continue;
        double x = choice->hours ? collection_seconds(run, (long)step[i]) / 3600 : step[i];
        if (!isfinite(x) || (s.n > 0 && x < s.x[s.n - 1]))
            continue;
        s.n -= s.n > 0 && x == s.x[s.n - 1];
        s.x[s.n] = x;
        s.y[s.n++] = mean[i];
    }
    smooth(&s, choice->smooth, arena_new(arena, double, s.n));
    return s;
}

/* Between evaluations a straight line; not-a-number before the first and after the last. */
static double seed_at(const struct seed_curve *s, double x)
{
    if (s->n == 0 || x < s->x[0] || x > s->x[s->n - 1])
        return NAN;
    int low = 0, high = s->n - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(s->x[middle] <= x ? &low : &high) = middle;
    }
    if (x == s->x[low] || low == high)
        return s->y[low];
    double u = (x - s->x[low]) / (s->x[high] - s->x[low]);
    return u == 1 ? s->y[high] : (1 - u) * s->y[low] + u * s->y[high];
}

/* ---------------------------------------------------------------- all seeds */
static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int join_x(double *x, const struct seed_curve *seeds, int n_seeds)
{
    int n = 0, kept = 0;
    for (int k = 0; k < n_seeds; k++)
        for (int i = 0; i < seeds[k].n; i++)
            x[n++] = seeds[k].x[i];
    if (n > 1)
        qsort(x, (size_t)n, sizeof *x, compare_doubles);
    for (int i = 0; i < n; i++)
        if (kept == 0 || x[i] > x[kept - 1])
            x[kept++] = x[i];
    return kept;
}

/* The percentile bootstrap of the mean, 95 %. The same resamples at every x, so that the band does not shake. */
static void bootstrap_mean(double *low, double *high, const double *y, int n, double *means)
{
    struct rng rng;
    rng_seed(&rng, 0, RNG_DIAGNOSE);
    for (int b = 0; b < RESAMPLES; b++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += y[rng_below(&rng, (uint32_t)n)];
        means[b] = sum / n;
    }
    qsort(means, RESAMPLES, sizeof *means, compare_doubles);
    *low = means[(int)(0.025 * (RESAMPLES - 1) + 0.5)];
    *high = means[(int)(0.975 * (RESAMPLES - 1) + 0.5)];
}

static void measure(struct curve *v, int i, const double *y, int n, enum figure_band band, double *scratch)
{
    double sum = 0;
    struct chart_range range = chart_range_of(y, n);
    for (int k = 0; k < n; k++)
        sum += y[k];
    v->mean[i] = n > 0 ? sum / n : NAN;
    v->whole[i] = n == v->seeds ? v->mean[i] : NAN;
    v->low[i] = v->high[i] = NAN;
    if (n < v->seeds || n < 2 || band == FIGURE_NO_BAND)
        return;
    v->low[i] = range.low;
    v->high[i] = range.high;
    if (band == FIGURE_CI)
        bootstrap_mean(&v->low[i], &v->high[i], y, n, scratch);
}

static struct curve take_curve(struct arena *arena, const struct collection_cell *cell, int method,
                               const struct figure_view *view)
{
    struct curve v = {.method = method};
    struct seed_curve *seeds = arena_new(arena, struct seed_curve, cell->count);
    double *y = arena_new(arena, double, cell->count), *scratch = arena_new(arena, double, RESAMPLES);
    int points = 0;
    for (int k = 0; k < cell->count; k++) {
        if (!figure_takes_seed(view, cell->runs[k]->seed))
            continue;
        seeds[v.seeds] = take_seed(arena, cell->runs[k], &view->choice);
        points += seeds[v.seeds].n;
        v.seeds += seeds[v.seeds].n > 0;
    }
    v.x = arena_new(arena, double, points);
    v.n = join_x(v.x, seeds, v.seeds);
    v.mean = arena_new(arena, double, v.n);
    v.whole = arena_new(arena, double, v.n);
    v.low = arena_new(arena, double, v.n);
    v.high = arena_new(arena, double, v.n);
    for (int i = 0; i < v.n; i++) {
        int n = 0;
        for (int k = 0; k < v.seeds; k++) {
            y[n] = seed_at(&seeds[k], v.x[i]);
            n += isfinite(y[n]);
        }
        measure(&v, i, y, n, view->choice.band, scratch);
    }
    if (v.n == 0)
        return v;
    v.xs = chart_range_of(v.x, v.n);
    v.ys = chart_range_of(v.mean, v.n);
    for (int i = 0; i < v.n; i++)
        if (isfinite(v.low[i]))
            v.ys = chart_range_join(v.ys, (struct chart_range){v.low[i], v.high[i]});
    return v;
}

static struct panel take_panel(struct arena *arena, const struct figure_view *view, int task)
{
    const struct collection *c = view->collection;
    struct panel p = {.title = c->tasks[task], .curves = arena_new(arena, struct curve, view->n_methods)};
    struct chart_range y = {INFINITY, -INFINITY};
    double end = 0;
    for (int i = 0; i < view->n_methods; i++) {
        int method = view->methods[i];
        struct curve v = take_curve(arena, collection_cell(c, task, method), method, view);
        if (v.n == 0)
            continue;
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

/* "DQS, 3 seeds", or "1-3 seeds" where tasks differ. */
static void add_key(struct grid *g, struct arena *arena, int method)
{
    const struct figure_view *view = g->view;
    int least = 0, most = 0;
    char name[128], text[200];
    for (int p = 0; p < g->n; p++)
        for (int k = 0; k < g->panels[p].n; k++) {
            const struct curve *v = &g->panels[p].curves[k];
            if (v->method != method)
                continue;
            least = least == 0 || v->seeds < least ? v->seeds : least;
            most = v->seeds > most ? v->seeds : most;
        }
    if (most == 0)
        return;
    figure_name(name, sizeof name, &view->collection->methods[method]);
    if (least == most)
        snprintf(text, sizeof text, "%s, %d seed%s", name, most, most == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "%s, %d\u2013%d seeds", name, least, most);
    /* The first method of the list is the one that the figure is about. */
    g->keys[g->n_keys] =
        (struct chart_look_key){view->looks[method], copy_text(arena, text), method == view->methods[0]};
    g->n_keys++;
}

static bool any_partial(const struct grid *g)
{
    for (int p = 0; p < g->n; p++)
        for (int k = 0; k < g->panels[p].n; k++)
            for (int i = 0; i < g->panels[p].curves[k].n; i++)
                if (!isfinite(g->panels[p].curves[k].whole[i]))
                    return true;
    return false;
}

static void set_note(struct grid *g)
{
    static const char *const bands[] = {[FIGURE_MINMAX] = "; band: from the worst to the best seed",
                                        [FIGURE_CI] = "; band: 95 % bootstrap interval of the mean",
                                        [FIGURE_NO_BAND] = ""};
    char presets[200], smoothed[64] = "";
    int width = g->view->choice.smooth;
    figure_presets(presets, sizeof presets, g->view);
    if (width > 1)
        snprintf(smoothed, sizeof smoothed, "; running mean of %d evaluations", width);
    snprintf(g->note, sizeof g->note, "line: mean over seeds%s%s%s%s%s", bands[g->view->choice.band],
             any_partial(g) ? "; pale: not all seeds have come so far" : "", smoothed, presets[0] ? "; " : "",
             presets);
}

/* ---------------------------------------------------------------- drawing */
static void draw_curve(cairo_t *c, const struct chart_axes *axes, const struct curve *v, struct chart_look look,
                       bool strong)
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
        chart_band(c, &axes, v->x, v->low, v->high, v->n, chart_fade(view->looks[v->method].color, 0.16));
    }
    for (int k = p->n - 1; k >= 0; k--) {
        const struct curve *v = &p->curves[k];
        draw_curve(c, &axes, v, view->looks[v->method], v->method == view->methods[0]);
    }
    for (int k = p->n - 1; k >= 0; k--)
        draw_end(c, &axes, &p->curves[k], view->looks[p->curves[k].method]);
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
        struct chart_axes axes = {.box = chart_grid_cell(area, g->columns, g->rows, column, row, GAP_X, GAP_Y),
                                  .x = p->x,
                                  .y = p->y,
                                  .title = p->title,
                                  .y_label = column == 0 ? "return" : NULL};
        if (i + g->columns >= g->n)
            axes.x_label = g->view->choice.hours ? "hours of training" : "environment steps";
        draw_panel(c, g, p, axes);
    }
    const struct chart_box legend = {12, area.y + area.height + BOTTOM, width - 24, 0};
    chart_look_legend(c, legend, g->keys, g->n_keys, true);
    chart_text(c, width / 2, height - 8, g->note, 7.5, chart_ink(0.6), CHART_CENTRE, 0);
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
    for (int i = 0; i < view->n_methods; i++)
        add_key(g, arena, view->methods[i]);
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
    return plot_write(context->target, "fig-curves", width, height, draw_grid, &g, error);
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
