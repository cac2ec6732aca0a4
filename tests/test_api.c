/* The public interface, with the real algorithm made small: runs, agents and policies as a program would use
 * them. */
#include "dqs.h"
#include "safetensors.h"
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char base[] = "/tmp/test_api_XXXXXX";

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

static void ok(dqs_status status, const dqs_error *error)
{
    if (status != DQS_OK)
        fail_msg("%s: %s", dqs_strerror(status), error->message);
}

static void set(dqs_config *config, const char *key, const char *value)
{
    dqs_error error = {0};
    ok(dqs_config_set(config, key, value, &error), &error);
}

static const char *folder(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static dqs_config *configure(const char *env, const char *name, int threads)
{
    static const char *const small[][2] = {{"critic_width", "32"},
                                           {"score_width", "32"},
                                           {"embed", "8"},
                                           {"batch", "32"},
                                           {"N", "3"},
                                           {"K", "4"},
                                           {"replay", "1000"},
                                           {"warmup", "60"},
                                           {"diag_states", "2"},
                                           {"diag_samples", "64"},
                                           {"steps", "200"},
                                           {"eval_every", "90"},
                                           {"eval_episodes", "2"},
                                           {"final_episodes", "3"},
                                           {"log_every", "30"},
                                           {"checkpoint_every", "0"},
                                           {"corrector", "1"},
                                           {"corrector_target", "1"},
                                           {"normalise_obs", "true"}};
    char count[16];
    dqs_config *config;
    dqs_error error = {0};
    ok(dqs_config_create(&config, "dqs", env, &error), &error);
    ok(dqs_config_preset(config, "quick", &error), &error);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        set(config, small[i][0], small[i][1]);
    snprintf(count, sizeof count, "%d", threads);
    set(config, "threads", count);
    set(config, "out", folder(name));
    return config;
}

static dqs_run *start(const char *env, const char *name, int threads)
{
    dqs_run *run;
    dqs_error error = {0};
    dqs_config *config = configure(env, name, threads);
    ok(dqs_run_create(&run, config, &error), &error);
    dqs_config_free(config);
    return run;
}

static void train(dqs_run *run, long n)
{
    dqs_error error = {0};
    ok(dqs_run_step(run, n, &error), &error);
}

/* The first tensor that differs fails the test; the metadata hold the time and may. */
static void assert_same_state(const char *a, const char *b)
{
    struct safetensors one, two;
    dqs_error error = {0};
    char path[300];
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder(a));
    ok(safetensors_open(path, &one, &error), &error);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder(b));
    ok(safetensors_open(path, &two, &error), &error);
    assert_int_equal(one.n_tensors, two.n_tensors);
    for (size_t i = 0; i < one.n_tensors; i++) {
        const char *name = one.tensors[i].name;
        const struct safetensors_tensor *other = safetensors_find(&two, name);
        if (strcmp(name, "checksum") == 0)
            continue;
        if (!other || other->bytes != one.tensors[i].bytes ||
            memcmp(other->data, one.tensors[i].data, other->bytes))
            fail_msg("%s and %s differ in %s", a, b, name);
    }
    safetensors_close(&one);
    safetensors_close(&two);
}

/* The built-in tasks and one of MuJoCo's; test_dmc_cli.py does it on all of those. */
static const char *const resumed_tasks[] = {"gmm",         "maze", "maze-small", "pendulum",
#ifdef HAVE_MUJOCO
                                            "cheetah-run",
#endif
                                            NULL};

static void resume_is_exact(void **state)
{
    const char *env;
    (void)state;
    for (int i = 0; (env = resumed_tasks[i]); i++) {
        char whole[64], parts[64];
        dqs_error error = {0};
        snprintf(whole, sizeof whole, "whole-%s", env);
        snprintf(parts, sizeof parts, "parts-%s", env);
        dqs_run *run = start(env, whole, 1);
        train(run, -1);
        dqs_run_free(run);
        run = start(env, parts, 2);
        train(run, 101); /* in the middle of an episode, a log interval, an evaluation interval */
        ok(dqs_run_save(run, &error), &error);
        train(run, 13); /* lost with the process */
        dqs_run_free(run);
        ok(dqs_run_resume(&run, folder(parts), 0, 3, &error), &error);
        train(run, -1);
        dqs_run_free(run);
        assert_same_state(whole, parts); /* so the number of threads does not matter either */
    }
}

