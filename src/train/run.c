/* run: makes, resumes, saves and frees a run, and owns its folder. */
#include "run.h"
#include "build_info.h"
#include "machine.h"
#include "clock.h"
#include "evaluate.h"
#include "file.h"
#include "init_from.h"
#include "loop.h"
#include "number.h"
#include "watch.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_path(const struct run *run, char path[RUN_PATH_SIZE], const char *file)
{
    snprintf(path, RUN_PATH_SIZE, "%.*s/%s", RUN_PATH_SIZE - 64, run->dir, file);
}

/* ---------------------------------------------------------------- the state, named once */

static void visit_log(struct run *run, struct visitor *v)
{
    int mark = visit_enter(v, "log/");
    long count = run->log.count;
    char names[LOG_CAPACITY][RUN_LOG_NAME] = {{0}};
    double sums[LOG_CAPACITY] = {0};
    long terms[LOG_CAPACITY] = {0};
    for (int i = 0; i < run->log.count; i++) {
        snprintf(names[i], RUN_LOG_NAME, "%s", run->log.rows[i].name);
        sums[i] = run->log.rows[i].sum;
        terms[i] = run->log.rows[i].n;
    }
    visit_long(v, "count", VISIT_LEARN, &count);
    visit_matrix(v, "names", VISIT_LEARN, VISIT_U8, names, LOG_CAPACITY, RUN_LOG_NAME);
    visit_vector(v, "sums", VISIT_LEARN, VISIT_I64, sums,
                 LOG_CAPACITY); /* as bits: a diagnostic may be NaN */
    visit_vector(v, "terms", VISIT_LEARN, VISIT_I64, terms, LOG_CAPACITY);
    visit_leave(v, mark);
    /* The visitor may have been a reader. */
    memcpy(run->log_names, names, sizeof names);
    run->log.count = (int)(count < 0 ? 0 : count > LOG_CAPACITY ? LOG_CAPACITY : count);
    for (int i = 0; i < run->log.count; i++) {
        run->log_names[i][RUN_LOG_NAME - 1] = 0;
        run->log.rows[i].name = run->log_names[i];
        run->log.rows[i].sum = sums[i];
        run->log.rows[i].n = terms[i];
    }
}

static void visit_counters(void *object, struct visitor *v)
{
    struct run *run = object;
    struct run_counters *c = &run->count;
    int mark = visit_enter(v, "run/");
    visit_long(v, "step", VISIT_LEARN, &c->step);
    visit_long(v, "episodes", VISIT_LEARN, &c->episodes);
    visit_long(v, "updates", VISIT_LEARN, &c->updates);
    visit_long(v, "evaluations", VISIT_LEARN, &c->evaluations);
    visit_double(v, "eval_mean", VISIT_LEARN, &c->eval_mean);
    visit_double(v, "best_mean", VISIT_LEARN, &c->best_mean);
    visit_double(v, "last_return", VISIT_LEARN, &c->last_return);
    visit_vector(v, "window_return", VISIT_LEARN, VISIT_F64, c->window_return, RUN_WINDOW);
    visit_vector(v, "window_length", VISIT_LEARN, VISIT_F64, c->window_length, RUN_WINDOW);
    visit_log(run, v);
    visit_leave(v, mark);
}

static void visit_envs(void *object, struct visitor *v)
{
    int mark = visit_enter(v, "env/");
    env_batch_visit(object, v);
    visit_leave(v, mark);
}

uint64_t run_hash(struct run *run)
{
    env_batch_capture(run->envs);
    return checkpoint_hash(run->parts, CHECKPOINT_ALL);
}

dqs_status run_check_numbers(struct run *run, dqs_error *error)
{
    char name[CHECKPOINT_NAME_SIZE];
    size_t index;
    if (!checkpoint_find_bad(run->parts, name, &index))
        return DQS_OK;
    return fail(error, DQS_E_NUMERIC, "%s[%zu] is not a finite number; try a smaller learning rate", name,
                index);
}

/* ---------------------------------------------------------------- saving */

static dqs_status refuse_shown(const struct run *run, dqs_error *error)
{
    if (run->shows_policy)
        return fail(error, DQS_E_USAGE,
                    "%.300s: shows the policy of another file; resume the run to go on with it", run->dir);
    return DQS_OK;
}

