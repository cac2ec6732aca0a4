/* cmd_export: dqs export. */
#include "args.h"
#include "cmd.h"
#include "file.h"
#include "json.h"
#include "rng.h"
#include "safetensors.h"
#include "terminal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "Writes the policy of RUN (its best, if a folder; or a .safetensors file) as a program that does\n"
    "not need dqs: one C99 file and its header, with nothing but math.h, or an ONNX graph with the\n"
    "whole sampler inside. What was written is then run, by cc or by Python with onnxruntime, and\n"
    "compared with the library at 1000 observations and the same random numbers.";

static const char examples[] =
    "  dqs export runs/pendulum/dqs/default-s0 --format c\n"
    "  dqs export runs/cheetah-run/dqs/default-s0 --format c --steps 3 --weights fp16 --out robot/gait.c\n"
    "  dqs export runs/pendulum/sac/default-s0 --format onnx --mode explore\n";

#define ROWS 1000 /* observations to compare at */

struct choice {
    const char *run, *out;
    struct args_list set;
    long steps;
    dqs_export how;
    int repeat; /* steps of the task for which an action is held */
    bool json;
};

/* ---------------------------------------------------------------- observations of the run itself */
/* ROWS of the observations in a trace. */
static void pick(float *rows, const struct safetensors_tensor *obs, const struct safetensors_tensor *length)
{
    struct rng rng;
    size_t d = obs->shape[2];
    rng_seed(&rng, 1, RNG_TEST);
    for (size_t i = 0; i < ROWS; i++) {
        size_t episode = rng_below(&rng, (uint32_t)obs->shape[0]);
        int64_t steps, most = (int64_t)obs->shape[1] - 1;
        memcpy(&steps, length->data + episode * sizeof steps, sizeof steps);
        steps = steps < 0 ? 0 : steps > most ? most : steps;
        size_t time = rng_below(&rng, (uint32_t)steps + 1);
        memcpy(rows + i * d, obs->data + (episode * obs->shape[1] + time) * d * sizeof *rows,
               d * sizeof *rows);
    }
}

static bool fits(const struct safetensors_tensor *obs, const struct safetensors_tensor *length, int obs_dim)
{
    return obs && length && obs->rank == 3 && obs->type == VISIT_F32 && length->type == VISIT_I64 &&
           length->rank == 1 && obs->shape[2] == (size_t)obs_dim && obs->shape[0] == length->shape[0] &&
           obs->shape[0] > 0 && obs->shape[0] <= 1000000 && obs->shape[1] > 0 && obs->shape[1] <= 100000000;
}

/* Observations of the last evaluation; NULL if the folder has none that fit. */
static float *read_trace(const char *run, int obs_dim)
{
    char path[1200];
    struct safetensors file;
    float *rows = NULL;
    size_t n = ROWS * (size_t)obs_dim, finite = 0;
    snprintf(path, sizeof path, "%.1100s/trace.safetensors", run);
    if (!file_is_folder(run) || !file_exists(path) || safetensors_open(path, &file, NULL) != DQS_OK)
        return NULL;
    const struct safetensors_tensor *obs = safetensors_find(&file, "obs"),
                                    *length = safetensors_find(&file, "length");
    if (fits(obs, length, obs_dim) && (rows = malloc(n * sizeof *rows)))
        pick(rows, obs, length);
    safetensors_close(&file);
    while (rows && finite < n && isfinite(rows[finite]))
        finite++;
    if (finite < n) {
        free(rows);
        rows = NULL;
    }
    return rows;
}

/* ---------------------------------------------------------------- the report */
static void report(FILE *out, const struct choice *c, const dqs_parity *p)
{
    char us[32], library[32];
    bool c_too = strcmp(c->how.format, "c") == 0;
    size_t stem = strlen(c->how.path) - 2;
    format_number(us, sizeof us, p->us);
    format_number(library, sizeof library, p->library_us);
    if (c_too)
        fprintf(out, "wrote %s and %.*s.h: ", c->how.path, (int)stem, c->how.path);
    else
        fprintf(out, "wrote %s: ", c->how.path);
    fprintf(out, "%s; %ld weights in %s\n", p->summary, p->weights, c->how.weights ? c->how.weights : "fp32");
    if (c->repeat > 1)
        fprintf(out, "to be asked once in %d steps of the task: it learned to hold its actions between them\n",
                c->repeat);
    if (p->rows == 0) {
        fprintf(out, "parity: not compared: %s\n", p->note);
        return;
    }
    fprintf(out, "parity: %d observations, largest difference %.2g of half the range", p->rows, p->most);
    if (p->beyond > 0)
        fprintf(out, ", %d beyond 1e-05", p->beyond);
    fprintf(out, "; %s us an action, the library %s us\n", us, library);
    if (p->decides)
        fprintf(
            out,
            "parity: particles and corrector amplify rounding: the library's own reference loops are beyond\n"
            "parity: 1e-05 of its fast ones at %d of the same observations\n",
            p->rounding);
}

