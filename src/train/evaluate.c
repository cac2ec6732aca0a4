/* evaluate: parallel evaluation episodes, their summary and their trace.
 * Shapes: E episodes = lanes, S = stride = most decisions + 1, D = obs_dim, A = act_dim. */
#include "evaluate.h"
#include "clock.h"
#include "number.h"
#include "rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_LIMIT ((size_t)4 << 30) /* bytes */
#define MAP_SIDE 61

struct evaluator {
    struct arena arena;
    struct env_batch *envs; /* E lanes */
    int stride;
    float *trace;          /* E x S x D */
    int *length;           /* E: decisions made */
    long *steps;           /* E: steps of the task */
    long *length_on_file;  /* E: the same; files hold no 32-bit integers */
    double *returns;       /* E */
    int *active, n_active; /* lanes whose episode goes on */
    float *obs, *action;   /* E x D, E x A: packed rows of the active lanes; E x A: of all lanes */
    float *lane_action;
    dqs_act_mode mode;
};

void evaluate_free(struct evaluator *evaluator)
{
    if (!evaluator)
        return;
    env_batch_close(evaluator->envs);
    struct arena arena = evaluator->arena; /* it holds the evaluator itself */
    arena_free(&arena);
}

static dqs_status prepare(struct run *run, int episodes, dqs_error *error)
{
    uint64_t seed = rng_evaluation_seed((uint64_t)run->options->eval_seed);
    if (run->evaluator && run->evaluator->envs->n == episodes && run->evaluator->envs->seed == seed)
        return DQS_OK;
    evaluate_free(run->evaluator);
    run->evaluator = NULL;
    const dqs_spec *spec = &run->envs->spec;
    size_t n = (size_t)episodes, d = (size_t)spec->obs_dim, a = (size_t)spec->act_dim;
    size_t repeat = (size_t)run->options->action_repeat,
           most = (size_t)(spec->max_steps > 0 ? spec->max_steps : DQS_LONGEST_EPISODE),
           stride = (most + repeat - 1) / repeat + 1;
    if (n * stride > TRACE_LIMIT / sizeof(float) / d)
        return fail(error, DQS_E_MEMORY,
                    "evaluation: the trace of %d episodes needs more than 4 GiB; ask for fewer", episodes);
    struct arena arena = {0};
    struct evaluator *e = arena_new(&arena, struct evaluator, 1);
    dqs_status status = env_batch_create(&e->envs, &arena, run->config->env, run->options->env_options,
                                         episodes, seed, run->compute->pool, error);
    if (status != DQS_OK) {
        arena_free(&arena);
        return status;
    }
    e->envs->repeat = (int)repeat;
    e->stride = (int)stride;
    e->trace = arena_new(&arena, float, n *stride *d);
    e->length = arena_new(&arena, int, n);
    e->steps = arena_new(&arena, long, n);
    e->length_on_file = arena_new(&arena, long, n);
    e->returns = arena_new(&arena, double, n);
    e->active = arena_new(&arena, int, n);
    e->obs = arena_new(&arena, float, n *d);
    e->action = arena_new(&arena, float, n *a);
    e->lane_action = arena_new(&arena, float, n *a);
    e->arena = arena;
    run->evaluator = e;
    return DQS_OK;
}

/* ---------------------------------------------------------------- the episodes */

static dqs_status act_on_active(struct run *run, struct evaluator *e, dqs_error *error)
{
    size_t d = (size_t)e->envs->spec.obs_dim, a = (size_t)e->envs->spec.act_dim;
    for (int i = 0; i < e->n_active; i++)
        memcpy(e->obs + (size_t)i * d, e->envs->obs + (size_t)e->active[i] * d, d * sizeof(float));
    for (int row = 0; row < e->n_active; row += run->max_rows) {
        int rows = e->n_active - row < run->max_rows ? e->n_active - row : run->max_rows;
        TRY(run->algo->act(run->self, e->action + (size_t)row * a, e->obs + (size_t)row * d, rows, e->mode,
                           error));
    }
    for (int i = 0; i < e->n_active; i++)
        memcpy(e->lane_action + (size_t)e->active[i] * a, e->action + (size_t)i * a, a * sizeof(float));
    return DQS_OK;
}

static void record(struct evaluator *e, const float *obs, int lane, int time)
{
    size_t d = (size_t)e->envs->spec.obs_dim;
    size_t at = ((size_t)lane * (size_t)e->stride + (size_t)time) * d;
    memcpy(e->trace + at, obs + (size_t)lane * d, d * sizeof(float));
}

