/* bench: what `dqs bench` measures. Times are the best of several repeats; compare ratios of one run. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "compute.h"
#include "dqs_options.h"
#include "phase.h"

#define BENCH_SETS 16
#define BENCH_WIDTHS 16 /* most thread counts in a scaling table */

struct bench_choice {
    int threads, obs_dim, act_dim, repeats;
    const char *preset, *kernels, *set[BENCH_SETS]; /* set: "key=value" on top of the preset */
    int sets;
    const char *only, *fixture; /* only: one part of the whole; NULL: all */
    bool json, save;
};

/* One thread's ceilings. Matrix products are 256 wide and deep, the best of 256, 1024 and 2048 rows. */
struct bench_peak {
    const char *instructions; /* that the FMA loop used */
    double fma_gflops;        /* multiply-adds on registers alone */
    double sgemm_gflops;      /* the library's SGEMM */
    double product_gflops;    /* our product on packed weights */
    /* K = 1000 samples of a state through a two-layer ReLU critic, far apart so that no unit is folded:
     * values, their weighted gradient. */
    double cloud_gflops, pull_gflops;
    double normals_per_second;
};

struct bench_phase {
    const char *name;
    double ms, gflop; /* gflop: of the matrix products alone */
};

struct bench_update {
    double ms, gflop;
    double library_ms; /* of its matrix products alone, by the library's SGEMM on one thread */
    int n_phases, n_widths;
    struct bench_phase phases[PHASE_CAPACITY]; /* at the chosen number of threads */
    struct {
        int threads;
        double ms;
    } widths[BENCH_WIDTHS]; /* from one thread to the chosen number */
};

struct bench_acting {
    int rows, steps; /* steps: the N of the sampler */
    double p50_us, p99_us;
};
#define BENCH_ACTINGS 4

/* A training on cheetah-run, ms per environment step, beside what its parts take on their own. */
struct bench_training {
    bool there;
    double loop_ms, act_ms, env_ms, observe_ms, update_ms;
    char absent[200]; /* why it is not there */
};

struct bench {
    struct bench_peak peak;
    struct bench_update update;
    struct bench_acting acting[BENCH_ACTINGS];
    struct bench_training training;
};

/* A learner of the chosen preset and size, its replay filled with random transitions. */
struct bench_learner {
    struct compute *compute;
    struct arena arena;
    struct dqs_options options;
    const struct algo *algo;
    void *self;
};

dqs_status bench_options(struct dqs_options *o, const struct bench_choice *choice, dqs_error *error);
/* o, if not NULL, instead of the choice's own. */
dqs_status bench_learner_create(struct bench_learner *l, const struct bench_choice *choice,
                                const struct dqs_options *o, int threads, bool act_only, dqs_error *error);
void bench_learner_free(struct bench_learner *l);
bool bench_is_heavy(const struct dqs_options *o); /* an update takes longer than a second */

dqs_status bench_peak(struct bench_peak *peak, const struct bench_choice *choice, dqs_error *error);
dqs_status bench_update(struct bench_update *update, const struct bench_choice *choice, dqs_error *error);
dqs_status bench_acting(struct bench_acting acting[BENCH_ACTINGS], const struct bench_choice *choice,
                        dqs_error *error);
dqs_status bench_training(struct bench_training *training, const struct bench_choice *choice,
                          dqs_error *error);
/* before.safetensors and after.safetensors: everything a learner knows on either side of one update. */
dqs_status bench_fixture(const struct bench_choice *choice, dqs_error *error);

/* The matrix products an update needs, phase by phase: C [rows x columns] = A B, A B^T or A^T B. */
#define BENCH_PRODUCTS 64
enum bench_product { BENCH_NN, BENCH_NT, BENCH_TN };
struct bench_products {
    int count;
    struct bench_product_row {
        const char *phase;
        enum bench_product kind;
        int rows, columns, inner, times;
    } rows[BENCH_PRODUCTS];
    float *a, *b, *c; /* room to do them */
};

void bench_products_list(struct bench_products *p, const struct dqs_options *o, int features, int act_dim);
double bench_products_gflop(const struct bench_products *p, const char *phase);
void bench_products_prepare(struct bench_products *p, struct arena *arena);
void bench_products_run(const struct bench_products *p); /* by the library's SGEMM, on one thread */

void bench_print(const struct bench *b, const struct bench_choice *choice, const char *kernels);
/* malloc'd */
char *bench_json(const struct bench *b, const struct bench_choice *choice, const char *kernels);
dqs_status bench_save(const char *json, const struct bench_choice *choice, char path[1024], dqs_error *error);

#endif
