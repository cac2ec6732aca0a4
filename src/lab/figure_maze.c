/* The mazes of the paper: one panel per method and seed with the walls and a hundred episodes, the shares of
 * goals and ways below it; and a table of these numbers. */
#include "figure.h"
#include "figure_table.h"
#include "maze_metrics.h"
#include "maze_walks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAWN 100 /* episodes in a panel; the numbers are of all */
#define SIDE 148.0
#define GAP_X 16.0
#define LEFT 14.0
#define LEAST_WIDTH 550.0 /* of the legend */
#define TOP 34.0
#define BELOW 58.0 /* bar and lines of numbers under a panel */
#define GAP_Y 40.0
#define LEGEND 40.0
#define SECOND_LINE 10.0 /* of the note */

struct maze_panel {
    const struct collection_run *run;
    int column, row;
    struct walks walks;
    char title[128], note[96];
    double entropy; /* of the split of the goals, bits */
};

struct maze_grid {
    const struct maze_layout *layout;
    struct maze_panel *panels;
    int n, columns, rows;
    struct chart_range x, y; /* of the part with free cells: the outer walls need not be whole */
    bool odd;                /* somebody came to the top left by no known way */
    char note[500];
    const char *more; /* a second line of it, or "" */
};

#define RIM 0.4 /* of the outer wall is shown, m */

static void set_ranges(struct maze_grid *g)
{
    g->x = g->y = (struct chart_range){INFINITY, -INFINITY};
    for (int row = 0; row < g->layout->rows; row++)
        for (int column = 0; column < g->layout->columns; column++) {
            double m[2];
            maze_centre(m, g->layout, row, column);
            if (maze_mark(g->layout, m[0], m[1]) == '#')
                continue;
            g->x = chart_range_join(g->x, (struct chart_range){m[0] - 0.5 - RIM, m[0] + 0.5 + RIM});
            g->y = chart_range_join(g->y, (struct chart_range){m[1] - 0.5 - RIM, m[1] + 0.5 + RIM});
        }
}

static double panel_height(const struct maze_grid *g)
{
    return SIDE * (g->y.high - g->y.low) / (g->x.high - g->x.low);
}

/* ---------------------------------------------------------------- drawing */
static const char *share(char *text, size_t size, int count, int n)
{
    double percent = 100.0 * count / n;
    if (count > 0 && percent < 1)
        snprintf(text, size, "<\u20091\u2009%%");
    else
        snprintf(text, size, "%.0f\u2009%%", percent);
    return text;
}

/* The episodes as one bar, in the colours of the walks. */
static void draw_bar(cairo_t *c, struct chart_box box, const struct walks *w)
{
    double x = box.x;
    for (int k = 0; k < WALK_KINDS && w->n > 0; k++) {
        double width = box.width * w->counts[k] / w->n;
        chart_fill_box(c, (struct chart_box){x, box.y, width, box.height},
                       walk_color(k, k == WALK_LOST ? 0.45 : 0.9));
        x += width;
    }
}

static void draw_numbers(cairo_t *c, struct chart_box box, const struct maze_panel *p)
{
    const struct walks *w = &p->walks;
    int top_left = w->counts[WALK_BY_TOP] + w->counts[WALK_BY_LEFT] + w->counts[WALK_TOP_LEFT];
    char a[24], b[24], line[120];
    double y = box.y + 20, middle = box.x + box.width / 2;
    draw_bar(c, (struct chart_box){box.x, box.y + 5, box.width, 5}, w);
    snprintf(line, sizeof line, "top left %s, bottom right %s", share(a, sizeof a, top_left, w->n),
             share(b, sizeof b, w->counts[WALK_BOTTOM_RIGHT], w->n));
    chart_text(c, middle, y, line, 8, chart_ink(0.95), CHART_CENTRE, 0);
    snprintf(line, sizeof line, "by the top %s, by the left %s",
             share(a, sizeof a, w->counts[WALK_BY_TOP], w->n),
             share(b, sizeof b, w->counts[WALK_BY_LEFT], w->n));
    chart_text(c, middle, y + 11, line, 8, chart_ink(0.95), CHART_CENTRE, 0);
    snprintf(line, sizeof line, "any goal %s, entropy %.2f bit",
             share(a, sizeof a, w->n - w->counts[WALK_LOST], w->n), p->entropy);
    chart_text(c, middle, y + 22, line, 8, chart_ink(0.6), CHART_CENTRE, 0);
}

