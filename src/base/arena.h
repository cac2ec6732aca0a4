/* arena: all memory of a run is taken from one arena at creation and freed at once. Growth is in chunks, so
 * pointers stay valid; after creation nothing is taken any more. Returned memory is zeroed and 64-byte
 * aligned. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
    size_t used;      /* bytes handed out */
    jmp_buf *give_up; /* where to go when there is no memory; NULL: print one line and abort */
};

void *arena_take(struct arena *arena, size_t bytes); /* never NULL: see give_up */
void arena_free(struct arena *arena);

#define arena_new(arena, type, count) ((type *)arena_take((arena), sizeof(type) * (size_t)(count)))

#endif
