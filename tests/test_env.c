/* test_env: the tasks against outside oracles: Gymnasium, SciPy, numbers of the maze physics. */
#include "gmm.h"
#include "gmm_metrics.h"
#include "maze.h"
#include "maze_metrics.h"
#include "test_env_help.h"

#ifndef FIXTURES
#define FIXTURES "tests/fixtures"
#endif

/* ---------------------------------------------------------------- pendulum */
static void test_pendulum_follows_gymnasium(void **unused)
{
    (void)unused;
    dqs_error error = {0};
    void *self;
    dqs_spec spec;
    const dqs_env_type *type = env_find("pendulum");
    assert_int_equal(env_open(type, &self, &spec, "", &error), DQS_OK);
    FILE *file = fopen(FIXTURES "/pendulum.txt", "r");
    assert_non_null(file);
    char line[256], torque[32];
    int episode, steps = 0, at_limit = 0;
    double theta, theta_dot, reward;
    while (fgets(line, sizeof line, file)) {
        float obs[3];
        if (sscanf(line, "%d %31s %lf %lf %lf", &episode, torque, &theta, &theta_dot, &reward) != 5)
            continue;
        if (strcmp(torque, "start") == 0) {
            assert_int_equal(type->set_state(self, (double[]){theta, theta_dot}, obs, &error), DQS_OK);
            continue;
        }
        double state[2];
        dqs_outcome outcome = {0};
        float action = strtof(torque, NULL);
        assert_int_equal(type->step(self, &action, obs, &outcome, &error), DQS_OK);
        type->get_state(self, state);
        assert_near(state[0], theta, 1e-9);
        assert_near(state[1], theta_dot, 1e-9);
        assert_near(outcome.reward, reward, 1e-9);
        assert_near(obs[0], cos(theta), 1e-6);
        assert_near(obs[1], sin(theta), 1e-6);
        at_limit += fabs(theta_dot) == 8.0;
        steps++;
    }
    fclose(file);
    type->close(self);
    assert_int_equal(steps, 360);
    assert_true(at_limit > 0); /* the fixture meets the speed limit */
}

/* ---------------------------------------------------------------- gmm */
static void test_gmm_density_and_mmd_of_scipy(void **unused)
{
    (void)unused;
    FILE *file = fopen(FIXTURES "/gmm.txt", "r");
    assert_non_null(file);
    char line[256];
    double x, y, value, bandwidth[2] = {0}, expected[2] = {0};
    float *points = NULL;
    int means = 0, densities = 0, mmds = 0, count = 0, n = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "mean %lf %lf", &x, &y) == 2) {
            assert_near(gmm_means()[means][0], x, 1e-9);
            assert_near(gmm_means()[means++][1], y, 1e-9);
        } else if (sscanf(line, "density %lf %lf %lf", &x, &y, &value) == 3) {
            assert_near(gmm_log_density(x, y), value, 1e-9 * (1.0 + fabs(value)));
            densities++;
        } else if (mmds < 2 && sscanf(line, "mmd %d %lf %lf", &n, &bandwidth[mmds], &expected[mmds]) == 3) {
            mmds++;
        } else if (sscanf(line, "point %lf %lf", &x, &y) == 2) {
            points = points ? points : calloc((size_t)(4 * n), sizeof *points);
            assert_true(count < 2 * n);
            points[2 * count] = (float)x;
            points[2 * count++ + 1] = (float)y;
        }
    }
    fclose(file);
    assert_int_equal(means, GMM_MODES);
    assert_true(densities >= 30);
    assert_int_equal(count, 2 * n);
    double mmd[2];
    gmm_mmd(mmd, points, n, points + 2 * n, n, bandwidth);
    assert_near(mmd[0], expected[0], 1e-5);
    assert_near(mmd[1], expected[1], 1e-5);
    free(points);
    assert_near(gmm_log_density(-0.2995, 21.4577), -log(40.0 * 2.0 * 3.14159265358979),
                1e-9); /* a lonely mean */
}

