/* maze: PointMaze physics without MuJoCo: exact free motion of a damped ball, rigid walls without friction or
 * rebound. State (5 doubles): x, y, vx, vy, the goal that pays (0 top left, 1 bottom right, 2 both).
 * Observation: x, y, vx, vy. Which of the goals pays is not observed. */
#include "maze.h"
#include "env_options.h"
#include "maze_metrics.h"
#include "rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double time_step = 0.01, damping = 1.0, force = 100.0, max_speed = 5.0;
static const double mass = 4.18879020478639098; /* 4/3 pi 0.1^3 at 1000 kg/m^3 */

/* clang-format off */
const struct maze_layout maze_layout_large = {
    "maze", 9, 9,
    {"#########",
     "#Gtttt#.#",
     "#l##..#.#",
     "#l....#.#",
     "#l..S...#",
     "#l#.....#",
     "#l##..#.#",
     "#l...##G#",
     "#########"},
    "hidden",
};

const struct maze_layout maze_layout_small = {
    "maze-small", 7, 7,
    {"#######",
     "#G.t###",
     "#.#.###",
     "#l.S..#",
     "#####.#",
     "#####G#",
     "#######"},
    "either",
};
/* clang-format on */

enum goal_rule { GOAL_EITHER, GOAL_HIDDEN }; /* order of the choices below */

struct maze_options {
    int goal;
    long limit;
    double start_std;
    bool terminate;
};

#define OPTIONS struct maze_options
static const struct option maze_table[] = {
    OPTION_ROW_CHOICE(goal, "either", "either hidden",
                      "both goals pay, or one drawn at each reset and not shown", "authors: hidden"),
    OPTION_ROW_INT(limit, "600", 1, 1000000, "steps until the episode is truncated", "authors"),
    OPTION_ROW_REAL(start_std, "0.1", 0, 10, "standard deviation of the start around S, in m", "chosen"),
    OPTION_ROW_BOOL(terminate, "false", "the episode ends in a goal that pays", "authors"),
    {0},
};

struct maze {
    const struct maze_layout *layout;
    struct maze_options options;
    double position[2], velocity[2];
    int goal; /* enum maze_goal, or MAZE_GOALS: both pay */
};

const struct maze_layout *maze_layout_find(const char *name)
{
    const struct maze_layout *const all[] = {&maze_layout_large, &maze_layout_small};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(name, all[i]->name) == 0)
            return all[i];
    return NULL;
}

void maze_centre(double xy[2], const struct maze_layout *layout, int row, int column)
{
    xy[0] = column + 0.5 - 0.5 * layout->columns;
    xy[1] = 0.5 * layout->rows - (row + 0.5);
}

void maze_place(double xy[2], const struct maze_layout *layout, char mark, int index)
{
    xy[0] = xy[1] = 0.0;
    for (int row = 0; row < layout->rows; row++)
        for (int column = 0; column < layout->columns; column++)
            if (layout->cells[row][column] == mark && index-- == 0)
                maze_centre(xy, layout, row, column);
}

static char mark_at(const struct maze_layout *layout, int row, int column)
{
    bool inside = row >= 0 && row < layout->rows && column >= 0 && column < layout->columns;
    return inside ? layout->cells[row][column] : '#';
}

static int row_of(const struct maze_layout *layout, double y)
{
    return (int)floor(0.5 * layout->rows - y);
}

static int column_of(const struct maze_layout *layout, double x)
{
    return (int)floor(x + 0.5 * layout->columns);
}

char maze_mark(const struct maze_layout *layout, double x, double y)
{
    return mark_at(layout, row_of(layout, y), column_of(layout, x));
}

int maze_goal_at(const struct maze_layout *layout, double x, double y)
{
    for (int i = 0; i < MAZE_GOALS; i++) {
        double goal[2];
        maze_place(goal, layout, 'G', i);
        if ((x - goal[0]) * (x - goal[0]) + (y - goal[1]) * (y - goal[1]) <=
            MAZE_GOAL_RADIUS * MAZE_GOAL_RADIUS)
            return i;
    }
    return -1;
}

/* The deepest contact of the ball with the walls around it: depth > 0 and the unit normal out of the wall.
 * The centre is never inside a wall: a step is at most 7.4 cm, the radius is 10. */
static double deepest_contact(double normal[2], const struct maze_layout *layout, const double position[2])
{
    int row = row_of(layout, position[1]), column = column_of(layout, position[0]);
    double deepest = 0.0;
    for (int r = row - 1; r <= row + 1; r++)
        for (int c = column - 1; c <= column + 1; c++) {
            double centre[2], away[2];
            if (mark_at(layout, r, c) != '#')
                continue;
            maze_centre(centre, layout, r, c);
            for (int k = 0; k < 2; k++) { /* from the nearest point of the square to the ball */
                double d = position[k] - centre[k];
                away[k] = d - (d < -0.5 ? -0.5 : d > 0.5 ? 0.5 : d);
            }
            double distance = sqrt(away[0] * away[0] + away[1] * away[1]);
            if (distance > 0.0 && MAZE_BALL_RADIUS - distance > deepest) {
                deepest = MAZE_BALL_RADIUS - distance;
                normal[0] = away[0] / distance;
                normal[1] = away[1] / distance;
            }
        }
    return deepest;
}

/* Deepest first: on a flat wall the face then wins over the corner of the next square, so that the ball does
 * not catch on the seam between two squares. */