static dqs_run *signalled;
static void on_alarm(int number)
{
    (void)number;
    dqs_run_stop(signalled);
}

static void stop_from_a_signal(void **state)
{
    (void)state;
    dqs_run *run;
    dqs_error error = {0};
    dqs_config *config = configure("pendulum", "signal", 1);
    set(config, "steps", "100000000");
    set(config, "eval_every", "0");
    ok(dqs_run_create(&run, config, &error), &error);
    dqs_config_free(config);
    signalled = run;
    signal(SIGALRM, on_alarm);
    alarm(1);
    assert_int_equal(dqs_run_step(run, -1, &error), DQS_STOPPED);
    dqs_progress progress;
    dqs_run_progress(run, &progress);
    assert_true(progress.step > 0);
    dqs_run_free(run);
    ok(dqs_run_resume(&run, folder("signal"), 0, 0, &error), &error);
    dqs_progress again;
    dqs_run_progress(run, &again);
    assert_int_equal(again.step, progress.step);
    assert_int_equal(again.updates, progress.updates);
    dqs_run_free(run);
}

static void policy_acts_like_the_run(void **state)
{
    (void)state;
    dqs_run *run = start("pendulum", "policy", 1);
    train(run, -1);
    dqs_run_free(run);
    dqs_policy *policy, *file;
    dqs_error error = {0};
    ok(dqs_policy_load(&policy, folder("policy"), &error), &error);
    ok(dqs_policy_load(&file, folder("policy/best.safetensors"), &error), &error);
    assert_int_equal(dqs_policy_obs_dim(policy), 3);
    assert_int_equal(dqs_policy_act_dim(policy), 1);
    float obs[3] = {1, 0, 0.5f}, a[20], b[20];
    int different = 0;
    for (int i = 0; i < 20; i++) {
        ok(dqs_policy_act(policy, obs, &a[i], &error), &error);
        ok(dqs_policy_act(file, obs, &b[i], &error), &error);
        assert_true(a[i] == b[i] && a[i] >= -1 && a[i] <= 1);
        different += a[i] != a[0];
    }
    assert_true(different > 10); /* a diffusion policy draws */
    dqs_policy_seed(policy, 77);
    for (int i = 0; i < 20; i++)
        ok(dqs_policy_act(policy, obs, &a[i], &error), &error);
    dqs_policy_seed(file, 77);
    for (int i = 0; i < 20; i++)
        ok(dqs_policy_act(file, obs, &b[i], &error), &error);
    assert_memory_equal(a, b, sizeof a);
    dqs_policy_seed(file, 78);
    ok(dqs_policy_act(file, obs, &b[0], &error), &error);
    assert_true(a[0] != b[0]);
    dqs_policy_free(policy);
    dqs_policy_free(file);
    assert_int_equal(dqs_policy_load(&policy, folder("nothing"), &error), DQS_E_IO);
    assert_null(policy);
    assert_int_equal(dqs_policy_load(&policy, base, &error), DQS_E_IO);
    assert_int_equal(dqs_policy_load(&policy, folder("policy/trace.safetensors"), &error), DQS_E_FORMAT);
}