static void test_gmm_moves(void **unused)
{
    (void)unused;
    const dqs_env_type *type = env_find("gmm");
    dqs_error error = {0};
    void *self;
    dqs_spec spec;
    float obs[2];
    double state[2];
    dqs_outcome outcome;
    assert_int_equal(env_open(type, &self, &spec, NULL, &error), DQS_OK);
    assert_int_equal(type->set_state(self, (double[]){1.0, 2.0}, obs, &error), DQS_OK);
    type->step(self, (float[]){0.03f, -0.04f}, obs, &outcome, &error);
    type->get_state(self, state);
    assert_near(state[0], 1.6, 1e-7);
    assert_near(state[1], 1.2, 1e-7);
    assert_near(outcome.reward, gmm_log_density(state[0], state[1]), 1e-12);
    type->step(self, (float[]){0.0f, 0.0f}, obs, &outcome, &error);
    type->get_state(self, state);
    assert_near(state[0], 1.6, 1e-7); /* no direction, no move */
    assert_int_equal(type->set_state(self, (double[]){49.5, 0.0}, obs, &error), DQS_OK);
    type->step(self, (float[]){1.0f, 0.0f}, obs, &outcome, &error);
    assert_float_equal(obs[0], 50.0f, 0.0f); /* the wall of the box */
    assert_int_equal(type->set_state(self, (double[]){50.1, 0.0}, obs, &error), DQS_E_USAGE);
    assert_int_equal(type->set_state(self, (double[]){NAN, 0.0}, obs, &error), DQS_E_USAGE);
    type->close(self);
}

static void test_gmm_metrics(void **unused)
{
    (void)unused;
    enum { N = 1200 };
    static float xy[2 * N];
    struct gmm_metrics exact, one, line;
    struct rng rng;
    rng_seed(&rng, 5, RNG_TEST);
    gmm_sample(xy, N, &rng);
    gmm_measure(&exact, xy, N);
    assert_int_equal(exact.modes, 40);
    assert_true(exact.mmd < 1.2 * exact.mmd_floor && exact.mmd > 0.8 * exact.mmd_floor);
    assert_true(exact.mmd_median < 2.0 * exact.mmd_median_floor);
    assert_true(exact.mode_entropy > 0.97 && exact.mode_entropy <= 1.0);
    assert_true(exact.bandwidth > 20.0 && exact.bandwidth < 50.0);
    for (int i = 0; i < N; i++) { /* all of it in the mode at (36.2, -37.1), which has no neighbours */
        xy[2 * i] = (float)(36.2190 + rng_normal(&rng));
        xy[2 * i + 1] = (float)(-37.1068 + rng_normal(&rng));
    }
    gmm_measure(&one, xy, N);
    assert_int_equal(one.modes, 1);
    assert_near(one.mode_entropy, 0.0, 1e-12);
    assert_true(one.mmd > 5.0 * one.mmd_floor && one.mmd_median > 5.0 * one.mmd_median_floor);
    /* Two modes, an even split: entropy log 2 / log 40. */
    for (int i = 0; i < N; i += 2) {
        xy[2 * i] = -0.2995f;
        xy[2 * i + 1] = 21.4577f;
    }
    gmm_measure(&line, xy, N);
    assert_int_equal(line.modes, 2);
    assert_near(line.mode_entropy, log(2.0) / log(40.0), 1e-9);
}

static double number_named(const dqs_number *numbers, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return numbers[i].value;
    fail_msg("there is no number %s", name);
    return NAN;
}