/* Lanes that have ended begin another episode by themselves; nobody looks at it. */
static void collect(struct evaluator *e, int time)
{
    const struct env_batch *envs = e->envs;
    int left = 0;
    for (int i = 0; i < e->n_active; i++) {
        int lane = e->active[i];
        bool over = envs->terminated[lane] || envs->truncated[lane];
        record(e, envs->next_obs, lane, time);
        e->length[lane] = time;
        e->steps[lane] = over ? envs->finished_length[lane] : envs->episode_step[lane];
        e->returns[lane] = over ? envs->finished_return[lane] : envs->episode_return[lane];
        if (!over)
            e->active[left++] = lane;
    }
    e->n_active = left;
}

static dqs_status play(struct run *run, struct evaluator *e, dqs_error *error)
{
    struct env_batch *envs = e->envs;
    size_t d = (size_t)envs->spec.obs_dim;
    memset(e->trace, 0, (size_t)envs->n * (size_t)e->stride * d * sizeof(float));
    TRY(env_batch_reset(envs, error));
    e->n_active = envs->n;
    for (int lane = 0; lane < envs->n; lane++) {
        e->active[lane] = lane;
        record(e, envs->obs, lane, 0);
    }
    for (int time = 1; e->n_active > 0 && time < e->stride; time++) {
        TRY(act_on_active(run, e, error));
        TRY(env_batch_step(envs, e->lane_action, error));
        collect(e, time);
    }
    return DQS_OK;
}

static void summarise(const struct evaluator *e, dqs_evaluation *out)
{
    int n = e->envs->n;
    double sum = 0, squares = 0, steps = 0;
    out->min = out->max = e->returns[0];
    for (int i = 0; i < n; i++) {
        sum += e->returns[i];
        steps += (double)e->steps[i];
        out->min = fmin(out->min, e->returns[i]);
        out->max = fmax(out->max, e->returns[i]);
    }
    out->mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (e->returns[i] - out->mean) * (e->returns[i] - out->mean);
    out->std = sqrt(squares / n);
    out->mean_length = steps / n;
    dqs_trace trace = {.episodes = n,
                       .obs_dim = e->envs->spec.obs_dim,
                       .stride = e->stride,
                       .obs = e->trace,
                       .length = e->length,
                       .returns = e->returns};
    int capacity = (int)(sizeof out->numbers / sizeof *out->numbers);
    if (e->envs->type->summarise)
        out->n_numbers = e->envs->type->summarise(e->envs->self[0], &trace, out->numbers, capacity);
    if (out->n_numbers > capacity) /* a plug-in that counts what it could not write */
        out->n_numbers = capacity;
}

dqs_status evaluate(struct run *run, int episodes, dqs_act_mode mode, dqs_evaluation *out, dqs_error *error)
{
    double begin = clock_seconds();
    memset(out, 0, sizeof *out);
    TRY(prepare(run, episodes, error));
    run->evaluator->mode = mode;
    dqs_error inner = {0};
    dqs_status status = play(run, run->evaluator, &inner);
    if (status != DQS_OK)
        return fail(error, status, "evaluation at step %ld: %.440s", run->count.step, inner.message);
    out->step = run->count.step;
    out->episodes = episodes;
    summarise(run->evaluator, out);
    out->seconds = clock_seconds() - begin;
    run->evaluation = *out;
    return DQS_OK;
}

/* ---------------------------------------------------------------- the trace file */

struct trace_file {
    const struct evaluator *e;
    float *map;               /* MAP_SIDE x MAP_SIDE: value at (x[column], y[row]); NULL: no map */
    double axis[2][MAP_SIDE]; /* x, y */
};

static void visit_trace(void *object, struct visitor *v)
{
    struct trace_file *file = object;
    const struct evaluator *e = file->e;
    size_t n = (size_t)e->envs->n;
    size_t shape[3] = {n, (size_t)e->stride, (size_t)e->envs->spec.obs_dim};
    v->tensor(v->context, "obs", VISIT_LEARN, VISIT_F32, 3, shape, e->trace);
    visit_vector(v, "returns", VISIT_LEARN, VISIT_F64, e->returns, n);
    for (size_t i = 0; i < n; i++)
        e->length_on_file[i] = e->length[i];
    visit_vector(v, "length", VISIT_LEARN, VISIT_I64, e->length_on_file, n);
    if (!file->map)
        return;
    visit_matrix(v, "soft_value", VISIT_LEARN, VISIT_F32, file->map, MAP_SIDE, MAP_SIDE);
    visit_vector(v, "soft_value_x", VISIT_LEARN, VISIT_F64, file->axis[0], MAP_SIDE);
    visit_vector(v, "soft_value_y", VISIT_LEARN, VISIT_F64, file->axis[1], MAP_SIDE);
}

