/* Pictures: ticks, level lines and colours against what is known of them, then whole run folders. */
#include "chart.h"
#include "file.h"
#include "gmm.h"
#include "maze.h"
#include "plot.h"
#include "plot_data.h"
#include "rng.h"
#include "safetensors.h"
#include "trace_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka has a macro `fail`, so it comes after our headers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* ---------------------------------------------------------------- ticks */
static void check_ticks(double low, double high, int want, double step, double first, int count)
{
    struct chart_ticks ticks;
    chart_ticks(&ticks, (struct chart_range){low, high}, want);
    assert_int_equal(ticks.count, count);
    assert_true(fabs(ticks.step - step) < 1e-12 * step);
    for (int i = 0; i < count; i++)
        assert_true(fabs(ticks.at[i] - (first + i * step)) < 1e-9 * step);
}

static void ticks_are_round_numbers(void **state)
{
    (void)state;
    check_ticks(0, 10, 5, 2, 0, 6);
    check_ticks(-50, 50, 5, 20, -40, 5);
    check_ticks(0, 20240, 8, 5000, 0, 5);
    check_ticks(-0.13, 0.31, 5, 0.1, -0.1, 5);
    check_ticks(-1700, 30, 7, 250, -1500, 7);
    check_ticks(1e6, 1e6 + 1, 4, 0.25, 1e6, 5);
}

static void ticks_of_any_range_are_few_and_inside(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1, RNG_TEST);
    for (int i = 0; i < 5000; i++) {
        double low = 1e3 * rng_normal(&rng), width = pow(10, 8 * rng_uniform(&rng) - 4);
        int want = 2 + (int)rng_below(&rng, 7);
        struct chart_ticks ticks;
        chart_ticks(&ticks, (struct chart_range){low, low + width}, want);
        assert_in_range(ticks.count, want / 3, want + 1);
        for (int k = 0; k < ticks.count; k++)
            assert_true(ticks.at[k] >= low - 1e-6 * width && ticks.at[k] <= low + width * (1 + 1e-6));
    }
    struct chart_ticks ticks;
    chart_ticks(&ticks, (struct chart_range){3, 3}, 5);
    assert_int_equal(ticks.count, 0);
    chart_ticks(&ticks, (struct chart_range){0, INFINITY}, 5);
    assert_int_equal(ticks.count, 0);
}

static void check_label(double value, double step, const char *expected)
{
    char text[32];
    chart_tick_label(text, sizeof text, value, step);
    assert_string_equal(text, expected);
}

static void labels_have_the_digits_of_their_step(void **state)
{
    (void)state;
    check_label(0, 5, "0");
    check_label(-1e-17, 0.1, "0");
    check_label(20, 5, "20");
    check_label(0.5, 0.25, "0.50");
    check_label(-0.25, 0.25, "\u22120.25");
    check_label(5000, 5000, "5k");
    check_label(7500, 2500, "7.5k");
    check_label(-1500, 250, "\u22121500");
    check_label(2e6, 5e5, "2000k");
    check_label(3e6, 1e6, "3M");
}

static void a_range_ignores_what_is_no_number(void **state)
{
    (void)state;
    const double values[] = {NAN, 3, -2, INFINITY, 1};
    struct chart_range range = chart_range_of(values, 5);
    assert_true(range.low == -2 && range.high == 3);
    range = chart_range_pad((struct chart_range){7, 7}, 0.1);
    assert_true(range.low < 7 && range.high > 7);
}

/* ---------------------------------------------------------------- level lines */
struct ring {
    int chains, closed, points;
    double length, worst; /* distance of a point from the true line */
    double radius;
};

static void measure_ring(void *context, const double *x, const double *y, int n, bool closed)
{
    struct ring *ring = context;
    ring->chains++;
    ring->closed += closed;
    ring->points += n;
    for (int i = 0; i < n; i++) {
        int next = i + 1 < n ? i + 1 : closed ? 0 : i;
        ring->length += hypot(x[next] - x[i], y[next] - y[i]);
        ring->worst = fmax(ring->worst, fabs(hypot(x[i], y[i]) - ring->radius));
    }
}

