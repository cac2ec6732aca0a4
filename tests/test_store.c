/* Safetensors and checkpoints: round trips, every truncation, every flipped bit, hostile headers. With
 * DQS_TEST_OUT set to a folder, the sample files stay there for tests/test_formats.py, which reads them with
 * the real Python packages. */
#include "checkpoint.h"
#include "file.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---------------------------------------------------------------- the state under test */
struct sample {
    float weights[3 * 4], moments[5], replay[2 * 3];
    double temperature, trace[2];
    long step;
    uint8_t flags[5];
    bool wide; /* not saved as such: handed out through a local variable */
};

static void visit_sample(void *object, struct visitor *v)
{
    struct sample *s = object;
    int mark = visit_enter(v, "sample/");
    visit_vector(v, "flags", VISIT_LEARN, VISIT_U8, s->flags, 5);
    visit_matrix(v, "weights", VISIT_POLICY, VISIT_F32, s->weights, 3, 4);
    visit_vector(v, "moments", VISIT_LEARN, VISIT_F32, s->moments, 5);
    visit_vector(v, "nothing", VISIT_LEARN, VISIT_F32, s->moments, 0);
    visit_double(v, "temperature", VISIT_POLICY, &s->temperature);
    visit_vector(v, "trace", VISIT_LEARN, VISIT_F64, s->trace, 2);
    visit_long(v, "step", VISIT_LEARN, &s->step);
    visit_matrix(v, "replay", VISIT_REPLAY, VISIT_F32, s->replay, 2, 3);
    long wide = s->wide;
    visit_long(v, "wide", VISIT_POLICY, &wide);
    s->wide = wide != 0;
    visit_leave(v, mark);
}

/* tests/test_formats.py knows these values. */
static struct sample make_sample(void)
{
    struct sample s;
    memset(&s, 0, sizeof s);
    for (int i = 0; i < 12; i++)
        s.weights[i] = 0.25f * (float)i - 1;
    for (int i = 0; i < 5; i++) {
        s.moments[i] = 1e-3f * (float)i;
        s.flags[i] = (uint8_t)(50 * i);
    }
    for (int i = 0; i < 6; i++)
        s.replay[i] = (float)-i;
    s.temperature = 1.0 / 3;
    s.trace[0] = 1e300;
    s.trace[1] = -0.0;
    s.step = 123456789012345;
    s.wide = true;
    return s;
}

static const struct safetensors_pair sample_metadata[] = {{"algo", "dqs"},
                                                          {"note", "quotes \" and \\, a tab \t, \xc3\xa9"},
                                                          {"bad", "\xff not UTF-8"},
                                                          {NULL, NULL}};

#define PARTS(sample) ((struct checkpoint_part[]){{visit_sample, &(sample)}, {NULL, NULL}})

/* ---------------------------------------------------------------- files */
static char folder[500], sample_path[600], other_path[600];

