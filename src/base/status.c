/* status: error lines and the names of status codes. */
#include "status.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

dqs_status fail(dqs_error *error, dqs_status status, const char *format, ...)
{
    if (!error)
        return status;
    /* Formatted aside: callers add context with fail(error, s, "%s: %s", thing, error->message). */
    char line[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    /* Paths and values come from outside and may hold anything, but a message is one line. */
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    error->status = status;
    memcpy(error->message, line, sizeof line);
    return status;
}

const char *dqs_strerror(dqs_status status)
{
    switch (status) {
#define STATUS_CASE(name, text) \
    case DQS_##name:            \
        return text;
        DQS_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}
