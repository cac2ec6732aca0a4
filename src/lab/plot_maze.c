/* The evaluation episodes in the maze: where each ball went until it entered a goal, coloured by goal and
 * way. */
#include "maze.h"
#include "maze_metrics.h"
#include "plot_data.h"
#include "scenery.h"
#include <math.h>
#include <stdio.h>

#define SIDE 380.0
#define LEFT 40.0
#define TOP 42.0
#define KEYS 166.0  /* room for the legend, right of the maze */
#define LEAST 0.012 /* m: shorter moves are not worth a point of the path */

enum kind { BY_TOP, BY_LEFT, TOP_LEFT, BOTTOM_RIGHT, LOST, KINDS };
static const struct {
    const char *text;
    enum chart_hue hue;
    bool always; /* in the legend, even if nobody went there */
} kinds[KINDS] = {
    [BY_TOP] = {"top left, by the top", CHART_BLUE, true},
    [BY_LEFT] = {"top left, by the left", CHART_GREEN, true},
    [TOP_LEFT] = {"top left, otherwise", CHART_PURPLE, false},
    [BOTTOM_RIGHT] = {"bottom right", CHART_ORANGE, true},
    [LOST] = {"no goal", CHART_GREY, true},
};

struct episode {
    enum kind kind;
    int n; /* points until the first goal, close ones left out */
    double *x, *y;
};

struct maze_picture {
    const struct maze_layout *layout;
    int n_episodes, counts[KINDS];
    struct episode *episodes;
    char title[200], note[256];
};

/* ---------------------------------------------------------------- drawing */
static void draw_start(cairo_t *c, const struct chart_axes *axes, const struct maze_layout *layout)
{
    double start[2];
    maze_place(start, layout, 'S', 0);
    chart_disc(c, axes, start[0], start[1], MAZE_BALL_RADIUS, (struct chart_color){1, 1, 1, 1}, chart_ink(1));
}

static void draw_paths(cairo_t *c, const struct chart_axes *axes, const struct maze_picture *p)
{
    /* Those that found no goal lie below, the rest in the order of the episodes: no way hides another. */
    double alpha = fmax(0.25, fmin(0.8, 40.0 / p->n_episodes));
    for (int found = 0; found < 2; found++)
        for (int e = 0; e < p->n_episodes; e++) {
            const struct episode *w = &p->episodes[e];
            if ((w->kind != LOST) == found)
                chart_line(c, axes, w->x, w->y, w->n,
                           chart_hue(kinds[w->kind].hue, found ? alpha : 0.5 * alpha), 0.9);
        }
    for (int e = 0; e < p->n_episodes; e++) {
        const struct episode *w = &p->episodes[e];
        chart_scatter(c, axes, w->x + w->n - 1, w->y + w->n - 1, 1, chart_hue(kinds[w->kind].hue, 0.9), 1.6);
    }
}

