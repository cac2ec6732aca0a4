/* checkpoint: each function is one visitor over the list of parts. */
#include "checkpoint.h"

#include <stdio.h>
#include <string.h>

static void walk_parts(void *object, struct visitor *visitor)
{
    for (const struct checkpoint_part *part = object; part->visit; part++)
        part->visit(part->object, visitor);
}

static void walk(const struct checkpoint_part *parts, struct visitor *visitor)
{
    walk_parts((void *)parts, visitor);
}

static size_t count_elements(int rank, const size_t *shape)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

dqs_status checkpoint_save(const char *path, const struct checkpoint_part *parts, int kinds,
                           const struct safetensors_pair *metadata, dqs_error *error)
{
    return safetensors_write(path, metadata, kinds, walk_parts, (void *)parts, error);
}

/* ---------------------------------------------------------------- loading */
struct loading {
    const struct safetensors *file;
    const char *path;
    int kinds;
    dqs_status status;
    dqs_error *error;
};

/* "[3, 4]" */
static void format_shape(char *text, size_t size, int rank, const size_t *shape)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, i ? ", %zu" : "%zu", shape[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

static void check_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type,
                         int rank, const size_t *shape, void *data)
{
    struct loading *l = context;
    (void)data;
    if (!(kind & l->kinds) || l->status != DQS_OK)
        return;
    const struct safetensors_tensor *t = safetensors_find(l->file, name);
    if (!t) {
        l->status =
            fail(l->error, DQS_E_MISMATCH,
                 "%s: has no tensor '%s'; it belongs to another algorithm or configuration", l->path, name);
    } else if (t->type != type || t->rank != rank || memcmp(t->shape, shape, (size_t)rank * sizeof *shape)) {
        char theirs[100], ours[100];
        format_shape(theirs, sizeof theirs, t->rank, t->shape);
        format_shape(ours, sizeof ours, rank, shape);
        l->status =
            fail(l->error, DQS_E_MISMATCH, "%s: tensor '%s' is %s %s where this configuration needs %s %s",
                 l->path, name, safetensors_type_name(t->type), theirs, safetensors_type_name(type), ours);
    }
}

static void copy_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct loading *l = context;
    if (!(kind & l->kinds))
        return;
    const struct safetensors_tensor *t = safetensors_find(l->file, name);
    size_t bytes = count_elements(rank, shape) * visit_type_size(type);
    if (!t || t->bytes !=
                  bytes) { /* a visit that changes its list while it is loaded: a bug, but never an overrun */
        l->status = fail(l->error, DQS_E_MISMATCH, "%s: tensor '%s' changed its shape during the load",
                         l->path, name);
        return;
    }
    if (bytes)
        memcpy(data, t->data, bytes);
}

dqs_status checkpoint_restore(const struct safetensors *file, const char *path,
                              const struct checkpoint_part *parts, int kinds, dqs_error *error)
{
    struct loading l = {file, path, kinds, DQS_OK, error};
    walk(parts, &(struct visitor){.tensor = check_tensor, .context = &l});
    if (l.status == DQS_OK)
        walk(parts, &(struct visitor){.tensor = copy_tensor, .context = &l});
    return l.status;
}

dqs_status checkpoint_load(const char *path, const struct checkpoint_part *parts, int kinds, dqs_error *error)
{
    struct safetensors file;
    TRY(safetensors_open(path, &file, error));
    dqs_status status = checkpoint_restore(&file, path, parts, kinds, error);
    safetensors_close(&file);
    return status;
}

/* ---------------------------------------------------------------- looking */
struct hashing {
    int kinds;
    uint64_t hash;
};

/* FNV-1a over 64-bit words, with a shift so that high bits reach the low ones. */
static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const char *bytes = data;
    uint64_t word;
    hash = hash_word(hash, size);
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = hash_word(hash, word);
    }
    word = 0;
    if (size)
        memcpy(&word, bytes, size);
    return hash_word(hash, word);
}

static void hash_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct hashing *h = context;
    if (!(kind & h->kinds))
        return;
    h->hash = hash_bytes(h->hash, name, strlen(name));
    h->hash = hash_word(h->hash, (uint64_t)type);
    h->hash = hash_bytes(h->hash, shape, (size_t)rank * sizeof *shape);
    h->hash = hash_bytes(h->hash, data, count_elements(rank, shape) * visit_type_size(type));
}

uint64_t checkpoint_hash(const struct checkpoint_part *parts, int kinds)
{
    struct hashing h = {kinds, 0xcbf29ce484222325u};
    walk(parts, &(struct visitor){.tensor = hash_tensor, .context = &h});
    return h.hash;
}

struct hunting {
    bool found;
    char *name;
    size_t *index;
};

/* The exponent's bits decide, whatever the compiler believes about NaN. First a loop without an exit, which
 * vectorises: nearly always there is nothing to find. */
static bool find_bad_f32(const uint32_t *bits, size_t n, size_t *index)
{
    const uint32_t exponent = 0x7f800000u;
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= (bits[i] & exponent) == exponent;
    for (*index = 0; bad && (bits[*index] & exponent) != exponent;)
        ++*index;
    return bad;
}

static bool find_bad_f64(const uint64_t *bits, size_t n, size_t *index)
{
    const uint64_t exponent = 0x7ff0000000000000u;
    uint64_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= (bits[i] & exponent) == exponent;
    for (*index = 0; bad && (bits[*index] & exponent) != exponent;)
        ++*index;
    return bad;
}

static void hunt_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct hunting *h = context;
    size_t n = count_elements(rank, shape);
    if (h->found || !(kind & (VISIT_POLICY | VISIT_LEARN)))
        return;
    h->found = (type == VISIT_F32 && find_bad_f32(data, n, h->index)) ||
               (type == VISIT_F64 && find_bad_f64(data, n, h->index));
    if (h->found)
        snprintf(h->name, CHECKPOINT_NAME_SIZE, "%s", name);
}

bool checkpoint_find_bad(const struct checkpoint_part *parts, char name[CHECKPOINT_NAME_SIZE], size_t *index)
{
    struct hunting h = {false, name, index};
    walk(parts, &(struct visitor){.tensor = hunt_tensor, .context = &h});
    return h.found;
}

struct counting {
    int kinds;
    size_t count;
};

static void count_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type,
                         int rank, const size_t *shape, void *data)
{
    struct counting *c = context;
    (void)name, (void)data;
    if (kind & c->kinds && type == VISIT_F32)
        c->count += count_elements(rank, shape);
}

size_t checkpoint_parameters(const struct checkpoint_part *parts, int kinds)
{
    struct counting c = {kinds, 0};
    walk(parts, &(struct visitor){.tensor = count_tensor, .context = &c});
    return c.count;
}
