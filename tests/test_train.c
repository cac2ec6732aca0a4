/* The loop, runs and their folders, with a fake learner on the built-in tasks. */
#include "checkpoint.h"
#include "evaluate.h"
#include "fake_algo.h"
#include "file.h"
#include "policy.h"
#include "run.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char base[] = "/tmp/test_train_XXXXXX"; /* all run folders of this program */

static int make_base(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static const char *folder(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static void ok(dqs_status status, const dqs_error *error)
{
    if (status != DQS_OK)
        fail_msg("status %d: %s", status, error->message);
}

/* A configuration with small numbers; `settings` is "key=value key=value". */
static struct config *configure(const char *env, const char *name, const char *settings)
{
    struct config *config;
    dqs_error error = {0};
    char text[400], *save = NULL;
    ok(config_create_with(&config, &fake_algo, env_find(env), &error), &error);
    snprintf(text, sizeof text,
             "steps=400 log_every=50 eval_every=150 eval_episodes=3 final_episodes=4 checkpoint_every=100 "
             "threads=2 %s",
             settings);
    for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(pair, '=');
        *equals = 0;
        ok(config_set(config, pair, equals + 1, &error), &error);
    }
    ok(config_set(config, "out", folder(name), &error), &error);
    return config;
}

static struct run *start(const char *env, const char *name, const char *settings)
{
    struct run *run;
    dqs_error error = {0};
    struct config *config = configure(env, name, settings);
    memset(fake_calls, 0, sizeof fake_calls);
    ok(run_create(&run, config, &error), &error);
    config_free(config); /* the run has its own */
    return run;
}

static struct run *resume(const char *name, long steps)
{
    struct run *run;
    dqs_error error = {0};
    ok(run_resume(&run, folder(name), &fake_algo, NULL, steps, 0, &error), &error);
    return run;
}

static void train(struct run *run, long n)
{
    dqs_error error = {0};
    ok(run_train(run, n, &error), &error);
}

static bool holds(const char *name, const char *file)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder(name), file);
    return file_exists(path);
}

static char *content(const char *name, const char *file, size_t *size)
{
    char path[300], *data;
    dqs_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder(name), file);
    ok(file_read(path, &data, size, &error), &error);
    return data;
}

static void overwrite(const char *name, const char *file, const char *data, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder(name), file);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, size, out), size);
    fclose(out);
}

/* ---------------------------------------------------------------- the loop */

static void loop_calls_in_order(void **state)
{
    (void)state;
    struct run *run =
        start("pendulum", "order", "steps=8 warm_up=5 updates_per_step=2 eval_every=7 log_every=2");
    train(run, -1);
    assert_string_equal(fake_calls, "aoaoaoaoao" /* warm-up */ "aouu"
                                    "aouud"
                                    "aouu");
    assert_int_equal(run->count.step, 8);
    assert_int_equal(run->count.updates, 6);
    assert_int_equal(run->count.evaluations, 1); /* the final one is apart */
    run_free(run);

    run = start("pendulum", "order3", "steps=10 n_envs=3 updates_per_step=1 warm_up=6 eval_every=0");
    train(run, -1);
    assert_string_equal(fake_calls, "aoao"
                                    "aouuu"
                                    "aouuu");
    assert_int_equal(run->count.step, 12); /* whole steps of all environments */
    run_free(run);

    /* Held actions: everything goes on counting steps of the task. */
    run =
        start("pendulum", "order-held", "steps=9 action_repeat=3 updates_per_step=1 warm_up=5 eval_every=6");
    train(run, -1);
    assert_string_equal(fake_calls, "ao"
                                    "aouuud"
                                    "aouuu");
    assert_int_equal(run->count.step, 9);
    run_free(run);
}

