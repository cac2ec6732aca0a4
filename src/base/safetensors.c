/* safetensors: the writer lists the arrays first, then streams them; the parser takes every byte for hostile.
 */
#include "safetensors.h"
#include "file.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the format is little-endian and data are copied as they are");
_Static_assert(sizeof(size_t) == 8, "file sizes are counted in size_t");

static const char checksum_name[] = "checksum", padding_name[] = "padding", metadata_name[] = "__metadata__";

static const struct {
    enum visit_type type;
    const char *name;
} type_names[] = {{VISIT_F32, "F32"}, {VISIT_F64, "F64"}, {VISIT_I64, "I64"}, {VISIT_U8, "U8"}};
enum { TYPES = sizeof type_names / sizeof type_names[0] };

const char *safetensors_type_name(enum visit_type type)
{
    for (int i = 0; i < TYPES; i++)
        if (type_names[i].type == type)
            return type_names[i].name;
    return "?";
}

/* Bytes of an array; false if they do not fit a size_t. */
static bool count_bytes(size_t *bytes, enum visit_type type, int rank, const size_t *shape)
{
    *bytes = visit_type_size(type);
    bool fits = true, empty = false;
    for (int i = 0; i < rank; i++) {
        empty |= shape[i] == 0;
        fits = fits && !__builtin_mul_overflow(*bytes, shape[i], bytes);
    }
    if (empty)
        *bytes = 0;
    return fits || empty;
}

/* ---------------------------------------------------------------- writing */
enum { NAME_SIZE = 161 };

struct entry {
    char name[NAME_SIZE];
    enum visit_type type;
    int rank;
    size_t shape[SAFETENSORS_MAX_RANK];
    size_t bytes, offset;
};

struct writing {
    int kinds;
    struct entry *entries;
    size_t count, capacity;
    const char *fault; /* what the walk did wrong, about the entry `fault_name` */
    char fault_name[NAME_SIZE];
    struct file_writer file;
    uint32_t crc;
    size_t element;  /* while streaming: only arrays with elements of this size */
    size_t position; /* while streaming: the next entry to expect */
};

static void set_fault(struct writing *w, const char *name, const char *fault)
{
    if (w->fault)
        return;
    w->fault = fault;
    strncpy(w->fault_name, name, sizeof w->fault_name - 1);
}

static struct entry *new_entry(struct writing *w)
{
    if (w->count == w->capacity) {
        size_t capacity = w->capacity ? 2 * w->capacity : 64;
        struct entry *entries = realloc(w->entries, capacity * sizeof *entries);
        if (!entries)
            return NULL;
        w->entries = entries;
        w->capacity = capacity;
    }
    struct entry *entry = &w->entries[w->count++];
    memset(entry, 0, sizeof *entry);
    return entry;
}

static void add_entry(struct writing *w, const char *name, enum visit_type type, int rank,
                      const size_t *shape)
{
    if (strlen(name) >= sizeof w->entries->name || rank > SAFETENSORS_MAX_RANK)
        return set_fault(w, name, "the name is too long or the rank too high");
    struct entry *entry = new_entry(w);
    if (!entry)
        return set_fault(w, name, "out of memory");
    strcpy(entry->name, name);
    entry->type = type;
    entry->rank = rank;
    for (int i = 0; i < rank; i++)
        entry->shape[i] = shape[i];
    if (!count_bytes(&entry->bytes, type, rank, shape))
        set_fault(w, name, "the array is too big");
}

static void list_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct writing *w = context;
    (void)data;
    if (!(kind & w->kinds))
        return;
    if (!strcmp(name, checksum_name) || !strcmp(name, padding_name) || !strcmp(name, metadata_name))
        set_fault(w, name, "the name is reserved");
    add_entry(w, name, type, rank, shape);
}

static void put(struct writing *w, const void *data, size_t size)
{
    w->crc = file_crc32(w->crc, data, size);
    file_put(&w->file, data, size);
}