static void test_gmm_summary_takes_last_positions(void **unused)
{
    (void)unused;
    /* Episodes of different lengths; only their last observation is on a mean, what follows is rubbish. */
    enum { STRIDE = 4 };
    float obs[3][STRIDE][2];
    int length[3] = {1, 3, 0};
    for (int e = 0; e < 3; e++)
        for (int t = 0; t < STRIDE; t++) {
            obs[e][t][0] = t == length[e] ? (float)gmm_means()[e][0] : 49.0f;
            obs[e][t][1] = t == length[e] ? (float)gmm_means()[e][1] : -49.0f;
        }
    dqs_trace trace = {.episodes = 3, .obs_dim = 2, .stride = STRIDE, .obs = &obs[0][0][0], .length = length};
    dqs_number numbers[48];
    int count = env_find("gmm")->summarise(NULL, &trace, numbers, 48);
    assert_int_equal(count, 6);
    assert_near(number_named(numbers, count, "modes"), 3.0, 0.0);
    assert_true(number_named(numbers, count, "mmd") > 0.0);
    assert_true(number_named(numbers, count, "mmd_floor") > 0.0);
    assert_int_equal(env_find("gmm")->summarise(NULL, &trace, numbers, 2), 2);
}

/* ---------------------------------------------------------------- maze */
static void test_maze_free_motion(void **unused)
{
    (void)unused;
    const dqs_env_type *type = env_find("maze");
    dqs_error error = {0};
    void *self;
    dqs_spec spec;
    float obs[4];
    double state[5];
    dqs_outcome outcome;
    assert_int_equal(env_open(type, &self, &spec, "", &error), DQS_OK);
    assert_int_equal(spec.max_steps, 600);
    assert_int_equal(type->set_state(self, (double[]){-1.0, 0.0, 0.0, 0.0, 2.0}, obs, &error), DQS_OK);
    int passed = 0;
    double v = 0.0, x = -1.0;
    for (int t = 1; t <= 40; t++) {
        type->step(self, (float[]){1.0f, 0.0f}, obs, &outcome, &error);
        type->get_state(self, state);
        if (t == 1)
            assert_near(state[2], 0.238164, 5e-7);
        if (!passed && state[2] > 5.0)
            passed = t;
        double clipped = v > 5.0 ? 5.0 : v; /* the formula of the fact sheet, written again */
        v = clipped + 0.01 * (100.0 - clipped) / (4.1887902047863905 + 0.01);
        x += 0.01 * v;
        assert_near(state[2], v, 1e-12);
        assert_near(state[0], x, 1e-12);
        assert_true(state[2] < 5.24);
    }
    assert_int_equal(passed, 22);
    type->step(self, (float[]){0.0f, 0.0f}, obs, &outcome, &error);
    double before = obs[2];
    type->step(self, (float[]){0.0f, 0.0f}, obs, &outcome, &error);
    assert_near(1.0 - obs[2] / before, 0.0024, 0.0001); /* coasting */
    type->close(self);
}

static void test_maze_walls_hold(void **unused)
{
    (void)unused;
    const dqs_env_type *type = env_find("maze-small");
    dqs_error error = {0};
    void *self;
    dqs_spec spec;
    float obs[4];
    double state[5];
    dqs_outcome outcome;
    assert_int_equal(env_open(type, &self, &spec, "", &error), DQS_OK);
    /* Pressed down from S against the wall while pushed right: rests at its radius, slides over the seam of
     * two squares. */
    assert_int_equal(type->set_state(self, (double[]){0.0, 0.0, 0.0, 0.0, 2.0}, obs, &error), DQS_OK);
    for (int t = 0; t < 40; t++)
        type->step(self, (float[]){0.0f, -1.0f}, obs, &outcome, &error);
    type->get_state(self, state);
    assert_near(state[1], -0.4, 1e-9);
    assert_near(state[3], 0.0, 1e-9);
    double reached = 0.0, expected_v = 0.0, expected_x = 0.0;
    for (int t = 0; t < 30; t++) {
        type->step(self, (float[]){1.0f, -1.0f}, obs, &outcome, &error);
        type->get_state(self, state);
        expected_v = expected_v > 5.0 ? 5.0 : expected_v;
        expected_v += 0.01 * (100.0 - expected_v) / (4.1887902047863905 + 0.01);
        expected_x += 0.01 * expected_v;
        assert_near(state[0], expected_x, 1e-9); /* no friction, nothing catches */
        reached = state[0];
    }
    assert_true(reached > 0.6);
    type->close(self);
}