static void loop_counts_episodes(void **state)
{
    (void)state;
    struct run *run = start("pendulum", "episodes", "steps=1000 n_envs=2 eval_every=0");
    train(run, 398);
    assert_int_equal(run->count.episodes, 0);
    train(run, 2); /* pendulum is cut off after 200 steps */
    assert_int_equal(run->count.episodes, 2);
    assert_true(run->count.last_return < 0);
    assert_true(run->count.window_length[0] == 200 && run->count.window_length[1] == 200);
    dqs_progress progress;
    run_progress(run, &progress);
    assert_int_equal(progress.step, 400);
    assert_int_equal(progress.total_steps, 1000);
    assert_true(isnan(progress.eval_mean));
    run_free(run);
}

/* A task that shows what the learner is handed: obs is the time, an episode has 3 steps, the second of two
 * ends by itself. */
static dqs_status tick_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    (void)options, (void)error;
    *self = user;
    *spec = (dqs_spec){.obs_dim = 1, .act_dim = 1, .max_steps = 3, .terminates = 1};
    return DQS_OK;
}
struct tick {
    int time, episode, bad_reward_at, bad_obs_at, total;
};
static void tick_close(void *self)
{
    (void)self;
}
static dqs_status tick_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct tick *t = self;
    (void)seed, (void)error;
    t->time = 0;
    t->episode++;
    obs[0] = 0;
    return DQS_OK;
}
static dqs_status tick_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                            dqs_error *error)
{
    struct tick *t = self;
    (void)action, (void)error;
    obs[0] = (float)++t->time;
    t->total++;
    outcome->reward = t->total == t->bad_reward_at ? (double)NAN : 10;
    if (t->total == t->bad_obs_at)
        obs[0] = INFINITY;
    outcome->terminated = t->episode % 2 == 0 && t->time == 3;
    outcome->truncated = 0;
    return DQS_OK;
}
static dqs_env_type tick_type(struct tick *tick)
{
    return (dqs_env_type){.size = sizeof(dqs_env_type),
                          .name = "tick",
                          .doc = "counts",
                          .user = tick,
                          .open = tick_open,
                          .close = tick_close,
                          .reset = tick_reset,
                          .step = tick_step};
}

static struct run *start_tick(const dqs_env_type *type, const char *name, const char *settings)
{
    struct run *run;
    dqs_error error = {0};
    struct config *config = configure("gmm", name, settings);
    ok(config_set_env(config, type, &error), &error);
    ok(run_create(&run, config, &error), &error);
    config_free(config);
    return run;
}

static void learner_sees_true_final_observation(void **state)
{
    (void)state;
    struct tick tick = {0};
    dqs_env_type type = tick_type(&tick);
    struct run *run = start_tick(&type, "tick", "steps=6 eval_every=0 final_episodes=1");
    train(run, 5);
    const struct fake *fake = run->self;
    /* reward + obs + action - next_obs + terminated + 2 truncated = 10 - 1 + action + ..., had next_obs been
     * the reset state's, the third would be 10 + 2 + action + 2. */
    assert_true(fabsf(fake->replay[0] - 9) <= 1);
    assert_true(fabsf(fake->replay[2] - 11) <= 1); /* truncated */
    dqs_error error = {0};
    ok(run_train(run, 1, &error), &error);
    assert_true(fabsf(fake->replay[5] - 10) <= 1); /* terminated, and then not truncated */
    assert_int_equal(run->count.episodes, 2);
    run_free(run);
}

/* ---------------------------------------------------------------- the same bits */

/* The tables without what depends on the clock. */
static char *table_without_time(const char *name, const char *file)
{
    size_t size;
    char *text = content(name, file, &size), *out = calloc(1, size + 1), *line, *rest = text;
    bool skip[200] = {false}, header = true;
    while ((line = strsep(&rest, "\n"))) {
        char *cell, *cells = line;
        for (int column = 0; (cell = strsep(&cells, ",")); column++) {
            if (header)
                skip[column] = strstr(cell, "fps") || strstr(cell, "time_elapsed") || strstr(cell, "seconds");
            if (!skip[column])
                strcat(strcat(out, cell), ",");
        }
        strcat(out, "\n");
        header = false;
    }
    free(text);
    return out;
}

static void assert_same_table(const char *a, const char *b, const char *file)
{
    char *one = table_without_time(a, file), *two = table_without_time(b, file);
    assert_string_equal(one, two);
    free(one);
    free(two);
}

