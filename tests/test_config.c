/* Options, presets and YAML. */
#include "config.h"
#include "env.h"
#include "fake_algo.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct config *make(const char *env)
{
    struct config *config;
    dqs_error error;
    assert_int_equal(config_create_with(&config, &fake_algo, env ? env_find(env) : NULL, &error), DQS_OK);
    return config;
}

static void set(struct config *config, const char *key, const char *value)
{
    dqs_error error = {0};
    if (config_set(config, key, value, &error) != DQS_OK)
        fail_msg("%s", error.message);
}

static void presets_apply_in_order(void **state)
{
    (void)state;
    dqs_error error;
    struct config *config = make(NULL);
    assert_string_equal(config_get(config, "rate"), "0.2"); /* the preset `default` is there from the start */
    assert_string_equal(config_get(config, "width"), "8");
    assert_string_equal(config_get(config, "mode"), "plain");
    config_free(config);

    config = make("gmm");
    assert_string_equal(config_get(config, "rate"), "0.4"); /* the environment's row wins */
    assert_string_equal(config_get(config, "steps"), "3000");
    assert_string_equal(config_get(config, "log_every"), "300"); /* its second row counts too */
    assert_int_equal(config_preset(config, "slow", &error), DQS_OK);
    assert_string_equal(config_get(config, "rate"), "0.01"); /* also when it stands before the row for all */
    assert_string_equal(config_get(config, "updates_per_step"), "1");
    assert_string_equal(config_get(config, "width"), "7"); /* nothing is left of the old preset */
    assert_string_equal(config_get(config, "steps"), "100000");
    config_free(config);

    config = make("cheetah-run");
    assert_string_equal(config_get(config, "rate"), "0.5"); /* its family's row wins over that for all, */
    assert_string_equal(config_get(config, "width"), "8");
    assert_string_equal(config_get(config, "mode"), "odd");
    config_free(config);
    config = make("walker-run");
    assert_string_equal(config_get(config, "mode"), "fancy"); /* and its own over its family's */
    config_free(config);

    config = make("maze");
    assert_string_equal(config_get(config, "mode"), "odd"); /* rows of every preset */
    assert_int_equal(config_preset(config, "slow", &error), DQS_OK);
    assert_string_equal(config_get(config, "mode"), "odd");
    assert_int_equal(config_preset(config, "*", &error), DQS_E_UNKNOWN);
    assert_int_equal(config_preset(config, "fast", &error), DQS_E_UNKNOWN);
    assert_non_null(strstr(error.message, "default, slow"));
    assert_string_equal(config_get(config, "preset"), "slow"); /* a refused preset changes nothing */
    config_free(config);
}

static void settings_win_whatever_the_order(void **state)
{
    (void)state;
    dqs_error error;
    struct config *before = make("gmm"), *after = make("gmm");
    set(before, "rate", "0.5");
    assert_int_equal(config_preset(before, "slow", &error), DQS_OK);
    set(after, "preset", "slow");
    set(after, "rate", "0.5");
    char *one = config_write(before, NULL), *two = config_write(after, NULL);
    assert_string_equal(one, two);
    assert_string_equal(config_get(before, "rate"), "0.5");
    assert_int_equal(config_set_env(before, env_find("pendulum"), &error), DQS_OK);
    assert_string_equal(config_get(before, "rate"), "0.5");
    dqs_option_info info;
    bool found = false;
    for (int i = 0; config_describe(before, i, &info); i++)
        if (strcmp(info.key, "rate") == 0) {
            found = true;
            assert_string_equal(info.value, "0.5");
            assert_string_equal(info.preset_default, "0.02");
            assert_string_equal(info.group, "fake");
        }
    assert_true(found);
    free(one);
    free(two);
    config_free(before);
    config_free(after);
}

