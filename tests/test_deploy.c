/* test_deploy: the pieces of dqs export (half precision, protocol buffers, texts with gaps, other programs),
 * and every algorithm written by the library itself. tests/test_export.py looks at what was written. */
#include "dqs.h"
#include "export.h"
#include "fill_in.h"
#include "number.h"
#include "process.h"
#include "protobuf.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---------------------------------------------------------------- half precision */
static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return h & 0x8000 ? -size : size;
}

static void test_half(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++)
        if ((h >> 10 & 31) != 31) /* infinities and not-a-numbers are never weights */
            assert_int_equal(half_of((float)half_value((uint16_t)h)), h);
    for (uint32_t h = 0; h < 0x7bff;
         h++) { /* between neighbours: to the nearer, and to the even one from the middle */
        double a = half_value((uint16_t)h), b = half_value((uint16_t)(h + 1)), middle = (a + b) / 2;
        assert_int_equal(half_of((float)middle), h & 1 ? h + 1 : h);
        assert_int_equal(half_of(nextafterf((float)middle, 0)), h);
        assert_int_equal(half_of(nextafterf((float)middle, INFINITY)), h + 1);
        assert_int_equal(half_of(-nextafterf((float)middle, 0)), h | 0x8000);
    }
    assert_true(half_fits(65504) && half_fits(-65519) && !half_fits(65520) && !half_fits(-1e9f) &&
                !half_fits(NAN));
}

/* ---------------------------------------------------------------- protocol buffers */
static void test_messages(void **state)
{
    (void)state;
    struct message m = {0}, inner = {0};
    message_integer(&inner, 1, 300);
    message_integer(&inner, 16, -1); /* ten bytes, as the encoding has it */
    message_put(&m, 3, &inner);
    message_text(&m, 2, "testing");
    message_float(&m, 4, 1);
    static const unsigned char wanted[] = {0x1a, 15,   0x08, 0xac, 0x02, 0x80, 0x01, 0xff, 0xff, 0xff, 0xff,
                                           0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x12, 0x07, 't',  'e',  's',
                                           't',  'i',  'n',  'g',  0x25, 0x00, 0x00, 0x80, 0x3f};
    assert_false(m.failed);
    assert_int_equal(m.size, sizeof wanted);
    assert_memory_equal(m.data, wanted, sizeof wanted);
    assert_null(inner.data);
    message_free(&m);
}

/* ---------------------------------------------------------------- texts with gaps */
static void write_table(struct file_writer *to, const void *context)
{
    file_put(to, context, strlen(context));
}

static void test_gaps(void **state)
{
    (void)state;
    static const char text[] =
        "a @x@@y@ b\n//if on\nyes\n//if off\nno\n//else\nother @x@\n//end\n//else\nnever\n//end\n//rows\n"
        "// kept\nend";
    struct fill_in *f = calloc(1, sizeof *f);
    char *data = NULL;
    size_t size;
    char path[] = "/tmp/dqs-gaps-XXXXXX";
    int fd = mkstemp(path);
    assert_true(f && fd >= 0);
    close(fd);
    fill_in_text(f, "x", "%d", 7);
    fill_in_text(f, "y", "%s", "");
    fill_in_flag(f, "on", true);
    fill_in_flag(f, "off", false);
    fill_in_writer(f, "rows", write_table, "1 2 3\n");
    fill_in_writer(f, " kept", write_table, "// kept\n");
    assert_int_equal(fill_in_file(f, path, text, NULL), DQS_OK);
    assert_int_equal(file_read(path, &data, &size, NULL), DQS_OK);
    assert_string_equal(data, "a 7 b\nyes\nother 7\n1 2 3\n// kept\nend");
    free(data);
    free(f);
    unlink(path);
}

/* ---------------------------------------------------------------- numbers, programs */
static void test_float_texts(void **state)
{
    (void)state;
    char text[NUMBER_TEXT_SIZE];
    const float some[] = {0, -0.0f, 1, 0.1f, 1e-45f, -3.4028235e38f, 16777216, 0.333333343f, 1.17549435e-38f};
    for (size_t i = 0; i < COUNT(some); i++) {
        number_write_float(text, some[i]);
        assert_true(strtof(text, NULL) == some[i] && strlen(text) < 16);
    }
    number_write_float(text, 0.1f);
    assert_string_equal(text, "0.1");
    number_write_float(text, NAN);
    assert_string_equal(text, "nan");
}

