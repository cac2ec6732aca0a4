/* reproduce: the items, and the sweep behind each. */
#include "reproduce.h"
#include "config.h"
#include "number.h"
#include "paper_steps.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL \
    "cheetah-run,finger-spin,finger-turn_hard,fish-swim,hopper-hop,quadruped-run,reacher-hard,walker-run"
#define CLASSIC "dqs,sac,ddpg,ppo,td3"
#define DIFFUSION "dqs,qsm,dacer,dipo"

/* ---------------------------------------------------------------- the items */

/* Looks of DQS at its own sampler (diag_states) cost time and change nothing. */
#define NO_LOOKS                        \
    {                                   \
        "dqs", NULL, "diag_states", "0" \
    }
/* The paper evaluates over 100 episodes. The same numbers for all three, so that they share their runs. */
static const struct reproduce_setting control_settings[] = {{NULL, NULL, "eval_every", "10000"},
                                                            {NULL, NULL, "eval_episodes", "100"},
                                                            {NULL, NULL, "final_episodes", "100"},
                                                            NO_LOOKS,
                                                            {0}};
static const struct reproduce_setting gmm_settings[] = {
    {NULL, NULL, "final_episodes", "5000"}, NO_LOOKS, {0}};
/* DIPO's own 100 steps of diffusion would cost more than all the others together. */
static const struct reproduce_setting maze_settings[] = {
    {NULL, NULL, "final_episodes", "100"}, {"dipo", "default", "diffusion_steps", "20"}, NO_LOOKS, {0}};

static const struct reproduce_figure table_figures[] = {{figure_curves, NULL, NULL}, {0}};
static const struct reproduce_figure control_figures[] = {
    {figure_curves, "fig-dmc-classic", CLASSIC}, {figure_curves, "fig-dmc-diffusion", DIFFUSION}, {0}};
static const struct reproduce_figure gmm_figures[] = {{figure_gmm, NULL, NULL}, {0}};
static const struct reproduce_figure maze_figures[] = {{figure_mazes, NULL, NULL}, {0}};

/* The same runs for the tables and the curves. */
#define CONTROL_RUNS \
    .tasks = CONTROL, .steps = 250000, .least_steps = 100000, .seeds = 3, .settings = control_settings

const struct reproduce_item reproduce_items[] = {
    {.name = "fig-gmm",
     .title = "Figure 2: samples of a Gaussian mixture",
     .tasks = "gmm",
     .algos = "dqs,sac",
     .steps = 20000,
     .least_steps = 20000,
     .seeds = 1,
     .settings = gmm_settings,
     .drawn = "sac",
     .figures = gmm_figures,
     .judge = reproduce_gmm},
    {.name = "fig-maze",
     .title = "Figure 6: a maze with two goals",
     .tasks = "maze-small",
     .full_task = "maze",
     .algos = "dqs,sac,qsm,dacer,dipo",
     .steps = 30000,
     .full_steps = 250000,
     .least_steps = 30000,
     .seeds = 3,
     .settings = maze_settings,
     .figures = maze_figures,
     .judge = reproduce_maze},
    {.name = "table1",
     .title = "Table 1: returns of DQS and classic algorithms on eight control tasks",
     CONTROL_RUNS,
     .algos = CLASSIC,
     .figures = table_figures,
     .report = true,
     .judge = reproduce_cells},
    {.name = "table2",
     .title = "Table 2: returns of DQS and diffusion algorithms on eight control tasks",
     CONTROL_RUNS,
     .algos = DIFFUSION,
     .figures = table_figures,
     .report = true,
     .judge = reproduce_cells},
    {.name = "fig-dmc",
     .title = "Figures 4 and 5: learning curves on eight control tasks",
     CONTROL_RUNS,
     .algos = CLASSIC ",qsm,dacer,dipo",
     .figures = control_figures,
     .report = true,
     .judge = reproduce_curves},
    {0},
};