static void refusals_help(void **state)
{
    (void)state;
    dqs_error error;
    struct config *config = make("gmm");
    assert_int_equal(config_set(config, "raet", "1", &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "did you mean rate"));
    assert_int_equal(config_set(config, "eval_evry", "1", &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "did you mean eval_every"));
    assert_int_equal(config_set(config, "zzzzzzzzzzzz", "1", &error), DQS_E_OPTION);
    assert_non_null(strstr(error.message, "dqs options"));
    assert_int_equal(config_set(config, "rate", "1.5", &error), DQS_E_OPTION);
    assert_int_equal(config_set(config, "env", "maze", &error), DQS_E_OPTION);
    assert_int_equal(config_set(config, "name", "two\nlines", &error), DQS_E_OPTION);
    assert_int_equal(config_set(config, "name", "\xff\xfe", &error), DQS_E_OPTION);
    assert_int_equal(config_set(config, "name", "\xe2\x80\xa8", &error), DQS_E_OPTION); /* a line separator */
    assert_int_equal(config_set(config, "name", "M\xc3\xa4rz \xe2\x82\xac \xf0\x9f\x8e\xb2", &error), DQS_OK);
    assert_null(config_get(config, "raet"));
    config_free(config);
}

static const char *source_of(const struct config *config, const char *key)
{
    dqs_option_info info;
    for (int i = 0; config_describe(config, i, &info); i++)
        if (strcmp(info.key, key) == 0)
            return info.source;
    return NULL;
}

/* An option's source is that of its own standard; what a preset or a user chose instead must not go under
 * that name. */
static void sources_follow_the_values(void **state)
{
    (void)state;
    dqs_error error;
    struct config *config = make("gmm"), *copy;
    const char *own = option_find(fake_algo.options, "rate")->source;
    assert_string_equal(source_of(config, "rate"), "preset default, gmm");
    assert_string_equal(source_of(config, "width"), "preset default");
    assert_string_equal(source_of(config, "seed"), "convention");
    assert_int_equal(config_preset(config, "slow", &error), DQS_OK);
    assert_string_equal(source_of(config, "rate"), "preset slow, gmm");
    assert_int_equal(config_clone(&copy, config, &error), DQS_OK);
    assert_string_equal(source_of(copy, "rate"), "preset slow, gmm");
    set(config, "rate", "0.77");
    assert_string_equal(source_of(config, "rate"), "set");
    set(copy, "rate", option_find(fake_algo.options, "rate")->standard);
    assert_string_not_equal(source_of(copy, "rate"),
                            own); /* by hand, though the number is the option's own */
    config_free(config);
    config_free(copy);
}

/* A file may name the algorithm after options of the run were set; they stay, and the preset must be one of
 * its own. */
static void another_algorithm_keeps_what_was_set(void **state)
{
    (void)state;
    dqs_error error;
    struct config *config;
    assert_int_equal(config_create(&config, NULL, "pendulum", &error), DQS_OK);
    set(config, "steps", "5");
    static const char sac[] = "algo: sac\n";
    assert_int_equal(config_read(config, sac, strlen(sac), "t", &error), DQS_OK);
    assert_string_equal(config_get(config, "algo"), "sac");
    assert_string_equal(config_get(config, "steps"), "5");
    config_free(config);

    assert_int_equal(config_create(&config, NULL, "pendulum", &error), DQS_OK);
    assert_int_equal(config_preset(config, "wide", &error), DQS_OK);
    assert_int_equal(config_read(config, sac, strlen(sac), "t", &error), DQS_E_UNKNOWN);
    assert_non_null(strstr(error.message, "wide: no preset of algorithm sac"));
    config_free(config);
}

static void keys_are_unique(void **state)
{
    (void)state;
    struct config *config = make("gmm");
    dqs_option_info a, b;
    for (int i = 0; config_describe(config, i, &a); i++)
        for (int k = i + 1; config_describe(config, k, &b); k++)
            assert_string_not_equal(a.key, b.key);
    config_free(config);
}

