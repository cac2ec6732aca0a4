/* Pictures of many runs: colours for every eye, means and bands against values known by hand, the choice of
 * tasks and methods, and whole folders of runs with their tables. */
#define _GNU_SOURCE /* nftw */
#include "curve.h"
#include "figure.h"
#include "file.h"
#include "gmm.h"
#include "rng.h"
#include "safetensors.h"
#include "trace_file.h"
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka has a macro `fail`, so it comes after our headers */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* ---------------------------------------------------------------- looks */
/* Machado, Oliveira and Fernandes 2009: what is left of linear RGB without one kind of cones. */
static const double eyes[4][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

static double decode(double v)
{
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* CIELAB (D65), another measure than the one that the colours were searched with. */
static void lab_of(double lab[3], struct chart_color color, const double eye[3][3])
{
    static const double to_xyz[3][3] = {
        {0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}};
    static const double white[3] = {0.9505, 1, 1.089};
    const double rgb[3] = {decode(color.red), decode(color.green), decode(color.blue)};
    double seen[3], f[3];
    for (int i = 0; i < 3; i++) {
        double v = eye[i][0] * rgb[0] + eye[i][1] * rgb[1] + eye[i][2] * rgb[2];
        seen[i] = fmin(fmax(v, 0), 1);
    }
    for (int i = 0; i < 3; i++) {
        double t = (to_xyz[i][0] * seen[0] + to_xyz[i][1] * seen[1] + to_xyz[i][2] * seen[2]) / white[i];
        f[i] = t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

static void every_eye_tells_the_methods_apart(void **state)
{
    (void)state;
    for (int e = 0; e < 4; e++)
        for (int i = 0; i < CHART_LOOKS; i++) {
            struct chart_look one = chart_look(i);
            double a[3], b[3];
            lab_of(a, one.color, eyes[e]);
            assert_true(a[0] < 75); /* dark enough on white */
            for (int k = 0; k < i; k++) {
                struct chart_look other = chart_look(k);
                lab_of(b, other.color, eyes[e]);
                double distance = sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
                if (distance < (e == 0 ? 30 : 20))
                    fail_msg("looks %d and %d are %.1f apart for eye %d", k, i, distance, e);
                assert_true(one.dash != other.dash && one.mark != other.mark); /* also without colours */
            }
        }
    for (int i = CHART_LOOKS; i < 3 * CHART_LOOKS; i++) /* later rounds repeat no dashes with their colour */
        for (int k = i % CHART_LOOKS; k < i; k += CHART_LOOKS)
            assert_true(chart_look(i).dash != chart_look(k).dash);
}

/* ---------------------------------------------------------------- curves */
static struct collection_run run_of(struct arena *arena, const double *step, const double *mean, int n,
                                    double seconds_per_step)
{
    static char *names[] = {"step", "mean_reward"};
    double *values = arena_new(arena, double, 2 * n), *time = arena_new(arena, double, 2 * n);
    for (int i = 0; i < n; i++) {
        values[i] = time[i] = step[i];
        values[n + i] = mean[i];
        time[n + i] = step[i] * seconds_per_step;
    }
    return (struct collection_run){
        .evaluations = {n, 2, names, values}, .n_times = n, .time_step = time, .time_seconds = time + n};
}

static void seeds_are_averaged_where_all_have_come(void **state)
{
    (void)state;
    struct arena arena = {0};
    /* Three seeds: one evaluated half as often, one stopped early, one with two evaluations at its end. */
    const double s0[] = {100, 200, 300, 400, 400}, y0[] = {0, 10, 20, 30, 34}, s1[] = {100, 300, 400},
                 y1[] = {6, 14, 20}, s2[] = {100, 200, 300}, y2[] = {3, NAN, 5};
    struct collection_run runs[] = {run_of(&arena, s0, y0, 5, 3600), run_of(&arena, s1, y1, 3, 7200),
                                    run_of(&arena, s2, y2, 3, 3600)};
    const struct collection_run *list[] = {&runs[0], &runs[1], &runs[2]};
    struct curve v = curve_take(&arena, list, 3, &(struct curve_rule){.band = CURVE_MINMAX});
    const double mean[] = {3, 8, 13, 27}, low[] = {0, 4, 5}, high[] = {6, 10, 20};
    assert_int_equal(v.seeds, 3);
    assert_int_equal(v.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(v.x[i] == 100 * (i + 1) && fabs(v.mean[i] - mean[i]) < 1e-12);
        if (i < 3)
            assert_true(v.whole[i] == v.mean[i] && v.low[i] == low[i] && v.high[i] == high[i]);
        else
            assert_true(isnan(v.whole[i]) && isnan(v.low[i]) && isnan(v.high[i]));
    }
    assert_true(v.ys.low == 0 && v.ys.high == 27 && v.xs.low == 100 && v.xs.high == 400);
    struct curve hours =
        curve_take(&arena, list, 3, &(struct curve_rule){.band = CURVE_NO_BAND, .hours = true});
    assert_int_equal(hours.n, 4);
    for (int i = 0; i < 3; i++) /* 1, 2 and 1 hours a step */
        assert_true(fabs(hours.x[i] - 100 * (i + 1) * 4 / 3.0) < 1e-9 &&
                    fabs(hours.mean[i] - mean[i]) < 1e-12);
    assert_true(isnan(hours.low[0]));
    arena_free(&arena);
}

static void smoothing_is_a_centred_mean(void **state)
{
    (void)state;
    struct arena arena = {0};
    const double step[] = {1, 2, 3, 4, 5}, mean[] = {0, 30, 0, 60, 10}, expect[] = {0, 10, 30, 70 / 3.0, 10};
    struct collection_run run = run_of(&arena, step, mean, 5, 1);
    const struct collection_run *list[] = {&run};
    struct curve v = curve_take(&arena, list, 1, &(struct curve_rule){.smooth = 3});
    for (int i = 0; i < 5; i++)
        assert_true(fabs(v.mean[i] - expect[i]) < 1e-12 && isnan(v.low[i])); /* one seed has no band */
    v = curve_take(&arena, list, 1, &(struct curve_rule){0});
    assert_memory_equal(v.mean, mean, sizeof mean);
    arena_free(&arena);
}

static void the_interval_of_the_mean_is_the_bootstraps(void **state)
{
    (void)state;
    enum { SEEDS = 40 };
    struct arena arena = {0};
    struct collection_run runs[SEEDS];
    const struct collection_run *list[SEEDS];
    double sum = 0, square = 0;
    struct rng rng;
    rng_seed(&rng, 3, RNG_TEST);
    for (int k = 0; k < SEEDS; k++) {
        double step = 1000, mean = 100 + 10 * rng_normal(&rng);
        runs[k] = run_of(&arena, &step, &mean, 1, 1);
        list[k] = &runs[k];
        sum += mean;
        square += mean * mean;
    }
    struct curve v = curve_take(&arena, list, SEEDS, &(struct curve_rule){.band = CURVE_CI});
    /* With so many seeds it is the normal one, 1.96 standard errors to either side. */
    double mean = sum / SEEDS, error = sqrt((square / SEEDS - mean * mean) / SEEDS);
    assert_true(fabs(v.mean[0] - mean) < 1e-9);
    assert_true(fabs(v.low[0] - (mean - 1.96 * error)) < 0.2 * error);
    assert_true(fabs(v.high[0] - (mean + 1.96 * error)) < 0.2 * error);
    arena_free(&arena);
}

/* ---------------------------------------------------------------- folders of runs */
struct lab {
    char path[200], out[220];
    struct plot_report report;
    int warnings;
    char warning[300];
};

static int make_lab(void **state)
{
    struct lab *lab = calloc(1, sizeof *lab);
    snprintf(lab->path, sizeof lab->path, "%s/figure-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    *state = lab;
    if (!mkdtemp(lab->path))
        return -1;
    snprintf(lab->out, sizeof lab->out, "%s/out", lab->path);
    return 0;
}

static int drop(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static int remove_lab(void **state)
{
    struct lab *lab = *state;
    int left = nftw(lab->path, drop, 16, FTW_DEPTH | FTW_PHYS);
    free(lab);
    return left;
}

static const char *inside(const struct lab *lab, const char *run, const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s/%s", lab->path, run, name);
    return path;
}

static void put_run(const struct lab *lab, const char *run, const char *env, const char *algo, int seed,
                    double final)
{
    char text[300], folder[600];
    dqs_error error;
    snprintf(folder, sizeof folder, "%s/%s", lab->path, run);
    assert_int_equal(file_make_folders(folder, &error), DQS_OK);
    snprintf(text, sizeof text, "env: %s\nalgo: %s\npreset: default\nsteps: 2000\nseed: %d\n", env, algo,
             seed);
    assert_int_equal(file_write_text(inside(lab, run, "config.yaml"), text, &error), DQS_OK);
    snprintf(text, sizeof text, "step,episodes,mean_reward,std_reward\n1000,5,%g,1\n2000,5,%g,1\n", final / 2,
             final);
    assert_int_equal(file_write_text(inside(lab, run, "evaluations.csv"), text, &error), DQS_OK);
}

static void put_trace(const struct lab *lab, const char *run, struct trace *t)
{
    const struct safetensors_pair about[] = {{"step", "2000"}, {"mode", "evaluate"}, {NULL, NULL}};
    assert_int_equal(trace_write(t, inside(lab, run, "trace.safetensors"), about), DQS_OK);
}

/* Of 20 episodes: by_top and by_left to the top left goal, right to the bottom right, the rest stays. */
static void put_maze(const struct lab *lab, const char *run, int by_top, int by_left, int right)
{
    static const float stops[3][5][2] = {{{0, 0}, {0, 1}, {0, 2}, {-1, 2}, {-2, 2}},
                                         {{0, 0}, {-1, 0}, {-2, 0}, {-2, 1}, {-2, 2}},
                                         {{0, 0}, {1, 0}, {2, 0}, {2, -1}, {2, -2}}};
    struct trace t = trace_new(20, 5, 4);
    for (int e = 0; e < by_top + by_left + right; e++) {
        int kind = e < by_top ? 0 : e < by_top + by_left ? 1 : 2;
        t.returns[e] = 10;
        for (int s = 0; s < 5; s++)
            memcpy(t.obs + (5 * e + s) * 4, stops[kind][s], 2 * sizeof(float));
    }
    put_trace(lab, run, &t);
}

static void put_gmm(const struct lab *lab, const char *run, int episodes, bool with_map)
{
    struct trace t = trace_new((size_t)episodes, 1, 2);
    struct rng rng;
    rng_seed(&rng, 5, RNG_TEST);
    gmm_sample(t.obs, episodes, &rng);
    if (with_map)
        trace_map_gmm(&t);
    put_trace(lab, run, &t);
}

static void note_warning(void *user, const char *line)
{
    struct lab *lab = user;
    lab->warnings++;
    snprintf(lab->warning, sizeof lab->warning, "%s", line);
}

static dqs_status draw(struct lab *lab, const struct figure_choice *choice, dqs_error *error)
{
    const char *folders[] = {lab->path};
    lab->warnings = 0;
    return figure_all(folders, 1, choice, lab->out, &lab->report, note_warning, lab, error);
}

static void draw_well(struct lab *lab, const struct figure_choice *choice, int files)
{
    dqs_error error = {0};
    if (draw(lab, choice, &error) != DQS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(lab->report.count, files);
    assert_int_equal(lab->warnings, 0);
}

/* Pixels of the PNG that are nearly of this colour, on white. */
static int pixels_like(const struct lab *lab, const char *name, struct chart_color color)
{
    cairo_surface_t *image = cairo_image_surface_create_from_png(inside(lab, "out", name));
    assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
    double want[3] = {color.blue, color.green, color.red};
    int count = 0;
    for (int y = 0; y < cairo_image_surface_get_height(image); y++) {
        const unsigned char *row =
            cairo_image_surface_get_data(image) + (size_t)y * (size_t)cairo_image_surface_get_stride(image);
        for (int x = 0; x < cairo_image_surface_get_width(image); x++) {
            bool near = true;
            for (int k = 0; k < 3; k++)
                near = near && fabs(row[4 * x + k] - 255 * (1 + color.alpha * (want[k] - 1))) <= 4;
            count += near;
        }
    }
    cairo_surface_destroy(image);
    return count;
}

static void a_method_looks_the_same_in_any_company(void **state)
{
    struct lab *lab = *state;
    put_run(lab, "a", "pendulum", "dqs", 0, 100);
    put_run(lab, "b", "pendulum", "dqs", 1, 300);
    put_run(lab, "c", "pendulum", "qsm", 0, 150);
    put_run(lab, "d", "gmm", "qsm", 0, 70);
    struct chart_color dqs = chart_look(0).color, qsm = chart_look(5).color, band = chart_fade(dqs, 0.16);
    draw_well(lab, &(struct figure_choice){0}, 2);
    int both = pixels_like(lab, "fig-curves.png", qsm), tinted = pixels_like(lab, "fig-curves.png", band);
    assert_true(both > 100 && pixels_like(lab, "fig-curves.png", dqs) > 100 && tinted > 2000);
    draw_well(lab, &(struct figure_choice){.algos = "qsm"}, 2);
    assert_int_equal(pixels_like(lab, "fig-curves.png", dqs), 0);
    assert_true(pixels_like(lab, "fig-curves.png", qsm) > 100);
    draw_well(lab, &(struct figure_choice){.tasks = "pendulum", .rule.band = CURVE_NO_BAND}, 2);
    assert_true(pixels_like(lab, "fig-curves.png", band) < tinted / 10);           /* edges of lines */
    draw_well(lab, &(struct figure_choice){.tasks = "pendulum", .seeds = "1"}, 2); /* one seed: no band */
    assert_true(pixels_like(lab, "fig-curves.png", band) < tinted / 10);
}

/* Methods of one algorithm have its colour and different dashes; alone they have colours of their own. */
static void variants_keep_the_colour_of_their_algorithm(void **state)
{
    struct lab *lab = *state;
    struct collection collection;
    struct figure_view view;
    struct arena arena = {0};
    dqs_error error = {0};
    const char *folders[] = {lab->path};
    put_run(lab, "a", "pendulum", "sac", 0, 100);
    put_run(lab, "b", "pendulum", "sac", 0, 200);
    assert_int_equal(file_write_text(inside(lab, "b", "config.yaml"),
                                     "env: pendulum\nalgo: sac\npreset: paper\nsteps: 2000\nseed: 0\n",
                                     &error),
                     DQS_OK);
    for (int others = 0; others < 2; others++) {
        if (others)
            put_run(lab, "c", "pendulum", "qsm", 0, 150);
        assert_int_equal(collection_read(&collection, folders, 1, NULL, NULL, &error), DQS_OK);
        assert_int_equal(figure_view(&view, &arena, &collection, &(struct figure_choice){0}, &error), DQS_OK);
        const struct chart_look *look[2];
        for (int m = 0, n = 0; m < collection.n_methods; m++)
            if (strcmp(collection.methods[m].algo, "sac") == 0 && n < 2)
                look[n++] = &view.looks[m];
        bool same = memcmp(&look[0]->color, &look[1]->color, sizeof look[0]->color) == 0;
        assert_true(same == (others == 1));
        assert_true(look[0]->dash != look[1]->dash && look[0]->mark != look[1]->mark);
        collection_free(&collection);
    }
    arena_free(&arena);
}

static void names_that_are_not_there_are_refused(void **state)
{
    struct lab *lab = *state;
    put_run(lab, "a", "pendulum", "dqs", 0, 100);
    static const struct {
        struct figure_choice choice;
        const char *flag, *word;
    } wrong[] = {{{.tasks = "pendulum,gmm"}, "--tasks", "gmm"},
                 {{.algos = "sac"}, "--algos", "dqs"}, /* says what there is */
                 {{.algos = " , "}, "--algos", "nothing"},
                 {{.seeds = "one"}, "--seeds", "one"},
                 {{.seeds = "0,7"}, "--seeds", "seed 7"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        dqs_error error = {0};
        assert_int_equal(draw(lab, &wrong[i].choice, &error), DQS_E_USAGE);
        assert_non_null(strstr(error.message, wrong[i].flag));
        assert_non_null(strstr(error.message, wrong[i].word));
        assert_int_equal(lab->report.count, 0);
    }
}

static char *text_of(const struct lab *lab, const char *name)
{
    static char text[4000];
    char *read;
    size_t size;
    assert_int_equal(file_read(inside(lab, "out", name), &read, &size, NULL), DQS_OK);
    snprintf(text, sizeof text, "%s", read);
    free(read);
    return text;
}

static void mazes_stand_side_by_side_with_their_numbers(void **state)
{
    struct lab *lab = *state;
    put_run(lab, "sac0", "maze-small", "sac", 0, 9);
    put_run(lab, "dqs0", "maze-small", "dqs", 0, 9);
    put_run(lab, "dqs1", "maze-small", "dqs", 1, 9);
    put_maze(lab, "sac0", 20, 0, 0);
    put_maze(lab, "dqs0", 5, 5, 10);
    put_maze(lab, "dqs1", 2, 0, 6);
    draw_well(lab, &(struct figure_choice){0}, 6);
    assert_string_equal(text_of(lab, "maze-goals.csv"),
                        "task,method,preset,seed,steps,mode,episodes,mean_return,success,goals,goal_top_left,"
                        "goal_bottom_right,"
                        "goal_entropy,paths,path_top,path_left\n"
                        "maze-small,dqs,default,0,2000,evaluate,20,10,1,2,10,10,1,2,5,5\n"
                        "maze-small,dqs,default,1,2000,evaluate,20,4,0.4,2,2,6,0.8112781244591328,1,2,0\n"
                        "maze-small,sac,default,0,2000,evaluate,20,10,1,1,20,0,0,1,20,0\n");
    assert_non_null(
        strstr(text_of(lab, "maze-goals.md"),
               "| maze-small | dqs | default | 1 | 2000 | evaluate | 20 | 4 | 0.400 | 2 | 2 | 6 | "
               "0.811 | 1 | 2 | 0 |\n"));
    /* The bar under the panels: 5 + 2 of 20 by the top for dqs, all 20 for sac; walks add to it. */
    int by_top = pixels_like(lab, "fig-maze-small.png", chart_fade(chart_look(0).color, 0.9)),
        by_left = pixels_like(lab, "fig-maze-small.png", chart_fade(chart_look(2).color, 0.9));
    assert_in_range(by_top, 27 * 148, 27 * 148 * 2);
    assert_true(by_top > 3 * by_left && by_left > 5 * 100);
    draw_well(lab, &(struct figure_choice){.seeds = "1"}, 6);
    assert_null(strstr(text_of(lab, "maze-goals.csv"), "sac"));
}

static void a_damaged_trace_costs_its_own_panel_alone(void **state)
{
    struct lab *lab = *state;
    dqs_error error = {0};
    put_run(lab, "sac0", "maze-small", "sac", 0, 9);
    put_run(lab, "dqs0", "maze-small", "dqs", 0, 9);
    put_run(lab, "none", "maze-small", "qsm", 0, 9); /* still training: no trace, and no complaint */
    put_maze(lab, "sac0", 1, 0, 0);
    assert_int_equal(file_write_text(inside(lab, "dqs0", "trace.safetensors"), "garbage", &error), DQS_OK);
    assert_int_equal(draw(lab, &(struct figure_choice){0}, &error), DQS_OK);
    assert_int_equal(lab->warnings, 1);
    assert_non_null(strstr(lab->warning, "dqs0/trace.safetensors"));
    assert_null(strstr(text_of(lab, "maze-goals.csv"), "dqs"));
    put_gmm(lab, "dqs0", 30, true); /* whole, but of another task: positions outside the maze */
    assert_int_equal(draw(lab, &(struct figure_choice){0}, &error), DQS_OK);
    assert_int_equal(lab->warnings, 1);
    assert_non_null(strstr(lab->warning, "maze-small"));
}

static void gmm_gets_samples_and_maps_of_each_method(void **state)
{
    struct lab *lab = *state;
    put_run(lab, "dqs0", "gmm", "dqs", 0, -900);
    put_run(lab, "dqs1", "gmm", "dqs", 1, -900);
    put_run(lab, "sac0", "gmm", "sac", 0, -900);
    put_gmm(lab, "dqs0", 400, true);
    put_gmm(lab, "dqs1", 400, true);
    put_gmm(lab, "sac0", 400, true);
    draw_well(lab, &(struct figure_choice){0}, 6);
    int samples = pixels_like(lab, "fig-gmm.png", chart_fade(chart_look(1).color, 0.6));
    int bright = pixels_like(lab, "fig-gmm.png", chart_map(1));
    assert_true(samples > 200 && bright > 200);
    /* Exact samples have the discrepancy of their floor. */
    double mmd, floor;
    const char *row = strstr(text_of(lab, "gmm-samples.csv"), "\nsac,default,0,2000,evaluate,400,");
    assert_non_null(row);
    assert_int_equal(sscanf(row + strlen("\nsac,default,0,2000,evaluate,400,"), "%lf,%lf", &mmd, &floor), 2);
    assert_true(mmd > 0.5 * floor && mmd < 1.5 * floor);
    put_gmm(lab, "sac0", 400, false); /* critics that have no map */
    draw_well(lab, &(struct figure_choice){0}, 6);
    assert_true(pixels_like(lab, "fig-gmm.png", chart_map(1)) < bright);
    put_run(lab, "qsm0", "gmm", "qsm", 0, -900); /* a third method: maps in a second row */
    put_gmm(lab, "qsm0", 400, true);
    draw_well(lab, &(struct figure_choice){0}, 6);
}

static void svg_for_a_page_has_ids_of_its_own(void **state)
{
    struct lab *lab = *state;
    struct collection collection;
    dqs_error error = {0};
    const char *folders[] = {lab->path};
    char *first, *second;
    put_run(lab, "a", "pendulum", "dqs", 0, 100);
    assert_int_equal(collection_read(&collection, folders, 1, NULL, NULL, &error), DQS_OK);
    const struct figure_choice choice = {0};
    assert_int_equal(figure_curves_svg(&first, &collection, &choice, "one-", &error), DQS_OK);
    assert_int_equal(figure_curves_svg(&second, &collection, &choice, NULL, &error), DQS_OK);
    assert_non_null(strstr(first, "<svg"));
    assert_non_null(strstr(first, "</svg>"));
    assert_non_null(strstr(first, " id=\"one-"));
    assert_null(strstr(second, "one-"));
    for (const char *at = first; (at = strstr(at, "href=\"#")); at++)
        assert_int_equal(strncmp(at, "href=\"#one-", 11), 0);
    free(first);
    free(second);
    collection_free(&collection);
    assert_int_equal(
        file_write_text(inside(lab, "a", "evaluations.csv"), "step,episodes,mean_reward\n", &error), DQS_OK);
    assert_int_equal(collection_read(&collection, folders, 1, NULL, NULL, &error), DQS_OK);
    assert_int_equal(figure_curves_svg(&first, &collection, &choice, NULL, &error), DQS_OK);
    assert_null(first); /* nothing to draw */
    collection_free(&collection);
}

#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, make_lab, remove_lab)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_eye_tells_the_methods_apart),
        cmocka_unit_test(seeds_are_averaged_where_all_have_come),
        cmocka_unit_test(smoothing_is_a_centred_mean),
        cmocka_unit_test(the_interval_of_the_mean_is_the_bootstraps),
        IN_LAB(a_method_looks_the_same_in_any_company),
        IN_LAB(variants_keep_the_colour_of_their_algorithm),
        IN_LAB(names_that_are_not_there_are_refused),
        IN_LAB(mazes_stand_side_by_side_with_their_numbers),
        IN_LAB(a_damaged_trace_costs_its_own_panel_alone),
        IN_LAB(gmm_gets_samples_and_maps_of_each_method),
        IN_LAB(svg_for_a_page_has_ids_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