const struct reproduce_item *reproduce_find(const char *name)
{
    for (const struct reproduce_item *item = reproduce_items; item->name; item++)
        if (strcmp(item->name, name) == 0)
            return item;
    return NULL;
}

/* ---------------------------------------------------------------- the options of an algorithm */

#define PAIRS 64
#define KEY_SIZE 64

struct pairs {
    int n;
    char keys[PAIRS][KEY_SIZE], values[PAIRS][OPTION_TEXT_SIZE];
};

struct request_view {
    const struct reproduce_item *item;
    const struct reproduce_request *request;
    const char *preset, *tasks, *algos;
    long steps;
    char task[OPTION_TEXT_SIZE]; /* the first */
};

static dqs_status put_pair(struct pairs *p, const char *key, const char *value, dqs_error *error)
{
    int i = 0;
    while (i < p->n && strcmp(p->keys[i], key) != 0)
        i++;
    if (i == PAIRS || strlen(key) >= KEY_SIZE || strlen(value) >= OPTION_TEXT_SIZE)
        return fail(error, DQS_E_USAGE, "--set %.60s: too many options, or too long a value", key);
    p->n += i == p->n;
    strcpy(p->keys[i], key);
    strcpy(p->values[i], value);
    return DQS_OK;
}

static dqs_status put_number(struct pairs *p, const char *key, long value, dqs_error *error)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", value);
    return put_pair(p, key, text, error);
}

static dqs_status split_pair(const char *pair, char key[KEY_SIZE], const char **value, dqs_error *error)
{
    static const struct {
        const char *key, *flag;
    } flags[] = {{"steps", "--steps"}, {"seeds", "--seeds"}, {"seed", "--seeds"},   {"tasks", "--tasks"},
                 {"env", "--tasks"},   {"algos", "--algos"}, {"algo", "--algos"},   {"preset", "--preset"},
                 {"out", "--out"},     {"name", "--out"},    {"threads", "--jobs"}, {0}};
    const char *equals = strchr(pair, '=');
    if (!equals || equals == pair || equals - pair >= KEY_SIZE)
        return fail(error, DQS_E_USAGE, "--set %.100s: write it as key=value", pair);
    snprintf(key, KEY_SIZE, "%.*s", (int)(equals - pair), pair);
    *value = equals + 1;
    for (int i = 0; flags[i].key; i++)
        if (strcmp(flags[i].key, key) == 0)
            return fail(error, DQS_E_USAGE, "--set %.60s: here that is %s", pair, flags[i].flag);
    return DQS_OK;
}

/* The steps of the paper in those of the environment, whole rollouts of PPO. */
static dqs_status scale_steps(struct pairs *p, const struct request_view *v, struct config *config,
                              dqs_error *error)
{
    const char *algo = config->algo->name, *batch = config_get(config, "batch");
    char held[24];
    snprintf(held, sizeof held, "%ld", config->value.run.action_repeat);
    double ratio = paper_steps_of(algo, batch, config_get(config, "epochs"), held);
    long rollout = 1, every = config->value.run.eval_every;
    const char *length = config_get(config, "n_steps");
    if (strcmp(algo, "ppo") != 0)
        return put_number(p, "steps", v->steps, error);
    if (length && number_read_long(length, &rollout) && rollout > 0)
        rollout *= config->value.run.n_envs * config->value.run.action_repeat;
    TRY(put_number(p, "steps", paper_steps_whole((double)v->steps * ratio, rollout), error));
    TRY(put_number(p, "stop_updates", 0, error)); /* the steps say it */
    return put_number(p, "eval_every", lround((double)every * ratio), error);
}