static void write_plain(const char *path, const char *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void read_plain(const char *path, char **data, size_t *size)
{
    dqs_error error;
    assert_int_equal(file_read(path, data, size, &error), DQS_OK);
}

static int set_up(void **state)
{
    (void)state;
    const char *out = getenv("DQS_TEST_OUT");
    snprintf(folder, sizeof folder, "%s", out ? out : "/tmp/test_store_XXXXXX");
    if (!out && !mkdtemp(folder))
        return -1;
    snprintf(sample_path, sizeof sample_path, "%s/sample.safetensors", folder);
    snprintf(other_path, sizeof other_path, "%s/other.safetensors", folder);
    struct sample s = make_sample();
    dqs_error error = {0};
    dqs_status status = checkpoint_save(sample_path, PARTS(s), CHECKPOINT_ALL, sample_metadata, &error);
    if (status != DQS_OK)
        fprintf(stderr, "%s\n", error.message);
    return status == DQS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(other_path);
    if (!getenv("DQS_TEST_OUT")) {
        unlink(sample_path);
        return rmdir(folder); /* fails if anything was left aside */
    }
    return 0;
}

static void assert_says(const dqs_error *error, const char *phrase)
{
    if (!strstr(error->message, phrase))
        fail_msg("'%s' does not say '%s'", error->message, phrase);
    assert_null(strchr(error->message, '\n'));
}

static void assert_load_fails(const char *path, struct sample *s, dqs_status expected, dqs_error *error)
{
    const struct sample before = *s;
    memset(error, 0, sizeof *error);
    dqs_status status = checkpoint_load(path, PARTS(*s), CHECKPOINT_ALL, error);
    assert_int_equal(status, expected);
    assert_int_equal(error->status, expected);
    assert_says(error, path);
    assert_memory_equal(s, &before, sizeof before);
}

/* ---------------------------------------------------------------- round trips */
static void round_trip(void **state)
{
    (void)state;
    const struct sample s = make_sample();
    struct sample loaded;
    memset(&loaded, 0, sizeof loaded);
    dqs_error error;
    assert_int_equal(checkpoint_load(sample_path, PARTS(loaded), CHECKPOINT_ALL, &error), DQS_OK);
    assert_memory_equal(&loaded, &s, sizeof s);
}

static void the_file_is_laid_out_as_documented(void **state)
{
    (void)state;
    struct safetensors file;
    dqs_error error;
    assert_int_equal(safetensors_open(sample_path, &file, &error), DQS_OK);
    assert_int_equal(file.n_tensors, 11); /* nine, padding, checksum */
    assert_string_equal(file.tensors[10].name, "checksum");
    assert_string_equal(file.tensors[9].name, "padding");
    for (size_t i = 0; i < file.n_tensors; i++) { /* aligned from the start of the file */
        const struct safetensors_tensor *t = &file.tensors[i];
        assert_int_equal((size_t)(t->data - file.data) % visit_type_size(t->type), 0);
    }
    assert_string_equal(safetensors_metadata(&file, "algo"), "dqs");
    assert_string_equal(safetensors_metadata(&file, "note"), sample_metadata[1].value);
    assert_string_equal(safetensors_metadata(&file, "bad"), "? not UTF-8");
    assert_null(safetensors_metadata(&file, "none"));
    const struct safetensors_tensor *t = safetensors_find(&file, "sample/weights");
    assert_non_null(t);
    assert_int_equal(t->type, VISIT_F32);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->shape[0] * 100 + t->shape[1], 304);
    assert_null(safetensors_find(&file, "weights"));
    safetensors_close(&file);
    safetensors_close(&file);
}

static void kinds_choose(void **state)
{
    (void)state;
    struct sample s = make_sample();
    dqs_error error;
    assert_int_equal(checkpoint_save(other_path, PARTS(s), VISIT_POLICY, NULL, &error), DQS_OK);
    struct safetensors file;
    assert_int_equal(safetensors_open(other_path, &file, &error), DQS_OK);
    assert_int_equal(file.n_tensors, 4); /* weights, temperature, wide, checksum: 64 bytes, no padding */
    assert_null(safetensors_find(&file, "sample/step"));
    safetensors_close(&file);
    /* A policy from a checkpoint: what the parts do not name, or not of these kinds, does no harm. */
    struct sample policy;
    memset(&policy, 0, sizeof policy);
    assert_int_equal(checkpoint_load(sample_path, PARTS(policy), VISIT_POLICY, &error), DQS_OK);
    assert_memory_equal(policy.weights, s.weights, sizeof s.weights);
    assert_int_equal(policy.step, 0);
    assert_true(policy.replay[1] == 0);
    assert_load_fails(other_path, &policy, DQS_E_MISMATCH, &error);
    assert_says(&error, "'sample/flags'");
}

/* ---------------------------------------------------------------- damage */
static void every_truncation_is_found(void **state)
{
    (void)state;
    char *data;
    size_t size;
    read_plain(sample_path, &data, &size);
    struct sample s = make_sample();
    s.step = 7; /* not what the file says */
    dqs_error error;
    for (size_t n = 0; n < size; n++) {
        write_plain(other_path, data, n);
        assert_load_fails(other_path, &s, DQS_E_FORMAT, &error);
    }
    char *longer = calloc(1, size + 8);
    memcpy(longer, data, size);
    write_plain(other_path, longer, size + 8);
    assert_load_fails(other_path, &s, DQS_E_FORMAT, &error);
    assert_says(&error, "8 bytes after the last tensor");
    free(longer);
    free(data);
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    char *data;
    size_t size;
    read_plain(sample_path, &data, &size);
    struct sample s = make_sample();
    dqs_error error;
    for (size_t bit = 0; bit < 8 * size; bit++) {
        data[bit / 8] ^= (char)(1 << bit % 8);
        struct safetensors file;
        dqs_status status = safetensors_parse(data, size, &file, &error);
        if (status == DQS_OK)
            status = safetensors_verify(&file, &error);
        safetensors_close(&file);
        if (status != DQS_E_FORMAT)
            fail_msg("bit %zu of byte %zu: status %d", bit % 8, bit / 8, status);
        if (bit % 8 == bit / 8 % 8) { /* one bit of every byte through the whole load */
            write_plain(other_path, data, size);
            assert_load_fails(other_path, &s, DQS_E_FORMAT, &error);
        }
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(data);
}

static void unreadable_is_said(void **state)
{
    (void)state;
    struct sample s = make_sample();
    dqs_error error;
    char nowhere[700];
    snprintf(nowhere, sizeof nowhere, "%s/none.safetensors", folder);
    assert_load_fails(nowhere, &s, DQS_E_IO, &error);
    snprintf(nowhere, sizeof nowhere, "%s/none/sample.safetensors", folder);
    assert_int_equal(checkpoint_save(nowhere, PARTS(s), CHECKPOINT_ALL, NULL, &error), DQS_E_IO);
    assert_says(&error, nowhere);
}

/* A limit on file sizes stands for a full disk: the old file stays, nothing is left aside (tear_down looks).
 */
static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    struct sample s = make_sample(), loaded = make_sample();
    dqs_error error;
    assert_int_equal(checkpoint_save(other_path, PARTS(s), CHECKPOINT_ALL, NULL, &error), DQS_OK);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 500;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    s.step = 7;
    dqs_status status = checkpoint_save(other_path, PARTS(s), CHECKPOINT_ALL, NULL, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, DQS_E_IO);
    assert_says(&error, other_path);
    loaded.step = 0;
    assert_int_equal(checkpoint_load(other_path, PARTS(loaded), CHECKPOINT_ALL, &error), DQS_OK);
    assert_int_equal(loaded.step, make_sample().step);
}