static void stream_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type,
                          int rank, const size_t *shape, void *data)
{
    struct writing *w = context;
    if (!(kind & w->kinds) || visit_type_size(type) != w->element)
        return;
    size_t bytes;
    const struct entry *entry = w->position < w->count ? &w->entries[w->position++] : NULL;
    if (!entry || strcmp(entry->name, name) || entry->type != type ||
        !count_bytes(&bytes, type, rank, shape) || bytes != entry->bytes)
        return set_fault(w, name, "the list of arrays changed while it was written");
    if (bytes)
        put(w, data, bytes);
}

/* Wide elements first, in the walk's order among equals: so all are aligned in the file, as some readers
 * need. The walk comes by in the same order, once per size. */
static const size_t element_sizes[] = {8, 4, 1};
enum { ELEMENT_SIZES = sizeof element_sizes / sizeof element_sizes[0] };

static void order_entries(struct writing *w)
{
    struct entry *ordered = malloc((w->count + 1) * sizeof *ordered);
    if (!ordered)
        return set_fault(w, "", "out of memory");
    size_t n = 0;
    for (int s = 0; s < ELEMENT_SIZES; s++)
        for (size_t i = 0; i < w->count; i++)
            if (visit_type_size(w->entries[i].type) == element_sizes[s])
                ordered[n++] = w->entries[i];
    free(w->entries);
    w->entries = ordered;
    w->capacity = w->count + 1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_duplicate(struct writing *w)
{
    const char **names = malloc((w->count + 1) * sizeof *names);
    if (!names)
        return set_fault(w, "", "out of memory");
    for (size_t i = 0; i < w->count; i++)
        names[i] = w->entries[i].name;
    qsort(names, w->count, sizeof *names, compare_names);
    for (size_t i = 1; i < w->count; i++)
        if (!strcmp(names[i - 1], names[i]))
            set_fault(w, names[i], "the name is used twice");
    free(names);
}

/* Offsets, then the padding that aligns the checksum, then the checksum. */
static void place_entries(struct writing *w)
{
    size_t offset = 0;
    for (size_t i = 0; i < w->count; i++) {
        w->entries[i].offset = offset;
        offset += w->entries[i].bytes;
    }
    size_t padding = (8 - offset % 8) % 8;
    if (padding)
        add_entry(w, padding_name, VISIT_U8, 1, &padding);
    add_entry(w, checksum_name, VISIT_I64, 1, &(size_t){1});
    if (w->fault)
        return;
    if (padding)
        w->entries[w->count - 2].offset = offset;
    w->entries[w->count - 1].offset = offset + padding;
}

/* Invalid UTF-8 must not get into the header, which could then not be read back: such text is replaced, byte
 * by byte. */
static json_t *clean_text(const char *text)
{
    json_t *value = json_stringn(text, strlen(text));
    if (value)
        return value;
    char *copy = strdup(text);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c >= 128)
            *c = '?';
    value = copy ? json_stringn(copy, strlen(copy)) : NULL;
    free(copy);
    return value;
}

/* json_pack and json_stringn rather than json_integer and json_string: base/json.h has its own of these
 * names. */