static void report_json(const struct choice *c, const dqs_parity *p)
{
    struct json j = {0};
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"observations", p->rows},
                   {"beyond", p->beyond},
                   {"max_difference", p->most},
                   {"us_per_action", p->us},
                   {"library_us", p->library_us},
                   {"rounding", p->rounding},
                   {"weights_stored", (double)p->weights},
                   {"action_repeat", c->repeat}};
    json_open(&j, '{');
    json_key(&j, "path");
    json_string(&j, c->how.path);
    json_key(&j, "format");
    json_string(&j, c->how.format);
    json_key(&j, "weights");
    json_string(&j, c->how.weights ? c->how.weights : "fp32");
    json_key(&j, "summary");
    json_string(&j, p->summary);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        json_key(&j, numbers[i].key);
        json_number(&j, numbers[i].value);
    }
    json_key(&j, "decides");
    json_bool(&j, p->decides);
    json_key(&j, "note");
    json_string(&j, p->note);
    json_close(&j, '}');
    puts(j.text);
    json_free(&j);
}

/* Single precision must meet the trainer; where decisions may turn, about as often as the trainer meets
 * itself. */
static bool met(const struct choice *c, const dqs_parity *p)
{
    bool half = c->how.weights && strcmp(c->how.weights, "fp16") == 0;
    return p->rows == 0 || half || p->beyond <= (p->decides ? 2 * p->rounding + p->rows / 100 : 0);
}

/* ---------------------------------------------------------------- the work */
static dqs_status load(dqs_policy **policy, const struct choice *c, dqs_error *error)
{
    char steps[40], *settings;
    struct args_list all = c->set;
    const char *items[all.count + 1];
    for (int i = 0; i < all.count; i++)
        items[i] = all.items[i];
    snprintf(steps, sizeof steps, "sampling_steps=%ld", c->steps);
    if (c->steps > 0)
        items[all.count++] = steps;
    all.items = items;
    settings = args_list_join(&all);
    dqs_status status = dqs_policy_load_with(policy, c->run, settings, error);
    free(settings);
    return status;
}

static int export(struct choice *c)
{
    dqs_policy *policy = NULL;
    dqs_error error = {.status = DQS_OK};
    dqs_parity parity;
    char path[1200];
    if (load(&policy, c, &error) != DQS_OK)
        return complain_error(&error);
    bool folder = c->out && (file_is_folder(c->out) || (*c->out && c->out[strlen(c->out) - 1] == '/'));
    if (!c->out || folder)
        snprintf(path, sizeof path, "%.1100s/policy.%.20s",
                 folder                   ? c->out
                 : file_is_folder(c->run) ? c->run
                                          : ".",
                 c->how.format);
    else
        snprintf(path, sizeof path, "%.1190s", c->out);
    c->how.path = path;
    c->repeat = dqs_policy_action_repeat(policy);
    float *obs = read_trace(c->run, dqs_policy_obs_dim(policy));
    c->how.obs = obs;
    c->how.rows = ROWS;
    dqs_status status = dqs_policy_export(policy, &c->how, &parity, &error);
    free(obs);
    dqs_policy_free(policy);
    if (status != DQS_OK)
        return complain_error(&error);
    report(c->json ? stderr : stdout, c, &parity);
    if (c->json)
        report_json(c, &parity);
    if (!met(c, &parity))
        return complain(EXIT_FAILED, "%s: does not act as the trainer does; please report it with the run",
                        path);
    return EXIT_OK;
}

int cmd_export(int argc, char **argv)
{
    struct choice c = {0};
    const char *steps_text = NULL, *mode = "evaluate";
    const struct args_flag flags[] = {
        {"--format", "F", "c or onnx (default: by the ending of --out, else c)", .text = &c.how.format},
        {"--out", "PATH", "file or folder (default: policy.c or policy.onnx in RUN)", .text = &c.out},
        {"--name", "NAME", "what C names begin with (default: the file's name)", .text = &c.how.name},
        {"--steps", "N", "sampling steps (default: as trained)", .text = &steps_text},
        {"--weights", "W", "fp32 (default) or fp16, half the size", .text = &c.how.weights},
        {"--mode", "M", "evaluate (default), or explore: with the noise of training", .text = &mode},
        {"--set", "key=value", "another option for acting, such as corrector=0", .list = &c.set},
        {"--keep", "DIR", "leave the comparison here, to run it on another machine", .text = &c.how.keep},
        {"--json", NULL, "one JSON line on stdout, everything else on stderr", .on = &c.json},
        {0},
    };
    const struct args_spec spec = {.verb = "export",
                                   .usage = "RUN [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = 1,
                                   .settings = true};
    int code = args_parse(&spec, argc, argv, &c.run, NULL);
    if (code < 0 && steps_text && !args_long("--steps", steps_text, 1, 5000, &c.steps))
        code = EXIT_USAGE;
    if (code < 0 && strcmp(mode, "evaluate") && strcmp(mode, "explore"))
        code = complain(EXIT_USAGE, "--mode: no mode '%s' to export; there are evaluate and explore", mode);
    c.how.mode = strcmp(mode, "explore") ? DQS_ACT_EVALUATE : DQS_ACT_EXPLORE;
    size_t length = c.out ? strlen(c.out) : 0;
    if (!c.how.format)
        c.how.format = length > 5 && !strcmp(c.out + length - 5, ".onnx") ? "onnx" : "c";
    if (code < 0)
        code = export(&c);
    args_list_free(&c.set);
    return code;
}