/* The built-in tasks and one of MuJoCo's; test_dmc_cli.py does it on all of those. */
static const char *const resumed_tasks[] = {"gmm",         "maze", "maze-small", "pendulum",
#ifdef HAVE_MUJOCO
                                            "cheetah-run",
#endif
                                            NULL};

/* Trains 2N at once, and N, save, forget everything, N; at several N, some in the middle of episodes and log
 * intervals. */
static void resume_is_exact(void **state)
{
    (void)state;
    const char *settings[] = {"n_envs=1", "n_envs=3 seed=5", "action_repeat=7"};
    for (int e = 0; resumed_tasks[e]; e++)
        for (int s = 0; s < 3; s++) {
            char whole[64], parts[64];
            const char *env = resumed_tasks[e];
            snprintf(whole, sizeof whole, "whole-%s-%d", env, s);
            snprintf(parts, sizeof parts, "parts-%s-%d", env, s);
            struct run *run = start(env, whole, settings[s]);
            train(run, -1);
            uint64_t expected = run_hash(run);
            run_free(run);
            run = start(env, parts, settings[s]);
            for (int n = 77; !run_done(run); n += 40) {
                dqs_error error = {0};
                train(run, n);
                if (run_done(run))
                    break;
                ok(run_save(run, &error), &error);
                run_free(run);
                run = resume(parts, 0);
            }
            if (run_hash(run) != expected)
                fail_msg("%s, %s: a resumed run ends in another state", env, settings[s]);
            run_free(run);
            assert_same_table(whole, parts, "progress.csv");
            assert_same_table(whole, parts, "evaluations.csv");
        }
}

/* Killed between checkpoints: what came after the last one is done again. */
static void killed_run_repeats_itself(void **state)
{
    (void)state;
    struct run *run = start("maze-small", "unkilled", "");
    train(run, -1);
    uint64_t expected = run_hash(run);
    run_free(run);
    run = start("maze-small", "killed", "");
    train(run, 390); /* checkpoint at 300, evaluation at 300, log at 350 */
    run_free(run);
    run = resume("killed", 0);
    assert_int_equal(run->count.step, 300);
    train(run, -1);
    assert_true(run_hash(run) == expected);
    run_free(run);
    assert_same_table("unkilled", "killed", "progress.csv");
    assert_same_table("unkilled", "killed", "evaluations.csv");
    assert_true(holds("killed", "DONE"));
}

/* A run that was complete and is made longer equals one that was long from the start. */
static void longer_run_is_exact(void **state)
{
    (void)state;
    struct run *run = start("pendulum", "long", "steps=600");
    train(run, -1);
    uint64_t expected = run_hash(run);
    run_free(run);
    run = start("pendulum", "longer", "steps=350");
    train(run, -1);
    run_free(run);
    assert_true(holds("longer", "DONE"));
    run = resume("longer", 600);
    assert_int_equal(run->count.step, 350); /* the end was saved, between two periodic checkpoints */
    assert_false(holds("longer", "DONE"));
    train(run, -1);
    /* Also the generator of the evaluations: the final one at 350 left no trace in the checkpoint. */
    assert_true(run_hash(run) == expected);
    run_free(run);
    run = resume("longer", 0); /* the new total was recorded */
    assert_int_equal(run->options->steps, 600);
    run_free(run);
    dqs_error error = {0};
    assert_int_equal(run_resume(&run, folder("longer"), &fake_algo, NULL, 500, 0, &error), DQS_E_OPTION);
    assert_null(run); /* fewer than it has made */
    assert_non_null(strstr(error.message, "600 already"));
    run = resume("longer", 600);
    assert_true(run_done(run));
    run_free(run);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    uint64_t hash[3];
    for (int threads = 1; threads <= 3; threads++) {
        char name[32], settings[64];
        snprintf(name, sizeof name, "threads%d", threads);
        snprintf(settings, sizeof settings, "n_envs=5 steps=300 threads=%d", threads);
        struct run *run = start("maze", name, settings);
        train(run, -1);
        hash[threads - 1] = run_hash(run);
        run_free(run);
    }
    assert_true(hash[0] == hash[1] && hash[1] == hash[2]);
}

