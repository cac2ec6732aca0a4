/* env_table: which environments there are, and how one that is not built in is loaded from a shared object.
 */
#include "dmc_types.h"
#include "env.h"
#include "gmm.h"
#include "gym.h"
#include "maze.h"
#include "pendulum.h"
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What env_unload lets go of: one of the two. */
struct loaded {
    void *library;
    struct gym *gym;
};

#define DMC_ROW(symbol, name, doc) &symbol##_type,
const dqs_env_type *const env_table[] = {&gmm_type, &maze_type, &maze_small_type, &pendulum_type,
                                         DMC_TYPES(DMC_ROW) NULL};

const char *env_family(const dqs_env_type *type)
{
    static const dqs_env_type *const control[] = {DMC_TYPES(DMC_ROW) NULL};
    for (int i = 0; control[i]; i++)
        if (type == control[i])
            return "control";
    return NULL;
}

static int plain(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static bool same_name(const char *a, const char *b)
{
    while (*a && plain(*a) == plain(*b))
        a++, b++;
    return *a == *b;
}

/* "dm_control/cheetah-run-v0", as Gymnasium's registry has it, is "cheetah-run". */
static const char *without_registry(char *plain_name, size_t size, const char *name)
{
    static const char prefix[] = "dm_control/", suffix[] = "-v0";
    size_t length = strlen(name);
    if (length >= size || strncmp(name, prefix, sizeof prefix - 1) != 0)
        return name;
    snprintf(plain_name, size, "%s", name + sizeof prefix - 1);
    length = strlen(plain_name);
    if (length > sizeof suffix - 1 && strcmp(plain_name + length - (sizeof suffix - 1), suffix) == 0)
        plain_name[length - (sizeof suffix - 1)] = '\0';
    return plain_name;
}

const dqs_env_type *env_find(const char *name)
{
    char plain_name[100];
    name = without_registry(plain_name, sizeof plain_name, name);
    for (int i = 0; env_table[i]; i++)
        if (same_name(name, env_table[i]->name))
            return env_table[i];
    return NULL;
}

dqs_status env_check_type(const dqs_env_type *type, dqs_error *error)
{
    if (!type)
        return fail(error, DQS_E_USAGE, "environment type: is NULL; hand over a filled dqs_env_type");
    /* A forgotten size field holds 0 or, with the fields shifted, a pointer: both are caught here before any
     * other field is believed. A larger struct comes from a later header, whose added fields are optional. */
    if (type->size < sizeof(dqs_env_type) || type->size > 64 * sizeof(dqs_env_type))
        return fail(
            error, DQS_E_USAGE,
            "environment type: its size field is %zu, not %zu; set .size = sizeof(dqs_env_type) and build "
            "against the dqs.h of this library",
            type->size, sizeof(dqs_env_type));
    if (!type->name || !type->name[0])
        return fail(error, DQS_E_USAGE, "environment type: has no name; set .name");
    const char *missing = !type->open    ? "open"
                          : !type->close ? "close"
                          : !type->reset ? "reset"
                          : !type->step  ? "step"
                                         : NULL;
    if (missing)
        return fail(error, DQS_E_USAGE,
                    "%s: the callback '%s' is NULL; open, close, reset and step are required", type->name,
                    missing);
    if (!type->get_state != !type->set_state)
        return fail(error, DQS_E_USAGE, "%s: has only one of get_state and set_state; give both or none",
                    type->name);
    return DQS_OK;
}

static bool is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

static dqs_status load_plugin(const dqs_env_type **type, void **handle, const char *path, dqs_error *error)
{
    char local[1024];
    /* Without a slash dlopen would search the system's library folders instead of the current one. */
    int length = snprintf(local, sizeof local, "%s%s", strchr(path, '/') ? "" : "./", path);
    if (length < 0 || (size_t)length >= sizeof local)
        return fail(error, DQS_E_IO, "%.60s...: the path of the plug-in is too long; use a shorter one",
                    path);
    void *library = dlopen(local, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(error, DQS_E_IO, "%s: cannot load the plug-in: %.250s", local, dlerror());
    const dqs_env_type *(*entry)(void);
    void *symbol = dlsym(library, "dqs_plugin");
    memcpy(&entry, &symbol, sizeof entry); /* C has no cast from an object to a function pointer */
    if (!symbol) {
        dlclose(library);
        return fail(error, DQS_E_FORMAT,
                    "%s: is not an environment plug-in; export `const dqs_env_type *dqs_plugin(void)`",
                    local);
    }
    const dqs_env_type *found = entry();
    dqs_error inner = {0};
    dqs_status status = env_check_type(found, &inner);
    if (status != DQS_OK) {
        dlclose(library);
        return fail(error, DQS_E_FORMAT, "%.150s: %.300s", local, inner.message);
    }
    *type = found;
    *handle = library;
    return DQS_OK;
}

/* Letters the two names share from their beginning. */
static int shared_start(const char *a, const char *b)
{
    int n = 0;
    while (a[n] && plain(a[n]) == plain(b[n]))
        n++;
    return n;
}

/* There are too many tasks for one line: the likeliest are named, the list has its own command. */
static dqs_status unknown(const char *name, dqs_error *error)
{
    char near[200] = "", plain_name[100];
    const char *bare = without_registry(plain_name, sizeof plain_name, name);
    int best = 2;
    for (int i = 0; env_table[i]; i++)
        if (shared_start(bare, env_table[i]->name) > best)
            best = shared_start(bare, env_table[i]->name);
    for (int i = 0; env_table[i]; i++) {
        size_t used = strlen(near);
        if (shared_start(bare, env_table[i]->name) == best)
            snprintf(near + used, sizeof near - used, "%s%s", used ? ", " : "", env_table[i]->name);
    }
    return fail(error, DQS_E_UNKNOWN,
                "environment '%.60s': there is none of that name; %s%s%stype `dqs envs` for the list, or "
                "give the path of a plug-in (./name.so) or an id of Gymnasium (gym:ID)",
                name, near[0] ? "near it: " : "", near, near[0] ? "; " : "");
}

static dqs_status load_foreign(const dqs_env_type **type, struct loaded *loaded, const char *name,
                               dqs_error *error)
{
    if (!gym_is_name(name))
        return load_plugin(type, &loaded->library, name, error);
    TRY(gym_create(&loaded->gym, name, error));
    *type = gym_type(loaded->gym);
    return DQS_OK;
}

dqs_status env_load(const dqs_env_type **type, void **handle, const char *name, dqs_error *error)
{
    *handle = NULL;
    *type = env_find(name);
    if (*type)
        return DQS_OK;
    if (!gym_is_name(name) && (!is_path(name) || strncmp(name, "dm_control/", 11) == 0))
        return unknown(name, error);
    struct loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return fail(error, DQS_E_MEMORY, "%.60s: out of memory", name);
    dqs_status status = load_foreign(type, loaded, name, error);
    if (status != DQS_OK) {
        free(loaded);
        *type = NULL;
        return status;
    }
    *handle = loaded;
    return DQS_OK;
}

void env_unload(void *handle)
{
    struct loaded *loaded = handle;
    if (!loaded)
        return;
    if (loaded->library)
        dlclose(loaded->library);
    gym_free(loaded->gym);
    free(loaded);
}
