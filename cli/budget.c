/* budget: plays whole episodes one by one, as a robot would: one observation, one action, the clock around
 * it. Starts are those of an evaluation, the same for each number of steps. */
#include "budget.h"
#include "args.h"
#include "clock.h"
#include "cmd.h"
#include "file.h"
#include "json.h"
#include "number.h"
#include "rng.h"
#include "terminal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1200, MOST_BUDGETS = 32, EPISODES = 10 };

struct row {
    long steps, actions;
    double mean, std, p50, p99;
};

struct budget {
    dqs_config *config;
    dqs_env *env;
    char policy[PATH_SIZE];
    const char *settings;
    long episodes, seed;
    struct row rows[MOST_BUDGETS];
    int count;
    double *us;          /* one per action of a budget */
    float *obs, *action; /* of the moment */
};

/* ---------------------------------------------------------------- playing */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static dqs_status play(struct budget *b, dqs_policy *policy, long episode, double *sum, long *actions,
                       dqs_error *error)
{
    float *obs = b->obs, *action = b->action;
    dqs_outcome outcome = {0};
    dqs_status status = dqs_env_reset(
        b->env, rng_episode_seed(rng_evaluation_seed((uint64_t)b->seed), episode, 0), obs, error);
    *sum = 0;
    for (long t = 0; status == DQS_OK && t < DQS_LONGEST_EPISODE && !outcome.terminated && !outcome.truncated;
         t++) {
        if (t % dqs_policy_action_repeat(policy) == 0) {
            double begin = clock_seconds();
            status = dqs_policy_act(policy, obs, action, error);
            b->us[(*actions)++] = (clock_seconds() - begin) * 1e6;
        }
        if (status == DQS_OK)
            status = dqs_env_step(b->env, action, obs, &outcome, error);
        *sum += outcome.reward;
    }
    return status;
}

static dqs_status measure(struct budget *b, struct row *row, dqs_error *error)
{
    dqs_policy *policy = NULL;
    char settings[1000];
    double sum = 0, squares = 0, one;
    snprintf(settings, sizeof settings, "sampling_steps=%ld %.900s", row->steps, b->settings);
    dqs_status status = dqs_policy_load_with(&policy, b->policy, settings, error);
    if (status == DQS_OK && dqs_policy_obs_dim(policy) != dqs_env_spec(b->env)->obs_dim) {
        snprintf(error->message, sizeof error->message,
                 "%.300s: the policy sees %d numbers, the task shows %d", b->policy,
                 dqs_policy_obs_dim(policy), dqs_env_spec(b->env)->obs_dim);
        status = error->status = DQS_E_MISMATCH;
    }
    for (long e = 0; status == DQS_OK && e < b->episodes; e++) {
        status = play(b, policy, e, &one, &row->actions, error);
        sum += one;
        squares += one * one;
    }
    dqs_policy_free(policy);
    if (status != DQS_OK)
        return status;
    qsort(b->us, (size_t)row->actions, sizeof *b->us, ascending);
    row->mean = sum / (double)b->episodes;
    row->std = sqrt(fmax(0, squares / (double)b->episodes - row->mean * row->mean));
    row->p50 = b->us[row->actions / 2];
    row->p99 = b->us[row->actions * 99 / 100];
    return DQS_OK;
}

/* ---------------------------------------------------------------- the run */
static int read_list(struct budget *b, const char *list)
{
    for (const char *at = list; *at;) {
        char number[24];
        size_t length = strcspn(at, ",");
        snprintf(number, sizeof number, "%.*s", (int)(length < 20 ? length : 20), at);
        if (b->count == MOST_BUDGETS)
            return complain(EXIT_USAGE, "--steps-budget: more than %d numbers", MOST_BUDGETS);
        if (!args_long("--steps-budget", number, 1, 5000, &b->rows[b->count++].steps))
            return EXIT_USAGE;
        at += length + (at[length] == ',');
    }
    return -1;
}

/* The one asked for, or the last, as eval has it. */
static void find_policy(struct budget *b, const char *run, const char *policy)
{
    static const char *const names[] = {"policy.safetensors", "checkpoint.safetensors"};
    for (size_t i = 0; !policy && i < sizeof names / sizeof *names; i++) {
        snprintf(b->policy, sizeof b->policy, "%.1100s/%s", run, names[i]);
        if (file_exists(b->policy))
            return;
    }
    snprintf(b->policy, sizeof b->policy, "%.1100s", policy ? policy : run);
}