static void evaluation_does_not_disturb(void **state)
{
    (void)state;
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        struct run *run = start("gmm", i ? "evaluated" : "unevaluated", i ? "eval_every=20" : "eval_every=0");
        train(run, -1);
        struct checkpoint_part parts[] = {{fake_visit, run->self}, {NULL, NULL}};
        hash[i] = checkpoint_hash(parts, VISIT_POLICY | VISIT_REPLAY);
        run_free(run);
    }
    assert_true(hash[0] == hash[1]);
}

/* ---------------------------------------------------------------- evaluation */

static void evaluation_is_right(void **state)
{
    (void)state;
    struct tick tick = {0};
    dqs_env_type type = tick_type(&tick);
    struct run *run = start_tick(&type, "tick-eval", "steps=6 eval_every=0 final_episodes=1 threads=1");
    dqs_evaluation ev;
    dqs_error error = {0};
    ok(evaluate(run, 1, DQS_ACT_EVALUATE, &ev, &error), &error);
    assert_true(ev.mean == 30 && ev.std == 0 && ev.min == 30 && ev.max == 30 && ev.mean_length == 3);
    assert_int_equal(ev.episodes, 1);
    ok(evaluate_write_trace(run, &error), &error);
    struct safetensors file;
    char path[RUN_PATH_SIZE];
    run_path(run, path, "trace.safetensors");
    ok(safetensors_open(path, &file, &error), &error);
    const struct safetensors_tensor *obs = safetensors_find(&file, "obs"),
                                    *length = safetensors_find(&file, "length");
    float seen[4];
    int64_t steps;
    assert_int_equal(obs->bytes, sizeof seen);
    memcpy(seen, obs->data, sizeof seen);
    memcpy(&steps, length->data, sizeof steps);
    assert_true(seen[0] == 0 && seen[1] == 1 && seen[2] == 2 && seen[3] == 3); /* the last is the true one */
    assert_int_equal(steps, 3);
    assert_null(safetensors_find(&file, "soft_value"));
    safetensors_close(&file);
    run_free(run);

    /* Two steps at a time: the return and the length are those of the task, the third step has an action of
     * its own. */
    run = start_tick(&type, "tick-held", "steps=6 action_repeat=2 eval_every=0 final_episodes=1 threads=1");
    ok(evaluate(run, 1, DQS_ACT_EVALUATE, &ev, &error), &error);
    assert_true(ev.mean == 30 && ev.mean_length == 3);
    ok(evaluate_write_trace(run, &error), &error);
    run_path(run, path, "trace.safetensors");
    ok(safetensors_open(path, &file, &error), &error);
    assert_string_equal(safetensors_metadata(&file, "action_repeat"), "2");
    obs = safetensors_find(&file, "obs");
    assert_int_equal(obs->bytes, 3 * sizeof *seen);
    memcpy(seen, obs->data, 3 * sizeof *seen);
    assert_true(seen[0] == 0 && seen[1] == 2 && seen[2] == 3);
    safetensors_close(&file);
    run_free(run);
}

static void evaluation_starts_are_fixed(void **state)
{
    (void)state;
    float first[2][3];
    for (int i = 0; i < 2; i++) { /* two training seeds, and for one of them two evaluations */
        struct run *run = start("pendulum", i ? "fixed1" : "fixed0", i ? "seed=1" : "seed=0");
        dqs_evaluation ev;
        dqs_error error = {0};
        if (i)
            ok(evaluate(run, 6, DQS_ACT_EVALUATE, &ev, &error), &error);
        ok(evaluate(run, 6, DQS_ACT_EVALUATE, &ev, &error), &error);
        ok(evaluate_write_trace(run, &error), &error);
        assert_true(ev.std > 0 && ev.min < ev.max && ev.mean_length == 200);
        struct safetensors file;
        char path[RUN_PATH_SIZE];
        run_path(run, path, "trace.safetensors");
        ok(safetensors_open(path, &file, &error), &error);
        memcpy(first[i], safetensors_find(&file, "obs")->data, sizeof first[i]);
        safetensors_close(&file);
        run_free(run);
    }
    assert_memory_equal(first[0], first[1], sizeof first[0]);
}