static void a_cone_has_a_circle_for_a_level(void **state)
{
    (void)state;
    enum { N = 61 };
    float values[N * N];
    struct chart_field field = {values, N, N, {-3, 3}, {-3, 3}};
    for (int i = 0; i < N * N; i++)
        values[i] = (float)hypot(-3 + 6.0 * (i % N) / (N - 1), -3 + 6.0 * (i / N) / (N - 1));
    struct ring ring = {.radius = 2};
    assert_int_equal(chart_trace_level(&field, 2, measure_ring, &ring), DQS_OK);
    assert_int_equal(ring.chains, 1);
    assert_int_equal(ring.closed, 1);
    assert_true(ring.worst < 0.002);
    assert_true(fabs(ring.length - 2 * M_PI * 2) < 0.02);
    ring = (struct ring){.radius = 3.5}; /* cut off by the border: an arc in each corner */
    assert_int_equal(chart_trace_level(&field, 3.5, measure_ring, &ring), DQS_OK);
    assert_int_equal(ring.chains, 4);
    assert_int_equal(ring.closed, 0);
    assert_true(fabs(ring.length - 4 * 3.5 * (M_PI / 2 - 2 * acos(3 / 3.5))) < 0.05);
    ring = (struct ring){.radius = 9};
    chart_trace_level(&field, 9, measure_ring, &ring);
    assert_int_equal(ring.chains, 0);
}

struct ends {
    int n;
    double x[4], y[4];
};

static void keep_ends(void *context, const double *x, const double *y, int n, bool closed)
{
    struct ends *ends = context;
    assert_false(closed);
    assert_int_equal(n, 2);
    assert_true(ends->n <= 2);
    for (int i = 0; i < 2; i++) {
        ends->x[ends->n] = x[i];
        ends->y[ends->n++] = y[i];
    }
}

/* One cell, high at two opposite corners: its mean decides whether these two hang together. */
static void a_saddle_is_cut_where_its_middle_says(void **state)
{
    (void)state;
    for (int high_middle = 0; high_middle < 2; high_middle++) {
        const float peak = high_middle ? 3 : 1.5f;
        const float values[4] = {peak, 0, 0, peak};
        struct chart_field field = {values, 2, 2, {0, 1}, {0, 1}};
        struct ends ends = {0};
        chart_trace_level(&field, 1, keep_ends, &ends);
        assert_int_equal(ends.n, 4);
        for (int k = 0; k < 4; k += 2) {
            /* The line's middle is near a corner: one of the low corners if the high ones are joined. */
            double x = (ends.x[k] + ends.x[k + 1]) / 2, y = (ends.y[k] + ends.y[k + 1]) / 2;
            bool low_corner = (x < 0.5) != (y < 0.5);
            assert_int_equal(low_corner, high_middle);
        }
    }
}

static void not_a_number_leaves_a_hole_in_the_lines(void **state)
{
    (void)state;
    enum { N = 21 };
    float values[N * N];
    struct chart_field field = {values, N, N, {-1, 1}, {-1, 1}};
    for (int i = 0; i < N * N; i++)
        values[i] = (float)(i / N);
    values[10 * N + 10] = NAN;
    struct ring ring = {0};
    chart_trace_level(&field, 10.5, measure_ring, &ring);
    assert_int_equal(ring.chains, 2);
    assert_true(fabs(ring.length - 1.8) < 1e-6);
}

