/* Tests of src/base: status, clock, arena, rng, pool, log, visit. Oracles from outside: the known answers of
 * Random123, moments of distributions. test_base_file.c and test_base_text.c hold the rest of the room. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "arena.h"
#include "clock.h"
#include "log.h"
#include "pool.h"
#include "rng.h"
#include "status.h"
#include "visit.h"
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h> /* last: its macro fail() would spoil the declaration of ours */

/* ---------------------------------------------------------------- status, clock, arena */

static void status_fills_one_line(void **state)
{
    (void)state;
    dqs_error error = {DQS_OK, "old"};
    assert_int_equal((fail)(&error, DQS_E_IO, "%s: bad\nthing %d", "a", 7), DQS_E_IO);
    assert_int_equal(error.status, DQS_E_IO);
    assert_string_equal(error.message, "a: bad thing 7");
    /* context around the message that is already there */
    (fail)(&error, DQS_E_FORMAT, "outer: %s", error.message);
    assert_string_equal(error.message, "outer: a: bad thing 7");
    assert_int_equal((fail)(NULL, DQS_E_MEMORY, "nobody listens"), DQS_E_MEMORY);
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    (fail)(&error, DQS_E_IO, "%s", longer);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

static void status_has_texts(void **state)
{
    (void)state;
    assert_string_equal(dqs_strerror(DQS_OK), "success");
    assert_string_equal(dqs_strerror(DQS_STOPPED), "stopped on request; the state is saved");
    assert_string_equal(dqs_strerror((dqs_status)999), "unknown status");
}

static void clock_runs(void **state)
{
    (void)state;
    double before = clock_seconds();
    nanosleep(&(struct timespec){0, 2000000}, NULL);
    assert_true(clock_seconds() - before >= 0.002);
    char stamp[24];
    clock_stamp(stamp, sizeof stamp);
    struct tm utc = {0};
    const char *end = strptime(stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
    assert_non_null(end);
    assert_int_equal(*end, 0);
    assert_true(labs((long)(timegm(&utc) - time(NULL))) <= 2);
}

static void arena_pieces_are_zeroed_aligned_apart(void **state)
{
    (void)state;
    struct arena arena = {0};
    enum { PIECES = 600 };
    unsigned char *piece[PIECES];
    size_t size[PIECES], sum = 0;
    for (int i = 0; i < PIECES; i++) {
        size[i] = i % 100 == 99 ? 3000000 : (size_t)(i * 37 % 9001);
        sum += size[i];
        piece[i] = arena_take(&arena, size[i]);
        assert_int_equal((uintptr_t)piece[i] % 64, 0);
        for (size_t k = 0; k < size[i]; k++)
            if (piece[i][k])
                fail_msg("byte %zu of piece %d is not zero", k, i);
        memset(piece[i], i % 255 + 1, size[i]);
    }
    for (int i = 0; i < PIECES; i++) /* no piece was written by a later one */
        for (size_t k = 0; k < size[i]; k++)
            if (piece[i][k] != i % 255 + 1)
                fail_msg("byte %zu of piece %d was overwritten", k, i);
    assert_true(arena.used >= sum && arena.used <= sum + PIECES * 64);
    double *numbers = arena_new(&arena, double, 5);
    assert_true(numbers[4] == 0);
    arena_free(&arena);
    assert_null(arena.chunks);
    assert_int_equal(arena.used, 0);
    arena_free(&arena);
}

static void arena_out_of_memory_aborts(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        struct arena arena = {0};
        arena_take(&arena, SIZE_MAX - 10); /* must not come back, least of all with a wrapped size */
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---------------------------------------------------------------- rng */

static void rng_known_answers(void **state)
{
    (void)state;
    /* Random123, kat_vectors: philox4x32 10 */
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        const uint32_t *c = known[i].counter;
        struct rng rng = {{known[i].key[0], known[i].key[1]}, 0};
        uint32_t out[4];
        rng_block(&rng, (uint64_t)c[3] << 32 | c[2], (uint64_t)c[1] << 32 | c[0], out);
        assert_memory_equal(out, known[i].answer, sizeof out);
    }
}

static void rng_streams_differ_and_repeat(void **state)
{
    (void)state;
    uint64_t seen[13 * 20];
    int n = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int purpose = RNG_INIT; purpose <= RNG_CORRECTOR; purpose++) {
            struct rng rng;
            rng_seed(&rng, seed, (enum rng_purpose)purpose);
            assert_int_equal(rng.ticket, 0);
            seen[n++] = (uint64_t)rng.key[1] << 32 | rng.key[0];
            for (int i = 0; i < n - 1; i++)
                assert_true(seen[i] != seen[n - 1]);
        }
    struct rng a, b;
    rng_seed(&a, 5, RNG_ACT);
    for (int i = 0; i < 10; i++)
        rng_normal(&a);
    b = a; /* a generator is its key and one number */
    assert_int_equal(b.ticket, 10);
    assert_int_equal(rng_word64(&a), rng_word64(&b));
    uint32_t block[4];
    rng_block(&a, a.ticket, 0, block);
    assert_int_equal(rng_word(&a), block[0]);
}

static void rng_moments(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct rng rng;
    rng_seed(&rng, 1, RNG_TEST);
    double u1 = 0, u2 = 0, n1 = 0, n2 = 0, n4 = 0;
    for (int i = 0; i < N; i++) {
        double u = rng_uniform(&rng), z = rng_normal(&rng);
        assert_true(u > 0 && u < 1);
        u1 += u / N;
        u2 += u * u / N;
        n1 += z / N;
        n2 += z * z / N;
        n4 += z * z * z * z / N;
    }
    assert_int_equal(rng.ticket, 2 * N);
    /* within 5 standard errors */
    double root = sqrt(N);
    assert_true(fabs(u1 - 1.0 / 2) < 5 * sqrt(1.0 / 12) / root);
    assert_true(fabs(u2 - 1.0 / 3) < 5 * sqrt(4.0 / 45) / root);
    assert_true(fabs(n1) < 5 / root);
    assert_true(fabs(n2 - 1) < 5 * sqrt(2.0) / root);
    assert_true(fabs(n4 - 3) < 5 * sqrt(96.0) / root);
}

static void rng_below_is_even(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 2, RNG_TEST);
    enum { N = 70000 };
    int count[7] = {0};
    for (int i = 0; i < N; i++)
        count[rng_below(&rng, 7)]++;
    double chi2 = 0;
    for (int i = 0; i < 7; i++)
        chi2 += (count[i] - N / 7.0) * (count[i] - N / 7.0) / (N / 7.0);
    assert_true(chi2 < 22.5); /* 6 degrees of freedom, p = 0.001 */
    assert_int_equal(rng_below(&rng, 1), 0);
    /* n = 3 * 2^30 rejects a quarter of all words; without that, multiples of 3 would come twice as often */
    uint32_t n = 3u << 30;
    int third[3] = {0};
    uint64_t tickets = rng.ticket;
    for (int i = 0; i < 30000; i++) {
        uint32_t x = rng_below(&rng, n);
        assert_true(x < n);
        third[x % 3]++;
    }
    assert_int_equal(rng.ticket, tickets + 30000);
    for (int i = 0; i < 3; i++)
        assert_true(abs(third[i] - 10000) < 5 * 82);
}

