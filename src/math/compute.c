/* compute: choosing kernels for this machine, and starting the workers. */
#include "compute.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Our tiles are the parallelism; a BLAS with threads of its own would fight them and change the order of
 * sums. The symbol is OpenBLAS's and absent in others. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

static bool runs(const struct kernels *kernels)
{
#if defined(HAVE_KERNELS_AVX512)
    if (kernels == &kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
#if defined(HAVE_KERNELS_AVX2)
    if (kernels == &kernels_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return kernels != NULL;
}

/* Widest first. */
static const struct kernels *const known[] = {
#if defined(HAVE_KERNELS_AVX512)
    &kernels_avx512,
#endif
#if defined(HAVE_KERNELS_AVX2)
    &kernels_avx2,
#endif
    &kernels_generic,
    &kernels_ref,
};

dqs_status kernels_select(const struct kernels **kernels, const char *name, dqs_error *error)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (runs(known[i]) && (strcmp(name, "auto") == 0 || strcmp(name, known[i]->name) == 0)) {
            *kernels = known[i];
            return DQS_OK;
        }
    char list[100] = "auto";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (runs(known[i])) {
            strcat(list, ", ");
            strcat(list, known[i]->name);
        }
    return fail(error, DQS_E_OPTION, "kernels=%s: not known or not for this processor; choose one of %s",
                name, list);
}

dqs_status compute_create(struct compute **out, int threads, const char *kernels, dqs_error *error)
{
    const struct kernels *chosen;
    *out = NULL;
    TRY(kernels_select(&chosen, kernels, error));
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    if (threads <= 0)
        threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    threads = threads > 0 ? threads : 1;
    struct compute *compute = calloc(1, sizeof *compute);
    struct pool *pool = pool_create(threads);
    if (!compute || !pool) {
        free(compute);
        pool_free(pool);
        return fail(error, DQS_E_MEMORY, "threads=%d: could not be started; try a smaller number", threads);
    }
    compute->k = chosen;
    compute->pool = pool;
    *out = compute;
    return DQS_OK;
}

void compute_free(struct compute *compute)
{
    if (!compute)
        return;
    pool_free(compute->pool);
    free(compute);
}