static void yaml_reads_back_the_same(void **state)
{
    (void)state;
    dqs_error error = {0};
    struct config *config = make("pendulum"), *back;
    set(config, "rate", "0.30000000000000004");
    set(config, "name", "a \"quoted\" name: \\ # not a comment, M\xc3\xa4rz \xef\xbc\xa1 'x'");
    set(config, "out", "~");
    set(config, "env_options", " spaces around ");
    set(config, "init_replay", "true");
    set(config, "seed", "9000000000000000");
    set(config, "mode", "odd");
    const struct config_note notes[] = {{"cpu", "Some: \"CPU\" @ 3 GHz"}, {NULL, NULL}};
    char *text = config_write(config, notes), *plain = config_write(config, NULL);
    if (config_from_yaml(&back, text, strlen(text), "t", &fake_algo, NULL, true, &error) != DQS_OK)
        fail_msg("%s", error.message);
    char *again = config_write(back, NULL);
    assert_string_equal(plain, again);
    assert_ptr_equal(back->env, env_find("pendulum"));
    assert_memory_equal(&back->value.run, &config->value.run, sizeof config->value.run);
    assert_memory_equal(back->value.algo, config->value.algo, sizeof(struct fake_options));
    assert_true(((struct fake_options *)back->value.algo)->rate == 0.30000000000000004);
    struct config *copy;
    assert_int_equal(config_clone(&copy, back, &error), DQS_OK);
    free(again);
    again = config_write(copy, NULL);
    assert_string_equal(plain, again);
    free(text);
    free(plain);
    free(again);
    config_free(config);
    config_free(back);
    config_free(copy);
}

/* Options that came after a run was recorded must not change it, though a preset of today sets them. */
static void records_keep_to_the_options_they_knew(void **state)
{
    (void)state;
    dqs_error error = {0};
    struct config *now = make("gmm"), *then;
    static const char text[] = "env: gmm\nalgo: fake\npreset: default\nwidth: 9\n";
    if (config_from_yaml(&then, text, strlen(text), "t", &fake_algo, NULL, true, &error) != DQS_OK)
        fail_msg("%s", error.message);
    assert_string_equal(config_get(then, "width"), "9");
    assert_string_equal(config_get(now, "rate"), "0.4");
    assert_string_equal(config_get(then, "rate"), option_find(fake_algo.options, "rate")->standard);
    assert_string_not_equal(config_get(then, "rate"), "0.4");
    config_free(now);
    config_free(then);
}

static void yaml_errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        dqs_status status;
        const char *part;
    } cases[] = {
        {"rate: 0.1\nwidth: 3\nraet: 0.2\n", DQS_E_OPTION, "t:3: raet: no such option; did you mean rate"},
        {"# comment\n\nrate: hot\n", DQS_E_OPTION, "t:3: rate"},
        {"rate: 0.1\nrate: 0.2\n", DQS_E_FORMAT, "t:2: rate was already set in line 1"},
        {"rate: 0.1\nwidth:\n  - 3\n", DQS_E_FORMAT, "t:3: a list"},
        {"rate: 0.1\nwidth: {a: 3}\n", DQS_E_FORMAT, "t:2: a nested mapping"},
        {"rate: &x 0.1\nwidth: *x\n", DQS_E_FORMAT, "t:2: an alias"},
        {"- rate\n", DQS_E_FORMAT, "t:1: a list"},
        {"rate\n", DQS_E_FORMAT, "t:1: text without a key"},
        {"rate: 0.1\n---\nwidth: 3\n", DQS_E_FORMAT, "t:2: a second document"},
        {"rate: 0.1\nname: \"open\n", DQS_E_FORMAT, "t:"},
        {"rate: 0.1\n\tname: x\n", DQS_E_FORMAT, "t:2: "},
        {"name: \"a\\0b\"\n", DQS_E_FORMAT, "t:1: a zero byte"},
        {"name: \"a\\nb\"\n", DQS_E_OPTION, "t:1: name"},
        {"{ {a: b}: c }\n", DQS_E_FORMAT, "t:1: a nested mapping"},
        {"env: maze\n", DQS_E_MISMATCH, "t:1: env is maze, but gmm"},
        {"rate: 0.3\nalgo: sac\n", DQS_E_MISMATCH, "t:2: algo is sac, but fake"},
        {"preset: fast\n", DQS_E_UNKNOWN, "t:1: fast: no preset"},
        {"? rate\n", DQS_E_OPTION, "t:1: rate"},
        {"name: \xff\n", DQS_E_FORMAT, "t:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config *config = make("gmm");
        dqs_error error = {0};
        dqs_status status = config_read(config, cases[i].text, strlen(cases[i].text), "t", &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].part))
            fail_msg("case %zu: status %d, \"%s\" has no \"%s\"", i, status, error.message, cases[i].part);
        config_free(config);
    }
}

