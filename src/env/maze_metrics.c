/* maze_metrics: goal split, its entropy and distinct paths, from the traces of evaluation episodes. A goal
 * counts when it is entered, whether or not it was the one that paid. */
#include "maze_metrics.h"
#include <math.h>
#include <stdio.h>

struct maze_walk maze_classify(const struct maze_layout *layout, const float *obs, int obs_dim, int count)
{
    struct maze_walk walk = {-1, MAZE_PATH_NONE};
    for (int t = 0; t < count && walk.goal < 0; t++, obs += obs_dim) {
        char mark = maze_mark(layout, obs[0], obs[1]);
        if (walk.path == MAZE_PATH_NONE)
            walk.path = mark == 't' ? MAZE_PATH_TOP : mark == 'l' ? MAZE_PATH_LEFT : MAZE_PATH_NONE;
        walk.goal = maze_goal_at(layout, obs[0], obs[1]);
    }
    if (walk.goal != MAZE_TOP_LEFT)
        walk.path = MAZE_PATH_NONE;
    return walk;
}

static double split_entropy_bits(const int count[MAZE_GOALS])
{
    double total = 0.0, entropy = 0.0;
    for (int i = 0; i < MAZE_GOALS; i++)
        total += count[i];
    for (int i = 0; i < MAZE_GOALS; i++)
        entropy -= count[i] > 0 ? count[i] / total * log2(count[i] / total) : 0.0;
    return entropy;
}

int maze_metrics_summarise(const struct maze_layout *layout, const dqs_trace *trace, dqs_number *out,
                           int capacity)
{
    int goal[MAZE_GOALS] = {0}, path[3] = {0};
    if (trace->episodes < 1)
        return 0;
    for (int e = 0; e < trace->episodes; e++) {
        const float *obs = trace->obs + (size_t)e * (size_t)trace->stride * (size_t)trace->obs_dim;
        struct maze_walk walk = maze_classify(layout, obs, trace->obs_dim, trace->length[e] + 1);
        if (walk.goal >= 0)
            goal[walk.goal]++;
        path[walk.path]++;
    }
    int top_left = goal[MAZE_TOP_LEFT], bottom_right = goal[MAZE_BOTTOM_RIGHT];
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"success", (double)(top_left + bottom_right) / trace->episodes},
        {"goals", (top_left > 0) + (bottom_right > 0)},
        {"goal_top_left", top_left},
        {"goal_bottom_right", bottom_right},
        {"goal_entropy", split_entropy_bits(goal)},
        {"paths", (path[MAZE_PATH_TOP] > 0) + (path[MAZE_PATH_LEFT] > 0)},
        {"path_top", path[MAZE_PATH_TOP]},
        {"path_left", path[MAZE_PATH_LEFT]},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && count < capacity; i++, count++) {
        snprintf(out[count].name, sizeof out[count].name, "%s", rows[i].name);
        out[count].value = rows[i].value;
    }
    return count;
}