static void soft_value_map(void **state)
{
    (void)state;
    struct run *run = start("gmm", "map", "steps=20");
    train(run, -1);
    struct safetensors file;
    char path[RUN_PATH_SIZE];
    dqs_error error = {0};
    run_path(run, path, "trace.safetensors");
    ok(safetensors_open(path, &file, &error), &error);
    const struct safetensors_tensor *value = safetensors_find(&file, "soft_value");
    size_t side = value->shape[0], last = side - 1;
    float map[200][200];
    double x[200], y[200];
    assert_true(value->rank == 2 && value->shape[1] == side && side >= 2 && side <= 200);
    for (size_t row = 0; row < side; row++)
        memcpy(map[row], value->data + row * side * sizeof(float), side * sizeof(float));
    memcpy(x, safetensors_find(&file, "soft_value_x")->data, side * sizeof *x);
    memcpy(y, safetensors_find(&file, "soft_value_y")->data, side * sizeof *y);
    for (size_t row = 0; row < side; row += 20)
        for (size_t column = 0; column < side; column += 20) /* the fake's value is x + 1000 y */
            assert_true(fabs(map[row][column] - (x[column] + 1000 * y[row])) < 0.01);
    assert_true(fmod(x[0], 10) == 0 && fmod(x[last], 10) == 0 && fmod(y[0], 10) == 0 && x[last] > x[0]);
    assert_string_equal(safetensors_metadata(&file, "env"), "gmm");
    safetensors_close(&file);
    run_free(run);
}

/* ---------------------------------------------------------------- stopping */

struct watching {
    struct run *run;
    int calls, evaluations;
    bool stop;
};

static void on_watch(void *user, const dqs_progress *progress, const dqs_evaluation *evaluation)
{
    struct watching *w = user;
    w->calls++;
    w->evaluations += evaluation != NULL;
    if (evaluation) {
        assert_int_equal(evaluation->step, progress->step);
        assert_true(evaluation->mean == progress->eval_mean || progress->step == progress->total_steps);
    }
    if (w->stop && evaluation)
        run_stop(w->run);
}

static void stop_saves_and_resumes(void **state)
{
    (void)state;
    struct run *run = start("pendulum", "unstopped", "");
    train(run, -1);
    uint64_t expected = run_hash(run);
    run_free(run);
    run = start("pendulum", "stopped", "checkpoint_every=0");
    struct watching watching = {.run = run, .stop = true};
    dqs_error error = {0};
    run->watcher = on_watch;
    run->watcher_user = &watching;
    assert_int_equal(run_train(run, -1, &error), DQS_STOPPED);
    assert_non_null(strstr(error.message, "dqs resume"));
    assert_non_null(strstr(error.message, "stopped"));
    assert_int_equal(run->count.step, 150); /* at the first evaluation */
    assert_false(holds("stopped", "DONE"));
    run_free(run);
    run = resume("stopped", 0);
    assert_int_equal(run->count.step, 150);
    watching = (struct watching){.run = run};
    run->watcher = on_watch;
    run->watcher_user = &watching;
    train(run, -1);
    assert_true(run_hash(run) == expected);
    assert_int_equal(watching.evaluations, 2); /* at 300, and the final one */
    train(run, -1);                            /* nothing left to do */
    assert_int_equal(watching.evaluations, 2);
    run_free(run);
}

static void minutes_stop(void **state)
{
    (void)state;
    struct run *run =
        start("pendulum", "minutes", "steps=100000000 max_minutes=0.002 eval_every=0 checkpoint_every=0");
    dqs_error error = {0};
    assert_int_equal(run_train(run, -1, &error), DQS_STOPPED);
    assert_true(holds("minutes", "checkpoint.safetensors"));
    run_free(run);
}

