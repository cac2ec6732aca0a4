/* ablate: the figure. Left the score at the end against the values, one after the other at equal distances,
 * since values may be words; right the curves. */
#include "ablate.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 760.0
#define HEIGHT 330.0

struct picture {
    const struct ablation *a;
    char title[200], note[200], label[100];
    struct chart_range ends, curves, steps;
};

static struct chart_range range_of_ends(const struct ablation *a)
{
    struct chart_range range = {INFINITY, -INFINITY};
    for (int i = 0; i < a->n_values; i++) {
        const struct ablate_value *v = &a->values[i];
        if (v->n > 0)
            range = chart_range_join(range, chart_range_of(v->scores, v->n));
    }
    return range.low <= range.high ? chart_range_pad(range, 0.08) : (struct chart_range){0, 1};
}

static struct chart_range range_of_curves(const struct ablation *a, bool steps)
{
    struct chart_range range = {INFINITY, -INFINITY};
    for (int i = 0; i < a->n_values; i++) {
        const struct ablate_value *v = &a->values[i];
        if (v->n_curve == 0)
            continue;
        range = chart_range_join(range, chart_range_of(steps ? v->step : v->low, v->n_curve));
        if (!steps)
            range = chart_range_join(range, chart_range_of(v->high, v->n_curve));
    }
    if (!(range.low <= range.high))
        return (struct chart_range){0, 1};
    return steps ? (struct chart_range){0, fmax(range.high, 1)} : chart_range_pad(range, 0.05);
}

/* Of a value: every seed, the interval of the mean, the mean. */
static void draw_value(cairo_t *c, const struct chart_axes *axes, const struct ablate_value *v, int index)
{
    struct chart_look look = chart_look(index);
    double x = index;
    for (int i = 0; i < v->n; i++)
        chart_scatter(c, axes, &x, &v->scores[i], 1, chart_fade(look.color, 0.45), 2);
    if (v->n > 1) {
        const double at[2] = {x, x}, ends[2] = {v->interval.low, v->interval.high};
        chart_line(c, axes, at, ends, 2, look.color, 2);
    }
    if (v->n > 0)
        chart_mark(c, chart_x(axes, x), chart_y(axes, v->mean), &look, 4.5);
}

static void draw_ends(cairo_t *c, const struct picture *p, struct chart_box box)
{
    const struct ablation *a = p->a;
    struct chart_axes axes = {.box = box,
                              .x = {-0.5, a->n_values - 0.5},
                              .y = p->ends,
                              .title = p->title,
                              .note = p->note,
                              .y_label = p->label,
                              .no_x_ticks = true};
    chart_begin(c, &axes);
    for (int i = 0; i < a->n_values; i++)
        draw_value(c, &axes, &a->values[i], i);
    chart_end(c, &axes);
    double room = box.width / a->n_values;
    for (int i = 0; i < a->n_values; i++) {
        char text[40];
        snprintf(text, sizeof text, "%.30s", a->values[i].text);
        double size = 9, wide = chart_text_width(c, text, size, 0);
        if (wide > room - 2)
            size = fmax(5, size * (room - 2) / wide);
        chart_text(c, chart_x(&axes, i), box.y + box.height + 13, text, size, chart_ink(0.8), CHART_CENTRE,
                   0);
    }
    chart_text(c, box.x + box.width / 2, box.y + box.height + 30, a->option, 10, chart_ink(0.9), CHART_CENTRE,
               0);
}

static void draw_curves(cairo_t *c, const struct picture *p, struct chart_box box)
{
    const struct ablation *a = p->a;
    struct chart_axes axes = {.box = box,
                              .x = p->steps,
                              .y = p->curves,
                              .title = "Along the training",
                              .note = "mean over the seeds, bands from least to most",
                              .x_label = "environment steps"};
    chart_begin(c, &axes);
    for (int i = 0; i < a->n_values; i++) {
        const struct ablate_value *v = &a->values[i];
        if (v->n > 1)
            chart_band(c, &axes, v->step, v->low, v->high, v->n_curve, chart_fade(chart_look(i).color, 0.12));
    }
    for (int i = 0; i < a->n_values; i++) {
        const struct ablate_value *v = &a->values[i];
        struct chart_look look = chart_look(i);
        chart_series(c, &axes, v->step, v->curve, v->n_curve, &look, 1.6);
    }
    chart_end(c, &axes);
}

static void draw(cairo_t *c, double width, double height, const void *context)
{
    const struct picture *p = context;
    enum { MOST = 24 };
    struct chart_look_key keys[MOST];
    char names[MOST][80];
    int n = p->a->n_values < MOST ? p->a->n_values : MOST;
    for (int i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "%.40s = %.30s", p->a->option, p->a->values[i].text);
        keys[i] = (struct chart_look_key){chart_look(i), names[i], false};
    }
    struct chart_box legend = {10, 0, width - 20, height};
    double tall = chart_look_legend(c, legend, keys, n, false), half = width / 2;
    double bottom = height - 44 - tall - 6;
    draw_ends(c, p, (struct chart_box){58, 42, half - 58 - 18, bottom - 42});
    draw_curves(c, p, (struct chart_box){half + 40, 42, half - 40 - 16, bottom - 42});
    legend.y = height - tall - 4;
    chart_look_legend(c, legend, keys, n, true);
}

dqs_status ablate_figure(const struct ablation *a, const struct plot_target *target, dqs_error *error)
{
    struct picture p = {.a = a, .ends = range_of_ends(a), .curves = range_of_curves(a, false)};
    bool returns = !strcmp(a->measure, "mean_reward");
    int least = INT32_MAX, most = 0;
    for (int i = 0; i < a->n_values; i++) {
        least = a->values[i].n < least ? a->values[i].n : least;
        most = a->values[i].n > most ? a->values[i].n : most;
    }
    p.steps = range_of_curves(a, true);
    snprintf(p.title, sizeof p.title, "%.60s on %.60s", a->algo, a->task);
    if (least == most)
        snprintf(p.note, sizeof p.note, "preset %.40s, %ld steps, %d seed%s; 95 %% interval", a->preset,
                 a->steps, most, most == 1 ? "" : "s");
    else
        snprintf(p.note, sizeof p.note, "preset %.40s, %ld steps, %d to %d seeds; 95 %% interval", a->preset,
                 a->steps, least, most);
    snprintf(p.label, sizeof p.label, "%.60s at the end", returns ? "return of an episode" : a->measure);
    return plot_write(target, "ablation", WIDTH, HEIGHT, draw, &p, error);
}
