/* protobuf: messages of protocol buffers, written into growing memory. Running out of it is remembered in
 * `failed`. */
#ifndef DEPLOY_PROTOBUF_H
#define DEPLOY_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message {
    unsigned char *data; /* malloc'd */
    size_t size, capacity;
    bool failed;
};

void message_integer(struct message *m, int field, int64_t value);
void message_float(struct message *m, int field, float value);
void message_bytes(struct message *m, int field, const void *data, size_t size);
void message_text(struct message *m, int field, const char *text);
/* A message in a message; `inner` is emptied, and its failure handed on. */
void message_put(struct message *m, int field, struct message *inner);
void message_free(struct message *m);

#endif
