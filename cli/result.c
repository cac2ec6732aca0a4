/* result: see result.h. The words of the JSON line are a promise to scripts: add, never rename. */
#include "result.h"
#include "cmd.h"
#include "json.h"
#include "live.h"
#include "terminal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *setting(const struct result *r, const char *key)
{
    const char *value = dqs_config_get(dqs_run_config(r->run), key);
    return value ? value : "";
}

static void resume_command(char *out, size_t size, const struct result *r)
{
    char name[1100], folder[1100];
    format_shell_word(name, sizeof name, program_name());
    format_shell_word(folder, sizeof folder, dqs_run_dir(r->run));
    snprintf(out, size, "%s resume %s", name, folder);
}

static void print_json(const struct result *r)
{
    struct json j = {0};
    const dqs_evaluation *e = r->evaluation;
    const char *seed = setting(r, "seed");
    json_open(&j, '{');
    json_put_text(&j, "env", setting(r, "env"));
    json_put_text(&j, "algo", setting(r, "algo"));
    json_put_text(&j, "preset", setting(r, "preset"));
    json_key(&j, "seed");
    json_raw(&j, *seed ? seed : "null");
    json_put_integer(&j, "steps", r->steps);
    json_put_number(&j, "eval_mean", e ? e->mean : NAN);
    json_put_number(&j, "eval_std", e ? e->std : NAN);
    json_put_integer(&j, "episodes", e ? e->episodes : 0);
    json_put_number(&j, "seconds", r->seconds);
    json_put_number(&j, "steps_per_second", r->steps_per_second);
    json_put_text(&j, "run_dir", dqs_run_dir(r->run));
    if (r->mode)
        json_put_text(&j, "mode", r->mode);
    if (e) {
        json_put_number(&j, "eval_min", e->min);
        json_put_number(&j, "eval_max", e->max);
        json_put_number(&j, "eval_length", e->mean_length);
        for (int i = 0; i < e->n_numbers; i++)
            json_put_number(&j, e->numbers[i].name, e->numbers[i].value);
    }
    json_key(&j, "stopped");
    json_bool(&j, r->stopped);
    if (r->stopped) {
        char command[2300];
        resume_command(command, sizeof command, r);
        json_put_text(&j, "resume", command);
    }
    json_close(&j, '}');
    puts(j.text);
    json_free(&j);
}

static void print_stopped(FILE *out, const struct result *r)
{
    char command[2300];
    dqs_progress progress;
    resume_command(command, sizeof command, r);
    dqs_run_progress(r->run, &progress);
    fprintf(out, "stopped at step %ld of %ld, state saved; to go on: %s\n", r->steps, progress.total_steps,
            command);
}

static void print_human(FILE *out, const struct result *r)
{
    char mean[32], std[32], took[32], speed[32], numbers[300] = "";
    const dqs_evaluation *e = r->evaluation;
    format_duration(took, sizeof took, r->seconds);
    format_number(speed, sizeof speed, r->steps_per_second);
    fprintf(out, "%s", terminal_style(out, STYLE_BOLD));
    fprintf(out, "%s ", setting(r, "env"));
    fprintf(out, "%s", setting(r, "algo"));
    fprintf(out, "%s: ", terminal_style(out, STYLE_PLAIN));
    if (e) {
        format_number(mean, sizeof mean, e->mean);
        format_number(std, sizeof std, e->std);
        live_numbers(numbers, sizeof numbers, e);
        fprintf(out, "return %s +- %s over %d episode%s", mean, std, e->episodes,
                e->episodes == 1 ? "" : "s");
    }
    fprintf(out, "%s%s; %ld steps, seed ", numbers[0] ? ", " : "", numbers, r->steps);
    fprintf(out, "%s, %s (%s steps/s), %s\n", setting(r, "seed"), took, speed, dqs_run_dir(r->run));
}

void result_print(const struct result *r, bool json)
{
    FILE *out = json ? stderr : stdout;
    if (r->stopped)
        print_stopped(out, r);
    else
        print_human(out, r);
    fflush(out);
    if (json)
        print_json(r);
}