static void test_programs(void **state)
{
    (void)state;
    char out[8];
    const char *const words[] = {"sh", "-c", "echo one; echo two >&2; exit 7", NULL},
                      *const nothing[] = {"dqs-there-is-no-such-program", NULL},
                      *const killed[] = {"sh", "-c", "kill -9 $$", NULL},
                      *const loud[] = {"sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x", NULL};
    assert_int_equal(process_run(words, out, sizeof out), 7);
    assert_string_equal(out, "one\ntwo");
    assert_int_equal(process_run(nothing, out, sizeof out), PROCESS_ABSENT);
    assert_int_equal(process_run(killed, out, sizeof out), 128 + 9);
    assert_int_equal(process_run(loud, out, sizeof out), 0);
    assert_string_equal(out, "xxxxxxx");
}

static void test_outcomes(void **state)
{
    (void)state;
    struct export_outcome o;
    assert_true(export_outcome_read("warning: x\nrows 10 beyond 2 most 1e-06 us 3.5\n", &o));
    assert_true(o.rows == 10 && o.beyond == 2 && o.most == 1e-6 && o.us == 3.5);
    assert_false(export_outcome_read("rows 10 beyond 2 most", &o));
    assert_false(export_outcome_read("", &o));
}

/* ---------------------------------------------------------------- every algorithm */
static const char *const small[][2] = {
    {"dqs", "critic_width=32 score_width=32 embed=8 N=3 squash=box estimator=shifted K=4 corrector=2 "
            "particles=2 T=2"},
    {"sac", "width=32"},
    {"td3", "width=32"},
    {"ddpg", "width=32"},
    {"ppo", "width=32"},
    {"qsm", "width=32 embed=8"},
    {"dacer", "width=32 embed=8 diffusion_steps=3"},
    {"dipo", "width=32 embed=8 diffusion_steps=3"},
};