/* Distance from a position to the nearest wall square, over all squares. */
static double wall_distance(const struct maze_layout *layout, double x, double y)
{
    double best = INFINITY;
    for (int r = 0; r < layout->rows; r++)
        for (int c = 0; c < layout->columns; c++) {
            double centre[2];
            if (layout->cells[r][c] != '#')
                continue;
            maze_centre(centre, layout, r, c);
            double dx = fmax(fabs(x - centre[0]) - 0.5, 0.0), dy = fmax(fabs(y - centre[1]) - 0.5, 0.0);
            best = fmin(best, sqrt(dx * dx + dy * dy));
        }
    return best;
}

static void test_maze_ball_stays_out_of_walls(void **unused)
{
    (void)unused;
    static const char *const names[] = {"maze", "maze-small"};
    for (int i = 0; i < 2; i++) {
        const dqs_env_type *type = env_find(names[i]);
        const struct maze_layout *layout = maze_layout_find(names[i]);
        dqs_error error = {0};
        void *self;
        dqs_spec spec;
        float obs[4], action[2] = {0};
        double state[5];
        dqs_outcome outcome;
        struct rng rng;
        rng_seed(&rng, 3, RNG_TEST);
        assert_int_equal(env_open(type, &self, &spec, "", &error), DQS_OK);
        type->reset(self, 1, obs, &error);
        int touched = 0;
        for (int t = 0; t < 50000; t++) {
            if (t % 37 ==
                0) /* held for a while, at full thrust, so that walls and corners are hit at speed */
                for (int k = 0; k < 2; k++)
                    action[k] = (float)((int)rng_below(&rng, 3) - 1);
            assert_int_equal(type->step(self, action, obs, &outcome, &error), DQS_OK);
            type->get_state(self, state);
            double distance = wall_distance(layout, state[0], state[1]);
            assert_true(distance >= MAZE_BALL_RADIUS - 1e-9);
            touched += distance < MAZE_BALL_RADIUS + 1e-9;
        }
        assert_true(touched > 1000);
        type->close(self);
    }
}

/* MuJoCo's own PointMaze physics on this layout, 2000 episodes of 600 uniform random steps: the top-left goal
 * is entered in 0.257 of them, the bottom-right one in 0.162. */
static void test_maze_random_policy_frequency(void **unused)
{
    (void)unused;
    enum { LANES = 100, ROUNDS = 10 };
    struct arena arena = {0};
    dqs_error error = {0};
    struct rng rng;
    float action[LANES * 2];
    rng_seed(&rng, 8, RNG_TEST);
    struct env_batch *batch = batch_of(&arena, "maze-small", "", LANES, NULL);
    int reached[LANES][2] = {0}, total[2] = {0}, paid = 0, episodes = 0;
    for (int t = 0; t < ROUNDS * 600; t++) {
        random_actions(action, LANES * 2, &rng);
        assert_int_equal(env_batch_step(batch, action, &error), DQS_OK);
        for (int i = 0; i < LANES; i++) {
            const float *obs = batch->next_obs + 4 * i;
            int goal = maze_goal_at(&maze_layout_small, obs[0], obs[1]);
            if (goal >= 0)
                reached[i][goal] = 1;
            if (isnan(batch->finished_return[i]))
                continue;
            assert_int_equal(batch->finished_length[i], 600);
            assert_int_equal(batch->finished_return[i] > 0.0, reached[i][0] || reached[i][1]); /* both pay */
            paid += batch->finished_return[i] > 0.0;
            episodes++;
            for (int k = 0; k < 2; k++) {
                total[k] += reached[i][k];
                reached[i][k] = 0;
            }
        }
    }
    assert_int_equal(episodes, LANES * ROUNDS);
    assert_near((double)total[MAZE_TOP_LEFT] / episodes, 0.257, 0.055); /* 4 standard deviations each */
    assert_near((double)total[MAZE_BOTTOM_RIGHT] / episodes, 0.162, 0.047);
    assert_near((double)paid / episodes, 0.257 + 0.162, 0.062);
    env_batch_close(batch);
    arena_free(&arena);
}