/* ---------------------------------------------------------------- colours */
static void the_map_grows_evenly_brighter(void **state)
{
    (void)state;
    double last = -1, least = INFINITY, most = 0;
    for (int i = 0; i <= 256; i++) {
        /* L* of CIELAB from Y: another measure of lightness than the one the map is made with */
        double y = chart_luminance(chart_map(i / 256.0));
        double lightness = y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
        if (i > 0) {
            assert_true(lightness > last);
            least = fmin(least, lightness - last);
            most = fmax(most, lightness - last);
        }
        last = lightness;
    }
    assert_true(most < 1.8 * least);
    assert_true(last > 85);
    assert_true(chart_luminance(chart_map(0)) < 0.03);
    struct chart_color low = chart_map(NAN), zero = chart_map(0);
    assert_true(low.red == zero.red && low.green == zero.green && low.blue == zero.blue);
}

/* ---------------------------------------------------------------- run folders */
struct folder {
    char path[256];
};

static int make_folder(void **state)
{
    struct folder *f = malloc(sizeof *f);
    snprintf(f->path, sizeof f->path, "%s/plot-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    *state = f;
    return mkdtemp(f->path) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {
        "config.yaml",   "evaluations.csv", "progress.csv", "trace.safetensors", "curve.png",
        "curve.svg",     "gmm.png",         "gmm.svg",      "maze.png",          "maze.svg",
        "out/curve.png", "out/curve.svg",   "out"};
    struct folder *f = *state;
    char path[600];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", f->path, names[i]);
        remove(path);
    }
    int left = rmdir(f->path); /* fails if a file of another name, or a piece of one, was left behind */
    free(f);
    return left;
}

static const char *inside(const struct folder *f, const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    return path;
}

static void put_text(const struct folder *f, const char *name, const char *text)
{
    dqs_error error;
    assert_int_equal(file_write_text(inside(f, name), text, &error), DQS_OK);
}

static void put_config(const struct folder *f, const char *env)
{
    char text[200];
    snprintf(text, sizeof text, "# made by a test\nenv: %s\nalgo: 'dqs'\npreset: quick # fast\nseed: 7\n",
             env);
    put_text(f, "config.yaml", text);
}

static void put_curve(const struct folder *f)
{
    put_text(f, "evaluations.csv",
             "step,episodes,mean_reward,std_reward,mmd\n0,20,-1400,250,\n1000,20,-700,200,0.2\n2000,20,-180,"
             "60,0.1\n");
    put_text(f, "progress.csv",
             "time/total_timesteps,rollout/ep_rew_mean,train/critic_loss\n200,-1300,\n1000,,\n1200,-800,0.1\n"
             "2000,-300,0.05\n22"); /* the last line is being written */
}

static void put_trace(const struct folder *f, struct trace *t)
{
    assert_int_equal(trace_write(t, inside(f, "trace.safetensors"), NULL), DQS_OK);
}

static void put_gmm(const struct folder *f, bool with_map)
{
    struct trace t = trace_new(500, 2, 2);
    float *xy = malloc(1000 * sizeof *xy);
    struct rng rng;
    rng_seed(&rng, 5, RNG_TEST);
    gmm_sample(xy, 500, &rng);
    for (size_t e = 0; e < 500; e++)
        memcpy(t.obs + 4 * e + 2, xy + 2 * e, 2 * sizeof *xy);
    free(xy);
    if (with_map)
        trace_map_gmm(&t);
    put_trace(f, &t);
}

static void put_maze(const struct folder *f)
{
    static const float stops[2][4][2] = {{{0, 0}, {0, 2}, {-1, 2}, {-2, 2}},
                                         {{0, 0}, {2, 0}, {2, -1}, {2, -2}}};
    struct trace t = trace_new(10, 4, 4);
    for (size_t e = 0; e < 9; e++)
        for (size_t s = 0; s < 4; s++)
            memcpy(t.obs + (4 * e + s) * 4, stops[e % 2][s], 2 * sizeof(float));
    put_trace(f, &t); /* the tenth stays at the start */
}

