/* mujoco_api: MuJoCo's library, loaded at run time. The program starts and its own tasks work where the
 * library is missing; what is compiled in is only the layout of MuJoCo's structs, so the library must be of
 * the headers' version. MuJoCo reports trouble by calling a handler that must not return: mujoco_try catches
 * that. */
#ifndef ENV_DMC_MUJOCO_API_H
#define ENV_DMC_MUJOCO_API_H

#include "status.h"
#include <mujoco/mujoco.h>
#include <stdbool.h>

#define MUJOCO_FUNCTIONS(X) \
    X(mj_version)           \
    X(mj_loadXML)           \
    X(mj_deleteModel)       \
    X(mj_makeData)          \
    X(mj_deleteData)        \
    X(mj_resetData)         \
    X(mj_forward)           \
    X(mj_step)              \
    X(mj_step1)             \
    X(mj_step2)             \
    X(mj_name2id)           \
    X(mj_saveModel)         \
    X(mj_defaultVFS)        \
    X(mj_deleteVFS)         \
    X(mjv_defaultCamera)    \
    X(mjv_defaultOption)    \
    X(mjv_defaultScene)     \
    X(mjv_makeScene)        \
    X(mjv_freeScene)        \
    X(mjv_updateScene)      \
    X(mjr_defaultContext)   \
    X(mjr_makeContext)      \
    X(mjr_freeContext)      \
    X(mjr_setBuffer)        \
    X(mjr_render)           \
    X(mjr_readPixels)

struct mujoco_api {
#define MUJOCO_FIELD(name) __typeof__(&name) name;
    MUJOCO_FUNCTIONS(MUJOCO_FIELD)
#undef MUJOCO_FIELD
#if mjVERSION_HEADER >= 300
    __typeof__(&mj_addBufferVFS) mj_addBufferVFS;
#else
    __typeof__(&mj_makeEmptyFileVFS) mj_makeEmptyFileVFS;
#endif
};

/* The library, loaded by the first call and kept until the process ends; NULL, with the reason and what to
 * type, if it is missing or of another version. Any thread. */
const struct mujoco_api *mujoco_load(dqs_error *error);

/* Runs action(argument); false if MuJoCo raised an error meanwhile, which is then in `message` (one line).
 * Warnings are kept quiet: MuJoCo counts them in mjData, and mujoco_warning has the text of the thread's last
 * one. */
bool mujoco_try(void (*action)(void *), void *argument, char *message, size_t size);
const char *mujoco_warning(void);

/* Compiles MJCF text into a model the caller deletes. */
dqs_status mujoco_compile(const struct mujoco_api *mj, mjModel **model, const char *name, const char *text,
                          dqs_error *error);

#endif