static void yaml_limits(void **state)
{
    (void)state;
    dqs_error error = {0};
    struct config *config = make("gmm");
    size_t size = (1u << 20) + 1;
    char *text = malloc(size);
    memset(text, '#', size);
    assert_int_equal(config_read(config, text, size, "t", &error), DQS_E_FORMAT); /* too large */
    size_t used = 0;
    for (int i = 0; i < 600; i++)
        used += (size_t)snprintf(text + used, size - used, "recorded_%d: x\n", i);
    assert_int_equal(config_read(config, text, used, "t", &error), DQS_E_FORMAT);
    assert_non_null(strstr(error.message, "t:513: more than 512"));
    memset(text, 'x', 3000);
    memcpy(text, "name: ", 6);
    assert_int_equal(config_read(config, text, 3000, "t", &error), DQS_E_FORMAT);
    for (int i = 0; i < 100000; i++) /* deep nesting must not grow the stack */
        text[i] = '[';
    assert_int_equal(config_read(config, text, 100000, "t", &error), DQS_E_FORMAT);
    assert_int_equal(config_read(config, "", 0, "t", &error), DQS_OK);
    assert_int_equal(config_read(config, "# nothing\n", 10, "t", &error), DQS_OK);
    free(text);
    config_free(config);
}

static void yaml_file_sets_preset_and_env(void **state)
{
    (void)state;
    dqs_error error = {0};
    char path[] = "/tmp/test_config_XXXXXX";
    int fd = mkstemp(path);
    const char *text = "rate: 0.7\nenv: GMM\nalgo: fake\npreset: slow\nrecorded_cpu: any\n";
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct config *config = make(NULL);
    if (config_read_file(config, path, &error) != DQS_OK)
        fail_msg("%s", error.message);
    assert_ptr_equal(config->env, env_find("gmm"));
    assert_string_equal(config_get(config, "env"), "gmm");
    assert_string_equal(config_get(config, "rate"), "0.7");
    assert_string_equal(config_get(config, "updates_per_step"), "1");
    unlink(path);
    assert_int_equal(config_read_file(config, path, &error), DQS_E_IO);
    assert_non_null(strstr(error.message, path));
    config_free(config);
}

/* Who takes networks from another run does not mean to give them up soon after, unless that is said too. */
static void networks_that_are_taken_stay(void **state)
{
    (void)state;
    static const struct {
        const char *source, *reset_first, *then;
    } cases[] = {{NULL, NULL, "16000"}, {"a-run", NULL, "0"}, {"a-run", "5000", "5000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config *config;
        dqs_error error = {0};
        assert_int_equal(config_create(&config, "dqs", "cheetah-run", &error), DQS_OK);
        if (cases[i].source)
            set(config, "init_from", cases[i].source);
        if (cases[i].reset_first)
            set(config, "reset_first", cases[i].reset_first);
        assert_int_equal(config_complete(config, &error), DQS_OK);
        assert_string_equal(config_get(config, "reset_first"), cases[i].then);
        config_free(config);
    }
    struct config *other; /* of which there is nothing to say */
    dqs_error error = {0};
    assert_int_equal(config_create(&other, "sac", "cheetah-run", &error), DQS_OK);
    set(other, "init_from", "a-run");
    assert_int_equal(config_complete(other, &error), DQS_OK);
    config_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_apply_in_order),
        cmocka_unit_test(settings_win_whatever_the_order),
        cmocka_unit_test(refusals_help),
        cmocka_unit_test(sources_follow_the_values),
        cmocka_unit_test(another_algorithm_keeps_what_was_set),
        cmocka_unit_test(keys_are_unique),
        cmocka_unit_test(yaml_reads_back_the_same),
        cmocka_unit_test(records_keep_to_the_options_they_knew),
        cmocka_unit_test(yaml_errors_name_the_line),
        cmocka_unit_test(yaml_limits),
        cmocka_unit_test(networks_that_are_taken_stay),
        cmocka_unit_test(yaml_file_sets_preset_and_env),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