/* ---------------------------------------------------------------- files of another configuration */
static float other_array[64];
static int other_type, other_rows;

static void visit_other(void *object, struct visitor *v)
{
    struct sample *s = object;
    int mark = visit_enter(v, "sample/");
    visit_long(v, "step", VISIT_LEARN, &s->step); /* right, and must not be copied all the same */
    if (other_rows == 0)
        visit_vector(v, "weights", VISIT_POLICY, VISIT_F32, other_array, 12); /* right size, wrong rank */
    else
        visit_matrix(v, "weights", VISIT_POLICY, (enum visit_type)other_type, other_array, (size_t)other_rows,
                     4);
    visit_leave(v, mark);
}

static void other_shapes_are_refused(void **state)
{
    (void)state;
    struct sample s = {.step = 7};
    const struct checkpoint_part parts[] = {{visit_other, &s}, {NULL, NULL}};
    const struct {
        int type, rows;
        const char *phrase;
    } cases[] = {
        {VISIT_F32, 2, "tensor 'sample/weights' is F32 [3, 4] where this configuration needs F32 [2, 4]"},
        {VISIT_F64, 3, "needs F64 [3, 4]"},
        {VISIT_F32, 0, "needs F32 [12]"},
    };
    dqs_error error;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        other_type = cases[i].type;
        other_rows = cases[i].rows;
        assert_int_equal(checkpoint_load(sample_path, parts, CHECKPOINT_ALL, &error), DQS_E_MISMATCH);
        assert_says(&error, cases[i].phrase);
        assert_says(&error, sample_path);
        assert_int_equal(s.step, 7);
    }
    other_type = VISIT_F32;
    other_rows = 3;
    assert_int_equal(checkpoint_load(sample_path, parts, CHECKPOINT_ALL, &error), DQS_OK);
    assert_true(other_array[11] == 1.75f);
}

static void visit_reserved(void *object, struct visitor *v)
{
    visit_long(v, "checksum", VISIT_LEARN, object);
}

static void visit_changing(void *object, struct visitor *v)
{
    long *n = object;
    visit_vector(v, "growing", VISIT_LEARN, VISIT_U8, other_array, (size_t)++ * n);
}

static void a_caller_who_names_wrongly_is_told(void **state)
{
    (void)state;
    struct sample s = make_sample();
    long n = 3;
    const struct checkpoint_part twice[] = {{visit_sample, &s}, {visit_sample, &s}, {NULL, NULL}};
    const struct checkpoint_part reserved[] = {{visit_reserved, &n}, {NULL, NULL}};
    const struct checkpoint_part changing[] = {{visit_changing, &n}, {NULL, NULL}};
    dqs_error error;
    assert_int_equal(checkpoint_save(sample_path, twice, CHECKPOINT_ALL, NULL, &error), DQS_E_USAGE);
    assert_says(&error, "used twice");
    assert_int_equal(checkpoint_save(sample_path, reserved, CHECKPOINT_ALL, NULL, &error), DQS_E_USAGE);
    assert_says(&error, "reserved");
    assert_int_equal(checkpoint_save(sample_path, changing, CHECKPOINT_ALL, NULL, &error), DQS_E_USAGE);
    assert_says(&error, "changed");
    round_trip(NULL);
}

