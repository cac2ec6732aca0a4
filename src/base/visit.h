/* visit: an object names every array of its state once; checkpoint, policy file, parameter count, NaN scan,
 * test dumps and state hashes derive from that list, so they cannot drift. */
#ifndef BASE_VISIT_H
#define BASE_VISIT_H

#include <stddef.h>
#include <stdint.h>

enum visit_type { VISIT_F32, VISIT_F64, VISIT_I64, VISIT_U8 };
enum visit_kind {
    VISIT_POLICY = 1, /* needed to act: also in the policy file */
    VISIT_LEARN = 2,  /* needed to go on learning: checkpoint only */
    VISIT_REPLAY = 4, /* experience: checkpoint only, left out by --init-from unless asked for */
    VISIT_COURSE =
        8 /* with one of these: of the course of one run (moments, averages), never taken by --init-from */
};

struct visitor {
    void (*tensor)(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                   const size_t *shape, void *data);
    void *context;
    char prefix[128]; /* "dqs/critic0/" */
};

/* prefix + name must fit 160 characters. */
void visit_vector(struct visitor *v, const char *name, enum visit_kind kind, enum visit_type type, void *data,
                  size_t n);
void visit_matrix(struct visitor *v, const char *name, enum visit_kind kind, enum visit_type type, void *data,
                  size_t rows, size_t columns);
/* A counter, I64 [1]. The visitor may have been a reader of a stranger's file: what it left is kept within 0
 * .. VISIT_MOST. */
#define VISIT_MOST 1000000000000000L
void visit_long(struct visitor *v, const char *name, enum visit_kind kind, long *value);
void visit_double(struct visitor *v, const char *name, enum visit_kind kind, double *value); /* F64 [1] */
/* visit_enter(v, "critic0/") ... visit_leave(v, mark) */
int visit_enter(struct visitor *v, const char *part);
void visit_leave(struct visitor *v, int mark);

size_t visit_type_size(enum visit_type type);

#endif
