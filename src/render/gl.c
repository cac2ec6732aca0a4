/* gl: the few names of EGL and OSMesa that an off-screen context needs are declared here, so that building
 * needs no headers of theirs. MuJoCo finds the functions of OpenGL through whichever of the two libraries
 * is loaded, which is why one that did not work is unloaded before the other is tried. */
#include "gl.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef void gl_function(void);
typedef gl_function *gl_lookup(const char *name);

struct gl {
    const struct gl_backend *backend;
    void *library;
    void *display, *surface, *context; /* EGL; OSMesa uses the last alone */
    char pixels[16 * 16 * 4];          /* of the window OSMesa insists on; nothing is drawn there */
};

struct gl_backend {
    const char *name, *word, *packages; /* word: in MUJOCO_GL */
    const char *libraries[2];
    bool (*start)(struct gl *gl);
    void (*stop)(struct gl *gl);
};

/* dlsym gives an object pointer, which C does not cast to a function pointer. */
static gl_function *find(const struct gl *gl, const char *name)
{
    void *symbol = dlsym(gl->library, name);
    gl_function *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* ---------------------------------------------------------------- EGL */
enum {
    EGL_NONE = 0x3038,
    EGL_ALPHA_SIZE = 0x3021,
    EGL_BLUE_SIZE,
    EGL_GREEN_SIZE,
    EGL_RED_SIZE,
    EGL_DEPTH_SIZE,
    EGL_STENCIL_SIZE,
    EGL_SURFACE_TYPE = 0x3033,
    EGL_PBUFFER_BIT = 1,
    EGL_RENDERABLE_TYPE = 0x3040,
    EGL_OPENGL_BIT = 8,
    EGL_EXTENSIONS = 0x3055,
    EGL_HEIGHT = 0x3056,
    EGL_WIDTH = 0x3057,
    EGL_OPENGL_API = 0x30A2,
    EGL_PLATFORM_DEVICE = 0x313F,
    EGL_PLATFORM_SURFACELESS = 0x31DD
};

enum { MOST_DEVICES = 32 };

#define EGL_FUNCTIONS(X)                                                              \
    X(GetProcAddress, gl_function *, (const char *))                                  \
    X(GetDisplay, void *, (void *))                                                   \
    X(Initialize, unsigned, (void *, int32_t *, int32_t *))                           \
    X(Terminate, unsigned, (void *))                                                  \
    X(BindAPI, unsigned, (unsigned))                                                  \
    X(ChooseConfig, unsigned, (void *, const int32_t *, void **, int32_t, int32_t *)) \
    X(CreatePbufferSurface, void *, (void *, void *, const int32_t *))                \
    X(CreateContext, void *, (void *, void *, void *, const int32_t *))               \
    X(MakeCurrent, unsigned, (void *, void *, void *, void *))                        \
    X(DestroyContext, unsigned, (void *, void *))                                     \
    X(DestroySurface, unsigned, (void *, void *))

struct egl {
#define EGL_FIELD(name, type, arguments) type(*name) arguments;
    EGL_FUNCTIONS(EGL_FIELD)
#undef EGL_FIELD
    /* extensions: any of them may be missing */
    void *(*GetPlatformDisplay)(unsigned, void *, const int32_t *);
    unsigned (*QueryDevices)(int32_t, void **, int32_t *);
    const char *(*QueryDeviceString)(void *, int32_t);
};

static bool egl_find(struct egl *egl, const struct gl *gl)
{
#define EGL_FIND(name, type, arguments)                          \
    if (!(egl->name = (type(*) arguments)find(gl, "egl" #name))) \
        return false;
    EGL_FUNCTIONS(EGL_FIND)
#undef EGL_FIND
    egl->GetPlatformDisplay =
        (void *(*)(unsigned, void *, const int32_t *))egl->GetProcAddress("eglGetPlatformDisplayEXT");
    egl->QueryDevices = (unsigned (*)(int32_t, void **, int32_t *))egl->GetProcAddress("eglQueryDevicesEXT");
    egl->QueryDeviceString = (const char *(*)(void *, int32_t))egl->GetProcAddress("eglQueryDeviceStringEXT");
    return true;
}

static bool egl_make_context(struct gl *gl, const struct egl *egl)
{
    /* clang-format off */
    static const int32_t wanted[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                     EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8, EGL_ALPHA_SIZE, 8,
                                     EGL_DEPTH_SIZE, 24, EGL_STENCIL_SIZE, 8, EGL_NONE};
    /* clang-format on */
    static const int32_t window[] = {EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE};
    void *config = NULL;
    int32_t count = 0;
    if (!egl->BindAPI(EGL_OPENGL_API) || !egl->ChooseConfig(gl->display, wanted, &config, 1, &count) ||
        !count)
        return false;
    gl->surface = egl->CreatePbufferSurface(gl->display, config, window);
    gl->context = egl->CreateContext(gl->display, config, NULL, NULL);
    return gl->surface && gl->context && egl->MakeCurrent(gl->display, gl->surface, gl->surface, gl->context);
}

static void egl_drop(struct gl *gl, const struct egl *egl)
{
    if (!gl->display)
        return;
    egl->MakeCurrent(gl->display, NULL, NULL, NULL);
    if (gl->context)
        egl->DestroyContext(gl->display, gl->context);
    if (gl->surface)
        egl->DestroySurface(gl->display, gl->surface);
    egl->Terminate(gl->display);
    gl->display = gl->surface = gl->context = NULL;
}

static bool egl_try(struct gl *gl, const struct egl *egl, void *display)
{
    gl->display = display;
    if (!display)
        return false;
    if (egl->Initialize(display, NULL, NULL) && egl_make_context(gl, egl))
        return true;
    egl_drop(gl, egl);
    return false;
}

/* A graphics card first; then Mesa without a screen, which also draws on the processor; then what the
 * system thinks best. */
static bool egl_start(struct gl *gl)
{
    struct egl egl = {0};
    void *devices[MOST_DEVICES];
    int32_t count = 0;
    if (!egl_find(&egl, gl))
        return false;
    if (egl.GetPlatformDisplay && egl.QueryDevices && egl.QueryDevices(MOST_DEVICES, devices, &count))
        for (int i = 0; i < count; i++) {
            const char *traits =
                egl.QueryDeviceString ? egl.QueryDeviceString(devices[i], EGL_EXTENSIONS) : NULL;
            if (traits && strstr(traits, "EGL_MESA_device_software"))
                continue;
            if (egl_try(gl, &egl, egl.GetPlatformDisplay(EGL_PLATFORM_DEVICE, devices[i], NULL)))
                return true;
        }
    if (egl.GetPlatformDisplay &&
        egl_try(gl, &egl, egl.GetPlatformDisplay(EGL_PLATFORM_SURFACELESS, NULL, NULL)))
        return true;
    return egl_try(gl, &egl, egl.GetDisplay(NULL));
}

static void egl_stop(struct gl *gl)
{
    struct egl egl = {0};
    if (egl_find(&egl, gl))
        egl_drop(gl, &egl);
}

/* ---------------------------------------------------------------- OSMesa */
enum { GL_RGBA = 0x1908, GL_UNSIGNED_BYTE = 0x1401 };

static void osmesa_stop(struct gl *gl)
{
    void (*destroy)(void *) = (void (*)(void *))find(gl, "OSMesaDestroyContext");
    if (destroy && gl->context)
        destroy(gl->context);
    gl->context = NULL;
}

static bool osmesa_start(struct gl *gl)
{
    void *(*create)(unsigned, int, int, int, void *) =
        (void *(*)(unsigned, int, int, int, void *))find(gl, "OSMesaCreateContextExt");
    unsigned char (*make_current)(void *, void *, unsigned, int, int) =
        (unsigned char (*)(void *, void *, unsigned, int, int))find(gl, "OSMesaMakeCurrent");
    if (!create || !make_current)
        return false;
    gl->context = create(GL_RGBA, 24, 8, 0, NULL);
    if (gl->context && make_current(gl->context, gl->pixels, GL_UNSIGNED_BYTE, 16, 16))
        return true;
    osmesa_stop(gl);
    return false;
}

/* ---------------------------------------------------------------- either */
static const struct gl_backend backends[] = {
    {"EGL", "egl", "libegl1 libgl1-mesa-dri", {"libEGL.so.1"}, egl_start, egl_stop},
    {"OSMesa", "osmesa", "libosmesa6", {"libOSMesa.so.8", "libOSMesa.so.6"}, osmesa_start, osmesa_stop},
};
enum { BACKENDS = sizeof backends / sizeof *backends };

static bool start(struct gl *gl, const struct gl_backend *backend)
{
    gl->backend = backend;
    for (int i = 0; i < 2 && backend->libraries[i]; i++) {
        /* Global: then MuJoCo finds the functions whichever way a version of it looks for them. */
        gl->library = dlopen(backend->libraries[i], RTLD_NOW | RTLD_GLOBAL);
        if (!gl->library)
            continue;
        if (backend->start(gl))
            return true;
        dlclose(gl->library);
        gl->library = NULL;
    }
    return false;
}

static dqs_status no_context(const char *forced, dqs_error *error)
{
    for (int i = 0; i < BACKENDS; i++)
        if (forced && !strcasecmp(forced, backends[i].word))
            return fail(
                error, DQS_E_UNSUPPORTED,
                "MUJOCO_GL=%s: no off-screen picture by %s on this machine; try: apt-get install %s, or "
                "leave MUJOCO_GL out",
                forced, backends[i].name, backends[i].packages);
    if (forced)
        return fail(error, DQS_E_OPTION,
                    "MUJOCO_GL=%.60s: is not known here; set it to egl or osmesa, or leave it out", forced);
    return fail(
        error, DQS_E_UNSUPPORTED,
        "OpenGL: neither EGL nor OSMesa can draw off-screen here; try: apt-get install %s, or: apt-get "
        "install %s",
        backends[0].packages, backends[1].packages);
}

dqs_status gl_open(struct gl **out, dqs_error *error)
{
    const char *forced = getenv("MUJOCO_GL");
    struct gl *gl = calloc(1, sizeof *gl);
    *out = NULL;
    if (!gl)
        return fail(error, DQS_E_MEMORY, "OpenGL: out of memory");
    if (forced && !*forced)
        forced = NULL;
    setenv("EGL_LOG_LEVEL", "fatal", 0); /* what goes wrong is told by our one line, not by Mesa's many */
    for (int i = 0; i < BACKENDS; i++)
        if ((!forced || !strcasecmp(forced, backends[i].word)) && start(gl, &backends[i])) {
            *out = gl;
            return DQS_OK;
        }
    free(gl);
    return no_context(forced, error);
}

const char *gl_name(const struct gl *gl)
{
    return gl->backend->name;
}

void gl_close(struct gl *gl)
{
    if (!gl)
        return;
    gl->backend->stop(gl);
    free(gl); /* the library stays: MuJoCo remembers where it found its functions */
}