static void evaluation_keeps_a_trace(void **state)
{
    (void)state;
    dqs_run *run = start("gmm", "evaluate", 1);
    train(run, 100);
    dqs_evaluation ev;
    dqs_error error = {0};
    for (dqs_act_mode mode = DQS_ACT_EVALUATE; mode <= DQS_ACT_EXACT; mode++) {
        ok(dqs_run_evaluate(run, 7, mode, &ev, &error), &error);
        assert_int_equal(ev.episodes, 7);
        assert_int_equal(ev.step, 100);
        assert_true(ev.n_numbers > 0 && ev.min <= ev.mean && ev.mean <= ev.max);
    }
    struct safetensors file;
    ok(safetensors_open(folder("evaluate/trace.safetensors"), &file, &error), &error);
    assert_int_equal(safetensors_find(&file, "obs")->shape[0], 7);
    assert_non_null(safetensors_find(&file, "soft_value"));
    assert_string_equal(safetensors_metadata(&file, "mode"), "exact");
    safetensors_close(&file);
    assert_int_equal(dqs_run_evaluate(run, 1000000, DQS_ACT_EVALUATE, &ev, &error), DQS_E_OPTION);
    assert_int_equal(dqs_run_evaluate(run, 1, (dqs_act_mode)9, &ev, &error), DQS_E_USAGE);
    ok(dqs_run_save(run, &error), &error);
    train(run, 50);
    ok(dqs_run_evaluate(run, 7, DQS_ACT_EVALUATE, &ev, &error), &error);
    double last = ev.mean;
    ok(dqs_run_show_policy(run, folder("evaluate/policy.safetensors"), &error), &error);
    ok(dqs_run_evaluate(run, 7, DQS_ACT_EVALUATE, &ev, &error), &error);
    assert_true(ev.step == 100 && ev.mean != last); /* as it was then */
    assert_int_equal(dqs_run_step(run, 1, &error), DQS_E_USAGE);
    assert_int_equal(dqs_run_save(run, &error), DQS_E_USAGE);
    dqs_run_free(run);
}

/* An agent in a loop of its own, on a task that is no environment at all. */
static void drive(dqs_agent *agent, int steps, int from)
{
    dqs_error error = {0};
    for (int t = from; t < from + steps; t++) {
        float obs[2][2] = {{(float)t / 100, 1}, {(float)(t % 7), -1}},
              next[2][2] = {{(float)t / 50, 1}, {0, 0}};
        float action[2][1], reward[2];
        uint8_t terminated[2] = {0, t % 5 == 0}, truncated[2] = {t % 9 == 0, 0};
        ok(dqs_agent_act(agent, &obs[0][0], 2, DQS_ACT_EXPLORE, &action[0][0], &error), &error);
        for (int i = 0; i < 2; i++)
            reward[i] = -action[i][0] * action[i][0];
        ok(dqs_agent_observe(agent, &obs[0][0], &action[0][0], reward, &next[0][0], terminated, truncated,
                             &error),
           &error);
        while (dqs_agent_update_due(agent))
            ok(dqs_agent_update(agent, &error), &error);
    }
}

static void agent_saves_and_loads(void **state)
{
    (void)state;
    dqs_error error = {0};
    dqs_agent *one, *two, *none;
    dqs_config *config = configure(NULL, "agent", 1);
    ok(dqs_agent_create(&one, config, 2, 1, 2, &error), &error);
    ok(dqs_agent_create(&two, config, 2, 1, 2, &error), &error);
    drive(one, 60, 0);
    dqs_number numbers[96];
    assert_true(dqs_agent_metrics(one, numbers, 96) > 0);
    ok(dqs_agent_save(one, folder("agent.safetensors"), &error), &error);
    ok(dqs_agent_load(two, folder("agent.safetensors"), &error), &error);
    drive(one, 30, 60);
    drive(two, 30, 60);
    float obs[200], a[100], b[100];
    for (int i = 0; i < 200; i++)
        obs[i] = (float)i / 100;
    ok(dqs_agent_act(one, obs, 100, DQS_ACT_EVALUATE, a, &error), &error);
    ok(dqs_agent_act(two, obs, 100, DQS_ACT_EVALUATE, b, &error), &error);
    assert_memory_equal(a, b, sizeof a);
    dqs_policy *policy; /* what an agent saves can be deployed */
    ok(dqs_policy_load(&policy, folder("agent.safetensors"), &error), &error);
    ok(dqs_policy_act(policy, obs, a, &error), &error);
    dqs_policy_free(policy);

    float action[2] = {0}, bad[4] = {0, NAN, 0, 0}, reward[2] = {0};
    uint8_t flags[2] = {0};
    assert_int_equal(dqs_agent_act(one, obs, 3, DQS_ACT_EXPLORE, a, &error), DQS_E_USAGE);
    assert_int_equal(dqs_agent_observe(one, obs, action, reward, bad, flags, flags, &error), DQS_E_NUMERIC);
    assert_non_null(strstr(error.message, "next_obs"));
    assert_int_equal(dqs_agent_create(&none, config, 0, 1, 2, &error), DQS_E_USAGE);
    assert_null(none);
    dqs_agent_free(one);
    dqs_agent_free(two);
    dqs_config_free(config);
}