static void folder_is_complete(void **state)
{
    (void)state;
    struct run *run = start("gmm", "complete", "");
    train(run, -1);
    static const char *const files[] = {
        "config.yaml",        "progress.csv",     "evaluations.csv",   "checkpoint.safetensors",
        "policy.safetensors", "best.safetensors", "trace.safetensors", "DONE"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!holds("complete", files[i]))
            fail_msg("no %s", files[i]);
    /* The policy file acts as the learner does. */
    struct deployed *policy;
    dqs_error error = {0};
    struct deployed_shape shape = {2, 2, false};
    const char *path = folder("complete/policy.safetensors");
    ok(deployed_create(&policy, &fake_algo, run->config->value.algo, "auto", shape, 0, &error), &error);
    ok(checkpoint_load(path, (struct checkpoint_part[]){{deployed_visit, policy}, {0}}, VISIT_POLICY, &error),
       &error);
    float action[2][2], obs[2] = {3, 4};
    for (int i = 0; i < 2; i++) {
        ok(deployed_seed(policy, 7, &error), &error);
        ok(deployed_act(policy, obs, action[i], &error), &error);
    }
    assert_memory_equal(action[0], action[1], sizeof action[0]);
    const struct fake *learner = run->self, *copy = policy->self;
    assert_memory_equal(learner->weights, copy->weights, 8 * sizeof(float));
    deployed_free(policy);
    run_free(run);
}

/* ---------------------------------------------------------------- numbers gone bad */

static void bad_weight_stops(void **state)
{
    (void)state;
    struct run *run =
        start("pendulum", "bad-weight", "bad_weight_at=500 warm_up=0"); /* update 500: step 250 */
    dqs_error error = {0};
    assert_int_equal(run_train(run, -1, &error), DQS_E_NUMERIC);
    assert_non_null(strstr(error.message, "step 250"));
    assert_non_null(strstr(error.message, "fake/weights[3]"));
    assert_non_null(strstr(error.message, "the last checkpoint is untouched"));
    assert_int_equal(run_save(run, &error), DQS_E_NUMERIC); /* it cannot be saved over the good one */
    assert_int_equal(run_save_policy(run, "policy.safetensors", &error), DQS_E_NUMERIC);
    run_free(run);
    run = resume("bad-weight", 0);
    assert_int_equal(run->count.step, 200);
    run_free(run);
}

static void bad_loss_stops_at_once(void **state)
{
    (void)state;
    struct run *run = start("pendulum", "bad-loss", "bad_loss_at=321 warm_up=0");
    dqs_error error = {0};
    assert_int_equal(run_train(run, -1, &error), DQS_E_NUMERIC);
    assert_non_null(strstr(error.message, "step 161: train/fake_loss became nan in update 321"));
    run_free(run);
    run = resume("bad-loss", 0);
    assert_int_equal(run->count.step, 100);
    run_free(run);
}

static void bad_environment_stops(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct tick tick = {.bad_reward_at = i ? 0 : 130, .bad_obs_at = i ? 130 : 0};
        dqs_env_type type = tick_type(&tick);
        struct run *run = start_tick(&type, i ? "bad-obs" : "bad-reward", "eval_every=0");
        dqs_error error = {0};
        assert_int_equal(run_train(run, -1, &error), DQS_E_NUMERIC);
        assert_non_null(strstr(error.message, "step 129: tick")); /* of which 129 were good */
        assert_null(strchr(error.message, '\n'));
        run_free(run);
        run = NULL;
        ok(run_resume(&run, folder(i ? "bad-obs" : "bad-reward"), &fake_algo, &type, 0, 0, &error), &error);
        assert_int_equal(run->count.step, 100);
        run_free(run);
    }
}

/* ---------------------------------------------------------------- folders */