static dqs_status open_run(struct budget *b, const char *run, const char *policy, long episodes,
                           const char *seed, dqs_error *error)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.1100s/config.yaml", run);
    dqs_status status = dqs_config_create(&b->config, NULL, NULL, error);
    if (status == DQS_OK)
        status = dqs_config_file(b->config, path, error);
    if (status == DQS_OK)
        status = dqs_env_create(&b->env, dqs_config_get(b->config, "env"),
                                dqs_config_get(b->config, "env_options"), error);
    if (status != DQS_OK)
        return status;
    find_policy(b, run, policy);
    b->episodes = episodes > 0 ? episodes : EPISODES;
    if (!number_read_long(seed ? seed : dqs_config_get(b->config, "eval_seed"), &b->seed))
        b->seed = 0;
    const dqs_spec *spec = dqs_env_spec(b->env);
    int most = spec->max_steps;
    b->us = calloc((size_t)b->episodes * (size_t)(most > 0 ? most : DQS_LONGEST_EPISODE), sizeof *b->us);
    b->obs = calloc((size_t)spec->obs_dim, sizeof *b->obs);
    b->action = calloc((size_t)spec->act_dim, sizeof *b->action);
    if (!b->us || !b->obs || !b->action) {
        snprintf(error->message, sizeof error->message,
                 "steps budget: out of memory; ask for fewer episodes");
        return error->status = DQS_E_MEMORY;
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- the table */
static void print_head(FILE *out, const struct budget *b)
{
    fprintf(out, "%s%s ", terminal_style(out, STYLE_BOLD), dqs_config_get(b->config, "env"));
    fprintf(out, "%s", dqs_config_get(b->config, "algo"));
    fprintf(out, "%s: %ld episodes each, one observation at a time\n", terminal_style(out, STYLE_PLAIN),
            b->episodes);
    fprintf(out, "%7s %12s %10s %12s %12s\n", "steps", "return", "+-", "p50 us", "p99 us");
}

static void print_row(FILE *out, const struct row *row)
{
    char text[4][32];
    const double values[] = {row->mean, row->std, row->p50, row->p99};
    for (int i = 0; i < 4; i++)
        format_number(text[i], sizeof text[i], values[i]);
    fprintf(out, "%7ld %12s %10s %12s %12s\n", row->steps, text[0], text[1], text[2], text[3]);
    fflush(out);
}

static void print_json(const struct budget *b, const char *run)
{
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "env");
    json_string(&j, dqs_config_get(b->config, "env"));
    json_key(&j, "algo");
    json_string(&j, dqs_config_get(b->config, "algo"));
    json_key(&j, "run_dir");
    json_string(&j, run);
    json_key(&j, "episodes");
    json_integer(&j, b->episodes);
    json_key(&j, "budget");
    json_open(&j, '[');
    for (int i = 0; i < b->count; i++) {
        const struct row *row = &b->rows[i];
        const struct {
            const char *key;
            double value;
        } numbers[] = {{"steps", (double)row->steps}, {"eval_mean", row->mean},
                       {"eval_std", row->std},        {"p50_us", row->p50},
                       {"p99_us", row->p99},          {"actions", (double)row->actions}};
        json_open(&j, '{');
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            json_key(&j, numbers[k].key);
            json_number(&j, numbers[k].value);
        }
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    puts(j.text);
    json_free(&j);
}

int budget_print(const char *run, const char *policy, const char *list, const char *settings, long episodes,
                 const char *seed, bool json)
{
    struct budget b = {.settings = settings};
    dqs_error error = {.status = DQS_OK};
    FILE *out = json ? stderr : stdout;
    int code = read_list(&b, list);
    if (code >= 0)
        return code;
    dqs_status status = open_run(&b, run, policy, episodes, seed, &error);
    for (int i = 0; i < b.count && status == DQS_OK; i++) {
        status = measure(&b, &b.rows[i], &error);
        if (i == 0 && status == DQS_OK)
            print_head(out, &b);
        if (status == DQS_OK)
            print_row(out, &b.rows[i]);
    }
    if (status == DQS_OK && json)
        print_json(&b, run);
    dqs_env_free(b.env);
    dqs_config_free(b.config);
    free(b.us);
    free(b.obs);
    free(b.action);
    return status == DQS_OK ? EXIT_OK : complain_error(&error);
}
