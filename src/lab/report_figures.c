/* report_figures: aggregates as intervals, and performance profiles. */
#include "figure.h"
#include "report.h"
#include <math.h>
#include <string.h>

struct panel {
    const struct report *report;
    const struct report_budget *budget;
    const struct chart_look *looks;
    int n, *methods;
    char title[96], note[160];
};

/* "; 4 tasks, 12 to 16 runs of a method" */
static void write_sizes(struct panel *panel)
{
    int least = 0, most = 0, tasks = panel->budget->n_common;
    for (int i = 0; i < panel->n; i++) {
        int n = panel->budget->shared[panel->methods[i]].n_scores;
        least = i == 0 || n < least ? n : least;
        most = n > most ? n : most;
    }
    size_t used = strlen(panel->note), left = sizeof panel->note - used;
    char runs[48];
    snprintf(runs, sizeof runs, least == most ? "%d" : "%d to %d", least, most);
    snprintf(panel->note + used, left, "%s%d task%s, %s run%s of a method", used ? "; " : "", tasks,
             tasks == 1 ? "" : "s", runs, most == 1 ? "" : "s");
}

static dqs_status open_panel(struct panel *panel, struct arena *arena, const struct report *report,
                             int budget, const char *title, dqs_error *error)
{
    const struct figure_choice all = {.tasks = NULL};
    const struct collection *c = report->collection;
    struct figure_view view;
    char name[64];
    TRY(figure_view(&view, arena, c, &all, error)); /* so that a method looks as it does in the curves */
    *panel = (struct panel){.report = report, .budget = &report->budgets[budget], .looks = view.looks};
    panel->methods = arena_new(arena, int, c->n_methods);
    for (int m = 0; m < c->n_methods; m++)
        if (panel->budget->shared[m].n_tasks > 0)
            panel->methods[panel->n++] = m;
    report_budget_name(panel->budget, name, sizeof name);
    snprintf(panel->title, sizeof panel->title, "%s at %s", title, name);
    figure_presets(panel->note, sizeof panel->note, &view);
    write_sizes(panel);
    return DQS_OK;
}

/* ---------------------------------------------------------------- profiles */

static double legend(cairo_t *c, const struct panel *panel, struct chart_box box, bool draw)
{
    enum { MOST = 64 };
    struct chart_look_key keys[MOST];
    char names[MOST][96];
    int n = panel->n < MOST ? panel->n : MOST;
    for (int i = 0; i < n; i++) {
        figure_name(names[i], sizeof names[i], &panel->report->collection->methods[panel->methods[i]]);
        keys[i] = (struct chart_look_key){panel->looks[panel->methods[i]], names[i], false};
    }
    return chart_look_legend(c, box, keys, n, draw);
}

static void draw_profile(cairo_t *c, double width, double height, const void *context)
{
    const struct panel *panel = context;
    struct chart_box key_box = {52, 0, width - 52 - 16, height};
    double keys = legend(c, panel, key_box, false);
    struct chart_axes axes = {.box = {52, 42, width - 52 - 16, height - 42 - 44 - keys},
                              .x = {0, 1},
                              .y = {-0.02, 1.02},
                              .title = panel->title,
                              .note = panel->note,
                              .x_label = "normalised score \u03c4",
                              .y_label = "share of runs above \u03c4"};
    double tau[REPORT_TAUS], at[REPORT_TAUS], low[REPORT_TAUS], high[REPORT_TAUS];
    chart_begin(c, &axes);
    for (int pass = 0; pass < 2; pass++) /* bands behind every line */
        for (int i = 0; i < panel->n; i++) {
            const struct report_aggregate *a = &panel->budget->shared[panel->methods[i]];
            const struct chart_look *look = &panel->looks[panel->methods[i]];
            for (int k = 0; k < REPORT_TAUS; k++) {
                tau[k] = (double)k / (REPORT_TAUS - 1);
                at[k] = a->profile[k].value;
                low[k] = a->profile[k].low;
                high[k] = a->profile[k].high;
            }
            if (pass == 0)
                chart_band(c, &axes, tau, low, high, REPORT_TAUS, chart_fade(look->color, 0.13));
            else
                chart_series(c, &axes, tau, at, REPORT_TAUS, look, 1.6);
        }
    chart_end(c, &axes);
    key_box.y = height - keys - 6;
    legend(c, panel, key_box, true);
}

