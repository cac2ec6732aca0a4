/* painter: the view of the tasks that are simple enough to draw from their observations. What never
 * changes is painted once, and every frame starts from a copy of it. Lengths are in 240ths of the
 * picture's shorter side. */
#include "gmm.h"
#include "maze.h"
#include "pendulum.h"
#include "scenery.h"
#include "view.h"
#include <math.h>
#include <stdlib.h>

#define SIDE 240.0
#define MARGIN 10.0

struct painter;

struct trade { /* how one task is painted */
    const dqs_env_type *type;
    double rate;  /* control steps a second; gmm has no clock of its own */
    double reach; /* the picture shows [-reach, reach]^2; 0: the size of the maze */
    void (*ground)(cairo_t *c, const struct painter *p);
    void (*figure)(cairo_t *c, const struct painter *p, const float *obs);
};

struct painter {
    const struct trade *trade;
    const struct maze_layout *layout; /* of a maze */
    struct chart_axes axes;
    cairo_surface_t *ground, *canvas;
    double *x, *y; /* where the actor has been in this episode */
    int n, capacity;
};

static void stroke(cairo_t *c, struct chart_color color, double width)
{
    cairo_set_source_rgba(c, color.red, color.green, color.blue, color.alpha);
    cairo_set_line_width(c, width);
    cairo_set_line_cap(c, CAIRO_LINE_CAP_ROUND);
    cairo_stroke(c);
}

/* ---------------------------------------------------------------- pendulum: cos, sin, speed; angle 0 is
 * upright */
static void pendulum_ground(cairo_t *c, const struct painter *p)
{
    const struct chart_axes *axes = &p->axes;
    chart_disc(c, axes, 0, 0, 1, chart_ink(0), chart_ink(0.15));
    cairo_move_to(c, chart_x(axes, 0), chart_y(axes, 1.08));
    cairo_line_to(c, chart_x(axes, 0), chart_y(axes, 1.2));
    stroke(c, chart_hue(CHART_GREEN, 0.9), 3);
}

static void pendulum_figure(cairo_t *c, const struct painter *p, const float *obs)
{
    const struct chart_axes *axes = &p->axes;
    double x = -obs[1], y = obs[0];
    cairo_move_to(c, chart_x(axes, 0), chart_y(axes, 0));
    cairo_line_to(c, chart_x(axes, x), chart_y(axes, y));
    stroke(c, chart_hue(CHART_BLUE, 1), 9);
    chart_disc(c, axes, x, y, 0.11, chart_hue(CHART_ORANGE, 1), chart_ink(0.8));
    chart_disc(c, axes, 0, 0, 0.035, chart_ink(1), chart_ink(1));
}

/* ---------------------------------------------------------------- maze: position, velocity */
static void maze_ground(cairo_t *c, const struct painter *p)
{
    scenery_maze_goals(c, &p->axes, p->layout);
    scenery_maze_walls(c, &p->axes, p->layout);
}

static void maze_figure(cairo_t *c, const struct painter *p, const float *obs)
{
    chart_line(c, &p->axes, p->x, p->y, p->n, chart_hue(CHART_BLUE, 0.55), 1.5);
    chart_disc(c, &p->axes, obs[0], obs[1], 1.3 * MAZE_BALL_RADIUS, chart_hue(CHART_RED, 1), chart_ink(1));
}

/* ---------------------------------------------------------------- gmm: position */
static void gmm_ground(cairo_t *c, const struct painter *p)
{
    struct arena arena = {0};
    struct chart_field density = scenery_gmm_density(&arena);
    double peak = chart_field_range(&density).high;
    chart_heat(c, &p->axes, &density, (struct chart_range){peak - 60, peak + 40}); /* white stays readable */
    scenery_gmm_levels(c, &p->axes, &density, true);
    arena_free(&arena);
}

static void gmm_figure(cairo_t *c, const struct painter *p, const float *obs)
{
    static const struct chart_color white = {1, 1, 1, 1};
    chart_line(c, &p->axes, p->x, p->y, p->n, white, 0.8);
    chart_scatter(c, &p->axes, p->x, p->y, p->n, white, 1.1);
    chart_disc(c, &p->axes, obs[0], obs[1], 1.5, chart_hue(CHART_RED, 1), white);
}

static const struct trade trades[] = {
    {&pendulum_type, 20, 1.3, pendulum_ground, pendulum_figure},
    {&maze_type, 100, 0, maze_ground, maze_figure},
    {&maze_small_type, 100, 0, maze_ground, maze_figure},
    {&gmm_type, 10, GMM_BOX, gmm_ground, gmm_figure},
};