static dqs_status save(struct run *run, const char *file, int kinds, dqs_error *error)
{
    char path[RUN_PATH_SIZE], text[8][NUMBER_TEXT_SIZE];
    const dqs_spec *spec = &run->envs->spec;
    struct metrics_rows rows = metrics_rows(run->metrics);
    const long whole[] = {spec->obs_dim,   spec->act_dim, spec->terminates,
                          run->count.step, rows.progress, rows.evaluations};
    for (int i = 0; i < 6; i++)
        snprintf(text[i], sizeof text[i], "%ld", whole[i]);
    dqs_progress progress;
    run_progress(run, &progress);
    number_write(text[6], progress.seconds);
    number_write(text[7], progress.eval_mean);
    char *yaml = config_write(run->config, NULL),
         *low = number_write_floats(spec->act_low, -1, spec->act_dim),
         *high = number_write_floats(spec->act_high, 1, spec->act_dim);
    if (!yaml || !low || !high) {
        free(yaml);
        free(low);
        free(high);
        return fail(error, DQS_E_MEMORY, "%s: out of memory", run->dir);
    }
    const struct safetensors_pair metadata[] = {{"env", run->config->env_name},
                                                {"algo", run->algo->name},
                                                {"obs_dim", text[0]},
                                                {"act_dim", text[1]},
                                                {"act_low", low},
                                                {"act_high", high},
                                                {"terminates", text[2]},
                                                {"step", text[3]},
                                                {"seconds", text[6]},
                                                {"eval_mean", text[7]},
                                                {"version", DQS_VERSION},
                                                {"config", yaml},
                                                {kinds & VISIT_LEARN ? "progress_rows" : NULL, text[4]},
                                                {"evaluation_rows", text[5]},
                                                {NULL, NULL}};
    run_path(run, path, file);
    dqs_status status = checkpoint_save(path, run->parts, kinds, metadata, error);
    free(yaml);
    free(low);
    free(high);
    return status;
}

dqs_status run_save_policy(struct run *run, const char *file, dqs_error *error)
{
    TRY(run_check_numbers(run, error));
    return save(run, file, VISIT_POLICY, error);
}

dqs_status run_save(struct run *run, dqs_error *error)
{
    TRY(refuse_shown(run, error));
    env_batch_capture(run->envs);
    TRY(run_check_numbers(run, error));
    TRY(save(run, "checkpoint.safetensors", CHECKPOINT_ALL, error));
    return save(run, "policy.safetensors", VISIT_POLICY, error);
}

/* config.yaml: every option as resolved, and what the results were made with. */
static dqs_status write_config(struct run *run, dqs_error *error)
{
    char path[RUN_PATH_SIZE], cpu[200], date[24], threads[NUMBER_TEXT_SIZE];
    machine_cpu(cpu, sizeof cpu);
    clock_stamp(date, sizeof date);
    snprintf(threads, sizeof threads, "%d", pool_threads(run->compute->pool));
    const struct config_note notes[] = {{"version", dqs_version()},
                                        {"build", BUILD_TYPE " " BUILD_GIT},
                                        {"blas", BUILD_BLAS_VERSION},
                                        {"mujoco", BUILD_MUJOCO},
                                        {"date", date},
                                        {"cpu", cpu},
                                        {"kernels", run->compute->k->name},
                                        {"threads", threads},
                                        {NULL, NULL}};
    char *yaml = config_write(run->config, notes);
    if (!yaml)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", run->dir);
    run_path(run, path, "config.yaml");
    dqs_status status = file_write_text(path, yaml, error);
    free(yaml);
    return status;
}

/* ---------------------------------------------------------------- making */

static dqs_status build_learner(struct run *run, dqs_error *error)
{
    const struct run_options *o = run->options;
    const dqs_spec *spec = &run->envs->spec;
    long most = o->final_episodes > o->eval_episodes ? o->final_episodes : o->eval_episodes;
    long rows = most < EVALUATE_ROWS ? most : EVALUATE_ROWS;
    run->max_rows = (int)(rows > o->n_envs ? rows : o->n_envs);
    struct algo_setup setup = {.compute = run->compute,
                               .options = run->config->value.algo,
                               .obs_dim = spec->obs_dim,
                               .act_dim = spec->act_dim,
                               .n_envs = (int)o->n_envs,
                               .action_repeat = (int)o->action_repeat,
                               .total_steps = o->steps,
                               .total_updates = o->stop_updates,
                               .seed = (uint64_t)o->seed,
                               .terminates = spec->terminates,
                               .max_rows = run->max_rows};
    TRY(run->algo->create(&run->self, &run->arena, &setup, error));
    run->parts[0] = (struct checkpoint_part){visit_counters, run};
    run->parts[1] = (struct checkpoint_part){visit_envs, run->envs};
    run->parts[2] = (struct checkpoint_part){run->algo->visit, run->self};
    run->obs = arena_new(&run->arena, float, o->n_envs * spec->obs_dim);
    run->action = arena_new(&run->arena, float, o->n_envs * spec->act_dim);
    return DQS_OK;
}

