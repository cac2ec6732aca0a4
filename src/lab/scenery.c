/* scenery: see scenery.h. */
#include "scenery.h"
#include "gmm.h"

#define GRID 201 /* nodes of the density along a side: two to a standard deviation */

void scenery_maze_walls(cairo_t *c, const struct chart_axes *axes, const struct maze_layout *layout)
{
    for (int row = 0; row < layout->rows; row++)
        for (int column = 0; column < layout->columns; column++) {
            double m[2];
            maze_centre(m, layout, row, column);
            if (maze_mark(layout, m[0], m[1]) == '#')
                chart_add_rectangle(c, axes, (struct chart_range){m[0] - 0.5, m[0] + 0.5},
                                    (struct chart_range){m[1] - 0.5, m[1] + 0.5});
        }
    chart_fill(c, (struct chart_color){0.30, 0.34, 0.40, 1});
}

void scenery_maze_goals(cairo_t *c, const struct chart_axes *axes, const struct maze_layout *layout)
{
    static const enum chart_hue hues[MAZE_GOALS] = {
        [MAZE_TOP_LEFT] = CHART_TEAL, [MAZE_BOTTOM_RIGHT] = CHART_ORANGE};
    for (int i = 0; i < MAZE_GOALS; i++) {
        double goal[2];
        maze_place(goal, layout, 'G', i);
        chart_disc(c, axes, goal[0], goal[1], MAZE_GOAL_RADIUS, chart_hue(hues[i], 0.22),
                   chart_hue(hues[i], 0.9));
    }
}

void scenery_gmm_levels(cairo_t *c, const struct chart_axes *axes, const struct chart_field *density,
                        bool on_heat)
{
    static const double distances[] = {1, 2, 3, 6, 10, 14, 20};
    double peak = chart_field_range(density).high;
    for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
        double d = distances[i];
        if (on_heat && d > 6)
            break;
        struct chart_color color =
            on_heat ? (struct chart_color){1, 1, 1, 0.75} : chart_ink(d <= 3 ? 0.36 : 0.2);
        chart_contour(c, axes, density, peak - 0.5 * d * d, color, 0.55);
    }
}

struct chart_field scenery_gmm_density(struct arena *arena)
{
    float *values = arena_new(arena, float, GRID *GRID);
    for (int row = 0; row < GRID; row++)
        for (int column = 0; column < GRID; column++)
            values[row * GRID + column] = (float)gmm_log_density(GMM_BOX * (2.0 * column / (GRID - 1) - 1),
                                                                 GMM_BOX * (2.0 * row / (GRID - 1) - 1));
    return (struct chart_field){values, GRID, GRID, {-GMM_BOX, GMM_BOX}, {-GMM_BOX, GMM_BOX}};
}
