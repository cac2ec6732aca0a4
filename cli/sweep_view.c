/* sweep_view: see sweep_view.h. */
#include "sweep_view.h"
#include "clock.h"
#include "json.h"
#include "terminal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double SUM_EVERY = 60; /* seconds between lines that sum up, where no table can be drawn */

void sweep_summary(char *out, size_t size, const struct sweep_count *count)
{
    static const enum sweep_phase order[] = {SWEEP_RUNNING, SWEEP_FAILED, SWEEP_STOPPED, SWEEP_WAITING};
    int total = 0;
    for (int i = 0; i < SWEEP_PHASES; i++)
        total += count->phase[i];
    size_t used = (size_t)snprintf(out, size, "%d of %d done", count->phase[SWEEP_DONE], total);
    for (size_t i = 0; i < sizeof order / sizeof *order && used < size; i++)
        if (count->phase[order[i]])
            used += (size_t)snprintf(out + used, size - used, ", %d %s", count->phase[order[i]],
                                     sweep_phase_name[order[i]]);
    if (!isnan(count->eta) && used < size) {
        char eta[32];
        format_duration(eta, sizeof eta, count->eta);
        snprintf(out + used, size - used, ", about %s left", eta);
    }
}

/* What is worth telling of a run besides its name. */
static void describe(char *out, size_t size, const struct sweep_run *run, const struct sweep_state *state)
{
    char mean[32], took[32], eta[32];
    format_number(mean, sizeof mean, state->eval_mean);
    format_duration(took, sizeof took, state->seconds);
    format_duration(eta, sizeof eta, state->eta);
    double share = run->steps > 0 ? 100.0 * (double)state->step / (double)run->steps : 0;
    const char *of = isnan(state->eval_mean) ? "" : ", return ", *value = isnan(state->eval_mean) ? "" : mean;
    if (state->phase == SWEEP_RUNNING)
        snprintf(out, size, "step %ld of %ld (%.0f%%), ETA %s%s%s%s%s", state->step, run->steps, share, eta,
                 of, value, state->owner[0] ? ", " : "", state->owner);
    else if (state->phase == SWEEP_DONE)
        snprintf(out, size, "return %s, %s", mean, took);
    else if (state->phase == SWEEP_FAILED)
        snprintf(out, size, "%d tries; %s", state->failures, state->message);
    else if (state->phase == SWEEP_STOPPED)
        snprintf(out, size, "step %ld of %ld (%.0f%%)%s%s", state->step, run->steps, share, of, value);
    else
        snprintf(out, size, "%ld steps", run->steps);
}

/* ---------------------------------------------------------------- while it works */

void sweep_view_begin(struct sweep_view *view, const char *name, int jobs, int tries, bool quiet)
{
    *view = (struct sweep_view){.name = name, .jobs = jobs, .tries = tries, .quiet = quiet};
    view->redraw = !quiet && terminal_is_live(stderr);
    view->next_line = clock_seconds() + SUM_EVERY;
}

static void erase(struct sweep_view *view)
{
    if (view->drawn > 0)
        fprintf(stderr, "\r\033[%dA\033[J", view->drawn);
    view->drawn = 0;
}

void sweep_view_end(struct sweep_view *view)
{
    erase(view);
    fflush(stderr);
}

/* One line of the table, cut to the width of the terminal. */
static void draw_line(struct sweep_view *view, int width, const char *style, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (width > 1 && strlen(line) >= (size_t)width)
        line[width - 1] = 0;
    fprintf(stderr, "%s%s%s\n", style, line, terminal_style(stderr, STYLE_PLAIN));
    view->drawn++;
}

static void draw_rows(struct sweep_view *view, int width, int *room, int longest, enum sweep_phase phase,
                      const struct sweep_plan *plan, const struct sweep_state *states)
{
    char told[600];
    for (int i = 0; i<plan->count && * room> 0; i++) {
        if (states[i].phase != phase)
            continue;
        describe(told, sizeof told, &plan->runs[i], &states[i]);
        draw_line(view, width, phase == SWEEP_FAILED ? terminal_style(stderr, STYLE_BOLD) : "",
                  "  %-7s %-*s  %s", sweep_phase_name[phase], longest, plan->runs[i].name, told);
        --*room;
    }
}

static void draw(struct sweep_view *view, const struct sweep_plan *plan, const struct sweep_state *states)
{
    char summary[300];
    struct sweep_count count;
    int width = terminal_width(stderr), room = terminal_height(stderr) - 3, longest = 0;
    for (int i = 0; i < plan->count; i++) {
        int length = (int)strlen(plan->runs[i].name);
        bool shown = states[i].phase == SWEEP_RUNNING || states[i].phase == SWEEP_FAILED;
        longest = shown && length > longest ? length : longest;
    }
    if (longest > width / 2)
        longest = width / 2;
    sweep_count(&count, plan, states, view->jobs);
    sweep_summary(summary, sizeof summary, &count);
    erase(view);
    draw_line(view, width, terminal_style(stderr, STYLE_BOLD), "%s: %s", view->name, summary);
    draw_rows(view, width, &room, longest, SWEEP_RUNNING, plan, states);
    draw_rows(view, width, &room, longest, SWEEP_FAILED, plan, states);
    fflush(stderr);
}

