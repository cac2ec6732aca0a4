/* maze_metrics: which goals the episodes entered first, and by which way. */
#ifndef ENV_MAZE_METRICS_H
#define ENV_MAZE_METRICS_H

#include "dqs.h"
#include "maze.h"

enum maze_path { MAZE_PATH_NONE, MAZE_PATH_TOP, MAZE_PATH_LEFT };

/* What one episode did. */
struct maze_walk {
    int goal;            /* the first entered, or -1 */
    enum maze_path path; /* by which way, if that goal is the top left */
};

/* obs [count x obs_dim], position in the first two columns. The way is the first telling cell passed before
 * the goal. */
struct maze_walk maze_classify(const struct maze_layout *layout, const float *obs, int obs_dim, int count);
/* All episodes as named numbers. Returns how many. */
int maze_metrics_summarise(const struct maze_layout *layout, const dqs_trace *trace, dqs_number *out,
                           int capacity);

#endif
