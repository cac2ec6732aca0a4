#include "protobuf.h"
#include <stdlib.h>
#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_32 = 5 };

static void put(struct message *m, const void *data, size_t size)
{
    if (m->failed || size == 0)
        return;
    if (m->size + size > m->capacity) {
        size_t capacity = 2 * m->capacity + size + 64;
        unsigned char *more = realloc(m->data, capacity);
        if (!more) {
            m->failed = true;
            return;
        }
        m->data = more;
        m->capacity = capacity;
    }
    memcpy(m->data + m->size, data, size);
    m->size += size;
}

static void put_varint(struct message *m, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; value >= 128; value >>= 7)
        bytes[n++] = (unsigned char)(value | 128);
    bytes[n++] = (unsigned char)value;
    put(m, bytes, n);
}

static void put_key(struct message *m, int field, enum wire wire)
{
    put_varint(m, (uint64_t)field << 3 | wire);
}

void message_integer(struct message *m, int field, int64_t value)
{
    put_key(m, field, WIRE_VARINT);
    put_varint(m, (uint64_t)value);
}

void message_float(struct message *m, int field, float value)
{
    put_key(m, field, WIRE_32);
    put(m, &value, sizeof value);
}

void message_bytes(struct message *m, int field, const void *data, size_t size)
{
    put_key(m, field, WIRE_BYTES);
    put_varint(m, size);
    put(m, data, size);
}

void message_text(struct message *m, int field, const char *text)
{
    message_bytes(m, field, text, strlen(text));
}

void message_put(struct message *m, int field, struct message *inner)
{
    message_bytes(m, field, inner->data, inner->size);
    m->failed = m->failed || inner->failed;
    message_free(inner);
}

void message_free(struct message *m)
{
    free(m->data);
    *m = (struct message){0};
}
