/* arena: all memory of a run is taken from one arena at creation and freed at once. Growth is in chunks, so
 * pointers stay valid; after creation nothing is taken any more. Returned memory is zeroed and 64-byte aligned. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
    size_t used; /* bytes handed out */
};

void *arena_take(struct arena *arena,
                 size_t bytes); /* never NULL: out of memory prints one line and aborts */
void arena_free(struct arena *arena);

#define arena_new(arena, type, count) ((type *)arena_take((arena), sizeof(type) * (size_t)(count)))

#endif