/* Decodes the PNG and returns how many different colours it has. */
static int colours_of(const char *path, int width, int height)
{
    cairo_surface_t *image = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
    assert_int_equal(cairo_image_surface_get_width(image), width);
    assert_int_equal(cairo_image_surface_get_height(image), height);
    unsigned char *seen = calloc(1 << 24, 1);
    int count = 0;
    for (int y = 0; y < height; y++) {
        const unsigned char *row =
            cairo_image_surface_get_data(image) + (size_t)y * (size_t)cairo_image_surface_get_stride(image);
        for (int x = 0; x < width; x++) {
            uint32_t pixel;
            memcpy(&pixel, row + 4 * x, sizeof pixel);
            count += !seen[pixel & 0xffffff];
            seen[pixel & 0xffffff] = 1;
        }
    }
    free(seen);
    cairo_surface_destroy(image);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_in_range(info.st_size, 5000, 330000);
    return count;
}

static void check_svg(const char *path)
{
    char *text;
    size_t size;
    assert_int_equal(file_read(path, &text, &size, NULL), DQS_OK);
    assert_non_null(strstr(text, "<svg"));
    assert_non_null(strstr(text, "</svg>"));
    free(text);
}

static void any_task_gets_its_curve(void **state)
{
    const struct folder *f = *state;
    struct plot_report report;
    dqs_error error;
    put_config(f, "pendulum");
    put_curve(f);
    assert_int_equal(plot_run(f->path, NULL, &report, &error), DQS_OK);
    assert_int_equal(report.count, 2);
    assert_string_equal(report.files[0], inside(f, "curve.png"));
    assert_string_equal(report.files[1], inside(f, "curve.svg"));
    assert_true(colours_of(report.files[0], 1200, 680) > 30);
    check_svg(report.files[1]);
}

static void pictures_go_where_they_are_asked_to(void **state)
{
    const struct folder *f = *state;
    struct plot_report report;
    dqs_error error;
    char out[600];
    snprintf(out, sizeof out, "%s", inside(f, "out"));
    put_config(f, "gmm"); /* without its trace: only the curve */
    put_curve(f);
    assert_int_equal(plot_run(f->path, out, &report, &error), DQS_OK);
    assert_int_equal(report.count, 2);
    assert_true(file_exists(inside(f, "out/curve.png")));
    assert_false(file_exists(inside(f, "curve.png")));
}

static void gmm_gets_samples_and_map(void **state)
{
    const struct folder *f = *state;
    struct plot_report report;
    dqs_error error;
    put_config(f, "gmm");
    put_gmm(f, true);
    assert_int_equal(plot_run(f->path, NULL, &report, &error), DQS_OK);
    assert_int_equal(report.count, 2);
    int with_map = colours_of(inside(f, "gmm.png"), 1856, 696);
    check_svg(inside(f, "gmm.svg"));
    put_gmm(f, false);
    assert_int_equal(plot_run(f->path, NULL, &report, &error), DQS_OK);
    int without = colours_of(inside(f, "gmm.png"), 1212, 696);
    assert_true(without > 100);
    assert_true(with_map > without + 48); /* the shades of the map */
}

static void the_maze_gets_its_paths(void **state)
{
    const struct folder *f = *state;
    struct plot_report report;
    dqs_error error;
    put_config(f, "maze-small");
    put_curve(f);
    put_maze(f);
    assert_int_equal(plot_run(f->path, NULL, &report, &error), DQS_OK);
    assert_int_equal(report.count, 4);
    assert_true(colours_of(inside(f, "maze.png"), 1172, 924) > 100);
    check_svg(inside(f, "maze.svg"));
}

static void expect_failure(const struct folder *f, dqs_status status, const char *word, int pictures)
{
    struct plot_report report;
    dqs_error error = {0};
    assert_int_equal(plot_run(f->path, NULL, &report, &error), status);
    assert_non_null(strstr(error.message, word));
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(report.count, pictures);
}

