/* test_env_help: what the two test programs of the environments share. */
#ifndef TEST_ENV_HELP_H
#define TEST_ENV_HELP_H

#include "env.h"
#include "rng.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", value, tolerance, expected);
}

static inline void assert_says(const dqs_error *error, const char *part)
{
    if (!strstr(error->message, part))
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
    assert_null(strchr(error->message, '\n'));
}

static inline struct env_batch *batch_of(struct arena *arena, const char *name, const char *options, int n,
                                         struct pool *pool)
{
    struct env_batch *batch = NULL;
    dqs_error error = {0};
    const dqs_env_type *type = env_find(name);
    assert_non_null(type);
    if (env_batch_create(&batch, arena, type, options, n, 11, pool, &error) != DQS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(env_batch_reset(batch, &error), DQS_OK);
    return batch;
}

static inline void random_actions(float *action, int count, struct rng *rng)
{
    for (int i = 0; i < count; i++)
        action[i] = (float)(2.0 * rng_uniform(rng) - 1.0);
}

#endif