static void test_maze_options(void **unused)
{
    (void)unused;
    const dqs_env_type *type = env_find("maze-small");
    dqs_error error = {0};
    void *self;
    dqs_spec spec;
    float obs[4];
    double state[5];
    dqs_outcome outcome;
    assert_int_equal(env_open(type, &self, &spec, "goal=hidden, limit=50 ,start_std=0,terminate=1", &error),
                     DQS_OK);
    assert_int_equal(spec.max_steps, 50);
    assert_int_equal(spec.terminates, 1);
    int drawn[2] = {0, 0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        type->reset(self, seed, obs, &error);
        assert_float_equal(obs[0], 0.0f, 0.0f);
        type->get_state(self, state);
        drawn[(int)state[4]]++;
    }
    assert_true(drawn[0] > 60 && drawn[1] > 60);
    /* Standing in the top-left goal: pays and ends the episode if it is the drawn one, and only then. */
    for (int goal = 0; goal < 2; goal++) {
        memset(&outcome, 0, sizeof outcome);
        assert_int_equal(type->set_state(self, (double[]){-2.0, 2.0, 0.0, 0.0, goal}, obs, &error), DQS_OK);
        type->step(self, (float[]){0.0f, 0.0f}, obs, &outcome, &error);
        assert_near(outcome.reward, goal == MAZE_TOP_LEFT, 0.0);
        assert_int_equal(outcome.terminated, goal == MAZE_TOP_LEFT);
    }
    assert_int_equal(type->set_state(self, (double[]){-1.0, 1.0, 0.0, 0.0, 0.0}, obs, &error), DQS_E_USAGE);
    type->close(self);
    static const struct {
        const char *task, *options, *says;
    } wrong[] = {
        {"maze", "gaol=either", "gaol"},
        {"maze", "gaol=either", "goal"},
        {"maze", "colourful=1", "start_std"},
        {"maze", "limit=0", "limit"},
        {"maze", "limit", "key=value"},
        {"maze", "goal=both", "either"},
        {"gmm", "x=1", "takes no options"},
        {"pendulum", "g=9.81", "takes no options"},
        {"maze-small", "start_std=nan", "start_std"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(env_open(env_find(wrong[i].task), &self, &spec, wrong[i].options, &error),
                         DQS_E_OPTION);
        assert_says(&error, wrong[i].says);
        assert_says(&error, wrong[i].task);
    }
}

static void test_maze_layouts(void **unused)
{
    (void)unused;
    static const char *const names[] = {"maze", "maze-small"};
    for (int i = 0; i < 2; i++) {
        const struct maze_layout *layout = maze_layout_find(names[i]);
        double at[2], far = i == 0 ? 3.0 : 2.0;
        assert_int_equal(strlen(layout->cells[0]), layout->columns);
        maze_place(at, layout, 'S', 0);
        assert_near(at[0], 0.0, 0.0);
        assert_near(at[1], 0.0, 0.0);
        maze_place(at, layout, 'G', MAZE_TOP_LEFT);
        assert_near(at[0], -far, 0.0);
        assert_near(at[1], far, 0.0);
        maze_place(at, layout, 'G', MAZE_BOTTOM_RIGHT);
        assert_near(at[0], far, 0.0);
        assert_near(at[1], -far, 0.0);
        assert_int_equal(maze_goal_at(layout, far + 0.3, -far + 0.39), MAZE_BOTTOM_RIGHT);
        assert_int_equal(maze_goal_at(layout, far + 0.3, -far + 0.41), -1);
        assert_int_equal(maze_mark(layout, 1e9, 0.0), '#');
    }
    assert_null(maze_layout_find("gmm"));
}

static void test_maze_metrics(void **unused)
{
    (void)unused;
    /* maze-small, four episodes: top way, left way, bottom right, nowhere. Time in the second goal does not
     * count. */
    enum { STRIDE = 6 };
    static const double walks[4][STRIDE][2] = {
        {{0, 0}, {0, 1}, {0, 2}, {-1, 2}, {-2, 2}, {-2, 0}},
        {{0, 0}, {-1, 0}, {-2, 0}, {-2, 1}, {-2, 2}, {0, 2}},
        {{0, 0}, {1, 0}, {2, 0}, {2, -1}, {2, -2}, {-2, 2}},
        {{0, 0}, {0, 2}, {0, 1}, {0, 0}, {-2, 2}, {-2, 2}}, /* cut before the goal */
    };
    int length[4] = {5, 5, 5, 3};
    float obs[4][STRIDE][4] = {0};
    for (int e = 0; e < 4; e++)
        for (int t = 0; t < STRIDE; t++)
            for (int k = 0; k < 2; k++)
                obs[e][t][k] = (float)walks[e][t][k];
    dqs_trace trace = {.episodes = 4, .obs_dim = 4, .stride = STRIDE, .obs = &obs[0][0][0], .length = length};
    dqs_number n[48];
    int count = maze_metrics_summarise(&maze_layout_small, &trace, n, 48);
    assert_near(number_named(n, count, "success"), 0.75, 0.0);
    assert_near(number_named(n, count, "goals"), 2.0, 0.0);
    assert_near(number_named(n, count, "goal_top_left"), 2.0, 0.0);
    assert_near(number_named(n, count, "goal_bottom_right"), 1.0, 0.0);
    assert_near(number_named(n, count, "goal_entropy"), 0.9182958340544896, 1e-12); /* of 2/3 and 1/3 */
    assert_near(number_named(n, count, "paths"), 2.0, 0.0);
    assert_near(number_named(n, count, "path_top"), 1.0, 0.0);
    assert_near(number_named(n, count, "path_left"), 1.0, 0.0);
    trace.episodes = 1;
    count = maze_metrics_summarise(&maze_layout_small, &trace, n, 48);
    assert_near(number_named(n, count, "paths"), 1.0, 0.0);
    assert_near(number_named(n, count, "goal_entropy"), 0.0, 0.0);
    /* The large one: the top row and the left column tell. */
    float top[][2] = {{0, 0}, {0, 3}, {-3, 3}}, left[][2] = {{0, 0}, {-3, 0}, {-3, 3}};
    assert_int_equal(maze_classify(&maze_layout_large, &top[0][0], 2, 3).path, MAZE_PATH_TOP);
    assert_int_equal(maze_classify(&maze_layout_large, &left[0][0], 2, 3).path, MAZE_PATH_LEFT);
    assert_int_equal(maze_classify(&maze_layout_large, &left[0][0], 2, 2).goal, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pendulum_follows_gymnasium),
        cmocka_unit_test(test_gmm_density_and_mmd_of_scipy),
        cmocka_unit_test(test_gmm_moves),
        cmocka_unit_test(test_gmm_metrics),
        cmocka_unit_test(test_gmm_summary_takes_last_positions),
        cmocka_unit_test(test_maze_free_motion),
        cmocka_unit_test(test_maze_walls_hold),
        cmocka_unit_test(test_maze_ball_stays_out_of_walls),
        cmocka_unit_test(test_maze_random_policy_frequency),
        cmocka_unit_test(test_maze_options),
        cmocka_unit_test(test_maze_layouts),
        cmocka_unit_test(test_maze_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