/* Whoever owns the loop steps the task: an agent holds nothing, whatever the preset would, and says so if
 * asked. */
static void only_runs_hold_actions(void **state)
{
    (void)state;
    dqs_error error = {0};
    dqs_agent *agent;
    dqs_policy *policy;
    dqs_config *config;
    ok(dqs_config_create(&config, "dqs", "cheetah-run", &error), &error);
    assert_string_equal(dqs_config_get(config, "action_repeat"), "2");
    ok(dqs_agent_create(&agent, config, 17, 6, 1, &error), &error);
    ok(dqs_agent_save(agent, folder("preset.safetensors"), &error), &error);
    ok(dqs_policy_load(&policy, folder("preset.safetensors"), &error), &error);
    assert_int_equal(dqs_policy_action_repeat(policy), 1);
    assert_string_equal(dqs_config_get(dqs_agent_config(agent), "gamma"), "0.99"); /* two of them make 0.98 */
    dqs_policy_free(policy);
    dqs_agent_free(agent);
    set(config, "action_repeat", "2");
    assert_int_equal(dqs_agent_create(&agent, config, 17, 6, 1, &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "action_repeat=2"));
    dqs_config_free(config);
    config = configure(NULL, "held", 1);
    set(config, "action_repeat", "3");
    assert_int_equal(dqs_agent_create(&agent, config, 2, 1, 2, &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "action_repeat=3"));
    set(config, "action_repeat", "1");
    ok(dqs_agent_create(&agent, config, 2, 1, 2, &error), &error);
    ok(dqs_agent_save(agent, folder("unheld.safetensors"), &error), &error);
    ok(dqs_policy_load(&policy, folder("unheld.safetensors"), &error), &error);
    assert_int_equal(dqs_policy_action_repeat(policy), 1);
    dqs_policy_free(policy);
    dqs_agent_free(agent);
    dqs_config_free(config);

    dqs_run *run;
    config = configure("pendulum", "held", 1);
    set(config, "action_repeat", "3");
    ok(dqs_run_create(&run, config, &error), &error);
    train(run, -1);
    dqs_run_free(run);
    dqs_config_free(config);
    ok(dqs_policy_load(&policy, folder("held"), &error), &error);
    assert_int_equal(dqs_policy_action_repeat(policy), 3);
    dqs_policy_free(policy);
}

/* An agent comes back from its file alone, with the caller's note, and goes on as if it had never been
 * away. */
