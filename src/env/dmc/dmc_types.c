/* dmc_types: the suite's tasks as environments. The same list serves a build without MuJoCo, where each of
 * them says what is missing. */
#include "dmc_types.h"
#include "status.h"

#ifdef HAVE_MUJOCO
#include "dmc.h"

#define DMC_DEFINE(symbol, title, about)                                    \
    static const struct dmc_entry symbol##_entry = {title, &symbol##_task}; \
    const dqs_env_type symbol##_type = {.size = sizeof(dqs_env_type),       \
                                        .name = title,                      \
                                        .doc = about,                       \
                                        .user = (void *)&symbol##_entry,    \
                                        .open = dmc_open,                   \
                                        .close = dmc_close,                 \
                                        .reset = dmc_reset,                 \
                                        .step = dmc_step,                   \
                                        .get_state = dmc_get_state,         \
                                        .set_state = dmc_set_state};
#else
static dqs_status absent_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    (void)self, (void)spec, (void)options;
    return fail(error, DQS_E_UNSUPPORTED,
                "%s: needs MuJoCo, and this program was built without it; type `make mujoco`, then `make`",
                (const char *)user);
}

static void absent_close(void *self)
{
    (void)self;
}

static dqs_status absent_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    (void)self, (void)seed, (void)obs;
    return fail(error, DQS_E_UNSUPPORTED, "MuJoCo is not in this build");
}

static dqs_status absent_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                              dqs_error *error)
{
    (void)self, (void)action, (void)obs, (void)outcome;
    return fail(error, DQS_E_UNSUPPORTED, "MuJoCo is not in this build");
}

#define DMC_DEFINE(symbol, title, about)                              \
    const dqs_env_type symbol##_type = {.size = sizeof(dqs_env_type), \
                                        .name = title,                \
                                        .doc = about,                 \
                                        .user = (void *)title,        \
                                        .open = absent_open,          \
                                        .close = absent_close,        \
                                        .reset = absent_reset,        \
                                        .step = absent_step};
#endif

DMC_TYPES(DMC_DEFINE)