static void what_is_missing_or_broken_is_named(void **state)
{
    const struct folder *f = *state;
    struct folder nowhere = {"/nonexistent/run"};
    expect_failure(&nowhere, DQS_E_IO, "/nonexistent/run", 0);
    expect_failure(f, DQS_E_IO, "config.yaml", 0);
    put_text(f, "config.yaml", "algo: dqs\n");
    expect_failure(f, DQS_E_FORMAT, "env", 0);
    put_config(f, "gmm");
    expect_failure(f, DQS_E_IO, "nothing to draw", 0);
    put_text(f, "evaluations.csv", "step,mean_reward\n1,2\n");
    expect_failure(f, DQS_E_FORMAT, "std_reward", 0);
    put_text(f, "evaluations.csv", "step,mean_reward,std_reward\n1,2,3\n2,zwei,3\n");
    expect_failure(f, DQS_E_FORMAT, "line 3, column mean_reward", 0);
    put_text(f, "evaluations.csv", "");
    expect_failure(f, DQS_E_IO, "nothing to draw", 0);
    put_curve(f);
    put_text(f, "trace.safetensors", "garbage");
    expect_failure(f, DQS_E_FORMAT, "trace.safetensors", 2); /* the curve was drawn before */
}

static void values_are_read_as_the_run_wrote_them(void **state)
{
    const struct folder *f = *state;
    struct plot_data data;
    dqs_error error;
    put_text(f, "config.yaml",
             "env: \"gym:a\\\"b # c\"\nalgo: 'dqs'\nseed: 3 # the third\nenv_options: \"path=\\\\x "
             "y=\\\"z\\\"\"\n");
    assert_int_equal(plot_data_read(&data, f->path, &error), DQS_OK);
    assert_string_equal(data.env, "gym:a\"b # c");
    assert_string_equal(data.algo, "dqs");
    assert_string_equal(data.seed, "3");
    assert_string_equal(data.env_options, "path=\\x y=\"z\"");
    plot_data_free(&data);
}

static void a_trace_of_another_task_is_refused(void **state)
{
    const struct folder *f = *state;
    put_config(f, "gmm");
    put_maze(f);
    expect_failure(f, DQS_E_MISMATCH, "gmm", 0);
    put_config(f, "maze-small");
    put_gmm(f, false);
    expect_failure(f, DQS_E_MISMATCH, "maze-small", 0);
    struct trace t = trace_new(2, 3, 4);
    t.length[1] = 3; /* one more than there is room for */
    put_trace(f, &t);
    expect_failure(f, DQS_E_FORMAT, "episode 1", 0);
    t = trace_new(2, 3, 4);
    t.obs[5] = NAN;
    put_trace(f, &t);
    expect_failure(f, DQS_E_MISMATCH, "nan", 0);
}

static void a_picture_is_whole_or_absent(void **state)
{
    const struct folder *f = *state;
    put_config(f, "pendulum");
    put_curve(f);
    assert_int_equal(mkdir(inside(f, "curve.png"), 0700), 0); /* cannot be replaced by a file */
    expect_failure(f, DQS_E_IO, "curve.png", 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round_numbers),
        cmocka_unit_test(ticks_of_any_range_are_few_and_inside),
        cmocka_unit_test(labels_have_the_digits_of_their_step),
        cmocka_unit_test(a_range_ignores_what_is_no_number),
        cmocka_unit_test(a_cone_has_a_circle_for_a_level),
        cmocka_unit_test(a_saddle_is_cut_where_its_middle_says),
        cmocka_unit_test(not_a_number_leaves_a_hole_in_the_lines),
        cmocka_unit_test(the_map_grows_evenly_brighter),
        IN_FOLDER(any_task_gets_its_curve),
        IN_FOLDER(pictures_go_where_they_are_asked_to),
        IN_FOLDER(gmm_gets_samples_and_map),
        IN_FOLDER(the_maze_gets_its_paths),
        IN_FOLDER(what_is_missing_or_broken_is_named),
        IN_FOLDER(values_are_read_as_the_run_wrote_them),
        IN_FOLDER(a_trace_of_another_task_is_refused),
        IN_FOLDER(a_picture_is_whole_or_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