/* ---------------------------------------------------------------- hostile headers */
static dqs_status parse_header(const char *header, size_t data_size, dqs_error *error)
{
    uint64_t length = strlen(header);
    char *bytes =
        calloc(1, 8 + length + data_size + 1); /* exact size: the address sanitizer sees a step beyond */
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    char *exact = malloc(8 + length + data_size);
    memcpy(exact, bytes, 8 + length + data_size);
    struct safetensors file;
    dqs_status status = safetensors_parse(exact, 8 + length + data_size, &file, error);
    if (status != DQS_OK)
        assert_true(file.n_tensors == 0 && !file.tensors && !file.header);
    safetensors_close(&file);
    free(exact);
    free(bytes);
    return status;
}

#define T(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_size;
        const char *phrase; /* NULL: a good file */
    } cases[] = {
        {"{}", 0, NULL},
        {"{}   ", 0, NULL},
        {"{" T("a", "F32", "[2]", "[0,8]") "}", 8, NULL},
        {"{" T("a", "F32", "[]", "[0,4]") "}", 4, NULL},
        {"{" T("b", "U8", "[3]", "[4,7]") "," T("a", "F32", "[1]", "[0,4]") "}", 7, NULL},
        {"{" T("z", "U8", "[0,5]", "[4,4]") "," T("a", "F32", "[1]", "[0,4]") "}", 4, NULL},
        {"{\"__metadata__\":{\"k\":\"v\"}}", 0, NULL},
        {"", 0, "does not begin"},
        {" {}", 0, "does not begin"},
        {"[]", 0, "does not begin"},
        {"{", 0, "header:"},
        {"{}x", 0, "header:"},
        {"{\"a\":1}", 0, "needs exactly"},
        {"{\"a\":{}}", 0, "needs exactly"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":1}}", 0, "needs exactly"},
        {"{" T("a", "U8", "[1]", "[0,1,2]") "}", 1, "needs exactly"},
        {"{" T("a", "U8", "1", "[0,1]") "}", 1, "needs exactly"},
        {"{" T("a", "BF16", "[1]", "[0,2]") "}", 2, "dtype must be"},
        {"{" T("a", "U8", "[-1]", "[0,1]") "}", 1, "not a count"},
        {"{" T("a", "U8", "[1.0]", "[0,1]") "}", 1, "not a count"},
        {"{" T("a", "U8", "[[1]]", "[0,1]") "}", 1, "nested"},
        {"{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "more than 8"},
        {"{" T("a", "U8", "[99999999999999999999]", "[0,1]") "}", 1, "header:"},
        {"{" T("a", "F64", "[4611686018427387904,4]", "[0,0]") "}", 0, "overflows"},
        {"{" T("a", "U8", "[4294967296,4294967296]", "[0,0]") "}", 0, "overflows"},
        {"{" T("a", "U8", "[1]", "[1,0]") "}", 1, "not a range"},
        {"{" T("a", "U8", "[1]", "[-1,0]") "}", 1, "not a range"},
        {"{" T("a", "U8", "[9]", "[0,9]") "}", 8, "truncated"},
        {"{" T("a", "U8", "[9223372036854775807]", "[0,9223372036854775807]") "}", 8, "truncated"},
        {"{" T("a", "F32", "[2]", "[0,4]") "}", 4, "needs 8 bytes"},
        {"{" T("a", "U8", "[2]", "[1,3]") "}", 3, "hole"},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[1,3]") "}", 3, "overlap"},
        {"{" T("a", "U8", "[2]", "[0,2]") "," T("b", "U8", "[2]", "[0,2]") "}", 2, "overlap"},
        {"{" T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[1,2]") "}", 2, "duplicate"},
        {"{" T("a", "U8", "[1]", "[0,1]") "}", 2, "after the last tensor"},
        {"{\"__metadata__\":[]}", 0, "not an object"},
        {"{\"__metadata__\":{\"k\":1}}", 0, "not a string"},
        {"{\"a\":{\"b\":{\"c\":{}}}}", 0, "nested"},
        {"{\"a\\u0000b\":1}", 0, "header:"},
        {"{\"\xff\":1}", 0, "header:"},
        {"{\"line\\nbreak\":1}", 0, "needs exactly"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dqs_error error = {0};
        dqs_status status = parse_header(cases[i].header, cases[i].data_size, &error);
        if (status != (cases[i].phrase ? DQS_E_FORMAT : DQS_OK))
            fail_msg("%s: status %d, %s", cases[i].header, status, error.message);
        if (cases[i].phrase)
            assert_says(&error, cases[i].phrase);
    }
}