static json_t *describe_entry(const struct entry *e)
{
    json_t *shape = json_array();
    for (int i = 0; i < e->rank; i++)
        json_array_append_new(shape, json_pack("I", (json_int_t)e->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_type_name(e->type), "shape", shape,
                     "data_offsets", (json_int_t)e->offset, (json_int_t)(e->offset + e->bytes));
}

/* The header's text, malloc'd; sets a fault and gives NULL if it cannot be made. */
static char *make_header(struct writing *w, const struct safetensors_pair *metadata)
{
    json_t *header = json_object();
    if (metadata && metadata->key) {
        json_t *pairs = json_object();
        for (; metadata->key; metadata++)
            if (json_object_set_new(pairs, metadata->key, clean_text(metadata->value)))
                set_fault(w, metadata->key, "the metadata key is not UTF-8");
        json_object_set_new(header, metadata_name, pairs);
    }
    for (const struct entry *e = w->entries; e < w->entries + w->count; e++)
        if (json_object_set_new(header, e->name, describe_entry(e)))
            set_fault(w, e->name, "the name is not UTF-8");
    char *text = w->fault ? NULL : json_dumps(header, JSON_COMPACT);
    if (!text)
        set_fault(w, "", "out of memory");
    json_decref(header);
    return text;
}

static void put_header(struct writing *w, const char *text)
{
    uint64_t size = strlen(text), padded = (size + 7) / 8 * 8;
    put(w, &padded, sizeof padded);
    put(w, text, size);
    put(w, "       ", padded - size);
}

static void put_data(struct writing *w, safetensors_walk *walk, void *object)
{
    for (int s = 0; s < ELEMENT_SIZES; s++) {
        w->element = element_sizes[s];
        walk(object, &(struct visitor){.tensor = stream_tensor, .context = w});
    }
    if (w->position < w->count && !strcmp(w->entries[w->position].name, padding_name))
        put(w, "\0\0\0\0\0\0\0", w->entries[w->position++].bytes);
    if (w->position + 1 != w->count)
        set_fault(w, "", "the list of arrays changed while it was written");
    int64_t checksum = w->crc;
    put(w, &checksum, sizeof checksum);
}

static dqs_status write_fault(const struct writing *w, const char *path, dqs_error *error)
{
    bool memory = !strcmp(w->fault, "out of memory");
    return fail(error, memory ? DQS_E_MEMORY : DQS_E_USAGE, "%s: cannot write tensor '%s': %s", path,
                w->fault_name, w->fault);
}

static dqs_status write_file(struct writing *w, const char *path, const char *header, safetensors_walk *walk,
                             void *object, dqs_error *error)
{
    TRY(file_begin(&w->file, path, error));
    put_header(w, header);
    put_data(w, walk, object);
    if (!w->fault)
        return file_commit(&w->file, error);
    file_abandon(&w->file);
    return write_fault(w, path, error);
}

dqs_status safetensors_write(const char *path, const struct safetensors_pair *metadata, int kinds,
                             safetensors_walk *walk, void *object, dqs_error *error)
{
    struct writing w = {.kinds = kinds};
    walk(object, &(struct visitor){.tensor = list_tensor, .context = &w});
    order_entries(&w);
    find_duplicate(&w);
    place_entries(&w);
    char *header = w.fault ? NULL : make_header(&w, metadata);
    dqs_status status =
        header ? write_file(&w, path, header, walk, object, error) : write_fault(&w, path, error);
    free(header);
    free(w.entries);
    return status;
}

/* ---------------------------------------------------------------- reading */
/* Bounds what the JSON reader will have to allocate, before it allocates: nesting, and the number of values.
 */
static dqs_status survey_header(const char *text, size_t size, dqs_error *error)
{
    size_t depth = 0, objects = 0, commas = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else
                quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        objects += c == '{';
        commas += c == ',';
        if (c == '{' || c == '[')
            depth++;
        if ((c == '}' || c == ']') && depth > 0)
            depth--;
        if (depth > 3)
            return fail(error, DQS_E_FORMAT, "header: nested too deeply at byte %zu; not a safetensors file",
                        i);
    }
    const size_t most = SAFETENSORS_MAX_TENSORS;
    if (objects > most + 2 || commas > most * (4 + SAFETENSORS_MAX_RANK))
        return fail(error, DQS_E_FORMAT, "header: more than %zu tensors; not a file of this program", most);
    return DQS_OK;
}

