/* scenery: what the toy tasks look like without an actor: shared by the plots of a run and its films. */
#ifndef LAB_SCENERY_H
#define LAB_SCENERY_H

#include "arena.h"
#include "chart.h"
#include "maze.h"

void scenery_maze_walls(cairo_t *c, const struct chart_axes *axes, const struct maze_layout *layout);
void scenery_maze_goals(cairo_t *c, const struct chart_axes *axes, const struct maze_layout *layout);

/* The log density over the box of gmm. */
struct chart_field scenery_gmm_density(struct arena *arena);
/* Its levels one, two and three standard deviations out, then (not over colours that show them) the
 * foothills. */
void scenery_gmm_levels(cairo_t *c, const struct chart_axes *axes, const struct chart_field *density,
                        bool on_heat);

#endif