static void say_event(const struct sweep_view *view, enum sweep_event event, const struct sweep_run *run,
                      const struct sweep_state *state)
{
    char told[600];
    describe(told, sizeof told, run, state);
    switch (event) {
    case SWEEP_STARTED:
        fprintf(stderr, "started  %s\n", run->name);
        break;
    case SWEEP_RESUMED:
        fprintf(stderr, "resumed  %s at step %ld\n", run->name, state->step);
        break;
    case SWEEP_ENDED:
        fprintf(stderr, "done     %s: %s\n", run->name, told);
        break;
    case SWEEP_BROKE:
        fprintf(stderr, "failed   %s (try %d of %d): %s\n", run->name, state->failures, view->tries,
                state->message);
        break;
    case SWEEP_PAUSED:
        fprintf(stderr, "stopped  %s at step %ld of %ld\n", run->name, state->step, run->steps);
        break;
    case SWEEP_TICK:
        break;
    }
}

void sweep_view_watch(void *user, enum sweep_event event, int run, const struct sweep_plan *plan,
                      const struct sweep_state *states)
{
    struct sweep_view *view = user;
    if (view->quiet)
        return;
    /* On a terminal the table shows what runs; only ends are kept above it. */
    bool worth = event != SWEEP_TICK && (!view->redraw || event == SWEEP_ENDED || event == SWEEP_BROKE);
    if (worth) {
        erase(view);
        say_event(view, event, &plan->runs[run], &states[run]);
    }
    if (view->redraw) {
        draw(view, plan, states);
    } else if (clock_seconds() >= view->next_line) {
        char summary[300];
        struct sweep_count count;
        sweep_count(&count, plan, states, view->jobs);
        sweep_summary(summary, sizeof summary, &count);
        fprintf(stderr, "%s: %s\n", view->name, summary);
        view->next_line = clock_seconds() + SUM_EVERY;
    }
    fflush(stderr);
}

/* ---------------------------------------------------------------- once */

void sweep_print_table(const struct sweep_plan *plan, const struct sweep_state *states, int jobs)
{
    char told[600], summary[300];
    struct sweep_count count;
    struct table table = {.columns = 3, .width = terminal_width(stdout)};
    const int most[] = {0, 60, 0};
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < plan->count; i++) {
            describe(told, sizeof told, &plan->runs[i], &states[i]);
            const char *cells[] = {sweep_phase_name[states[i].phase], plan->runs[i].name, told};
            if (pass == 0)
                table_fit(&table, cells);
            else
                table_print(&table, cells);
        }
        table_squeeze(&table, most);
    }
    sweep_count(&count, plan, states, jobs);
    sweep_summary(summary, sizeof summary, &count);
    printf("%s\n", summary);
}

static void put_run(struct json *j, const struct sweep_run *run, const struct sweep_state *state)
{
    json_open(j, '{');
    json_put_text(j, "run_dir", run->folder);
    json_put_text(j, "env", run->task);
    json_put_text(j, "algo", run->algo);
    json_put_text(j, "preset", run->preset);
    json_put_integer(j, "seed", run->seed);
    json_key(j, "options");
    json_open(j, '{');
    for (int i = 0; i < run->n_settings; i++)
        json_put_text(j, run->settings[i].key, run->settings[i].value);
    json_close(j, '}');
    json_put_text(j, "state", sweep_phase_name[state->phase]);
    json_put_integer(j, "step", state->step);
    json_put_integer(j, "steps", run->steps);
    json_put_number(j, "eval_mean", state->eval_mean);
    json_put_number(j, "seconds", state->seconds);
    json_put_number(j, "eta_seconds", state->eta);
    json_put_integer(j, "failures", state->failures);
    json_put_text(j, "owner", state->owner);
    json_put_text(j, "message", state->message);
    json_close(j, '}');
}

void sweep_print_json(const struct sweep_plan *plan, const struct sweep_state *states, int jobs)
{
    struct json j = {0};
    struct sweep_count count;
    sweep_count(&count, plan, states, jobs);
    json_open(&j, '{');
    json_put_text(&j, "out", plan->out);
    for (int i = 0; i < SWEEP_PHASES; i++)
        json_put_integer(&j, sweep_phase_name[i], count.phase[i]);
    json_put_number(&j, "eta_seconds", count.eta);
    json_key(&j, "runs");
    json_open(&j, '[');
    for (int i = 0; i < plan->count; i++)
        put_run(&j, &plan->runs[i], &states[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    puts(j.text);
    json_free(&j);
}