/* All but the folder. Takes over the configuration, also when it fails. */
static dqs_status build(struct run **out, struct config *config, dqs_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        config_free(config);
        return fail(error, DQS_E_MEMORY, "run: out of memory");
    }
    struct run *run = *out;
    run->lock = -1;
    run->config = config;
    run->options = &config->value.run;
    run->algo = config->algo;
    if (!config->env)
        return fail(error, DQS_E_USAGE, "run: no environment chosen; `dqs envs` lists them");
    TRY(compute_create(&run->compute, (int)run->options->threads, run->options->kernels, error));
    TRY(env_batch_create(&run->envs, &run->arena, config->env, run->options->env_options,
                         (int)run->options->n_envs, (uint64_t)run->options->seed, run->compute->pool, error));
    run->envs->repeat = (int)run->options->action_repeat;
    return build_learner(run, error);
}

static void start_clock(struct run *run)
{
    run->started = run->watched = run->mark[0].time = run->mark[1].time = clock_seconds();
    run->mark[0].step = run->mark[1].step = run->count.step;
}

static dqs_status enter_folder(struct run *run, dqs_error *error)
{
    char path[RUN_PATH_SIZE];
    TRY(file_make_folders(run->dir, error));
    TRY(file_lock(run->dir, &run->lock, error));
    run_path(run, path, "checkpoint.safetensors");
    if (file_exists(path))
        return fail(error, DQS_E_USAGE,
                    "%.200s: already holds a run; go on with `dqs resume %.200s`, or choose another "
                    "folder with --out",
                    run->dir, run->dir);
    run_path(run, path, "DONE");
    if (file_exists(path))
        return fail(error, DQS_E_USAGE,
                    "%.200s: holds the results of a finished run; choose another folder with --out",
                    run->dir);
    return DQS_OK;
}

static void choose_folder(struct run *run)
{
    const struct run_options *o = run->options;
    const char *name = o->name[0] ? o->name : run->config->preset;
    if (o->out[0])
        snprintf(run->dir, sizeof run->dir, "%s", o->out);
    else
        snprintf(run->dir, sizeof run->dir, "runs/%s/%s/%s-s%ld", run->config->env->name, run->algo->name,
                 name, o->seed);
    for (size_t n = strlen(run->dir); n > 1 && run->dir[n - 1] == '/'; n--)
        run->dir[n - 1] = 0;
}

static dqs_status start(struct run *run, dqs_error *error)
{
    TRY(env_batch_reset(run->envs, error));
    TRY(init_from(run, error));
    choose_folder(run);
    TRY(enter_folder(run, error));
    TRY(write_config(run, error));
    TRY(metrics_open(&run->metrics, run->dir, -1, error));
    start_clock(run);
    return DQS_OK;
}

/* A failed making leaves nothing but its message. */
static dqs_status hand_over(struct run **out, struct run *run, dqs_status status)
{
    if (status != DQS_OK) {
        run_free(run);
        run = NULL;
    }
    *out = run;
    return status;
}

dqs_status run_create(struct run **out, const struct config *config, dqs_error *error)
{
    struct config *own;
    struct run *run = NULL;
    *out = NULL;
    TRY(config_clone(&own, config, error));
    dqs_status status = config_complete(own, error);
    if (status == DQS_OK)
        status = build(&run, own, error);
    else
        config_free(own);
    if (status == DQS_OK)
        status = start(run, error);
    return hand_over(out, run, status);
}

dqs_status run_check(const struct config *config, dqs_error *error)
{
    struct config *own;
    struct run *run = NULL;
    TRY(config_clone(&own, config, error));
    own->value.run.threads = 1;
    dqs_status status = build(&run, own, error);
    run_free(run);
    return status;
}