static dqs_status load_header(struct safetensors *file, size_t *data_start, dqs_error *error)
{
    uint64_t length;
    if (file->size < sizeof length)
        return fail(error, DQS_E_FORMAT, "only %zu bytes: truncated or not a safetensors file", file->size);
    memcpy(&length, file->data, sizeof length);
    if (length > SAFETENSORS_MAX_HEADER)
        return fail(error, DQS_E_FORMAT, "header: claims %llu bytes, more than %u; not a safetensors file",
                    (unsigned long long)length, SAFETENSORS_MAX_HEADER);
    if (length > file->size - sizeof length)
        return fail(error, DQS_E_FORMAT, "header: claims %llu bytes where the file has %zu: truncated",
                    (unsigned long long)length, file->size - sizeof length);
    const char *text = file->data + sizeof length;
    if (length == 0 || text[0] != '{')
        return fail(error, DQS_E_FORMAT, "header: does not begin with '{'; not a safetensors file");
    TRY(survey_header(text, length, error));
    json_error_t fault;
    file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
    if (!file->header)
        return fail(error, DQS_E_FORMAT, "header: %s at byte %d", fault.text, fault.position);
    *data_start = sizeof length + length;
    return DQS_OK;
}

static dqs_status read_metadata(struct safetensors *file, const json_t *object, dqs_error *error)
{
    if (!json_is_object(object))
        return fail(error, DQS_E_FORMAT, "header: __metadata__ is not an object");
    size_t n = json_object_size(object);
    file->metadata = calloc(n + 1, sizeof *file->metadata);
    if (!file->metadata)
        return fail(error, DQS_E_MEMORY, "header: out of memory for %zu metadata", n);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_string(value))
            return fail(error, DQS_E_FORMAT, "header: metadata '%.60s' is not a string", key);
        file->metadata[file->n_metadata++] = (struct safetensors_pair){key, json_string_value(value)};
    }
    return DQS_OK;
}

static bool read_count(size_t *out, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

static bool read_type(enum visit_type *type, const json_t *value)
{
    for (int i = 0; json_is_string(value) && i < TYPES; i++)
        if (!strcmp(type_names[i].name, json_string_value(value))) {
            *type = type_names[i].type;
            return true;
        }
    return false;
}

static dqs_status read_tensor(struct safetensors_tensor *t, const char *name, const json_t *object,
                              const char *data, size_t data_size, dqs_error *error)
{
    const json_t *dtype = json_object_get(object, "dtype"), *shape = json_object_get(object, "shape");
    const json_t *offsets = json_object_get(object, "data_offsets");
    t->name = name;
    if (!dtype || !json_is_array(shape) || !json_is_array(offsets) || json_array_size(offsets) != 2 ||
        json_object_size(object) != 3)
        return fail(error, DQS_E_FORMAT, "tensor '%.80s': needs exactly dtype, shape and two data_offsets",
                    name);
    if (!read_type(&t->type, dtype))
        return fail(error, DQS_E_FORMAT, "tensor '%.80s': dtype must be F32, F64, I64 or U8, not '%.20s'",
                    name, json_is_string(dtype) ? json_string_value(dtype) : "?");
    if (json_array_size(shape) > SAFETENSORS_MAX_RANK)
        return fail(error, DQS_E_FORMAT, "tensor '%.80s': more than %d dimensions", name,
                    SAFETENSORS_MAX_RANK);
    t->rank = (int)json_array_size(shape);
    for (int i = 0; i < t->rank; i++)
        if (!read_count(&t->shape[i], json_array_get(shape, (size_t)i)))
            return fail(error, DQS_E_FORMAT, "tensor '%.80s': dimension %d is not a count", name, i);
    size_t begin, end;
    if (!count_bytes(&t->bytes, t->type, t->rank, t->shape))
        return fail(error, DQS_E_FORMAT, "tensor '%.80s': its shape overflows", name);
    if (!read_count(&begin, json_array_get(offsets, 0)) || !read_count(&end, json_array_get(offsets, 1)) ||
        begin > end)
        return fail(error, DQS_E_FORMAT, "tensor '%.80s': data_offsets are not a range", name);
    if (end > data_size)
        return fail(error, DQS_E_FORMAT, "tensor '%.80s': its data end at byte %zu of %zu: truncated", name,
                    end, data_size);
    if (end - begin != t->bytes)
        return fail(error, DQS_E_FORMAT, "tensor '%.80s': its shape needs %zu bytes, data_offsets give %zu",
                    name, t->bytes, end - begin);
    t->data = data + begin;
    return DQS_OK;
}

static int compare_places(const void *a, const void *b)
{
    const struct safetensors_tensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* empty ones before the one that starts there */
}

static dqs_status check_cover(struct safetensors *file, const char *data, dqs_error *error)
{
    if (file->n_tensors)
        qsort(file->tensors, file->n_tensors, sizeof *file->tensors, compare_places);
    const char *covered = data;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const struct safetensors_tensor *t = &file->tensors[i];
        if (t->data != covered)
            return fail(error, DQS_E_FORMAT, "tensor '%.80s': its data %s", t->name,
                        t->data < covered ? "overlap another tensor's" : "follow a hole");
        covered += t->bytes;
    }
    size_t left = (size_t)(file->data + file->size - covered);
    if (left)
        return fail(error, DQS_E_FORMAT, "%zu bytes after the last tensor", left);
    return DQS_OK;
}

