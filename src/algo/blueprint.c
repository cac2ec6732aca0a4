#include "blueprint.h"
#include <string.h>

int blueprint_draw(struct blueprint *b, struct arena *arena, int count, bool uniform, uint64_t ticket)
{
    if (b->slots == b->slot_capacity) {
        int capacity = b->slot_capacity ? 2 * b->slot_capacity : 16;
        struct blueprint_noise *more = arena_new(arena, struct blueprint_noise, capacity);
        if (b->slots)
            memcpy(more, b->slot, sizeof *more * (size_t)b->slots);
        b->slot = more;
        b->slot_capacity = capacity;
    }
    int *used = uniform ? &b->uniforms : &b->normals;
    b->slot[b->slots] = (struct blueprint_noise){count, *used, uniform, ticket};
    *used += count;
    return b->slots++;
}

void blueprint_finish(struct blueprint *b)
{
    for (int i = 0; i < b->slots; i++)
        if (b->slot[i].uniform)
            b->slot[i].at += b->normals;
}

void blueprint_levels(struct blueprint *b, struct arena *arena, const float *embedding, int n)
{
    int width = b->net->spec.width;
    const float *w = net_weight(b->net, 0) + (size_t)(b->net->spec.in - n) * (size_t)width,
                *bias = net_bias(b->net, 0);
    b->level_part = arena_new(arena, float, (size_t)b->steps *(size_t)width);
    for (int s = 0; s < b->steps; s++)
        for (int j = 0; j < width; j++) {
            double sum = bias[j];
            for (int i = 0; i < n; i++)
                sum += (double)embedding[(size_t)s * (size_t)n + (size_t)i] *
                       w[(size_t)i * (size_t)width + (size_t)j];
            b->level_part[(size_t)s * (size_t)width + (size_t)j] = (float)sum;
        }
}

void blueprint_noise_of(const struct blueprint *b, const struct kernels *k, float *noise)
{
    for (int i = 0; i < b->slots; i++) {
        const struct blueprint_noise *s = &b->slot[i];
        uint64_t ticket = b->rng->ticket + s->ticket;
        (s->uniform ? k->uniforms : k->normals)(noise + s->at, (size_t)s->count, b->rng->key, ticket, 0);
    }
}