/* ---------------------------------------------------------------- resuming */

static dqs_status load_config(struct config **config, const char *dir, const struct algo *algo,
                              const dqs_env_type *env, dqs_error *error)
{
    char path[RUN_PATH_SIZE], *text;
    size_t size;
    snprintf(path, sizeof path, "%.*s/config.yaml", RUN_PATH_SIZE - 64, dir);
    if (!file_exists(path))
        return fail(
            error, DQS_E_IO,
            "%.300s: not a run folder, it has no config.yaml; try the folder that `dqs train` printed", dir);
    TRY(file_read(path, &text, &size, error));
    dqs_status status = config_from_yaml(config, text, size, path, algo, env, true, error);
    free(text);
    return status;
}

/* Checkpoints of older versions do not tell: then the step alone decides which rows stay. */
static void read_rows(const struct safetensors *file, struct metrics_rows *rows)
{
    const char *progress = safetensors_metadata(file, "progress_rows");
    const char *evaluations = safetensors_metadata(file, "evaluation_rows");
    rows->progress = rows->evaluations = LONG_MAX;
    if (progress && evaluations && number_read_long(progress, &rows->progress))
        (void)number_read_long(evaluations, &rows->evaluations);
}

static dqs_status load_state(struct run *run, struct metrics_rows *rows, dqs_error *error)
{
    char path[RUN_PATH_SIZE];
    struct safetensors file;
    run_path(run, path, "checkpoint.safetensors");
    if (!file_exists(path))
        return fail(
            error, DQS_E_IO,
            "%.300s: has no checkpoint.safetensors, which is saved every checkpoint_every steps; start "
            "anew with `dqs train`",
            run->dir);
    TRY(safetensors_open(path, &file, error));
    dqs_status status = checkpoint_restore(&file, path, run->parts, CHECKPOINT_ALL, error);
    const char *seconds = safetensors_metadata(&file, "seconds");
    if (status == DQS_OK && (!seconds || !number_read(seconds, &run->seconds_before)))
        run->seconds_before = 0;
    read_rows(&file, rows);
    safetensors_close(&file);
    TRY(status);
    return env_batch_restore(run->envs, error);
}

/* A finished run that is to be longer keeps the rows of its last evaluation: the checkpoint learns of them
 * before DONE, which protects them, goes. Each stage leaves a folder from which this can be done again. */
static dqs_status lengthen(struct run *run, const char *done, dqs_error *error)
{
    if (file_exists(done))
        TRY(run_save(run, error));
    if (remove(done) != 0 && file_exists(done)) /* one that stays would make the longer run look finished */
        return fail(error, DQS_E_IO, "%.300s: cannot be removed: %s", done, strerror(errno));
    return DQS_OK;
}

static dqs_status reopen(struct run *run, bool longer, dqs_error *error)
{
    char done[RUN_PATH_SIZE];
    struct metrics_rows rows;
    run_path(run, done, "DONE");
    TRY(load_state(run, &rows, error));
    const struct run_options *o = run->options; /* the last of its actions may have gone a little further */
    if (longer && run->count.step >= o->steps + o->n_envs * o->action_repeat)
        return fail(error, DQS_E_OPTION, "steps=%ld: %.300s has made %ld already; ask for more", o->steps,
                    run->dir, run->count.step);
    TRY(metrics_open(&run->metrics, run->dir, run->count.step, error));
    start_clock(run);
    if (!file_exists(done)) /* ended between the checkpoint and DONE: the last evaluation comes again */
        TRY(metrics_cut(run->metrics, rows, error));
    if (!run_done(run))
        TRY(lengthen(run, done, error));
    return longer ? write_config(run, error) : DQS_OK;
}

static dqs_status set_number(struct config *config, const char *key, long value, dqs_error *error)
{
    char text[NUMBER_TEXT_SIZE];
    snprintf(text, sizeof text, "%ld", value);
    return value > 0 ? config_set(config, key, text, error) : DQS_OK;
}

