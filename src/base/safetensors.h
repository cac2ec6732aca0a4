/* safetensors: named arrays in one file that other programs can read too. Every file written here ends with
 * the tensor `checksum`, the CRC-32 of all bytes before it, so that a flipped bit anywhere is found.
 * docs/formats.md has the layout. */
#ifndef BASE_SAFETENSORS_H
#define BASE_SAFETENSORS_H

#include "status.h"
#include "visit.h"

#define SAFETENSORS_MAX_RANK 8
#define SAFETENSORS_MAX_TENSORS 65536     /* also the most metadata pairs */
#define SAFETENSORS_MAX_HEADER 100000000u /* bytes, as in the format's own reader */

struct safetensors_pair {
    const char *key, *value;
};

/* Names the arrays to write. It is called several times for one file and must name the same arrays every
 * time; the data are only used during its calls, so it may hand out a local variable. */
typedef void safetensors_walk(void *object, struct visitor *visitor);

/* Streams the arrays of the given kinds (a mask of enum visit_kind) to `path`, which is replaced in one step
 * or not at all. `metadata` ends with key NULL and may be NULL. The names checksum and padding are taken. */
dqs_status safetensors_write(const char *path, const struct safetensors_pair *metadata, int kinds,
                             safetensors_walk *walk, void *object, dqs_error *error);

struct safetensors_tensor {
    const char *name;
    enum visit_type type;
    int rank;
    size_t shape[SAFETENSORS_MAX_RANK];
    const char *data; /* into the file's bytes; not aligned: memcpy from it */
    size_t bytes;
};

struct safetensors {
    size_t n_tensors, n_metadata;
    struct safetensors_tensor
        *tensors; /* in the order of their bytes, which they cover without hole or overlap */
    struct safetensors_pair *metadata;
    const char *data; /* the whole file */
    size_t size;
    char *owned;           /* the file's bytes if safetensors_open read them */
    struct json_t *header; /* owns the names */
};

/* Trusts nothing in `data`, which must outlive *out. On failure *out is empty. */
dqs_status safetensors_parse(const char *data, size_t size, struct safetensors *out, dqs_error *error);
/* The checksum at the end of a file of ours. */
dqs_status safetensors_verify(const struct safetensors *file, dqs_error *error);
/* Reads, parses and verifies; the message names the path. */
dqs_status safetensors_open(const char *path, struct safetensors *out, dqs_error *error);
void safetensors_close(struct safetensors *file); /* after parse and after open; twice does no harm */

const struct safetensors_tensor *safetensors_find(const struct safetensors *file,
                                                  const char *name);               /* or NULL */
const char *safetensors_metadata(const struct safetensors *file, const char *key); /* or NULL */
const char *safetensors_type_name(enum visit_type type);                           /* "F32" */

#endif
