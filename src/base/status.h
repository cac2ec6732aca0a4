/* status: how a function says that the world is at fault. The caller's bugs are asserts. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "dqs.h"

/* Fills *error (may be NULL) with a formatted line and returns status:
 *     return fail(error, DQS_E_IO, "%s: cannot open: %s", path, strerror(errno)); */
dqs_status fail(dqs_error *error, dqs_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs a call and hands its failure on. */
#define TRY(call)                        \
    do {                                 \
        dqs_status try_status_ = (call); \
        if (try_status_ != DQS_OK)       \
            return try_status_;          \
    } while (0)

#endif
