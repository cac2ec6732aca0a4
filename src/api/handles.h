/* handles: what the opaque types of dqs.h are inside. The public names are never defined: a handle is the
 * inner struct under another name, and these two lines per type are the only place that knows. */
#ifndef API_HANDLES_H
#define API_HANDLES_H

#include "config.h"
#include "policy.h"
#include "run.h"
#include "safetensors.h"

static inline struct config *config_inside(const dqs_config *config)
{
    return (struct config *)config;
}
static inline struct run *run_inside(const dqs_run *run)
{
    return (struct run *)run;
}
static inline struct deployed *policy_inside(const dqs_policy *policy)
{
    return (struct deployed *)policy;
}

/* A whole number in low .. high among the metadata of a file that holds a policy (api_policy.c). */
dqs_status metadata_number(const struct safetensors *file, const char *path, const char *key, int low,
                           int high, int *out, dqs_error *error);

/* A NULL where something is needed is the caller's bug, told without a crash. */
#define NEED(thing, error)                                                         \
    do {                                                                           \
        if (!(thing))                                                              \
            return fail((error), DQS_E_USAGE, "%s: %s is NULL", __func__, #thing); \
    } while (0)

#endif
