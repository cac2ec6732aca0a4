/* The learning curve: mean and spread of the evaluations over environment steps, the returns met in training
 * behind it. */
#include "plot_data.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct curve {
    char title[256], note[256];
    int n_evaluations, n_rollouts;
    const double *step, *mean;      /* evaluations */
    double *low, *high;             /* mean -+ std */
    double *rollout_step, *rollout; /* training */
    struct chart_range x, y;
};

static void draw_evaluations(cairo_t *c, const struct chart_axes *axes, const struct curve *v)
{
    chart_band(c, axes, v->step, v->low, v->high, v->n_evaluations, chart_hue(CHART_BLUE, 0.18));
    chart_line(c, axes, v->step, v->mean, v->n_evaluations, chart_hue(CHART_BLUE, 1), 1.8);
    if (v->n_evaluations <= 60) /* single evaluations can be told apart */
        chart_scatter(c, axes, v->step, v->mean, v->n_evaluations, chart_hue(CHART_BLUE, 1), 2.2);
}

static void draw_curve(cairo_t *c, double width, double height, const void *context)
{
    const struct curve *v = context;
    struct chart_axes axes = {.box = {60, 42, width - 60 - 16, height - 42 - 40},
                              .x = v->x,
                              .y = v->y,
                              .title = v->title,
                              .note = v->note,
                              .x_label = "environment steps",
                              .y_label = "return of an episode"};
    struct chart_key keys[3];
    int n = 0;
    chart_begin(c, &axes);
    if (v->n_rollouts > 0) {
        chart_line(c, &axes, v->rollout_step, v->rollout, v->n_rollouts, chart_hue(CHART_ORANGE, 0.55), 1);
        keys[n++] = (struct chart_key){CHART_KEY_LINE, chart_hue(CHART_ORANGE, 0.55), "training"};
    }
    if (v->n_evaluations > 0) {
        draw_evaluations(c, &axes, v);
        keys[n++] = (struct chart_key){CHART_KEY_LINE, chart_hue(CHART_BLUE, 1), "evaluation"};
        keys[n++] =
            (struct chart_key){CHART_KEY_BAND, chart_hue(CHART_BLUE, 0.25), "\u00b1 std of its episodes"};
    }
    chart_end(c, &axes);
    chart_legend(c, axes.box, -2, keys, n);
}

/* Rows of progress.csv without a return (an evaluation's, or no episode has ended) are not gaps. */
static void take_rollouts(struct curve *v, struct plot_data *data)
{
    const struct plot_table *t = &data->progress;
    const double *step = plot_column(t, "time/total_timesteps"),
                 *reward = plot_column(t, "rollout/ep_rew_mean");
    if (!step || !reward)
        return;
    v->rollout_step = arena_new(&data->arena, double, t->rows);
    v->rollout = arena_new(&data->arena, double, t->rows);
    for (int i = 0; i < t->rows; i++) {
        if (!isfinite(step[i]) || !isfinite(reward[i]))
            continue;
        v->rollout_step[v->n_rollouts] = step[i];
        v->rollout[v->n_rollouts++] = reward[i];
    }
}

static dqs_status take_evaluations(struct curve *v, struct plot_data *data, dqs_error *error)
{
    const struct plot_table *t = &data->evaluations;
    if (t->rows == 0)
        return DQS_OK;
    v->step = plot_column(t, "step");
    v->mean = plot_column(t, "mean_reward");
    const double *std = plot_column(t, "std_reward");
    if (!v->step || !v->mean || !std)
        return fail(error, DQS_E_FORMAT,
                    "evaluations.csv: has no column %s; the file is damaged or of another version",
                    !v->step   ? "step"
                    : !v->mean ? "mean_reward"
                               : "std_reward");
    v->n_evaluations = t->rows;
    v->low = arena_new(&data->arena, double, t->rows);
    v->high = arena_new(&data->arena, double, t->rows);
    for (int i = 0; i < t->rows; i++) {
        v->low[i] = v->mean[i] - std[i];
        v->high[i] = v->mean[i] + std[i];
    }
    return DQS_OK;
}

static void set_ranges(struct curve *v)
{
    struct chart_range none = {INFINITY, -INFINITY}, x = none, y = none;
    if (v->n_evaluations > 0) {
        x = chart_range_of(v->step, v->n_evaluations);
        y = chart_range_join(chart_range_of(v->low, v->n_evaluations),
                             chart_range_of(v->high, v->n_evaluations));
    }
    if (v->n_rollouts > 0) {
        x = chart_range_join(x, chart_range_of(v->rollout_step, v->n_rollouts));
        y = chart_range_join(y, chart_range_of(v->rollout, v->n_rollouts));
    }
    double end = x.high > 0 ? x.high : 1;
    v->x = (struct chart_range){-0.012 * end, 1.012 * end};
    v->y = chart_range_pad(y, 0.06);
}

static void set_words(struct curve *v, const struct plot_data *data)
{
    snprintf(v->title, sizeof v->title, "Learning curve: %.200s", data->env);
    plot_origin(data, false, v->note, sizeof v->note);
    size_t used = strlen(v->note);
    int last = v->n_evaluations - 1;
    if (last < 0)
        return;
    char mean[32], std[32];
    plot_number(mean, sizeof mean, v->mean[last]);
    plot_number(std, sizeof std, v->high[last] - v->mean[last]);
    snprintf(v->note + used, sizeof v->note - used, "; last evaluation %s \u00b1 %s", mean, std);
}

dqs_status plot_curve(struct plot_data *data, const struct plot_target *target, dqs_error *error)
{
    struct curve v = {0};
    TRY(take_evaluations(&v, data, error));
    take_rollouts(&v, data);
    if (v.n_evaluations == 0 && v.n_rollouts == 0)
        return DQS_OK;
    set_ranges(&v);
    set_words(&v, data);
    return plot_write(target, "curve", 600, 340, draw_curve, &v, error);
}
