/* maze: a ball pushed by a force through a maze with two goals. The layouts are text, one character a cell of
 * 1 m; what a picture needs to draw them is here too. */
#ifndef ENV_MAZE_H
#define ENV_MAZE_H

#include "dqs.h"
#include <stdbool.h>

#define MAZE_GOALS 2
#define MAZE_GOAL_RADIUS 0.5
#define MAZE_BALL_RADIUS 0.1

enum maze_goal { MAZE_TOP_LEFT, MAZE_BOTTOM_RIGHT }; /* in reading order of the layout */

/* Marks: # wall, S start, G goal, t and l: free cells that tell the top way and the left way to the top-left
 * goal, . free */
struct maze_layout {
    const char *name;
    int rows, columns;
    const char *cells[9]; /* rows of `columns` characters, row 0 on top */
    const char *goal;     /* which goals pay, if the options do not say */
};

extern const struct maze_layout maze_layout_large, maze_layout_small;
extern const dqs_env_type maze_type, maze_small_type;

/* The layout of the environment of that name, NULL if it is not a maze. */
const struct maze_layout *maze_layout_find(const char *name);
/* Centre of the cell: the origin is the middle of the maze, x to the right, y up. */
void maze_centre(double xy[2], const struct maze_layout *layout, int row, int column);
/* Centre of the index-th cell with that mark, in reading order. */
void maze_place(double xy[2], const struct maze_layout *layout, char mark, int index);
/* The mark of the cell at a position; '#' outside the maze. */
char maze_mark(const struct maze_layout *layout, double x, double y);
/* The goal whose disc holds the position, or -1. */
int maze_goal_at(const struct maze_layout *layout, double x, double y);

#endif