/* What the item says, then what the user says of options that this algorithm knows; `known` tells which. */
static dqs_status take_pairs(struct pairs *p, const struct request_view *v, struct config *config,
                             bool *known, dqs_error *error)
{
    const char *algo = config->algo->name;
    for (const struct reproduce_setting *s = v->item->settings; s->key; s++)
        if ((!s->algo || strcmp(s->algo, algo) == 0) && (!s->preset || strcmp(s->preset, v->preset) == 0))
            TRY(put_pair(p, s->key, s->value, error));
    /* The paper's temperature falls over the whole training, however long that is here. */
    const char *schedule = config_get(config, "temperature");
    if (schedule && strcmp(schedule, "anneal") == 0)
        TRY(put_number(p, "T_steps", v->steps, error));
    for (int i = 0; i < v->request->n_settings; i++) {
        char key[KEY_SIZE];
        const char *value;
        TRY(split_pair(v->request->settings[i], key, &value, error));
        if (!config_get(config, key))
            continue;
        known[i] = true;
        TRY(put_pair(p, key, value, error));
    }
    for (int i = 0; i < p->n; i++)
        TRY(config_set(config, p->keys[i], p->values[i], error));
    return scale_steps(p, v, config, error);
}

/* ---------------------------------------------------------------- the sweep as text */

static void put_list(FILE *out, const char *key, const char *list, bool always)
{
    bool brackets = always || strchr(list, ',');
    fprintf(out, brackets ? "%s: [" : "%s: ", key);
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ","), blank = strspn(p, " ");
        blank = blank < n ? blank : n;
        if (n > blank || !brackets) {
            text_put_quoted(out, p + blank, n - blank);
            fputs(brackets ? ", " : "", out);
        }
        p += n + (p[n] == ',');
    }
    fputs(brackets ? "]\n" : "\n", out);
}

static dqs_status put_section(FILE *out, const struct request_view *v, const char *algo, bool *known,
                              dqs_error *error)
{
    struct config *config;
    struct pairs pairs = {.n = 0};
    TRY(config_create(&config, algo, v->task, error));
    dqs_status status = config_preset(config, v->preset, error);
    if (status == DQS_OK)
        status = take_pairs(&pairs, v, config, known, error);
    config_free(config);
    TRY(status);
    fprintf(out, "%s:\n", algo);
    for (int i = 0; i < pairs.n; i++) {
        fprintf(out, "  %s: ", pairs.keys[i]);
        text_put_quoted(out, pairs.values[i], strlen(pairs.values[i]));
        fputc('\n', out);
    }
    return DQS_OK;
}

/* An option that none of the algorithms knows is told as the first of them would. */
static dqs_status refuse_unknown(const struct request_view *v, const bool *known, dqs_error *error)
{
    for (int i = 0; i < v->request->n_settings; i++) {
        struct config *config;
        char key[KEY_SIZE], first[64];
        const char *value;
        if (known[i])
            continue;
        TRY(split_pair(v->request->settings[i], key, &value, error));
        snprintf(first, sizeof first, "%.*s", (int)strcspn(v->algos, ", "), v->algos);
        TRY(config_create(&config, first, v->task, error));
        dqs_status status = config_set(config, key, value, error);
        config_free(config);
        return status == DQS_OK ? fail(error, DQS_E_USAGE, "--set %.60s: not known here", key) : status;
    }
    return DQS_OK;
}

static dqs_status put_spec(FILE *out, const struct request_view *v, dqs_error *error)
{
    char algo[64];
    bool *known = calloc((size_t)v->request->n_settings + 1, sizeof *known);
    if (!known)
        return fail(error, DQS_E_MEMORY, "reproduce: out of memory");
    fputs("out: ", out);
    char folder[1100];
    int n = snprintf(folder, sizeof folder, "%.1000s/runs", v->request->out);
    text_put_quoted(out, folder, (size_t)n);
    fputc('\n', out);
    put_list(out, "tasks", v->tasks, true);
    put_list(out, "algos", v->algos, true);
    put_list(out, "preset", v->preset, false);
    dqs_status status = DQS_OK;
    for (const char *p = v->algos; status == DQS_OK && *p;) {
        p += strspn(p, ", ");
        size_t length = strcspn(p, ", ");
        snprintf(algo, sizeof algo, "%.*s", (int)length, p);
        p += length;
        if (length > 0)
            status = put_section(out, v, algo, known, error);
    }
    if (status == DQS_OK)
        status = refuse_unknown(v, known, error);
    free(known);
    return status;
}

