/* arena: a list of zeroed chunks. Large requests get a chunk of their own behind the current one, so that the
 * rest of the current chunk is not wasted. Under AddressSanitizer poisoned bytes follow every piece. */
#include "arena.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#define ARENA_GAP 64
#else
#define ARENA_GAP 0
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { ALIGNMENT = 64, CHUNK_BYTES = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    char *free, *end; /* free is ALIGNMENT-aligned */
};

static void out_of_memory(const struct arena *arena, size_t bytes)
{
    if (arena->give_up)
        longjmp(*arena->give_up, 1);
    fprintf(stderr, "dqs: out of memory: cannot have %zu more bytes; try a smaller replay buffer or batch\n",
            bytes);
    abort();
}

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* calloc and not aligned_alloc: the pages of a large zeroed block are not touched before they are used. */
static struct arena_chunk *chunk_create(const struct arena *arena, size_t room)
{
    size_t total = sizeof(struct arena_chunk) + ALIGNMENT + room;
    struct arena_chunk *chunk = calloc(1, total);
    if (!chunk)
        out_of_memory(arena, total);
    char *body = (char *)(chunk + 1);
    chunk->free = body + (ALIGNMENT - (uintptr_t)body % ALIGNMENT) % ALIGNMENT;
    chunk->end = (char *)chunk + total;
    return chunk;
}

static struct arena_chunk *chunk_for(struct arena *arena, size_t need)
{
    struct arena_chunk *head = arena->chunks;
    if (head && (size_t)(head->end - head->free) >= need)
        return head;
    if (head && need >= CHUNK_BYTES / 4) {
        struct arena_chunk *own = chunk_create(arena, need);
        own->next = head->next;
        head->next = own;
        return own;
    }
    struct arena_chunk *chunk = chunk_create(arena, need > CHUNK_BYTES ? need : CHUNK_BYTES);
    chunk->next = head;
    arena->chunks = chunk;
    return chunk;
}

void *arena_take(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        out_of_memory(arena, bytes);
    size_t whole = round_up(bytes ? bytes : 1);
    struct arena_chunk *chunk = chunk_for(arena, whole + ARENA_GAP);
    char *piece = chunk->free;
    chunk->free += whole + ARENA_GAP;
    arena->used += whole;
    ASAN_POISON_MEMORY_REGION(piece + bytes, whole + ARENA_GAP - bytes);
    return piece;
}

void arena_free(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunks;
    while (chunk) {
        struct arena_chunk *next = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk, (size_t)(chunk->end - (char *)chunk));
        free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
    arena->used = 0;
}