dqs_status run_resume(struct run **out, const char *dir, const struct algo *algo, const dqs_env_type *env,
                      long steps, long threads, dqs_error *error)
{
    struct config *config;
    struct run *run = NULL;
    int lock;
    *out = NULL;
    TRY(load_config(&config, dir, algo, env, error));
    dqs_status status = set_number(config, "steps", steps, error);
    if (status == DQS_OK)
        status = set_number(config, "threads", threads, error);
    if (status == DQS_OK)
        status = file_lock(dir, &lock, error);
    if (status != DQS_OK) {
        config_free(config);
        return status;
    }
    status = build(&run, config, error);
    if (!run) {
        close(lock);
        return status;
    }
    run->lock = lock;
    snprintf(run->dir, sizeof run->dir, "%s", dir);
    if (status == DQS_OK)
        status = reopen(run, steps > 0, error);
    return hand_over(out, run, status);
}

dqs_status run_show_policy(struct run *run, const char *path, dqs_error *error)
{
    struct safetensors file;
    TRY(safetensors_open(path, &file, error));
    run->shows_policy = true;
    dqs_status status = checkpoint_restore(&file, path, run->parts, VISIT_POLICY, error);
    const char *step = safetensors_metadata(&file, "step");
    if (status == DQS_OK && step)
        (void)number_read_long(step, &run->count.step);
    safetensors_close(&file);
    return status;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    metrics_close(run->metrics);
    evaluate_free(run->evaluator);
    env_batch_close(run->envs);
    compute_free(run->compute);
    arena_free(&run->arena);
    config_free(run->config);
    if (run->lock >= 0)
        close(run->lock);
    free(run);
}

/* ---------------------------------------------------------------- training */

void run_count_step(struct run *run)
{
    struct run_counters *c = &run->count;
    const struct env_batch *envs = run->envs;
    run->made = 0;
    for (int i = 0; i < envs->n; i++) {
        run->made += envs->made[i];
        if (!envs->terminated[i] && !envs->truncated[i])
            continue;
        c->window_return[c->episodes % RUN_WINDOW] = c->last_return = envs->finished_return[i];
        c->window_length[c->episodes % RUN_WINDOW] = (double)envs->finished_length[i];
        c->episodes++;
    }
    c->step += run->made;
}

bool run_updated(const struct run *run)
{
    return run->options->stop_updates > 0 && run->count.updates >= run->options->stop_updates;
}

bool run_done(const struct run *run)
{
    return run->count.step >= run->options->steps || run_updated(run);
}

void run_stop(struct run *run)
{
    atomic_store(&run->stop, true);
}

/* The message of a failure says where, and what is left to go on with. */
static dqs_status explain(const struct run *run, dqs_status status, const dqs_error *inner, dqs_error *error)
{
    char path[RUN_PATH_SIZE];
    run_path(run, path, "checkpoint.safetensors");
    return fail(error, status, "step %ld: %.300s%s", run->count.step, inner->message,
                file_exists(path) ? "; the last checkpoint is untouched" : "");
}

dqs_status run_train(struct run *run, long n, dqs_error *error)
{
    dqs_error inner = {0};
    char done[RUN_PATH_SIZE];
    TRY(refuse_shown(run, error));
    run_path(run, done, "DONE");
    long left = run->options->steps - run->count.step;
    if (run_done(run) && file_exists(done))
        return DQS_OK;
    dqs_status status = loop_run(run, run->count.step + (n < 0 || n > left ? left : n), &inner);
    if (status == DQS_OK && run_done(run))
        status = watch_final(run, &inner);
    else if (status == DQS_OK && atomic_exchange(&run->stop, false)) {
        status = run_save(run, &inner);
        if (status == DQS_OK)
            return fail(error, DQS_STOPPED, "stopped at step %ld of %ld; go on with `dqs resume %.400s`",
                        run->count.step, run->options->steps, run->dir);
    }
    return status == DQS_OK ? DQS_OK : explain(run, status, &inner, error);
}

void run_progress(const struct run *run, dqs_progress *out)
{
    const struct run_counters *c = &run->count;
    double now = clock_seconds(), since = now - run->mark[0].time;
    long made = c->step - run->mark[0].step, left = run->options->steps - c->step;
    double speed = since > 0 ? (double)made / since : 0;
    *out = (dqs_progress){.step = c->step,
                          .total_steps = run->options->steps,
                          .episodes = c->episodes,
                          .updates = c->updates,
                          .seconds = run->seconds_before + now - run->started,
                          .steps_per_second = speed,
                          .eta_seconds = speed > 0 && left > 0 ? (double)left / speed : 0,
                          .last_return = c->episodes > 0 ? c->last_return : (double)NAN,
                          .eval_mean = c->evaluations > 0 ? c->eval_mean : (double)NAN};
}
