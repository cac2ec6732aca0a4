/* visit: puts prefix and name together and hands arrays to the visitor's callback. */
#include "visit.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 161 };
_Static_assert(sizeof(long) == 8, "counters are stored as 64-bit integers");

static void visit_tensor(struct visitor *v, const char *name, enum visit_kind kind, enum visit_type type,
                         int rank, const size_t *shape, void *data)
{
    char full[NAME_SIZE];
    int length = snprintf(full, sizeof full, "%s%s", v->prefix, name);
    assert(length < NAME_SIZE);
    (void)length;
    v->tensor(v->context, full, kind, type, rank, shape, data);
}

void visit_vector(struct visitor *v, const char *name, enum visit_kind kind, enum visit_type type, void *data,
                  size_t n)
{
    visit_tensor(v, name, kind, type, 1, (size_t[]){n}, data);
}

void visit_matrix(struct visitor *v, const char *name, enum visit_kind kind, enum visit_type type, void *data,
                  size_t rows, size_t columns)
{
    visit_tensor(v, name, kind, type, 2, (size_t[]){rows, columns}, data);
}

void visit_long(struct visitor *v, const char *name, enum visit_kind kind, long *value)
{
    visit_vector(v, name, kind, VISIT_I64, value, 1);
    *value = *value < 0 ? 0 : *value > VISIT_MOST ? VISIT_MOST : *value;
}

void visit_double(struct visitor *v, const char *name, enum visit_kind kind, double *value)
{
    visit_vector(v, name, kind, VISIT_F64, value, 1);
}

int visit_enter(struct visitor *v, const char *part)
{
    size_t mark = strlen(v->prefix), length = strlen(part);
    assert(mark + length < sizeof v->prefix);
    memcpy(v->prefix + mark, part, length + 1);
    return (int)mark;
}

void visit_leave(struct visitor *v, int mark)
{
    assert(mark >= 0 && (size_t)mark <= strlen(v->prefix));
    v->prefix[mark] = 0;
}

size_t visit_type_size(enum visit_type type)
{
    static const size_t sizes[] = {[VISIT_F32] = 4, [VISIT_F64] = 8, [VISIT_I64] = 8, [VISIT_U8] = 1};
    assert((size_t)type < sizeof sizes / sizeof *sizes);
    return sizes[type];
}