static void agent_opens_from_its_file(void **state)
{
    (void)state;
    dqs_error error = {0};
    dqs_agent *one, *two, *none;
    dqs_config *config = configure(NULL, "opened", 1);
    ok(dqs_config_name_env(config, "my task", 0, &error), &error);
    ok(dqs_agent_create(&one, config, 2, 1, 2, &error), &error);
    dqs_config_free(config);
    assert_string_equal(dqs_agent_note(one), "");
    ok(dqs_agent_set_note(one, "{\"low\": -2}", &error), &error);
    assert_int_equal(dqs_agent_set_bounds(one, (float[]){1}, (float[]){1}, &error), DQS_E_USAGE);
    ok(dqs_agent_set_bounds(one, (float[]){-0.1f}, (float[]){2.5f}, &error), &error);
    assert_int_equal(dqs_agent_update(one, &error), DQS_E_USAGE); /* none is due */
    drive(one, 60, 0);
    ok(dqs_agent_save(one, folder("opened.safetensors"), &error), &error);
    ok(dqs_agent_open(&two, folder("opened.safetensors"), 0, 2, &error), &error);
    assert_string_equal(dqs_agent_note(two), "{\"low\": -2}");
    assert_string_equal(dqs_config_get(dqs_agent_config(two), "env"), "my task");
    assert_string_equal(dqs_config_get(dqs_agent_config(two), "batch"), "32");
    int obs_dim, act_dim, n_envs;
    dqs_agent_size(two, &obs_dim, &act_dim, &n_envs);
    assert_true(obs_dim == 2 && act_dim == 1 && n_envs == 2);
    drive(one, 30, 60);
    drive(two, 30, 60);
    float obs[20], a[10], b[10], c[10];
    for (int i = 0; i < 20; i++)
        obs[i] = (float)(i % 4) / 4; /* rows 0, 2, 4, .. are the same */
    ok(dqs_agent_act(one, obs, 10, DQS_ACT_FROZEN, a, &error), &error);
    ok(dqs_agent_act(one, obs, 10, DQS_ACT_EVALUATE, b, &error), &error);
    ok(dqs_agent_act(two, obs, 10, DQS_ACT_EVALUATE, c, &error), &error);
    assert_memory_equal(b, c, sizeof b); /* the frozen call left no trace */
    assert_true(a[0] == a[2] && a[0] == a[8] && b[0] != b[2]);
    ok(dqs_agent_act(two, obs + 4, 1, DQS_ACT_FROZEN, c, &error), &error);
    assert_true(c[0] == a[0]);
    assert_int_equal(dqs_agent_act(two, obs, 1, (dqs_act_mode)9, c, &error), DQS_E_USAGE);
    struct safetensors file;
    ok(dqs_agent_save(two, folder("opened.safetensors"), &error), &error);
    ok(safetensors_open(folder("opened.safetensors"), &file, &error), &error);
    assert_string_equal(safetensors_metadata(&file, "act_low"), "-0.1"); /* to the bit, and over two files */
    assert_string_equal(safetensors_metadata(&file, "act_high"), "2.5");
    safetensors_close(&file);
    dqs_agent_free(one);
    dqs_agent_free(two);

    config = configure(NULL, "opened", 1);
    set(config, "replay",
        "1e9"); /* of a million floats each: there is no such memory, and the caller lives on */
    assert_int_equal(dqs_agent_create(&none, config, 1000000, 1, 1, &error), DQS_E_MEMORY);
    assert_null(none);
    dqs_config_free(config);
    assert_int_equal(dqs_agent_open(&none, folder("policy/trace.safetensors"), 0, 0, &error), DQS_E_FORMAT);
    assert_int_equal(dqs_agent_open(&none, folder("nothing"), 0, 0, &error), DQS_E_IO);
    assert_null(none);
}

/* Lanes of a batch: the true end of an episode, and a state that goes on bit for bit, over an end too. */
static void batch_steps_and_restores(void **state)
{
    (void)state;
    enum { N = 3 };
    dqs_error error = {0};
    dqs_batch *one, *two, *none;
    ok(dqs_batch_create(&one, "pendulum", NULL, N, 2, &error), &error);
    ok(dqs_batch_create(&two, "pendulum", NULL, N, 1, &error), &error);
    const dqs_spec *spec = dqs_batch_spec(one);
    assert_true(spec->obs_dim == 3 && spec->act_dim == 1 && spec->state_dim > 3 && spec->act_high[0] == 2);
    float action[N] = {0.3f, -1, 1}, obs[N * 3], next[N * 3], reward[N], other[N * 3], other_next[N * 3];
    uint8_t terminated[N], truncated[N];
    double saved[N * 32];
    uint64_t seed;
    assert_int_equal(dqs_batch_step(one, action, obs, next, reward, terminated, truncated, &error),
                     DQS_E_USAGE);
    ok(dqs_batch_reset(one, 7, obs, &error), &error);
    assert_true(obs[0] != obs[3]); /* lanes start apart */
    for (int t = 1; t <= 250; t++) {
        ok(dqs_batch_step(one, action, obs, next, reward, terminated, truncated, &error), &error);
        assert_int_equal(truncated[1], t == 200);
        assert_int_equal(memcmp(obs, next, sizeof obs) != 0, t == 200);
        if (t == 150) {
            ok(dqs_batch_get_state(one, saved, &seed, &error), &error);
            ok(dqs_batch_set_state(two, saved, seed, other, &error), &error);
            assert_memory_equal(obs, other, sizeof obs);
        }
        if (t > 150) {
            ok(dqs_batch_step(two, action, other, other_next, reward, terminated, truncated, &error), &error);
            assert_memory_equal(obs, other, sizeof obs);
            assert_memory_equal(next, other_next, sizeof next);
        }
    }
    saved[spec->state_dim - 3] = -1; /* the step of the first row */
    assert_int_equal(dqs_batch_set_state(two, saved, seed, other, &error), DQS_E_USAGE);
    assert_int_equal(dqs_batch_create(&none, "pendulum", NULL, 0, 1, &error), DQS_E_USAGE);
    assert_int_equal(dqs_batch_create(&none, "pendulom", NULL, 1, 1, &error), DQS_E_UNKNOWN);
    assert_null(none);
    dqs_batch_free(one);
    dqs_batch_free(two);
    dqs_batch_free(NULL);
}