static void draw_keys(cairo_t *c, struct chart_box box, const struct maze_picture *p)
{
    double y = box.y + 6;
    chart_text(c, box.x, y, "first goal entered", 8.5, chart_ink(0.65), CHART_LEFT, CHART_MIDDLE);
    for (int k = 0; k < KINDS; k++) {
        char count[16];
        if (!kinds[k].always && p->counts[k] == 0)
            continue;
        y += 17;
        snprintf(count, sizeof count, "%d", p->counts[k]);
        chart_fill_box(c, (struct chart_box){box.x, y - 4, 14, 8}, chart_hue(kinds[k].hue, 0.85));
        chart_text(c, box.x + 20, y, kinds[k].text, 8.5, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
        chart_text(c, box.x + box.width, y, count, 8.5, chart_ink(0.95), CHART_RIGHT,
                   CHART_MIDDLE | CHART_BOLD);
    }
    chart_text(c, box.x, y + 24, "\u25cb", 8.5, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
    chart_text(c, box.x + 20, y + 24, "start", 8.5, chart_ink(0.95), CHART_LEFT, CHART_MIDDLE);
}

static void draw_maze(cairo_t *c, double width, double height, const void *context)
{
    const struct maze_picture *p = context;
    double x = 0.5 * p->layout->columns, y = 0.5 * p->layout->rows;
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
    scenery_maze_goals(c, &axes, p->layout);
    draw_paths(c, &axes, p);
    scenery_maze_walls(c, &axes, p->layout);
    draw_start(c, &axes, p->layout);
    chart_end(c, &axes);
    draw_keys(c, (struct chart_box){LEFT + SIDE + 16, TOP, width - LEFT - SIDE - 32, 0}, p);
}

/* ---------------------------------------------------------------- data */
static const float *obs_at(const dqs_trace *trace, int episode, int time)
{
    return trace->obs + ((size_t)episode * (size_t)trace->stride + (size_t)time) * (size_t)trace->obs_dim;
}

static dqs_status check_trace(const dqs_trace *trace, const struct maze_layout *layout, dqs_error *error)
{
    double x = 0.5 * layout->columns, y = 0.5 * layout->rows;
    if (trace->obs_dim < 2)
        return fail(error, DQS_E_MISMATCH,
                    "trace.safetensors: observations of %d numbers are not of %s; try: dqs eval",
                    trace->obs_dim, layout->name);
    for (int e = 0; e < trace->episodes; e++)
        for (int t = 0; t <= trace->length[e]; t++) {
            const float *at = obs_at(trace, e, t);
            if (!(fabsf(at[0]) <= x) || !(fabsf(at[1]) <= y))
                return fail(error, DQS_E_MISMATCH,
                            "trace.safetensors: episode %d is at (%g, %g), outside of %s; try: dqs eval", e,
                            at[0], at[1], layout->name);
        }
    return DQS_OK;
}

static enum kind kind_of(struct maze_walk walk)
{
    if (walk.goal < 0)
        return LOST;
    if (walk.goal == MAZE_BOTTOM_RIGHT)
        return BOTTOM_RIGHT;
    return walk.path == MAZE_PATH_TOP ? BY_TOP : walk.path == MAZE_PATH_LEFT ? BY_LEFT : TOP_LEFT;
}

static struct episode read_episode(struct arena *arena, const dqs_trace *trace,
                                   const struct maze_layout *layout, int e)
{
    int last = trace->length[e];
    struct episode w = {kind_of(maze_classify(layout, obs_at(trace, e, 0), trace->obs_dim, last + 1)), 0,
                        arena_new(arena, double, last + 1), arena_new(arena, double, last + 1)};
    for (int t = 0; t <= last; t++) {
        const float *at = obs_at(trace, e, t);
        bool home = maze_goal_at(layout, at[0], at[1]) >= 0;
        if (w.n > 0 && !home && t < last && hypot(at[0] - w.x[w.n - 1], at[1] - w.y[w.n - 1]) < LEAST)
            continue;
        w.x[w.n] = at[0];
        w.y[w.n++] = at[1];
        if (home)
            break;
    }
    return w;
}

dqs_status plot_maze(struct plot_data *data, const struct plot_target *target, dqs_error *error)
{
    struct maze_picture p = {.layout = maze_layout_find(data->env), .n_episodes = data->trace.episodes};
    TRY(check_trace(&data->trace, p.layout, error));
    p.episodes = arena_new(&data->arena, struct episode, p.n_episodes);
    for (int e = 0; e < p.n_episodes; e++) {
        p.episodes[e] = read_episode(&data->arena, &data->trace, p.layout, e);
        p.counts[p.episodes[e].kind]++;
    }
    int top_left = p.counts[BY_TOP] + p.counts[BY_LEFT] + p.counts[TOP_LEFT],
        found = p.n_episodes - p.counts[LOST];
    snprintf(p.title, sizeof p.title, "%s: %d of %d episodes enter a goal, %d top left, %d bottom right",
             p.layout->name, found, p.n_episodes, top_left, p.counts[BOTTOM_RIGHT]);
    plot_origin(data, true, p.note, sizeof p.note);
    double height = TOP + SIDE * p.layout->rows / p.layout->columns + 40;
    return plot_write(target, "maze", LEFT + SIDE + KEYS, height, draw_maze, &p, error);
}