/* ---------------------------------------------------------------- pool */

struct job {
    double result[1000];
    int calls[1000];
    long per_thread[8][16]; /* lines apart */
    int threads;
};

static void job_tile(void *context, int tile, int thread)
{
    struct job *job = context;
    if (thread < 0 || thread >= job->threads)
        abort();
    double x = tile;
    for (int i = 0; i < 200; i++)
        x = sin(x) + tile;
    job->result[tile] = x;
    job->calls[tile]++;
    job->per_thread[thread][0]++; /* races, for the thread sanitizer, if two workers share a number */
}

static void pool_same_results_at_any_width(void **state)
{
    (void)state;
    static struct job jobs[5];
    memset(jobs, 0, sizeof jobs);
    for (int threads = 1; threads <= 4; threads++) {
        struct pool *pool = pool_create(threads);
        assert_non_null(pool);
        assert_int_equal(pool_threads(pool), threads);
        struct job *job = &jobs[threads];
        job->threads = threads;
        for (int repeat = 0; repeat < 5; repeat++) {
            pool_run(pool, 1000, job_tile, job);
            if (repeat == 2)
                nanosleep(&(struct timespec){0, 3000000}, NULL); /* the workers fall asleep */
        }
        pool_run(pool, 0, job_tile, job);
        pool_free(pool);
        long calls = 0;
        for (int i = 0; i < 8; i++)
            calls += job->per_thread[i][0];
        assert_int_equal(calls, 5000);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(job->calls[i], 5);
        assert_memory_equal(job->result, jobs[1].result, sizeof job->result);
    }
    pool_free(NULL);
}

static void add_tile(void *context, int tile, int thread)
{
    (void)thread;
    long *sums = context;
    sums[8 * tile] += tile + 1;
}