static void folder_in_use_is_refused(void **state)
{
    (void)state;
    struct run *run = start("gmm", "busy", ""), *other;
    dqs_error error = {0};
    struct config *config = configure("gmm", "busy", "");
    assert_int_equal(run_create(&other, config, &error), DQS_E_BUSY);
    assert_null(other);
    train(run, 100);
    assert_int_equal(run_resume(&other, folder("busy"), &fake_algo, NULL, 0, 0, &error), DQS_E_BUSY);
    assert_null(other);
    train(run, -1);
    run_free(run);
    assert_int_equal(run_create(&other, config, &error), DQS_E_USAGE); /* free, but it holds a run */
    assert_non_null(strstr(error.message, "dqs resume"));
    assert_non_null(strstr(error.message, "--out"));
    run = resume("busy", 0); /* which is still whole */
    assert_true(run_done(run));
    run_free(run);
    char checkpoint[1200];
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint.safetensors", folder("busy"));
    assert_int_equal(remove(checkpoint), 0);
    assert_int_equal(run_create(&other, config, &error), DQS_E_USAGE); /* its results are not written over */
    assert_non_null(strstr(error.message, "finished run"));
    assert_true(holds("busy", "evaluations.csv"));
    config_free(config);
}

static void impossible_folders(void **state)
{
    (void)state;
    struct run *run;
    dqs_error error = {0};
    struct config *config = configure("gmm", "x", "");
    ok(config_set(config, "out", "/dev/null/run", &error), &error);
    assert_int_equal(run_create(&run, config, &error), DQS_E_IO);
    assert_non_null(strstr(error.message, "/dev/null"));
    assert_int_equal(run_resume(&run, folder("nowhere"), &fake_algo, NULL, 0, 0, &error), DQS_E_IO);
    assert_false(file_exists(folder("nowhere")));
    ok(config_set(config, "out", folder("no-kernels"), &error), &error);
    ok(config_set(config, "kernels", "abacus", &error), &error);
    assert_int_equal(run_create(&run, config, &error), DQS_E_OPTION);
    assert_false(file_exists(folder("no-kernels"))); /* refused before the folder is made */
    config_free(config);
}

static void default_folder(void **state)
{
    (void)state;
    char here[1000];
    struct run *run;
    dqs_error error = {0};
    struct config *config = configure("gmm", "x", "seed=3");
    ok(config_set(config, "out", "", &error), &error);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(base), 0);
    ok(run_create(&run, config, &error), &error);
    assert_string_equal(run->dir, "runs/gmm/fake/default-s3");
    run_free(run);
    ok(config_set(config, "name", "mine", &error), &error);
    ok(run_create(&run, config, &error), &error);
    assert_string_equal(run->dir, "runs/gmm/fake/mine-s3");
    run_free(run);
    assert_int_equal(run_resume(&run, "runs/gmm/fake/mine-s3", &fake_algo, NULL, 0, 0, &error), DQS_E_IO);
    assert_non_null(strstr(error.message, "has no checkpoint.safetensors"));
    ok(run_create(&run, config, &error),
       &error); /* nothing was saved, so nothing is lost by starting again */
    run_free(run);
    assert_int_equal(chdir(here), 0);
    config_free(config);
}

static void damaged_checkpoints_are_refused(void **state)
{
    (void)state;
    struct run *run = start("gmm", "damaged", "");
    train(run, -1);
    run_free(run);
    size_t size;
    char *good = content("damaged", "checkpoint.safetensors", &size);
    dqs_error error = {0};
    for (size_t cut = 0; cut < size; cut += size / 7 + 1) {
        overwrite("damaged", "checkpoint.safetensors", good, cut);
        dqs_status status = run_resume(&run, folder("damaged"), &fake_algo, NULL, 0, 0, &error);
        assert_true(status == DQS_E_FORMAT || status == DQS_E_IO);
        assert_null(run);
        assert_non_null(strstr(error.message, "checkpoint.safetensors"));
    }
    for (size_t at = 3; at < size; at += size / 23) {
        char *bad = malloc(size);
        memcpy(bad, good, size);
        bad[at] = (char)(bad[at] ^ 0x10);
        overwrite("damaged", "checkpoint.safetensors", bad, size);
        free(bad);
        if (run_resume(&run, folder("damaged"), &fake_algo, NULL, 0, 0, &error) == DQS_OK)
            fail_msg("a flipped bit in byte %zu was not noticed", at);
        assert_null(run);
    }
    overwrite("damaged", "checkpoint.safetensors", good, size);
    overwrite("damaged", "config.yaml", "env: gmm\nalgo: fake\nsteps: many\n", 31);
    assert_int_equal(run_resume(&run, folder("damaged"), &fake_algo, NULL, 0, 0, &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "config.yaml:3: steps"));
    overwrite("damaged", "config.yaml", "env: gmm\nalgo: fake\nwidth: 9\n", 28);
    assert_int_equal(run_resume(&run, folder("damaged"), &fake_algo, NULL, 0, 0, &error), DQS_E_MISMATCH);
    assert_non_null(strstr(error.message, "fake/weights"));
    overwrite("damaged", "config.yaml", "env: maze\nalgo: fake\n", 21);
    assert_int_equal(run_resume(&run, folder("damaged"), &fake_algo, NULL, 0, 0, &error), DQS_E_MISMATCH);
    free(good);
}