static void huge_headers_are_refused(void **state)
{
    (void)state;
    dqs_error error;
    struct safetensors file;
    static const uint64_t lengths[] = {3, 100000001, (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char bytes[10] = "........{}";
        memcpy(bytes, &lengths[i], 8);
        assert_int_equal(safetensors_parse(bytes, sizeof bytes, &file, &error), DQS_E_FORMAT);
        assert_says(&error, "header: claims");
    }
    /* More values than any file of ours has, in well-formed JSON. */
    size_t n = 1000000;
    char *many = malloc(3 * n + 10);
    strcpy(many, "{\"a\":[");
    size_t used = strlen(many);
    for (size_t i = 0; i < n; i++, used += 2)
        memcpy(many + used, "0,", 2);
    strcpy(many + used, "0]}");
    assert_int_equal(parse_header(many, 0, &error), DQS_E_FORMAT);
    assert_says(&error, "more than 65536");
    memset(many, '[', 3 * n);
    many[0] = '{';
    many[3 * n] = 0;
    assert_int_equal(parse_header(many, 0, &error), DQS_E_FORMAT);
    assert_says(&error, "nested");
    free(many);
}

/* ---------------------------------------------------------------- looking at a state */
static void hashes_see_every_array(void **state)
{
    (void)state;
    struct sample a = make_sample(), b = make_sample();
    uint64_t hash = checkpoint_hash(PARTS(a), CHECKPOINT_ALL);
    assert_true(hash == checkpoint_hash(PARTS(b), CHECKPOINT_ALL));
    unsigned char *bytes = (unsigned char *)&b;
    const struct {
        size_t offset, size;
    } fields[] = {{offsetof(struct sample, weights), sizeof b.weights},
                  {offsetof(struct sample, flags), 5},
                  {offsetof(struct sample, moments), sizeof b.moments},
                  {offsetof(struct sample, trace), 16},
                  {offsetof(struct sample, temperature), 8},
                  {offsetof(struct sample, step), 8},
                  {offsetof(struct sample, replay), sizeof b.replay}};
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
        for (size_t i = 0; i < fields[f].size; i++) {
            bytes[fields[f].offset + i] ^= 128;
            assert_true(hash != checkpoint_hash(PARTS(b), CHECKPOINT_ALL));
            bytes[fields[f].offset + i] ^= 128;
        }
    b.weights[0] = a.weights[1], b.weights[1] = a.weights[0];
    assert_true(hash != checkpoint_hash(PARTS(b), CHECKPOINT_ALL));
    b = a;
    for (int i = 0; i < 12; i++) /* signs of all: changes that must not cancel */
        b.weights[i] = -b.weights[i];
    assert_true(hash != checkpoint_hash(PARTS(b), CHECKPOINT_ALL));
    b = a;
    uint64_t policy = checkpoint_hash(PARTS(b), VISIT_POLICY);
    b.replay[0] = 5;
    assert_true(policy == checkpoint_hash(PARTS(b), VISIT_POLICY));
}

static void the_first_bad_number_is_found(void **state)
{
    (void)state;
    struct sample s = make_sample();
    char name[CHECKPOINT_NAME_SIZE] = "";
    size_t index = 99;
    assert_false(checkpoint_find_bad(PARTS(s), name, &index));
    s.replay[3] = NAN; /* experience is checked where it comes in */
    assert_false(checkpoint_find_bad(PARTS(s), name, &index));
    s.trace[1] = -INFINITY;
    assert_true(checkpoint_find_bad(PARTS(s), name, &index));
    assert_string_equal(name, "sample/trace");
    assert_int_equal(index, 1);
    s.moments[4] = -NAN;
    s.moments[3] = INFINITY;
    assert_true(checkpoint_find_bad(PARTS(s), name, &index));
    assert_string_equal(name, "sample/moments");
    assert_int_equal(index, 3);
}

static void parameters_are_counted(void **state)
{
    (void)state;
    struct sample s = make_sample();
    assert_int_equal(checkpoint_parameters(PARTS(s), VISIT_POLICY), 12);
    assert_int_equal(checkpoint_parameters(PARTS(s), CHECKPOINT_ALL), 12 + 5 + 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(the_file_is_laid_out_as_documented),
        cmocka_unit_test(kinds_choose),
        cmocka_unit_test(every_truncation_is_found),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(unreadable_is_said),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(other_shapes_are_refused),
        cmocka_unit_test(a_caller_who_names_wrongly_is_told),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(huge_headers_are_refused),
        cmocka_unit_test(hashes_see_every_array),
        cmocka_unit_test(the_first_bad_number_is_found),
        cmocka_unit_test(parameters_are_counted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
