#define _GNU_SOURCE /* dladdr */
#include "mujoco_api.h"
#include "build_info.h"
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- errors that must not return The handlers
 * are the library's, so they are one pair for the process; whom an error belongs to is per thread. */
struct catcher {
    jmp_buf place;
    char *message;
    size_t size;
};
static _Thread_local struct catcher *catching;
static _Thread_local char last_warning[200];
static void (*error_handler_before)(const char *);
static void (*warning_handler_before)(const char *);

static void one_line(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
    to[strcspn(to, "\n")] = '\0';
}

static void on_error(const char *text)
{
    if (!catching) { /* another user of the same library in this process */
        if (error_handler_before)
            error_handler_before(text);
        return;
    }
    one_line(catching->message, catching->size, text);
    longjmp(catching->place, 1);
}

static void on_warning(const char *text)
{
    if (!catching && warning_handler_before)
        warning_handler_before(text);
    else
        one_line(last_warning, sizeof last_warning, text);
}

bool mujoco_try(void (*action)(void *), void *argument, char *message, size_t size)
{
    struct catcher here, *outer = catching; /* not cleared: this is on the way of every step */
    here.message = message;
    here.size = size;
    message[0] = '\0';
    catching = &here;
    bool good = _setjmp(here.place) == 0;
    if (good)
        action(argument);
    catching = outer;
    return good;
}

const char *mujoco_warning(void)
{
    return last_warning;
}

/* ---------------------------------------------------------------- finding and loading the library */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct mujoco_api api;
static bool loaded;
static char problem[400];

/* The folder this code was loaded from: an installed libdqs finds MuJoCo beside itself. */
static void own_folder(char *folder, size_t size)
{
    Dl_info info;
    folder[0] = '\0';
    if (dladdr(&once, &info) && info.dli_fname && strrchr(info.dli_fname, '/'))
        snprintf(folder, size, "%.*s", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
}

static void *try_paths(void)
{
    char path[1200], folder[900];
    const char *chosen = getenv("MUJOCO_DIR");
    if (chosen && chosen[0]) { /* then no other one is meant */
        static const char *const below[] = {"/lib/" MUJOCO_FILE, "/" MUJOCO_FILE};
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "%s%s", chosen, below[i]);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library)
                return library;
        }
        return NULL;
    }
    own_folder(folder, sizeof folder);
    static const char *const beside[] = {"/dqs/" MUJOCO_FILE, "/../lib/dqs/" MUJOCO_FILE,
                                         "/../" MUJOCO_LIBDIR "/dqs/" MUJOCO_FILE};
    for (size_t i = 0; folder[0] && i < sizeof beside / sizeof *beside; i++) {
        snprintf(path, sizeof path, "%s%s", folder, beside[i]);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    void *library = dlopen(MUJOCO_PATH, RTLD_NOW | RTLD_LOCAL);
    return library ? library : dlopen(MUJOCO_FILE, RTLD_NOW | RTLD_LOCAL);
}

static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        snprintf(problem, sizeof problem,
                 "%s: has no function %s; is it another version? Type `make mujoco` for the right one",
                 MUJOCO_FILE, name);
    memcpy(function, &symbol, sizeof symbol); /* C has no cast from an object to a function pointer */
    return symbol != NULL;
}

static void load(void)
{
    const char *chosen = getenv("MUJOCO_DIR");
    void *library = try_paths();
    if (!library) {
        snprintf(
            problem, sizeof problem,
            "MuJoCo: cannot load %s%s%.150s; type `make mujoco` in the source folder, or set MUJOCO_DIR to a "
            "folder that has it",
            MUJOCO_FILE, chosen && chosen[0] ? " from MUJOCO_DIR=" : "", chosen && chosen[0] ? chosen : "");
        return;
    }
    bool good = true;
#define MUJOCO_FIND(name) good = good && find(library, #name, &api.name);
    MUJOCO_FUNCTIONS(MUJOCO_FIND)
#undef MUJOCO_FIND
#if mjVERSION_HEADER >= 300
    good = good && find(library, "mj_addBufferVFS", &api.mj_addBufferVFS);
#else
    good = good && find(library, "mj_makeEmptyFileVFS", &api.mj_makeEmptyFileVFS);
#endif
    void (**user_error)(const char *) = dlsym(library, "mju_user_error");
    void (**user_warning)(const char *) = dlsym(library, "mju_user_warning");
    if (good && api.mj_version() != mjVERSION_HEADER) {
        snprintf(
            problem, sizeof problem,
            "MuJoCo: the library is version %d, this program was built for %d; type `make mujoco`, or set "
            "MUJOCO_DIR to a folder that has " MUJOCO_FILE,
            api.mj_version(), mjVERSION_HEADER);
        good = false;
    }
    if (good && (!user_error || !user_warning)) {
        snprintf(problem, sizeof problem, "%s: has no error handlers; type `make mujoco` for the right one",
                 MUJOCO_FILE);
        good = false;
    }
    if (!good) {
        dlclose(library);
        return;
    }
    error_handler_before = *user_error;
    warning_handler_before = *user_warning;
    *user_error = on_error;
    *user_warning = on_warning;
    loaded = true;
}

const struct mujoco_api *mujoco_load(dqs_error *error)
{
    pthread_once(&once, load);
    if (!loaded)
        fail(error, DQS_E_UNSUPPORTED, "%s", problem);
    return loaded ? &api : NULL;
}

/* ---------------------------------------------------------------- a model from text */
struct compilation {
    const struct mujoco_api *mj;
    const char *text;
    mjModel *model;
    char why[300];
};

static void compile(void *argument)
{
    static const char file[] = "model.xml";
    struct compilation *c = argument;
    mjVFS *vfs = malloc(sizeof *vfs); /* 2.2.2's is too large for a stack */
    if (!vfs)
        return;
    c->mj->mj_defaultVFS(vfs);
    int length = (int)strlen(c->text);
#if mjVERSION_HEADER >= 300
    int bad = c->mj->mj_addBufferVFS(vfs, file, c->text, length);
#else
    int bad = c->mj->mj_makeEmptyFileVFS(vfs, file, length);
    if (!bad)
        memcpy(vfs->filedata[vfs->nfile - 1], c->text, (size_t)length);
#endif
    if (!bad)
        c->model = c->mj->mj_loadXML(file, vfs, c->why, (int)sizeof c->why);
    c->mj->mj_deleteVFS(vfs);
    free(vfs);
}

dqs_status mujoco_compile(const struct mujoco_api *mj, mjModel **model, const char *name, const char *text,
                          dqs_error *error)
{
    struct compilation c = {.mj = mj, .text = text};
    char message[200];
    bool quiet = mujoco_try(compile, &c, message, sizeof message);
    *model = c.model;
    if (quiet && c.model)
        return DQS_OK;
    char why[300];
    one_line(why, sizeof why, !quiet ? message : c.why[0] ? c.why : "out of memory");
    return fail(error, DQS_E_FORMAT, "model %s: MuJoCo " BUILD_MUJOCO " cannot compile it: %s", name, why);
}