/* ---------------------------------------------------------------- starting from another run */

static void init_from_takes_networks(void **state)
{
    (void)state;
    struct run *source = start("gmm", "source", "");
    train(source, -1);
    char settings[300];
    const struct fake *old = source->self;
    for (int replay = 0; replay < 2; replay++) {
        snprintf(settings, sizeof settings, "seed=9 init_replay=%s init_from=%s/source",
                 replay ? "true" : "false", base);
        struct run *run = start("gmm", replay ? "tuned-replay" : "tuned", settings);
        const struct fake *new = run->self;
        assert_memory_equal(new->weights, old->weights, 8 * sizeof(float));
        assert_int_equal(run->count.step, 0);
        assert_int_equal(new->seen, 0);
        assert_int_equal(new->updates, 0);
        assert_true(new->act.ticket == 0 && new->evaluate.ticket == 0);
        for (int i = 0; i < 8; i++)
            assert_true(new->adam[i] == 0); /* without its step count it would be wrong */
        assert_int_equal(new->head, replay ? old->head : 0);
        assert_int_equal(memcmp(new->replay, old->replay, sizeof(float) * FAKE_REPLAY) == 0, replay);
        train(run, 50);
        run_free(run);
    }
    const struct {
        const char *settings, *words;
        dqs_status status;
    } refused[] = {{"width=9", "fake/weights", DQS_E_MISMATCH},
                   {"action_repeat=2 init_replay=true", "set action_repeat=1", DQS_E_OPTION}};
    for (int i = 0; i < 2; i++) {
        dqs_error error = {0};
        struct run *run;
        snprintf(settings, sizeof settings, "%s init_from=%s/source", refused[i].settings, base);
        struct config *config = configure("gmm", "misfit", settings);
        assert_int_equal(run_create(&run, config, &error), refused[i].status);
        assert_non_null(strstr(error.message, refused[i].words));
        assert_false(file_exists(folder("misfit")));
        config_free(config);
    }
    run_free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loop_calls_in_order),
        cmocka_unit_test(loop_counts_episodes),
        cmocka_unit_test(learner_sees_true_final_observation),
        cmocka_unit_test(resume_is_exact),
        cmocka_unit_test(killed_run_repeats_itself),
        cmocka_unit_test(longer_run_is_exact),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(evaluation_does_not_disturb),
        cmocka_unit_test(evaluation_is_right),
        cmocka_unit_test(evaluation_starts_are_fixed),
        cmocka_unit_test(soft_value_map),
        cmocka_unit_test(stop_saves_and_resumes),
        cmocka_unit_test(minutes_stop),
        cmocka_unit_test(folder_is_complete),
        cmocka_unit_test(bad_weight_stops),
        cmocka_unit_test(bad_loss_stops_at_once),
        cmocka_unit_test(bad_environment_stops),
        cmocka_unit_test(folder_in_use_is_refused),
        cmocka_unit_test(impossible_folders),
        cmocka_unit_test(default_folder),
        cmocka_unit_test(damaged_checkpoints_are_refused),
        cmocka_unit_test(init_from_takes_networks),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