/* The box around all positions, rounded outward so that pictures of different evaluations coincide. */
static void set_axes(struct trace_file *file)
{
    const struct evaluator *e = file->e;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int lane = 0; lane < e->envs->n; lane++)
        for (int t = 0; t <= e->length[lane]; t++)
            for (int k = 0; k < 2; k++) {
                double x = e->trace[((size_t)lane * (size_t)e->stride + (size_t)t) * 2 + (size_t)k];
                low[k] = fmin(low[k], x);
                high[k] = fmax(high[k], x);
            }
    double unit = fmax(high[0] - low[0], high[1] - low[1]) > 10 ? 10 : 1;
    for (int k = 0; k < 2; k++) {
        double from = unit * floor(low[k] / unit), to = unit * ceil(high[k] / unit);
        if (!(to > from))
            to = from + unit;
        for (int i = 0; i < MAP_SIDE; i++)
            file->axis[k][i] = from + (to - from) * i / (MAP_SIDE - 1);
    }
}

static dqs_status draw_map(struct run *run, struct trace_file *file, dqs_error *error)
{
    size_t cells = (size_t)MAP_SIDE * MAP_SIDE;
    float *obs = malloc(cells * 3 * sizeof *obs);
    if (!obs)
        return fail(error, DQS_E_MEMORY, "soft value map: out of memory");
    set_axes(file);
    for (size_t i = 0; i < cells; i++) {
        obs[2 * i] = (float)file->axis[0][i % MAP_SIDE];
        obs[2 * i + 1] = (float)file->axis[1][i / MAP_SIDE];
    }
    file->map = malloc(cells * sizeof *file->map);
    dqs_status status = file->map ? DQS_OK : fail(error, DQS_E_MEMORY, "soft value map: out of memory");
    for (size_t i = 0; i < cells && status == DQS_OK; i += (size_t)run->max_rows) {
        size_t rows = cells - i < (size_t)run->max_rows ? cells - i : (size_t)run->max_rows;
        status = run->algo->soft_value(run->self, file->map + i, obs + 2 * i, (int)rows, error);
    }
    free(obs);
    if (status == DQS_E_UNSUPPORTED) { /* no map of this policy: the trace is still worth having */
        free(file->map);
        file->map = NULL;
        return DQS_OK;
    }
    return status;
}

static dqs_status write_file(struct run *run, struct trace_file *file, dqs_error *error)
{
    static const char *const modes[] = {"explore", "evaluate", "exact"};
    const dqs_evaluation *ev = &run->evaluation;
    enum { FIXED = 8, NUMBERS = sizeof ev->numbers / sizeof *ev->numbers };
    char path[RUN_PATH_SIZE], step[32], repeat[32], value[2 + NUMBERS][NUMBER_TEXT_SIZE];
    snprintf(step, sizeof step, "%ld", ev->step);
    snprintf(repeat, sizeof repeat, "%ld", run->options->action_repeat);
    number_write(value[0], ev->mean);
    number_write(value[1], ev->std);
    struct safetensors_pair pairs[FIXED + NUMBERS + 1] = {
        {"env", run->config->env_name},
        {"env_options", run->options->env_options},
        {"algo", run->algo->name},
        {"step", step},
        {"mode", modes[file->e->mode]},
        {"mean", value[0]},
        {"std", value[1]},
        {"action_repeat", repeat},
    };
    for (int i = 0; i < ev->n_numbers && i < NUMBERS; i++) {
        number_write(value[2 + i], ev->numbers[i].value);
        pairs[FIXED + i] = (struct safetensors_pair){ev->numbers[i].name, value[2 + i]};
    }
    run_path(run, path, "trace.safetensors");
    return safetensors_write(path, pairs, VISIT_LEARN, visit_trace, file, error);
}

dqs_status evaluate_write_trace(struct run *run, dqs_error *error)
{
    struct trace_file file = {.e = run->evaluator};
    dqs_status status = DQS_OK;
    if (run->algo->soft_value && run->envs->spec.obs_dim == 2)
        status = draw_map(run, &file, error);
    if (status == DQS_OK)
        status = write_file(run, &file, error);
    free(file.map);
    return status;
}