static void wrong_use_is_told(void **state)
{
    (void)state;
    dqs_config *config;
    dqs_run *run;
    dqs_error error = {0};
    assert_int_equal(dqs_config_create(&config, "dsq", "gmm", &error), DQS_E_UNKNOWN);
    assert_null(config);
    assert_int_equal(dqs_config_create(&config, NULL, "gmn", &error), DQS_E_UNKNOWN);
    assert_null(config);
    assert_int_equal(dqs_config_create(NULL, NULL, NULL, &error), DQS_E_USAGE);
    assert_int_equal(dqs_run_create(&run, NULL, &error), DQS_E_USAGE);
    ok(dqs_config_create(&config, NULL, NULL, &error), &error);
    assert_int_equal(dqs_run_create(&run, config, &error), DQS_E_USAGE);
    assert_non_null(strstr(error.message, "no environment"));
    assert_int_equal(dqs_config_set(config, "gama", "1", &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "gamma"));
    assert_int_equal(dqs_config_set(config, "gama", "1", NULL), DQS_E_OPTION);
    assert_null(dqs_config_get(config, "gama"));
    assert_int_equal(dqs_config_file(config, "/nonexistent.yaml", &error), DQS_E_IO);
    dqs_config_free(config);
    dqs_config_free(NULL);
    dqs_run_free(NULL);
    dqs_run_stop(NULL);
    dqs_policy_free(NULL);
    dqs_agent_free(NULL);
    assert_non_null(strstr(dqs_version(), DQS_VERSION));
    const char *doc;
    assert_string_equal(dqs_algo_name(0, &doc), "dqs");
    assert_true(strlen(doc) > 0);
    assert_null(dqs_algo_name(1000, &doc));
}

/* Every option of every preset for every task must be there, and be told. */
static void presets_are_sound(void **state)
{
    (void)state;
    static const char *const presets[] = {"default", "paper", "authors", "wide", "quick"};
    const char *env;
    for (int e = 0; (env = dqs_env_name(e, NULL)); e++)
        for (int p = 0; p < 5; p++) {
            dqs_config *config;
            dqs_option_info info;
            dqs_error error = {0};
            ok(dqs_config_create(&config, NULL, env, &error), &error);
            ok(dqs_config_preset(config, presets[p], &error), &error);
            for (int i = 0; dqs_config_describe(config, i, &info); i++) {
                assert_true(info.doc[0] && info.type[0] && info.range && info.source[0]);
                assert_string_equal(info.value, info.preset_default);
                assert_string_equal(info.value, dqs_config_get(config, info.key));
                set(config, info.key, info.value); /* what is told is understood */
            }
            dqs_config_free(config);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resume_is_exact),           cmocka_unit_test(stop_from_a_signal),
        cmocka_unit_test(policy_acts_like_the_run),  cmocka_unit_test(evaluation_keeps_a_trace),
        cmocka_unit_test(agent_saves_and_loads),     cmocka_unit_test(wrong_use_is_told),
        cmocka_unit_test(only_runs_hold_actions),
        cmocka_unit_test(agent_opens_from_its_file), cmocka_unit_test(batch_steps_and_restores),
        cmocka_unit_test(presets_are_sound),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
