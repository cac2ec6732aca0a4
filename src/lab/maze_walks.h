/* maze_walks: the episodes of a trace as walks through the maze, sorted by the goal they entered first and
 * the way they took; for the picture of one run and the figure of many. */
#ifndef LAB_MAZE_WALKS_H
#define LAB_MAZE_WALKS_H

#include "arena.h"
#include "chart.h"
#include "collection.h"
#include "maze.h"

enum walk_kind { WALK_BY_TOP, WALK_BY_LEFT, WALK_TOP_LEFT, WALK_BOTTOM_RIGHT, WALK_LOST, WALK_KINDS };

struct walk {
    enum walk_kind kind;
    int n; /* points until the first goal, close ones left out */
    double *x, *y;
};

struct walks {
    const struct maze_layout *layout;
    int n, counts[WALK_KINDS];
    struct walk *list;
};

/* The trace is checked against the layout: a stranger's is an error that names `source`. */
dqs_status walks_read(struct walks *walks, struct arena *arena, const dqs_trace *trace,
                      const struct maze_layout *layout, const char *source, dqs_error *error);
/* The same of a run; `data`, empty before, keeps what else the trace says and is the caller's to free. False
 * if the run has no trace (yet), or one that is damaged or of another task: then with a warning. */
bool walks_of_run(struct walks *walks, struct plot_data *data, struct arena *arena, const char *run_dir,
                  const struct maze_layout *layout, collection_warning *warn, void *user);
const char *walk_text(enum walk_kind kind);
struct chart_color walk_color(enum walk_kind kind, double alpha);
/* Goals, the first `most` walks, walls, start; between chart_begin and chart_end. */
void walks_draw(cairo_t *c, const struct chart_axes *axes, const struct walks *walks, int most, double width);

#endif