/* ---------------------------------------------------------------- the view */
static const struct trade *find_trade(const dqs_env_type *type)
{
    for (size_t i = 0; i < sizeof trades / sizeof *trades; i++)
        if (trades[i].type == type)
            return &trades[i];
    return NULL;
}

static bool painter_shows(const dqs_env_type *type, void *env)
{
    (void)env;
    return find_trade(type) != NULL;
}

static void painter_close(void *self)
{
    struct painter *p = self;
    cairo_surface_destroy(p->ground);
    cairo_surface_destroy(p->canvas);
    free(p->x);
    free(p->y);
    free(p);
}

static void paint_ground(struct painter *p)
{
    cairo_t *c = cairo_create(p->ground);
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    chart_begin(c, &p->axes);
    p->trade->ground(c, p);
    chart_end(c, &p->axes);
    cairo_destroy(c);
}

static void set_axes(struct painter *p, double width, double height)
{
    double side = fmin(width, height) - 2 * MARGIN;
    double reach = p->layout ? 0.5 * fmax(p->layout->columns, p->layout->rows) : p->trade->reach;
    p->axes = (struct chart_axes){.box = {0.5 * (width - side), 0.5 * (height - side), side, side},
                                  .x = {-reach, reach},
                                  .y = {-reach, reach},
                                  .no_grid = true,
                                  .no_x_ticks = true,
                                  .no_y_ticks = true};
}

static dqs_status painter_open(void **self, const dqs_env_type *type, void *env, const struct view_wish *wish,
                               dqs_error *error)
{
    (void)env;
    *self = NULL;
    if (wish->camera)
        return fail(error, DQS_E_OPTION, "--camera: %s is a flat drawing and has no cameras; leave it out",
                    type->name);
    struct painter *p = calloc(1, sizeof *p);
    if (!p)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", type->name);
    double scale = fmin(wish->width, wish->height) / SIDE;
    p->trade = find_trade(type);
    p->layout = maze_layout_find(type->name);
    p->ground = cairo_image_surface_create(CAIRO_FORMAT_RGB24, wish->width, wish->height);
    p->canvas = cairo_image_surface_create(CAIRO_FORMAT_RGB24, wish->width, wish->height);
    if (cairo_surface_status(p->ground) || cairo_surface_status(p->canvas)) {
        painter_close(p);
        return fail(error, DQS_E_MEMORY, "%s: cairo has no room for %d x %d pixels; try a smaller --size",
                    type->name, wish->width, wish->height);
    }
    cairo_surface_set_device_scale(p->ground, scale, scale);
    cairo_surface_set_device_scale(p->canvas, scale, scale);
    set_axes(p, wish->width / scale, wish->height / scale);
    paint_ground(p);
    *self = p;
    return DQS_OK;
}

static double painter_rate(const void *self)
{
    return ((const struct painter *)self)->trade->rate;
}

static const char *painter_means(const void *self)
{
    (void)self;
    return "cairo";
}

static bool remember(struct painter *p, const float *obs, long step)
{
    if (step == 0)
        p->n = 0;
    if (p->n == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 256;
        double *x = realloc(p->x, (size_t)capacity * sizeof *x);
        p->x = x ? x : p->x;
        double *y = realloc(p->y, (size_t)capacity * sizeof *y);
        p->y = y ? y : p->y;
        if (!x || !y)
            return false;
        p->capacity = capacity;
    }
    p->x[p->n] = obs[0];
    p->y[p->n++] = obs[1];
    return true;
}

static dqs_status painter_draw(void *self, struct picture *out, const float *obs, long step, dqs_error *error)
{
    struct painter *p = self;
    if (!remember(p, obs, step))
        return fail(error, DQS_E_MEMORY, "%s: out of memory", p->trade->type->name);
    cairo_t *c = cairo_create(p->canvas);
    cairo_set_source_surface(c, p->ground, 0, 0);
    cairo_paint(c);
    chart_begin(c, &p->axes);
    p->trade->figure(c, p, obs);
    chart_end(c, &p->axes);
    cairo_status_t status = cairo_status(c);
    cairo_destroy(c);
    if (status)
        return fail(error, DQS_E_MEMORY, "%s: cairo cannot draw: %s", p->trade->type->name,
                    cairo_status_to_string(status));
    picture_from_surface(out, p->canvas);
    return DQS_OK;
}

const struct view_kind view_painter = {painter_shows, painter_open, painter_rate,
                                       painter_means, painter_draw, painter_close};
