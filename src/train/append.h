/* append: a file that grows by whole records. A record that does not fit on the disk leaves no piece of
 * itself behind. */
#ifndef TRAIN_APPEND_H
#define TRAIN_APPEND_H

#include "status.h"

struct append_file {
    int fd; /* -1: closed */
    int64_t size;
    char path[1024];
};

/* Opens an existing file at its end; `fresh`: makes a new one, and it is an error if it exists. */
dqs_status append_open(struct append_file *file, const char *path, int fresh, dqs_error *error);
dqs_status append_record(struct append_file *file, const void *data, size_t size, dqs_error *error);
void append_close(struct append_file *file);

#endif
