/* bench_update: one DQS update, timed beside the library products that it cannot do without. */
#ifndef BENCH_UPDATE_H
#define BENCH_UPDATE_H

#include "compute.h"

struct bench_result {
    double peak_gflops, update_ms, needed_ms, needed_gflop, act_p50_us, act_p99_us, normals_per_second;
};

/* settings: "key=value" on top of the preset. */
dqs_status bench_update(struct bench_result *result, const struct compute *compute, const char *preset,
                        const char *const *settings, int n_settings, int obs_dim, int act_dim, int repeats,
                        dqs_error *error);

#endif