/* Every name of `list` must be among those of `all`. */
static dqs_status check_names(const struct reproduce_item *item, const char *list, const char *all,
                              const char *flag, dqs_error *error)
{
    for (const char *p = list; *p;) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, ", ");
        bool found = n == 0;
        for (const char *q = all; *q && !found;
             q += q[strcspn(q, ",")] ? strcspn(q, ",") + 1 : strcspn(q, ","))
            found = strcspn(q, ",") == n && strncmp(p, q, n) == 0;
        if (!found)
            return fail(error, DQS_E_USAGE, "%s: '%.*s' is not in %s, which has %s", flag,
                        (int)(n < 60 ? n : 60), p, item->name, all);
        p += n;
    }
    return DQS_OK;
}

static dqs_status view_request(struct request_view *v, const struct reproduce_item *item,
                               const struct reproduce_request *request, dqs_error *error)
{
    bool full = request->full && item->full_task;
    *v = (struct request_view){.item = item,
                               .request = request,
                               .preset = request->preset ? request->preset : "default",
                               .tasks = request->tasks ? request->tasks
                                        : full         ? item->full_task
                                                       : item->tasks,
                               .algos = request->algos ? request->algos : item->algos,
                               .steps = full ? item->full_steps : item->steps};
    if (item->full_task && strcmp(v->tasks, item->full_task) == 0)
        v->steps = item->full_steps;
    if (request->steps && (!number_read_long(request->steps, &v->steps) || v->steps < 1))
        return fail(error, DQS_E_USAGE, "--steps: '%.40s' is not a number of steps", request->steps);
    char tasks[600];
    snprintf(tasks, sizeof tasks, "%s%s%s", item->tasks, item->full_task ? "," : "",
             item->full_task ? item->full_task : "");
    TRY(check_names(item, v->tasks, tasks, "--tasks", error));
    TRY(check_names(item, v->algos, item->algos, "--algos", error));
    if (strchr(v->preset, ','))
        return fail(error, DQS_E_USAGE, "--preset: one of them; try --preset paper");
    const char *first = v->tasks + strspn(v->tasks, ", ");
    snprintf(v->task, sizeof v->task, "%.*s", (int)strcspn(first, ", "), first);
    if (!v->task[0] || !v->algos[strspn(v->algos, ", ")])
        return fail(error, DQS_E_USAGE, "%s: names nothing", v->task[0] ? "--algos" : "--tasks");
    return DQS_OK;
}

dqs_status reproduce_spec(struct sweep_spec *spec, const struct reproduce_item *item,
                          const struct reproduce_request *request, dqs_error *error)
{
    struct request_view v;
    char *text = NULL, seeds[32];
    size_t size;
    snprintf(seeds, sizeof seeds, "%d", item->seeds);
    TRY(view_request(&v, item, request, error));
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return fail(error, DQS_E_MEMORY, "reproduce: out of memory");
    dqs_status status = put_spec(out, &v, error);
    if (fclose(out) != 0 && status == DQS_OK)
        status = fail(error, DQS_E_MEMORY, "reproduce: out of memory");
    if (status == DQS_OK)
        status = sweep_read(spec, text, size, item->name, error);
    free(text);
    for (int i = 0; status == DQS_OK && i < spec->n_axes; i++)
        spec->axes[i].line = 0; /* of a text that nobody sees */
    return status == DQS_OK ? sweep_set(spec, "seeds", request->seeds ? request->seeds : seeds, error)
                            : status;
}
