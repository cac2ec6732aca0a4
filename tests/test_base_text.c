/* Tests of src/base: number, option, json. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "json.h"
#include "number.h"
#include "option.h"
#include "rng.h"
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* last: its macro fail() would spoil the declaration of ours */

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* ---------------------------------------------------------------- number */

static void number_writes_the_shortest(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {250000, "250000"},
        {1e6, "1000000"},
        {3e-4, "0.0003"},
        {1e22, "1e+22"},
        {0.1 + 0.2, "0.30000000000000004"},
        {5e-324, "5e-324"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {9007199254740993.0, "9007199254740992"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
    };
    char text[NUMBER_TEXT_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        number_write(text, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

static void number_round_trips_bits(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 3, RNG_TEST);
    for (int i = 0; i < 20000; i++) { /* any bits: all exponents, subnormal numbers too */
        uint64_t bits = rng_word64(&rng), back;
        if (i % 10 == 0)
            bits &= UINT64_C(0x800FFFFFFFFFFFFF);
        double value, read;
        memcpy(&value, &bits, 8);
        if (!isfinite(value))
            continue;
        char text[NUMBER_TEXT_SIZE];
        number_write(text, value);
        assert_true(number_read(text, &read));
        memcpy(&back, &read, 8);
        assert_int_equal(back, bits);
    }
}

static void number_does_not_heed_the_locale(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    bool set = false;
    for (int i = 0; i < 4 && !set; i++)
        set = setlocale(LC_NUMERIC, commas[i]) != NULL;
    if (!set)
        skip(); /* no locale with a decimal comma is installed */
    char text[NUMBER_TEXT_SIZE];
    double value = 0;
    number_write(text, 0.5);
    bool read = number_read("0.25", &value);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "0.5");
    assert_true(read && value == 0.25);
}

static void number_reads_what_people_write(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long value;
    } whole[] = {
        {"250000", 250000},
        {"250_000", 250000},
        {"250k", 250000},
        {"1e6", 1000000},
        {"2.5e5", 250000},
        {"1M", 1000000},
        {"1.001k", 1001},
        {"4.35k", 4350},
        {"2G", 2000000000},
        {"-3", -3},
        {"+7", 7},
        {"0", 0},
        {"10.0", 10},
        {"1_000k", 1000000},
        {"9007199254740993", 9007199254740993},
        {"9223372036854775807", LONG_MAX},
        {"-9223372036854775808", LONG_MIN},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        long value = -1;
        if (!number_read_long(whole[i].text, &value) || value != whole[i].value)
            fail_msg("%s was read as %ld", whole[i].text, value);
    }
    static const char *const not_whole[] = {
        "",      " 1",
        "1 ",    "1.5",
        "1e-3",  "ten",
        "0x10",  "1__0",
        "_1",    "1_",
        "k",     "1kk",
        "1k5",   "1e400",
        "inf",   "nan",
        "-",     "1e19",
        "--1",   "+",
        "1,000", "1.0005k",
        "e5",    "1e",
        "\n5",   "9223372036854775808",
    };
    for (size_t i = 0; i < sizeof not_whole / sizeof *not_whole; i++) {
        long value = 42;
        if (number_read_long(not_whole[i], &value) || value != 42)
            fail_msg("\"%s\" was read as %ld", not_whole[i], value);
    }
    double value;
    assert_true(number_read("1.5k", &value) && value == 1500);
    assert_true(number_read("3e-4", &value) && value == 3e-4);
    assert_true(number_read("inf", &value) && isinf(value));
    assert_true(number_read(".5", &value) && value == 0.5);
    static const char *const wrong[] = {"", "1.5x", "0x1p3", "1.5.", "1 000", "nanx", " 1", "1e3k_", "k"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(number_read(wrong[i], &value));
    char endless[1000];
    memset(endless, '1', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_false(number_read(endless, &value));
}

/* ---------------------------------------------------------------- option */

struct toy_options {
    long steps;
    double gamma, scale;
    bool clip;
    int activation;
    char out[OPTION_TEXT_SIZE];
    long K;
};
#define OPTIONS struct toy_options
static const struct option toy[] = {
    OPTION_ROW_INT(steps, "250k", 1, 1e9, "steps of the run", "paper"),
    OPTION_ROW_REAL(gamma, "0.99", 0, 1, "discount", "paper"),
    OPTION_ROW_REAL(scale, "1e-3", 1e-6, INFINITY, "scale", "measured"),
    OPTION_ROW_BOOL(clip, "yes", "clip", "measured"),
    OPTION_ROW_CHOICE(activation, "gelu", "relu gelu mish", "activation", "paper"),
    OPTION_ROW_TEXT(out, "", "folder", ""),
    OPTION_ROW_INT(K, "1000", 1, 100000, "samples", "paper"),
    {0},
};

static void assert_refused(const char *key, const char *value, const char *message)
{
    struct toy_options options, before;
    memset(&options, 0, sizeof options);
    option_defaults(toy, &options);
    before = options;
    dqs_error error = {DQS_OK, ""};
    assert_int_equal(option_set(option_find(toy, key), &options, value, &error), DQS_E_OPTION);
    assert_string_equal(error.message, message);
    assert_memory_equal(&options, &before, sizeof options); /* a refused value changes nothing */
    assert_int_equal(option_set(option_find(toy, key), &options, value, NULL), DQS_E_OPTION);
}

static void option_defaults_fill_all(void **state)
{
    (void)state;
    struct toy_options options;
    memset(&options, 0xFF, sizeof options);
    option_defaults(toy, &options);
    assert_int_equal(options.steps, 250000);
    assert_true(options.gamma == 0.99 && options.scale == 1e-3);
    assert_true(options.clip);
    assert_int_equal(options.activation, 1);
    assert_string_equal(options.out, "");
    assert_int_equal(options.out[OPTION_TEXT_SIZE - 1], 0);
    assert_null(option_find(toy, "Gamma"));
    assert_ptr_equal(option_find(toy, "gamma"), &toy[1]);
}

static void option_refuses_with_what_is_allowed(void **state)
{
    (void)state;
    assert_refused("steps", "0", "steps: '0' is out of range; allowed: 1 .. 1000000000");
    assert_refused("steps", "1e10", "steps: '1e10' is out of range; allowed: 1 .. 1000000000");
    assert_refused("steps", "1.5", "steps: '1.5' is not a whole number; allowed: 1 .. 1000000000");
    assert_refused("gamma", "1.01", "gamma: '1.01' is out of range; allowed: 0 .. 1");
    assert_refused("gamma", "nan", "gamma: 'nan' is out of range; allowed: 0 .. 1");
    assert_refused("gamma", "high", "gamma: 'high' is not a number; allowed: 0 .. 1");
    assert_refused("scale", "0", "scale: '0' is out of range; allowed: 1e-06 .. inf");
    assert_refused("clip", "maybe", "clip: 'maybe' is neither true nor false; allowed: true | false");
    assert_refused("activation", "rel",
                   "activation: 'rel' is not one of the choices; allowed: relu | gelu | mish");
    assert_refused("activation", "", "activation: '' is not one of the choices; allowed: relu | gelu | mish");
    assert_refused("activation", "relu gelu",
                   "activation: 'relu gelu' is not one of the choices; allowed: relu | gelu | mish");
    struct toy_options options;
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[299] = 0;
    dqs_error error;
    assert_int_equal(option_set(option_find(toy, "out"), &options, text, &error), DQS_E_OPTION);
    assert_contains(error.message, "is too long; allowed: text of at most 255 bytes");
    text[255] = 0;
    assert_int_equal(option_set(option_find(toy, "out"), &options, text, &error), DQS_OK);
    assert_string_equal(options.out, text);
}

static void option_bools(void **state)
{
    (void)state;
    static const char *const yes[] = {"true", "on", "1", "yes", "True"};
    static const char *const no[] = {"false", "off", "0", "no", "False"};
    struct toy_options options;
    for (int i = 0; i < 5; i++) {
        options.clip = false;
        assert_int_equal(option_set(option_find(toy, "clip"), &options, yes[i], NULL), DQS_OK);
        assert_true(options.clip);
        assert_int_equal(option_set(option_find(toy, "clip"), &options, no[i], NULL), DQS_OK);
        assert_false(options.clip);
    }
}

static void option_texts_read_back(void **state)
{
    (void)state;
    struct toy_options a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    struct rng rng;
    rng_seed(&rng, 4, RNG_TEST);
    for (int i = 0; i < 1000; i++) {
        a.steps = 1 + (long)rng_below(&rng, 1000000000);
        a.gamma = rng_uniform(&rng);
        a.scale = i == 0 ? INFINITY : exp(10 + rng_normal(&rng));
        a.clip = i % 2;
        a.activation = i % 3;
        snprintf(a.out, sizeof a.out, "run %d = x", i);
        a.K = 1 + i;
        for (const struct option *row = toy; row->key; row++) {
            char text[OPTION_TEXT_SIZE];
            option_get(row, &a, text, sizeof text);
            assert_int_equal(option_set(row, &b, text, NULL), DQS_OK);
        }
        assert_memory_equal(&a, &b, sizeof a);
        memset(a.out, 0, sizeof a.out);
    }
    char small[3];
    option_get(option_find(toy, "activation"), &b, small, sizeof small);
    assert_int_equal(strlen(small), 2);
}

static void option_describes(void **state)
{
    (void)state;
    char text[64], small[10];
    option_range(option_find(toy, "K"), text, sizeof text);
    assert_string_equal(text, "1 .. 100000");
    option_range(option_find(toy, "activation"), text, sizeof text);
    assert_string_equal(text, "relu | gelu | mish");
    option_range(option_find(toy, "clip"), text, sizeof text);
    assert_string_equal(text, "true | false");
    option_range(option_find(toy, "activation"), small, sizeof small);
    assert_string_equal(small, "relu | ge");
    for (int type = OPTION_INT; type <= OPTION_TEXT; type++)
        assert_true(strlen(option_type_name((enum option_type)type)) > 0);
}

static void option_nearest_key(void **state)
{
    (void)state;
    assert_string_equal(option_nearest(toy, "gama"), "gamma");
    assert_string_equal(option_nearest(toy, "gmama"), "gamma");
    assert_string_equal(option_nearest(toy, "setps"), "steps");
    assert_string_equal(option_nearest(toy, "activatoin"), "activation");
    assert_string_equal(option_nearest(toy, "activatXXX"), "activation"); /* three away */
    assert_string_equal(option_nearest(toy, "catviatino"), "activation"); /* three swaps */
    assert_null(option_nearest(toy, "activaXXXX"));
    assert_string_equal(option_nearest(toy, "k"), "K");
    assert_null(option_nearest(toy, "q"));
    assert_null(option_nearest(toy, ""));
    char endless[500];
    memset(endless, 'g', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_null(option_nearest(toy, endless));
}

/* ---------------------------------------------------------------- json */

static void json_nests(void **state)
{
    (void)state;
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "env");
    json_string(&j, "gmm");
    json_key(&j, "list");
    json_open(&j, '[');
    json_integer(&j, -5);
    json_number(&j, 0.1);
    json_number(&j, NAN);
    json_number(&j, -INFINITY);
    json_open(&j, '[');
    json_close(&j, ']');
    json_bool(&j, true);
    json_close(&j, ']');
    json_key(&j, "raw");
    json_raw(&j, "{\"a\":1}");
    json_key(&j, "empty");
    json_open(&j, '{');
    json_close(&j, '}');
    json_key(&j, "no");
    json_bool(&j, false);
    json_close(&j, '}');
    assert_string_equal(j.text, "{\"env\":\"gmm\",\"list\":[-5,0.1,null,null,[],true],\"raw\":{\"a\":1},"
                                "\"empty\":{},\"no\":false}");
    assert_int_equal(j.size, strlen(j.text));
    json_free(&j);
    assert_null(j.text);
    json_free(&j);
}

static void assert_quoted(const char *value, const char *expected)
{
    struct json j = {0};
    json_string(&j, value);
    assert_string_equal(j.text, expected);
    json_free(&j);
}

static void json_escapes(void **state)
{
    (void)state;
    assert_quoted("", "\"\"");
    assert_quoted("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    assert_quoted("line\nnext\ttab\x01\x1f\x7f", "\"line\\nnext\\u0009tab\\u0001\\u001f\\u007f\"");
    assert_quoted("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
                  "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"");
    /* broken UTF-8: a stray continuation, a cut sequence, an overlong one, a surrogate, beyond U+10FFFF */
    assert_quoted("a\x80z", "\"a\\ufffdz\"");
    assert_quoted("a\xe2\x82", "\"a\\ufffd\\ufffd\"");
    assert_quoted("\xc0\xafz", "\"\\ufffd\\ufffdz\"");
    assert_quoted("\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"");
    assert_quoted("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    assert_quoted("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    assert_quoted("\xff", "\"\\ufffd\"");
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "a\"b");
    json_integer(&j, LONG_MIN);
    json_close(&j, '}');
    assert_string_equal(j.text, "{\"a\\\"b\":-9223372036854775808}");
    json_free(&j);
}

static void json_grows(void **state)
{
    (void)state;
    struct json j = {0};
    json_open(&j, '[');
    for (int i = 0; i < 10000; i++)
        json_integer(&j, i % 10);
    json_close(&j, ']');
    assert_int_equal(j.size, 20001);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(j.text[1 + 2 * i], '0' + i % 10);
    json_free(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_writes_the_shortest),
        cmocka_unit_test(number_round_trips_bits),
        cmocka_unit_test(number_does_not_heed_the_locale),
        cmocka_unit_test(number_reads_what_people_write),
        cmocka_unit_test(option_defaults_fill_all),
        cmocka_unit_test(option_refuses_with_what_is_allowed),
        cmocka_unit_test(option_bools),
        cmocka_unit_test(option_texts_read_back),
        cmocka_unit_test(option_describes),
        cmocka_unit_test(option_nearest_key),
        cmocka_unit_test(json_nests),
        cmocka_unit_test(json_escapes),
        cmocka_unit_test(json_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