dqs_status report_profile_svg(char **svg, const struct report *report, int budget, dqs_error *error)
{
    struct arena arena = {0};
    struct panel panel;
    char prefix[32];
    *svg = NULL;
    snprintf(prefix, sizeof prefix, "profile%d-", budget);
    dqs_status status = open_panel(&panel, &arena, report, budget, "Performance profile", error);
    if (status == DQS_OK && panel.n > 0)
        status = chart_text_svg(svg, 560, 360, draw_profile, &panel, prefix, error);
    arena_free(&arena);
    return status;
}

/* ---------------------------------------------------------------- intervals */

#define ROW_HEIGHT 20.0
#define NAMES_MOST 260.0

static void draw_interval(cairo_t *c, const struct chart_axes *axes, const struct stats_interval *interval,
                          double row, const struct chart_look *look)
{
    double y = chart_y(axes, row), half = 0.28 * ROW_HEIGHT;
    double from = chart_x(axes, interval->low), to = chart_x(axes, interval->high);
    chart_fill_box(c, (struct chart_box){from, y - half, fmax(to - from, 0.8), 2 * half},
                   chart_fade(look->color, 0.35));
    chart_fill_box(c, (struct chart_box){chart_x(axes, interval->value) - 1, y - half, 2, 2 * half},
                   look->color);
}

static struct chart_range measure_range(const struct panel *panel, enum report_measure measure)
{
    struct chart_range range = {INFINITY, -INFINITY};
    for (int i = 0; i < panel->n; i++) {
        const struct stats_interval *v = &panel->budget->shared[panel->methods[i]].measures[measure];
        range = chart_range_join(range, (struct chart_range){v->low, v->high});
    }
    /* From tenth to tenth: two ticks at least, and scales that can be compared. */
    return (struct chart_range){floor(10 * range.low - 0.05) / 10, ceil(10 * range.high + 0.05) / 10};
}

static double names_width(cairo_t *c, const struct panel *panel)
{
    double width = 40;
    for (int i = 0; i < panel->n; i++) {
        char name[96];
        figure_name(name, sizeof name, &panel->report->collection->methods[panel->methods[i]]);
        width = fmax(width, chart_text_width(c, name, 9, 0) + 24);
    }
    return fmin(width, NAMES_MOST);
}

static void draw_intervals(cairo_t *c, double width, double height, const void *context)
{
    const struct panel *panel = context;
    double names = names_width(c, panel);
    struct chart_box area = {names, 58, width - names - 16, height - 58 - 34};
    chart_text(c, 12, 18, panel->title, 11, chart_ink(1), CHART_LEFT, CHART_BOLD);
    chart_text(c, 12, 32, panel->note, 8.5, chart_ink(0.65), CHART_LEFT, 0);
    for (int k = 0; k < REPORT_MEASURES; k++) {
        struct chart_axes axes = {.box = chart_grid_cell(area, REPORT_MEASURES, 1, k, 0, 28, 0),
                                  .x = measure_range(panel, (enum report_measure)k),
                                  .y = {-panel->n, 0}, /* the first method on top */
                                  .note = report_measures[k],
                                  .no_grid = true,
                                  .no_y_ticks = true};
        chart_begin(c, &axes);
        for (int i = 0; i < panel->n; i++)
            draw_interval(c, &axes, &panel->budget->shared[panel->methods[i]].measures[k], -i - 0.5,
                          &panel->looks[panel->methods[i]]);
        chart_end(c, &axes);
        for (int i = 0; k == 0 && i < panel->n; i++) {
            char name[96];
            figure_name(name, sizeof name, &panel->report->collection->methods[panel->methods[i]]);
            chart_text(c, names - 8, chart_y(&axes, -i - 0.5), name, 9, chart_ink(1), CHART_RIGHT,
                       CHART_MIDDLE);
        }
    }
}

dqs_status report_interval_svg(char **svg, const struct report *report, int budget, dqs_error *error)
{
    struct arena arena = {0};
    struct panel panel;
    char prefix[32];
    *svg = NULL;
    snprintf(prefix, sizeof prefix, "interval%d-", budget);
    dqs_status status = open_panel(&panel, &arena, report, budget, "Aggregates", error);
    if (status == DQS_OK && panel.n > 0)
        status =
            chart_text_svg(svg, 760, 58 + 34 + ROW_HEIGHT * panel.n, draw_intervals, &panel, prefix, error);
    arena_free(&arena);
    return status;
}