/* Each job reads what the last one wrote: a lost tile, a tile run twice or a missing barrier shows. */
static void pool_many_small_jobs(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        struct pool *pool = pool_create(threads);
        long sums[8 * 7] = {0};
        int jobs = 20000;
        for (int i = 0; i < jobs; i++)
            pool_run(pool, 1 + i % 7, add_tile, sums);
        for (int tile = 0; tile < 7; tile++) {
            long runs = 0;
            for (int i = 0; i < jobs; i++)
                runs += i % 7 >= tile;
            assert_int_equal(sums[8 * tile], runs * (tile + 1));
        }
        pool_free(pool);
    }
}

static void pool_makes_and_ends_quickly(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct pool *pool = pool_create(1 + i % 3);
        long sums[8 * 3] = {0};
        if (i % 2)
            pool_run(pool, 3, add_tile, sums);
        pool_free(pool);
    }
}

/* ---------------------------------------------------------------- log, visit */

static void log_means(void **state)
{
    (void)state;
    static struct log_sink sink;
    assert_true(isnan(log_mean(&sink, "a")));
    log_add(&sink, "a", 1);
    char copy[] = "a"; /* equal by its letters */
    log_add(&sink, copy, 4);
    log_set(&sink, "b", 1);
    log_set(&sink, "b", 7);
    assert_int_equal(sink.count, 2);
    assert_true(log_mean(&sink, "a") == 2.5);
    assert_true(log_mean(&sink, "b") == 7);
    log_clear(&sink);
    assert_true(isnan(log_mean(&sink, "a")));
    log_add(NULL, "a", 1);
    log_set(NULL, "a", 1);
}

struct seen {
    int count;
    char names[8][161];
    enum visit_type types[8];
    enum visit_kind kinds[8];
    int ranks[8];
    size_t shapes[8][2];
    void *data[8];
};

static void see(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                const size_t *shape, void *data)
{
    struct seen *seen = context;
    int i = seen->count++;
    snprintf(seen->names[i], sizeof seen->names[i], "%s", name);
    seen->kinds[i] = kind;
    seen->types[i] = type;
    seen->ranks[i] = rank;
    memcpy(seen->shapes[i], shape, sizeof(size_t) * (size_t)rank);
    seen->data[i] = data;
}

static void visit_names_everything(void **state)
{
    (void)state;
    static struct seen seen;
    struct visitor v = {see, &seen, "dqs/"};
    float weights[6];
    long steps = 3;
    double level = 0.5;
    int mark = visit_enter(&v, "critic0/");
    visit_matrix(&v, "w", VISIT_POLICY, VISIT_F32, weights, 2, 3);
    int inner = visit_enter(&v, "adam/");
    visit_vector(&v, "m", VISIT_LEARN, VISIT_F32, weights, 6);
    visit_leave(&v, inner);
    visit_leave(&v, mark);
    visit_long(&v, "steps", VISIT_LEARN, &steps);
    visit_double(&v, "level", VISIT_REPLAY, &level);
    assert_string_equal(v.prefix, "dqs/");
    static const char *const names[] = {"dqs/critic0/w", "dqs/critic0/adam/m", "dqs/steps", "dqs/level"};
    assert_int_equal(seen.count, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(seen.names[i], names[i]);
    assert_true(seen.ranks[0] == 2 && seen.shapes[0][0] == 2 && seen.shapes[0][1] == 3);
    assert_true(seen.ranks[1] == 1 && seen.shapes[1][0] == 6 && seen.kinds[1] == VISIT_LEARN);
    assert_true(seen.types[2] == VISIT_I64 && seen.shapes[2][0] == 1 && seen.data[2] == &steps);
    assert_true(seen.types[3] == VISIT_F64 && seen.kinds[3] == VISIT_REPLAY && seen.data[3] == &level);
    assert_int_equal(visit_type_size(VISIT_F32), 4);
    assert_int_equal(visit_type_size(VISIT_F64), 8);
    assert_int_equal(visit_type_size(VISIT_I64), 8);
    assert_int_equal(visit_type_size(VISIT_U8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_fills_one_line),
        cmocka_unit_test(status_has_texts),
        cmocka_unit_test(clock_runs),
        cmocka_unit_test(arena_pieces_are_zeroed_aligned_apart),
        cmocka_unit_test(arena_out_of_memory_aborts),
        cmocka_unit_test(rng_known_answers),
        cmocka_unit_test(rng_streams_differ_and_repeat),
        cmocka_unit_test(rng_moments),
        cmocka_unit_test(rng_below_is_even),
        cmocka_unit_test(pool_same_results_at_any_width),
        cmocka_unit_test(pool_many_small_jobs),
        cmocka_unit_test(pool_makes_and_ends_quickly),
        cmocka_unit_test(log_means),
        cmocka_unit_test(visit_names_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
