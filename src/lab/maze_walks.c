/* maze_walks: see maze_walks.h. */
#include "maze_walks.h"
#include "maze_metrics.h"
#include "scenery.h"
#include <stdio.h>
#include <math.h>

#define LEAST 0.012 /* m: shorter moves are not worth a point of the path */

/* ---------------------------------------------------------------- reading */
static const float *obs_at(const dqs_trace *trace, int episode, int time)
{
    return trace->obs + ((size_t)episode * (size_t)trace->stride + (size_t)time) * (size_t)trace->obs_dim;
}

static dqs_status check_trace(const dqs_trace *trace, const struct maze_layout *layout, const char *source,
                              dqs_error *error)
{
    double x = 0.5 * layout->columns, y = 0.5 * layout->rows;
    if (trace->obs_dim < 2)
        return fail(error, DQS_E_MISMATCH, "%s: observations of %d numbers are not of %s; try: dqs eval",
                    source, trace->obs_dim, layout->name);
    for (int e = 0; e < trace->episodes; e++)
        for (int t = 0; t <= trace->length[e]; t++) {
            const float *at = obs_at(trace, e, t);
            if (!(fabsf(at[0]) <= x) || !(fabsf(at[1]) <= y))
                return fail(error, DQS_E_MISMATCH,
                            "%s: episode %d is at (%g, %g), outside of %s; try: dqs eval", source, e, at[0],
                            at[1], layout->name);
        }
    return DQS_OK;
}

static enum walk_kind kind_of(struct maze_walk walk)
{
    if (walk.goal < 0)
        return WALK_LOST;
    if (walk.goal == MAZE_BOTTOM_RIGHT)
        return WALK_BOTTOM_RIGHT;
    return walk.path == MAZE_PATH_TOP    ? WALK_BY_TOP
           : walk.path == MAZE_PATH_LEFT ? WALK_BY_LEFT
                                         : WALK_TOP_LEFT;
}

static struct walk read_walk(struct arena *arena, const dqs_trace *trace, const struct maze_layout *layout,
                             int e)
{
    int last = trace->length[e];
    struct walk w = {kind_of(maze_classify(layout, obs_at(trace, e, 0), trace->obs_dim, last + 1)), 0,
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

dqs_status walks_read(struct walks *walks, struct arena *arena, const dqs_trace *trace,
                      const struct maze_layout *layout, const char *source, dqs_error *error)
{
    *walks = (struct walks){.layout = layout};
    TRY(check_trace(trace, layout, source, error));
    walks->list = arena_new(arena, struct walk, trace->episodes);
    for (; walks->n < trace->episodes; walks->n++) {
        walks->list[walks->n] = read_walk(arena, trace, layout, walks->n);
        walks->counts[walks->list[walks->n].kind]++;
    }
    return DQS_OK;
}

bool walks_of_run(struct walks *walks, struct plot_data *data, struct arena *arena, const char *run_dir,
                  const struct maze_layout *layout, collection_warning *warn, void *user)
{
    dqs_error error = {0};
    char source[700];
    snprintf(source, sizeof source, "%s/trace.safetensors", run_dir);
    dqs_status status = plot_data_read_trace(data, run_dir, &error);
    bool there = status == DQS_OK && data->trace.episodes > 0;
    if (there)
        status = walks_read(walks, arena, &data->trace, layout, source, &error);
    if (status != DQS_OK && warn)
        warn(user, error.message);
    return there && status == DQS_OK;
}

/* ---------------------------------------------------------------- drawing */
const char *walk_text(enum walk_kind kind)
{
    static const char *const texts[WALK_KINDS] = {
        [WALK_BY_TOP] = "top left, by the top",
        [WALK_BY_LEFT] = "top left, by the left",
        [WALK_TOP_LEFT] = "top left, otherwise",
        [WALK_BOTTOM_RIGHT] = "bottom right",
        [WALK_LOST] = "no goal",
    };
    return texts[kind];
}

struct chart_color walk_color(enum walk_kind kind, double alpha)
{
    /* Of the looks of methods those far apart for every eye; grey for what went nowhere. */
    static const int looks[WALK_KINDS] = {
        [WALK_BY_TOP] = 0, [WALK_BY_LEFT] = 2, [WALK_TOP_LEFT] = 7, [WALK_BOTTOM_RIGHT] = 1};
    return kind == WALK_LOST ? chart_hue(CHART_GREY, alpha)
                             : chart_fade(chart_look(looks[kind]).color, alpha);
}

static void draw_start(cairo_t *c, const struct chart_axes *axes, const struct maze_layout *layout)
{
    double start[2];
    maze_place(start, layout, 'S', 0);
    chart_disc(c, axes, start[0], start[1], MAZE_BALL_RADIUS, (struct chart_color){1, 1, 1, 1}, chart_ink(1));
}

void walks_draw(cairo_t *c, const struct chart_axes *axes, const struct walks *walks, int most, double width)
{
    int n = walks->n < most ? walks->n : most;
    double alpha = fmax(0.25, fmin(0.8, 40.0 / (n > 0 ? n : 1)));
    scenery_maze_goals(c, axes, walks->layout);
    /* Those that found no goal lie below, the rest in the order of the episodes: no way hides another. */
    for (int found = 0; found < 2; found++)
        for (int e = 0; e < n; e++) {
            const struct walk *w = &walks->list[e];
            if ((w->kind != WALK_LOST) == found)
                chart_line(c, axes, w->x, w->y, w->n, walk_color(w->kind, found ? alpha : 0.5 * alpha),
                           width);
        }
    for (int e = 0; e < n; e++) {
        const struct walk *w = &walks->list[e];
        chart_scatter(c, axes, w->x + w->n - 1, w->y + w->n - 1, 1, walk_color(w->kind, 0.9), 1.8 * width);
    }
    scenery_maze_walls(c, axes, walks->layout);
    draw_start(c, axes, walks->layout);
}