static void resolve_contacts(struct maze *m)
{
    double normal[2], depth;
    for (int i = 0; i < 8 && (depth = deepest_contact(normal, m->layout, m->position)) > 0.0; i++) {
        double inward = m->velocity[0] * normal[0] + m->velocity[1] * normal[1];
        for (int k = 0; k < 2; k++) {
            m->position[k] += depth * normal[k];
            m->velocity[k] -= inward < 0.0 ? inward * normal[k] : 0.0;
        }
    }
}

static bool is_free(const struct maze_layout *layout, const double position[2])
{
    double normal[2];
    return maze_mark(layout, position[0], position[1]) != '#' &&
           deepest_contact(normal, layout, position) < 1e-6;
}

static void observe(const struct maze *m, float *obs)
{
    for (int k = 0; k < 2; k++) {
        obs[k] = (float)m->position[k];
        obs[2 + k] = (float)m->velocity[k];
    }
}

static dqs_status maze_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    const struct maze_layout *layout = user;
    struct maze_options values;
    option_defaults(maze_table, &values);
    TRY(option_set(option_find(maze_table, "goal"), &values, layout->goal, error));
    TRY(env_options_parse(layout->name, maze_table, &values, options, error));
    struct maze *m = calloc(1, sizeof *m);
    if (!m)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", layout->name);
    m->layout = layout;
    m->options = values;
    *self = m;
    *spec = (dqs_spec){.obs_dim = 4,
                       .act_dim = 2,
                       .max_steps = (int)values.limit,
                       .state_dim = 5,
                       .terminates = values.terminate};
    return DQS_OK;
}

static dqs_status maze_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct maze *m = self;
    struct rng rng;
    double start[2];
    (void)error;
    rng_seed(&rng, seed, RNG_ENV);
    m->goal = m->options.goal == GOAL_HIDDEN ? (int)rng_below(&rng, MAZE_GOALS) : MAZE_GOALS;
    maze_place(start, m->layout, 'S', 0);
    int tries = 0;
    do { /* a wide start may fall into a wall: draw again, and in the end begin on S itself */
        double spread = tries < 1000 ? m->options.start_std : 0.0;
        for (int k = 0; k < 2; k++) {
            m->position[k] = start[k] + spread * rng_normal(&rng);
            m->velocity[k] = 0.0;
        }
    } while (!is_free(m->layout, m->position) && ++tries <= 1000);
    observe(m, obs);
    return DQS_OK;
}

static double clip(double value, double limit)
{
    return value < -limit ? -limit : value > limit ? limit : value;
}

static dqs_status maze_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                            dqs_error *error)
{
    struct maze *m = self;
    (void)error;
    for (int k = 0; k < 2; k++) { /* damping is implicit, as in MuJoCo */
        double v = clip(m->velocity[k], max_speed), push = force * clip(action[k], 1.0);
        m->velocity[k] = v + time_step * (push - damping * v) / (mass + time_step * damping);
        m->position[k] += time_step * m->velocity[k];
    }
    resolve_contacts(m);
    int goal = maze_goal_at(m->layout, m->position[0], m->position[1]);
    bool pays = goal >= 0 && (m->goal == MAZE_GOALS || m->goal == goal);
    outcome->reward = pays ? 1.0 : 0.0;
    outcome->terminated = pays && m->options.terminate;
    observe(m, obs);
    return DQS_OK;
}

static void maze_get_state(void *self, double *state)
{
    const struct maze *m = self;
    for (int k = 0; k < 2; k++) {
        state[k] = m->position[k];
        state[2 + k] = m->velocity[k];
    }
    state[4] = m->goal;
}

static dqs_status maze_set_state(void *self, const double *state, float *obs, dqs_error *error)
{
    struct maze *m = self;
    double half = 0.5 * m->layout->columns;
    if (!(fabs(state[0]) < half) || !(fabs(state[1]) < half) || !is_free(m->layout, state))
        return fail(error, DQS_E_USAGE, "%s: position (%g, %g) is in a wall or outside; set a free one",
                    m->layout->name, state[0], state[1]);
    if (!(fabs(state[2]) < 2.0 * max_speed) || !(fabs(state[3]) < 2.0 * max_speed))
        return fail(error, DQS_E_USAGE,
                    "%s: velocity (%g, %g) is out of range; it stays below %g a component", m->layout->name,
                    state[2], state[3], 2.0 * max_speed);
    if (state[4] != MAZE_TOP_LEFT && state[4] != MAZE_BOTTOM_RIGHT && state[4] != MAZE_GOALS)
        return fail(error, DQS_E_USAGE, "%s: goal %g is not 0 (top left), 1 (bottom right) or 2 (both)",
                    m->layout->name, state[4]);
    for (int k = 0; k < 2; k++) {
        m->position[k] = state[k];
        m->velocity[k] = state[2 + k];
    }
    m->goal = (int)state[4];
    observe(m, obs);
    return DQS_OK;
}

static int maze_summarise(void *self, const dqs_trace *trace, dqs_number *out, int capacity)
{
    const struct maze *m = self;
    return maze_metrics_summarise(m->layout, trace, out, capacity);
}

#define MAZE_TYPE(env_name, text, env_layout)                                                     \
    {                                                                                             \
        .size = sizeof(dqs_env_type), .name = env_name, .doc = text, .user = (void *)&env_layout, \
        .open = maze_open, .close = free, .reset = maze_reset, .step = maze_step,                 \
        .get_state = maze_get_state, .set_state = maze_set_state, .summarise = maze_summarise     \
    }

const dqs_env_type maze_type =
    MAZE_TYPE("maze", "push a ball to one of two goals, 9 x 9 cells, two ways to the top left, 600 steps",
              maze_layout_large);
const dqs_env_type maze_small_type =
    MAZE_TYPE("maze-small", "the same in 7 x 7 cells, quicker to learn; both goals pay", maze_layout_small);
