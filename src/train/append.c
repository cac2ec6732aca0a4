/* append: plain write calls without a buffer, so that an error belongs to the record that caused it. */
#include "append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

dqs_status append_open(struct append_file *file, const char *path, int fresh, dqs_error *error)
{
    file->fd = -1;
    if ((size_t)snprintf(file->path, sizeof file->path, "%s", path) >= sizeof file->path)
        return fail(error, DQS_E_IO, "%.200s...: the path is too long; choose a shorter run folder", path);
    file->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | (fresh ? O_CREAT | O_EXCL : 0), 0666);
    if (file->fd >= 0)
        file->size = lseek(file->fd, 0, SEEK_END);
    if (file->fd < 0 || file->size < 0)
        return fail(error, DQS_E_IO, "%s: cannot open for writing: %s", path, strerror(errno));
    return DQS_OK;
}

dqs_status append_record(struct append_file *file, const void *data, size_t size, dqs_error *error)
{
    const char *rest = data;
    size_t left = size;
    while (left) {
        ssize_t n = write(file->fd, rest, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int cause = n < 0 ? errno : ENOSPC;
            /* If this fails too, there is a broken record; readers of both formats skip it. */
            int cut = ftruncate(file->fd, file->size);
            (void)cut;
            return fail(error, DQS_E_IO, "%s: cannot write: %s; make room and resume", file->path,
                        strerror(cause));
        }
        rest += n;
        left -= (size_t)n;
    }
    file->size += (int64_t)size;
    return DQS_OK;
}

void append_close(struct append_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
