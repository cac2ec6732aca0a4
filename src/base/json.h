/* json: writing only; small, escaping, into a growing string. Reading is jansson's business. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json {
    char *text; /* malloc'd, 0-terminated */
    size_t size, capacity;
    bool comma;
};
void json_open(struct json *j, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *value);
void json_number(struct json *j,
                 double value); /* shortest text that reads back; null for NaN and infinities */
void json_integer(struct json *j, long value);
void json_bool(struct json *j, bool value);
/* A key and its value. */
void json_put_text(struct json *j, const char *key, const char *value);
void json_put_number(struct json *j, const char *key, double value);
void json_put_integer(struct json *j, const char *key, long value);
void json_raw(struct json *j, const char *text);
void json_free(struct json *j);

#endif
