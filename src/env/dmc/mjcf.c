#include "mjcf.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *mjcf_copy(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

char *mjcf_replace(char *text, const char *old, const char *format, ...)
{
    if (!text)
        return NULL;
    char *place = strstr(text, old);
    assert(place && "a mark of the model's file");
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);

    size_t before = (size_t)(place - text), length = strlen(text) - strlen(old) + (size_t)added;
    char *changed = malloc(length + 1);
    if (changed) {
        memcpy(changed, text, before);
        va_start(arguments, format);
        vsnprintf(changed + before, (size_t)added + 1, format, arguments);
        va_end(arguments);
        strcpy(changed + before + added, place + strlen(old));
    }
    free(text);
    return changed;
}