/* An entry of the legend at x; returns how far it reaches. draw false: only measured. */
static double draw_entry(cairo_t *c, double x, double y, const char *text, struct chart_color fill,
                         struct chart_color edge, bool round, bool draw)
{
    const double box = round ? 8 : 14;
    const struct chart_axes points = {.box = {0, 0, 1, 1}, .x = {0, 1}, .y = {1, 0}};
    if (draw && round)
        chart_disc(c, &points, x + 4, y, 4, fill, edge);
    else if (draw)
        chart_fill_box(c, (struct chart_box){x, y - 3.5, box, 7}, fill);
    if (draw)
        chart_text(c, x + box + 6, y, text, 8.5, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
    return x + box + 6 + chart_text_width(c, text, 8.5, 0);
}

static void draw_legend(cairo_t *c, double width, double y, bool odd)
{
    const double gap = 20;
    double total = 0;
    for (int pass = 0; pass < 2; pass++) {
        double x = (width - total) / 2, first = x;
        for (int k = 0; k < WALK_KINDS; k++)
            if (k != WALK_TOP_LEFT || odd)
                x = gap + draw_entry(c, x, y, walk_text(k), walk_color(k, k == WALK_LOST ? 0.45 : 0.9),
                                     chart_ink(0), false, pass);
        x = gap + draw_entry(c, x, y, "start", (struct chart_color){1, 1, 1, 1}, chart_ink(1), true, pass);
        x = draw_entry(c, x, y, "goal", chart_hue(CHART_TEAL, 0.22), chart_hue(CHART_TEAL, 0.9), true, pass);
        total = x - first;
    }
}

static void draw_mazes(cairo_t *c, double width, double height, const void *context)
{
    const struct maze_grid *g = context;
    double side = panel_height(g), left = (width - g->columns * (SIDE + GAP_X) + GAP_X) / 2;
    for (int i = 0; i < g->n; i++) {
        const struct maze_panel *p = &g->panels[i];
        struct chart_axes axes = {
            .box = {left + p->column * (SIDE + GAP_X), TOP + p->row * (side + BELOW + GAP_Y), SIDE, side},
            .x = g->x,
            .y = g->y,
            .title = p->title,
            .note = p->note,
            .no_grid = true,
            .no_x_ticks = true,
            .no_y_ticks = true};
        chart_begin(c, &axes);
        walks_draw(c, &axes, &p->walks, DRAWN, 0.7);
        chart_end(c, &axes);
        draw_numbers(c, (struct chart_box){axes.box.x, axes.box.y + side, SIDE, 0}, p);
    }
    double second = g->more[0] ? SECOND_LINE : 0;
    draw_legend(c, width, height - 27 - second, g->odd);
    chart_footnote(c, width, height - 8 - second, g->note);
    chart_footnote(c, width, height - 8, g->more);
}

/* ---------------------------------------------------------------- data */
static void add_row(struct figure_table *table, const struct figure_view *view, const struct maze_panel *p,
                    const struct plot_data *data)
{
    enum { NUMBERS = 8 };
    dqs_number numbers[NUMBERS];
    const struct collection_run *run = p->run;
    double sum = 0;
    figure_table_text(table, run->task);
    figure_table_text(table, view->collection->methods[run->method_index].label);
    figure_table_text(table, run->preset);
    figure_table_number(table, (double)run->seed);
    figure_table_text(table, data->step);
    figure_table_text(table, data->mode);
    figure_table_number(table, data->trace.episodes);
    for (int e = 0; e < data->trace.episodes; e++)
        sum += data->trace.returns[e];
    figure_table_number(table, sum / data->trace.episodes);
    int n = maze_metrics_summarise(p->walks.layout, &data->trace, numbers, NUMBERS);
    for (int i = 0; i < n; i++)
        figure_table_number(table, numbers[i].value);
}

static double split_entropy(const struct walks *w)
{
    double a = w->counts[WALK_BY_TOP] + w->counts[WALK_BY_LEFT] + w->counts[WALK_TOP_LEFT],
           b = w->counts[WALK_BOTTOM_RIGHT];
    if (a == 0 || b == 0)
        return 0;
    return -(a * log2(a / (a + b)) + b * log2(b / (a + b))) / (a + b);
}

/* False if the run has no trace (yet), or one that is damaged or of another task: then with a warning. */
static bool take_panel(struct maze_panel *p, const struct collection_run *run, const struct figure_view *view,
                       const struct figure_context *context, const struct maze_layout *layout,
                       struct figure_table *table)
{
    struct plot_data data = {0};
    char name[100];
    *p = (struct maze_panel){.run = run};
    /* the walks outlive the trace */
    bool there =
        walks_of_run(&p->walks, &data, context->arena, run->path, layout, context->warn, context->user);
    if (there) {
        figure_name(name, sizeof name, &view->collection->methods[run->method_index]);
        snprintf(p->title, sizeof p->title, "%s", name);
        snprintf(p->note, sizeof p->note, "seed %ld, %s steps%s%s", run->seed, data.step,
                 strcmp(data.mode, "evaluate") == 0 ? "" : ", mode ",
                 strcmp(data.mode, "evaluate") == 0 ? "" : data.mode);
        p->entropy = split_entropy(&p->walks);
        add_row(table, view, p, &data);
    }
    arena_free(&data.arena);
    return there;
}

static int compare_seeds(const void *a, const void *b)
{
    long x = (*(const struct maze_panel *)a).run->seed, y = (*(const struct maze_panel *)b).run->seed;
    return (x > y) - (x < y);
}

/* Columns are methods, rows are seeds; both only if something stands there. */
static void arrange(struct maze_grid *g)
{
    if (g->n > 1)
        qsort(g->panels, (size_t)g->n, sizeof *g->panels, compare_seeds);
    for (int i = 0; i < g->n; i++) {
        g->rows += i == 0 || g->panels[i].run->seed != g->panels[i - 1].run->seed;
        g->panels[i].row = g->rows - 1;
    }
}

static void take_grid(struct maze_grid *g, const struct figure_view *view,
                      const struct figure_context *context, int task, struct figure_table *table)
{
    const struct collection *c = view->collection;
    char presets[200];
    int most = 0;
    g->panels = arena_new(context->arena, struct maze_panel, c->n_runs);
    for (int i = 0; i < view->n_methods; i++) {
        const struct collection_cell *cell = collection_cell(c, task, view->methods[i]);
        int before = g->n;
        for (int k = 0; k < cell->count; k++) {
            struct maze_panel *p = &g->panels[g->n];
            if (!figure_takes_seed(view, cell->runs[k]->seed) ||
                !take_panel(p, cell->runs[k], view, context, g->layout, table))
                continue;
            p->column = g->columns;
            g->odd = g->odd || p->walks.counts[WALK_TOP_LEFT] > 0;
            most = p->walks.n > most ? p->walks.n : most;
            g->n++;
        }
        g->columns += g->n > before;
    }
    arrange(g);
    set_ranges(g);
    figure_presets(presets, sizeof presets, view);
    g->more = view->choice.note ? view->choice.note : "";
    snprintf(g->note, sizeof g->note,
             "%s: each walk ends at the first goal it enters; entropy is of the split over the goals%s%s%s",
             c->tasks[task], most > DRAWN ? "; the first 100 episodes are drawn, the numbers are of all" : "",
             presets[0] ? "; " : "", presets);
}

/* "fig-maze goal=1" is no name for a file. */
static void file_name(char *name, size_t size, const char *task)
{
    snprintf(name, size, "fig-%s", task);
    for (; *name; name++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.=", *name))
            *name = '-';
}

dqs_status figure_mazes(const struct figure_view *view, const struct figure_context *context,
                        dqs_error *error)
{
    struct figure_table table;
    figure_table_begin(&table, context->arena,
                       "task: method: preset: seed steps mode: episodes mean_return success goals "
                       "goal_top_left goal_bottom_right goal_entropy paths path_top path_left");
    for (int i = 0; i < view->n_tasks; i++) {
        const struct collection *c = view->collection;
        int task = view->tasks[i];
        char env[64], name[160];
        snprintf(env, sizeof env, "%.*s", (int)strcspn(c->tasks[task], " "), c->tasks[task]);
        struct maze_grid g = {.layout = maze_layout_find(env)};
        if (!g.layout)
            continue;
        take_grid(&g, view, context, task, &table);
        if (g.n == 0)
            continue;
        double side = panel_height(&g);
        double width = 2 * LEFT + g.columns * SIDE + (g.columns - 1) * GAP_X,
               height = TOP + g.rows * (side + BELOW) + (g.rows - 1) * GAP_Y + LEGEND +
                        (g.more[0] ? SECOND_LINE : 0);
        file_name(name, sizeof name, c->tasks[task]);
        TRY(plot_write(context->target, name, fmax(width, LEAST_WIDTH), height, draw_mazes, &g, error));
    }
    return figure_table_write(&table, context->target, "maze-goals",
                              "Goals entered and ways taken in the mazes, over the episodes of the last "
                              "evaluation. `goal entropy` is in bits: 1 is an even split.",
                              error);
}
