/* pool: a job is open or closed, and workers count themselves in and out of it. The caller works too, closes
 * the job when no tile is left, and waits only for workers that are inside: a sleeper never holds it up.
 * `open` and `inside` are sequentially consistent, so a worker that enters is seen by the caller, or sees the
 * job closed and leaves; the next job is written down when the last one is closed and nobody is inside. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "pool.h"
#include "clock.h"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define SPIN_SECONDS 40e-6 /* about what sleeping and waking costs */
enum { SPINS_PER_LOOK = 64, LINE = 64 };

#define CLOSED UINT64_C(0)
#define STOP UINT64_MAX

struct worker {
    struct pool *pool;
    int index;
    pthread_t thread;
};

struct pool {
    int threads, started;
    bool crowded; /* more threads than processors: waiting gives the processor away */
    struct worker *workers;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    uint64_t jobs; /* so far */
    /* The job: written while it is closed and nobody is inside. */
    pool_fn *fn;
    void *context;
    int tiles;
    _Alignas(LINE) _Atomic uint64_t open; /* number of the open job, CLOSED or STOP */
    _Alignas(LINE) atomic_int next;       /* tile */
    _Alignas(LINE) atomic_int inside;     /* workers */
    _Alignas(LINE) atomic_int sleepers;
    atomic_int alive; /* workers that have begun to run */
};

static void breathe(const struct pool *pool)
{
    if (pool->crowded) {
        sched_yield();
        return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void work(struct pool *pool, int thread)
{
    int tile;
    while ((tile = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->tiles)
        pool->fn(pool->context, tile, thread);
}

static void sleep_unless_open(struct pool *pool, uint64_t seen)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    uint64_t job = atomic_load(&pool->open);
    /* Once, not in a loop: if this job is over when the worker wakes, the next one is likely close. */
    if (job == CLOSED || job == seen)
        pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static uint64_t await_job(struct pool *pool, uint64_t seen)
{
    for (;;) {
        double until = clock_seconds() + SPIN_SECONDS;
        do {
            for (int i = 0; i < SPINS_PER_LOOK; i++) {
                uint64_t job = atomic_load_explicit(&pool->open, memory_order_acquire);
                if (job != CLOSED && job != seen)
                    return job;
                breathe(pool);
            }
        } while (clock_seconds() < until);
        sleep_unless_open(pool, seen);
    }
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    uint64_t seen = CLOSED;
    atomic_fetch_add(&pool->alive, 1);
    while (await_job(pool, seen) != STOP) {
        atomic_fetch_add(&pool->inside, 1);
        uint64_t job = atomic_load(&pool->open); /* may have closed, or be the next one, by now */
        if (job != CLOSED && job != STOP) {
            work(pool, worker->index);
            seen = job;
        }
        atomic_fetch_sub(&pool->inside, 1);
    }
    return NULL;
}

static void announce(struct pool *pool, uint64_t job)
{
    atomic_store(&pool->open, job);
    if (atomic_load(&pool->sleepers) == 0)
        return;
    /* Through the mutex, so that a worker between its look at `open` and its sleep is not missed. */
    pthread_mutex_lock(&pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
}

static bool more_than_processors(int threads)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && threads > CPU_COUNT(&set);
}

struct pool *pool_create(int threads)
{
    assert(threads >= 1);
    struct pool *pool = aligned_alloc(LINE, sizeof *pool);
    if (!pool)
        return NULL;
    *pool = (struct pool){.threads = threads, .crowded = more_than_processors(threads)};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    /* Signals are the program's business: workers inherit a mask that leaves them to its own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool failed = !pool->workers;
    for (int i = 1; i < threads && !failed; i++) {
        struct worker *worker = &pool->workers[i];
        *worker = (struct worker){.pool = pool, .index = i};
        failed = pthread_create(&worker->thread, NULL, worker_main, worker) != 0;
        pool->started += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* What starting a thread costs, memory too, is paid here and not in the middle of a run. */
    while (atomic_load(&pool->alive) < pool->started)
        sched_yield();
    if (failed) {
        pool_free(pool);
        return NULL;
    }
    return pool;
}

int pool_threads(const struct pool *pool)
{
    return pool->threads;
}

void pool_run(struct pool *pool, int tiles, pool_fn *fn, void *context)
{
    if (pool->threads == 1 || tiles <= 1) {
        for (int tile = 0; tile < tiles; tile++)
            fn(context, tile, 0);
        return;
    }
    assert(atomic_load(&pool->open) == CLOSED); /* a tile must not start a job */
    pool->fn = fn;
    pool->context = context;
    pool->tiles = tiles;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    announce(pool, ++pool->jobs);
    work(pool, 0);
    atomic_store(&pool->open, CLOSED);
    for (int spins = 0; atomic_load(&pool->inside) != 0; spins++) {
        if (spins < 1000)
            breathe(pool);
        else /* a worker has lost its processor, perhaps to this very thread */
            sched_yield();
    }
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    announce(pool, STOP);
    for (int i = 1; i <= pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->workers);
    free(pool);
}
