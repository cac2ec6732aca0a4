/* checkpoint: saves, restores, hashes and inspects whatever a list of objects names through visit. */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H

#include "safetensors.h"
#include <stdbool.h>

/* One object of the state. A list ends with visit NULL. Names must be unique over the whole list. */
struct checkpoint_part {
    void (*visit)(void *object, struct visitor *visitor);
    void *object;
};

#define CHECKPOINT_ALL (VISIT_POLICY | VISIT_LEARN | VISIT_REPLAY)
#define CHECKPOINT_NAME_SIZE 161

/* `kinds` is a mask of enum visit_kind: VISIT_POLICY makes a policy file, CHECKPOINT_ALL a checkpoint.
 * Metadata end with key NULL and may be NULL. The file at `path` is replaced in one step; on failure it stays
 * as it was. */
dqs_status checkpoint_save(const char *path, const struct checkpoint_part *parts, int kinds,
                           const struct safetensors_pair *metadata, dqs_error *error);

/* Everything is checked before anything is copied: a failed load changes nothing. Tensors of the file that no
 * part names are ignored, so a policy can be taken from a checkpoint. */
dqs_status checkpoint_load(const char *path, const struct checkpoint_part *parts, int kinds,
                           dqs_error *error);
/* The same from a file opened with safetensors_open, for callers that look at the metadata first; `path` is
 * for messages. */
dqs_status checkpoint_restore(const struct safetensors *file, const char *path,
                              const struct checkpoint_part *parts, int kinds, dqs_error *error);

/* Of names, types, shapes and bytes. */
uint64_t checkpoint_hash(const struct checkpoint_part *parts, int kinds);
/* True if an F32 or F64 tensor of kind POLICY or LEARN holds a NaN or an infinity: the first one's name and
 * index. */
bool checkpoint_find_bad(const struct checkpoint_part *parts, char name[CHECKPOINT_NAME_SIZE], size_t *index);
/* Numbers in the F32 tensors of these kinds. */
size_t checkpoint_parameters(const struct checkpoint_part *parts, int kinds);

#endif
