/* json: appends to a growing string; `comma` says whether the next value follows another. */
#include "json.h"
#include "text.h"
#include "number.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(struct json *j, const char *bytes, size_t n)
{
    if (j->size + n + 1 > j->capacity) {
        size_t capacity = 2 * (j->size + n + 1);
        char *text = realloc(j->text, capacity);
        if (!text) {
            fprintf(stderr, "dqs: out of memory: %zu bytes of JSON text are not to be had\n", capacity);
            abort();
        }
        j->text = text;
        j->capacity = capacity;
    }
    memcpy(j->text + j->size, bytes, n);
    j->size += n;
    j->text[j->size] = 0;
}

static void value_begin(struct json *j)
{
    if (j->comma)
        append(j, ",", 1);
    j->comma = true;
}

static void append_quoted(struct json *j, const char *value)
{
    append(j, "\"", 1);
    for (const unsigned char *s = (const unsigned char *)value; *s;) {
        size_t n = text_utf8_length((const char *)s);
        if (n == 0) { /* a file name may hold any bytes, JSON may not */
            append(j, "\\ufffd", 6);
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            append(j, (char[]){'\\', (char)*s}, 2);
        } else if (*s == '\n') {
            append(j, "\\n", 2);
        } else if (*s < 0x20 || *s == 0x7F) {
            char escape[8];
            append(j, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", *s));
        } else {
            append(j, (const char *)s, n);
        }
        s += n;
    }
    append(j, "\"", 1);
}

void json_open(struct json *j, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    value_begin(j);
    append(j, &bracket, 1);
    j->comma = false;
}

void json_close(struct json *j, char bracket)
{
    assert(bracket == '}' || bracket == ']');
    append(j, &bracket, 1);
    j->comma = true;
}

void json_key(struct json *j, const char *key)
{
    value_begin(j);
    append_quoted(j, key);
    append(j, ":", 1);
    j->comma = false;
}

void json_string(struct json *j, const char *value)
{
    value_begin(j);
    append_quoted(j, value);
}

void json_number(struct json *j, double value)
{
    char text[NUMBER_TEXT_SIZE];
    number_write(text, value);
    json_raw(j, isfinite(value) ? text : "null");
}

void json_integer(struct json *j, long value)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", value);
    json_raw(j, text);
}

void json_bool(struct json *j, bool value)
{
    json_raw(j, value ? "true" : "false");
}

void json_put_text(struct json *j, const char *key, const char *value)
{
    json_key(j, key);
    json_string(j, value);
}

void json_put_number(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_number(j, value);
}

void json_put_integer(struct json *j, const char *key, long value)
{
    json_key(j, key);
    json_integer(j, value);
}

void json_raw(struct json *j, const char *text)
{
    value_begin(j);
    append(j, text, strlen(text));
}

void json_free(struct json *j)
{
    free(j->text);
    *j = (struct json){0};
}
