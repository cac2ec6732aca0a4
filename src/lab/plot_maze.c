/* The evaluation episodes in the maze: where each ball went until it entered a goal, coloured by goal and
 * way. */
#include "maze_walks.h"
#include "plot_data.h"
#include <stdio.h>

#define SIDE 380.0
#define LEFT 40.0
#define TOP 42.0
#define KEYS 166.0 /* room for the legend, right of the maze */

struct maze_picture {
    struct walks walks;
    char title[200], note[256];
};

static void draw_keys(cairo_t *c, struct chart_box box, const struct walks *walks)
{
    double y = box.y + 6;
    chart_text(c, box.x, y, "first goal entered", 8.5, chart_ink(0.65), CHART_LEFT, CHART_MIDDLE);
    for (int k = 0; k < WALK_KINDS; k++) {
        char count[16];
        if (k == WALK_TOP_LEFT && walks->counts[k] == 0)
            continue; /* the odd one out; the others show that nobody went there */
        y += 17;
        snprintf(count, sizeof count, "%d", walks->counts[k]);
        chart_fill_box(c, (struct chart_box){box.x, y - 4, 14, 8}, walk_color(k, 0.85));
        chart_text(c, box.x + 20, y, walk_text(k), 8.5, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
        chart_text(c, box.x + box.width, y, count, 8.5, chart_ink(0.95), CHART_RIGHT,
                   CHART_MIDDLE | CHART_BOLD);
    }
    chart_text(c, box.x, y + 24, "\u25cb", 8.5, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
    chart_text(c, box.x + 20, y + 24, "start", 8.5, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
}

static void draw_maze(cairo_t *c, double width, double height, const void *context)
{
    const struct maze_picture *p = context;
    double x = 0.5 * p->walks.layout->columns, y = 0.5 * p->walks.layout->rows;
    struct chart_axes axes = {.box = {LEFT, TOP, SIDE, SIDE * y / x},
                              .x = {-x, x},
                              .y = {-y, y},
                              .title = p->title,
                              .note = p->note,
                              .x_label = "x in m",
                              .y_label = "y in m",
                              .no_grid = true};
    (void)height;
    chart_begin(c, &axes);
    walks_draw(c, &axes, &p->walks, p->walks.n, 0.9);
    chart_end(c, &axes);
    draw_keys(c, (struct chart_box){LEFT + SIDE + 16, TOP, width - LEFT - SIDE - 32, 0}, &p->walks);
}

dqs_status plot_maze(struct plot_data *data, const struct plot_target *target, dqs_error *error)
{
    struct maze_picture p;
    const struct maze_layout *layout = maze_layout_find(data->env);
    TRY(walks_read(&p.walks, &data->arena, &data->trace, layout, "trace.safetensors", error));
    const int *counts = p.walks.counts;
    int top_left = counts[WALK_BY_TOP] + counts[WALK_BY_LEFT] + counts[WALK_TOP_LEFT];
    snprintf(p.title, sizeof p.title, "%s: %d of %d episodes enter a goal, %d top left, %d bottom right",
             layout->name, p.walks.n - counts[WALK_LOST], p.walks.n, top_left, counts[WALK_BOTTOM_RIGHT]);
    plot_origin(data, true, p.note, sizeof p.note);
    double height = TOP + SIDE * layout->rows / layout->columns + 40;
    return plot_write(target, "maze", LEFT + SIDE + KEYS, height, draw_maze, &p, error);
}