static void save_policy(const char *algo, const char *settings, const char *path)
{
    dqs_error error = {0};
    dqs_config *config;
    dqs_agent *agent;
    char text[400], *word;
    assert_int_equal(dqs_config_create(&config, algo, NULL, &error), DQS_OK);
    snprintf(text, sizeof text, "%s", settings);
    for (word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value++ = 0;
        if (dqs_config_set(config, word, value, &error) != DQS_OK)
            fail_msg("%s", error.message);
    }
    assert_int_equal(dqs_config_set(config, "threads", "1", &error), DQS_OK);
    if (dqs_agent_create(&agent, config, 3, 2, 1, &error) != DQS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(dqs_agent_save(agent, path, &error), DQS_OK);
    dqs_agent_free(agent);
    dqs_config_free(config);
}

static void test_every_algorithm(void **state)
{
    (void)state;
    char folder[] = "/tmp/dqs-deploy-XXXXXX", file[100], c[100], onnx[100], header[100];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/agent.safetensors", folder);
    snprintf(c, sizeof c, "%s/out/arm.c", folder);
    snprintf(header, sizeof header, "%s/out/arm.h", folder);
    snprintf(onnx, sizeof onnx, "%s/out/arm.onnx", folder);
    for (int i = 0; dqs_algo_name(i, NULL); i++) {
        dqs_error error = {0};
        dqs_policy *policy;
        dqs_parity parity;
        const float low[] = {-3, 0}, high[] = {3, 10};
        size_t row = 0;
        while (row < COUNT(small) && strcmp(small[row][0], dqs_algo_name(i, NULL)))
            row++;
        assert_true(row < COUNT(small)); /* an algorithm without a line of small settings here */
        save_policy(small[row][0], small[row][1], file);
        assert_int_equal(dqs_policy_load(&policy, file, &error), DQS_OK);
        dqs_export how = {
            .format = "c", .path = c, .mode = DQS_ACT_EXPLORE, .act_low = low, .act_high = high};
        if (dqs_policy_export(policy, &how, &parity, &error) != DQS_OK)
            fail_msg("%s: %s", small[row][0], error.message);
        assert_true(parity.weights > 100 && parity.library_us > 0 && *parity.summary);
        if (parity.rows > 0) /* there is a compiler */
            assert_true(parity.rows == 1000 && parity.beyond <= (parity.decides ? 10 : 0) && parity.us > 0);
        else
            assert_non_null(strstr(parity.note, "compiler"));
        how = (dqs_export){.format = "onnx", .path = onnx, .mode = DQS_ACT_EVALUATE, .weights = "fp16"};
        setenv("DQS_PYTHON", "/nowhere/python",
               1); /* what it is worth is for onnxruntime to say, in test_export.py */
        assert_int_equal(dqs_policy_export(policy, &how, NULL, &error), DQS_OK);
        how.mode = DQS_ACT_EXACT;
        assert_int_equal(dqs_policy_export(policy, &how, NULL, &error), DQS_E_UNSUPPORTED);
        dqs_policy_free(policy);
    }
    const char *const files[] = {file, c, header, onnx};
    struct stat info;
    for (size_t i = 0; i < COUNT(files); i++) {
        assert_int_equal(stat(files[i], &info), 0);
        unlink(files[i]);
    }
    snprintf(file, sizeof file, "%s/out", folder);
    rmdir(file);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left behind */
}

static void test_refusals(void **state)
{
    (void)state;
    char file[] = "/tmp/dqs-refuse-XXXXXX";
    dqs_error error;
    dqs_policy *policy = NULL;
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    save_policy("dqs", small[0][1], file);
    const float bad[] = {1, NAN}, one[] = {2, 2};
    static const struct {
        const char *settings;
        dqs_status status;
    } loads[] = {{"N=2", DQS_OK},
                 {"sampling_steps=9", DQS_OK},
                 {" corrector=0  particles=1 ", DQS_OK},
                 {"N", DQS_E_OPTION},
                 {"N=0", DQS_E_OPTION},
                 {"sampling_steps=x", DQS_E_OPTION},
                 {"nix=1", DQS_E_OPTION},
                 {"score_width=64", DQS_E_MISMATCH}};
    for (size_t i = 0; i < COUNT(loads); i++) {
        assert_int_equal(dqs_policy_load_with(&policy, file, loads[i].settings, &error), loads[i].status);
        if (i == 1)
            assert_int_equal(dqs_policy_steps(policy), 9);
        dqs_policy_free(policy);
    }
    assert_int_equal(dqs_policy_load(&policy, file, &error), DQS_OK);
    const dqs_export hows[] = {
        {.path = "/tmp/x.c", .mode = DQS_ACT_EVALUATE},
        {.format = "c", .mode = DQS_ACT_EVALUATE},
        {.format = "c", .path = "/tmp/x.onnx", .mode = DQS_ACT_EVALUATE},
        {.format = "c", .path = "/tmp/.c", .mode = DQS_ACT_EVALUATE},
        {.format = "c", .path = "/tmp/a*b.c", .mode = DQS_ACT_EVALUATE},
        {.format = "c", .path = "/tmp/x.c", .name = "1", .mode = DQS_ACT_EVALUATE},
        {.format = "c", .path = "/tmp/x.c", .act_low = bad, .act_high = one, .mode = DQS_ACT_EVALUATE},
        {.format = "c", .path = "/tmp/x.c", .act_low = one, .act_high = one, .mode = DQS_ACT_EVALUATE},
        {.format = "c", .path = "/tmp/x.c", .obs = bad, .rows = 0, .mode = DQS_ACT_EVALUATE}};
    for (size_t i = 0; i < COUNT(hows); i++)
        assert_int_equal(dqs_policy_export(policy, &hows[i], NULL, &error),
                         i == 5 ? DQS_E_OPTION : DQS_E_USAGE);
    dqs_policy_free(policy);
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_float_texts),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_every_algorithm),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