static dqs_status parse(struct safetensors *file, dqs_error *error)
{
    size_t start;
    TRY(load_header(file, &start, error));
    if (!json_is_object(file->header))
        return fail(error, DQS_E_FORMAT, "header: not an object");
    file->tensors = calloc(json_object_size(file->header) + 1, sizeof *file->tensors);
    if (!file->tensors)
        return fail(error, DQS_E_MEMORY, "header: out of memory for %zu tensors",
                    json_object_size(file->header));
    const char *name, *data = file->data + start;
    json_t *value;
    json_object_foreach(file->header, name, value)
    {
        if (!strcmp(name, metadata_name)) {
            TRY(read_metadata(file, value, error));
            continue;
        }
        TRY(read_tensor(&file->tensors[file->n_tensors], name, value, data, file->size - start, error));
        file->n_tensors++;
    }
    return check_cover(file, data, error);
}

dqs_status safetensors_parse(const char *data, size_t size, struct safetensors *out, dqs_error *error)
{
    *out = (struct safetensors){.data = data, .size = size};
    dqs_status status = parse(out, error);
    if (status != DQS_OK)
        safetensors_close(out);
    return status;
}

dqs_status safetensors_verify(const struct safetensors *file, dqs_error *error)
{
    const struct safetensors_tensor *last = file->n_tensors ? &file->tensors[file->n_tensors - 1] : NULL;
    if (!last || strcmp(last->name, checksum_name) || last->type != VISIT_I64 || last->rank != 1 ||
        last->shape[0] != 1)
        return fail(error, DQS_E_FORMAT,
                    "the last tensor is not 'checksum', I64 [1]: damaged, or not a file of this program");
    int64_t stored;
    memcpy(&stored, last->data, sizeof stored);
    uint32_t found = file_crc32(0, file->data, (size_t)(last->data - file->data));
    if (stored != (int64_t)found)
        return fail(error, DQS_E_FORMAT,
                    "checksum is %08x where the file says %08llx: damaged; use an older copy",
                    (unsigned)found, (unsigned long long)stored);
    return DQS_OK;
}

dqs_status safetensors_open(const char *path, struct safetensors *out, dqs_error *error)
{
    char *data;
    size_t size;
    *out = (struct safetensors){0};
    TRY(file_read(path, &data, &size, error));
    dqs_error inner = {0};
    dqs_status status = safetensors_parse(data, size, out, &inner);
    if (status == DQS_OK)
        status = safetensors_verify(out, &inner);
    if (status != DQS_OK) {
        safetensors_close(out);
        free(data);
        return fail(error, status, "%s: %s", path, inner.message);
    }
    out->owned = data;
    return DQS_OK;
}

void safetensors_close(struct safetensors *file)
{
    json_decref(file->header);
    free(file->tensors);
    free(file->metadata);
    free(file->owned);
    *file = (struct safetensors){0};
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

const char *safetensors_metadata(const struct safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->n_metadata; i++)
        if (!strcmp(file->metadata[i].key, key))
            return file->metadata[i].value;
    return NULL;
}
