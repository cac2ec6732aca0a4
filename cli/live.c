/* live: see live.h. */
#include "live.h"
#include "clock.h"
#include "terminal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double LINE_EVERY = 10; /* seconds between plain lines */

void live_numbers(char *out, size_t size, const dqs_evaluation *evaluation)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < evaluation->n_numbers; i++) {
        char value[32], item[96];
        format_number(value, sizeof value, evaluation->numbers[i].value);
        int n = snprintf(item, sizeof item, "%s%s %s", used ? ", " : "", evaluation->numbers[i].name, value);
        if (used + (size_t)n >= size)
            return;
        memcpy(out + used, item, (size_t)n + 1);
        used += (size_t)n;
    }
}

static const char *setting(const dqs_run *run, const char *key)
{
    const char *value = dqs_config_get(dqs_run_config(run), key);
    return value ? value : "?";
}

void live_begin(struct live *live, const dqs_run *run, bool quiet)
{
    dqs_progress progress;
    memset(live, 0, sizeof *live);
    live->quiet = quiet;
    live->redraw = terminal_is_live(stderr);
    live->utf8 = terminal_is_utf8();
    live->next_line = clock_seconds() + LINE_EVERY;
    if (quiet)
        return;
    dqs_run_progress(run, &progress);
    fprintf(stderr, "%s on ", setting(run, "algo"));
    fprintf(stderr, "%s, ", setting(run, "env"));
    fprintf(stderr, "preset %s, ", setting(run, "preset"));
    fprintf(stderr, "seed %s, ", setting(run, "seed"));
    if (progress.step)
        fprintf(stderr, "from step %ld ", progress.step);
    fprintf(stderr, "to %ld steps, in %s\n", progress.total_steps, dqs_run_dir(run));
}

/* Appends if the whole piece fits into `width` columns; *columns counts them, *used the bytes. */
static void piece(char *line, size_t size, size_t *used, int *columns, int width, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < 0 || *columns + n > width || *used + (size_t)n >= size)
        return;
    memcpy(line + *used, text, (size_t)n + 1);
    *used += (size_t)n;
    *columns += n;
}

/* What both modes say; returns the columns taken. */
static int compose(char *line, size_t size, int width, const dqs_progress *p)
{
    size_t used = 0;
    int columns = 0;
    char speed[32], eta[32], last[32], eval[32];
    double share = p->total_steps > 0 ? 100.0 * (double)p->step / (double)p->total_steps : 0;
    format_number(speed, sizeof speed, p->steps_per_second);
    format_duration(eta, sizeof eta, p->eta_seconds);
    format_number(last, sizeof last, p->last_return);
    format_number(eval, sizeof eval, p->eval_mean);
    line[0] = 0;
    piece(line, size, &used, &columns, width, "%3.0f%%  %ld/%ld", share, p->step, p->total_steps);
    piece(line, size, &used, &columns, width, "  %s steps/s", speed);
    piece(line, size, &used, &columns, width, "  ETA %s", eta);
    piece(line, size, &used, &columns, width, "  return %s", last);
    piece(line, size, &used, &columns, width, "  eval %s", eval);
    return columns;
}

static void draw_bar(const struct live *live, int width, const dqs_progress *p)
{
    const char *full = live->utf8 ? "━" : "#", *empty = live->utf8 ? "─" : "-";
    double share = p->total_steps > 0 ? (double)p->step / (double)p->total_steps : 0;
    int filled = (int)floor(width * fmin(share, 1.0));
    fputs(terminal_style(stderr, STYLE_GOOD), stderr);
    for (int i = 0; i < width; i++) {
        if (i == filled)
            fprintf(stderr, "%s%s", terminal_style(stderr, STYLE_PLAIN), terminal_style(stderr, STYLE_DIM));
        fputs(i < filled ? full : empty, stderr);
    }
    fprintf(stderr, "%s ", terminal_style(stderr, STYLE_PLAIN));
}

static void redraw(struct live *live, const dqs_progress *progress)
{
    enum { SHORTEST = 8, LONGEST = 28 };
    char line[256];
    int width = terminal_width(stderr) - 1; /* the last column would wrap on some terminals */
    int columns = compose(line, sizeof line, width, progress);
    int bar = width - columns - 1;
    fputs("\r", stderr);
    if (bar >= SHORTEST)
        draw_bar(live, bar < LONGEST ? bar : LONGEST, progress);
    fprintf(stderr, "%s\033[K", line);
    fflush(stderr);
    live->drawn = true;
}

static void say_evaluation(const struct live *live, const dqs_evaluation *e)
{
    char mean[32], std[32], numbers[200];
    int width = terminal_width(stderr);
    format_number(mean, sizeof mean, e->mean);
    format_number(std, sizeof std, e->std);
    live_numbers(numbers, sizeof numbers, e);
    char line[400];
    snprintf(line, sizeof line, "step %ld: eval %s +- %s over %d episodes%s%s", e->step, mean, std,
             e->episodes, numbers[0] ? "; " : "", numbers);
    if (live->redraw && width > 4 && strlen(line) >= (size_t)width)
        line[width - 1] = 0;
    fprintf(stderr, "%s\n", line);
}

void live_watch(void *user, const dqs_progress *progress, const dqs_evaluation *evaluation)
{
    struct live *live = user;
    double now = clock_seconds();
    if (evaluation) {
        live->evaluation = *evaluation;
        live->evaluated = true;
    }
    if (live->quiet)
        return;
    if (evaluation) {
        live_end(live);
        say_evaluation(live, evaluation);
    }
    if (live->redraw) {
        redraw(live, progress);
    } else if (now >= live->next_line) {
        char line[256];
        compose(line, sizeof line, (int)sizeof line - 1, progress);
        fprintf(stderr, "%s\n", line + strspn(line, " "));
        live->next_line = now + LINE_EVERY;
    }
}

void live_end(struct live *live)
{
    if (live->drawn)
        fputs("\r\033[K", stderr);
    live->drawn = false;
    fflush(stderr);
}
