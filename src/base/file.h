/* file: whole files, atomically. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "status.h"
#include <stdbool.h>
#include <stdio.h>

/* Reads a whole file into malloc'd memory, with a 0 byte after its end. */
dqs_status file_read(const char *path, char **data, size_t *size, dqs_error *error);

/* Writes aside (path + ".tmp-<pid>"), then file_commit syncs, renames over `path` and syncs the folder; until
 * then the old file is whole. Write errors are remembered and reported by file_commit. */
struct file_writer {
    FILE *stream;
    char path[1024], aside[1100];
    bool failed;
    int saved_errno;
};
dqs_status file_begin(struct file_writer *writer, const char *path, dqs_error *error);
void file_put(struct file_writer *writer, const void *data, size_t size);
dqs_status file_commit(struct file_writer *writer, dqs_error *error);
void file_abandon(struct file_writer *writer); /* removes what stands aside */

/* Convenience: a whole text file, atomically. */
dqs_status file_write_text(const char *path, const char *text, dqs_error *error);

dqs_status file_make_folders(const char *path, dqs_error *error); /* like mkdir -p */
bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* An advisory lock on `folder`/lock that dies with the process. *fd is >= 0 on success; close it to
 * unlock. */
dqs_status file_lock(const char *folder, int *fd, dqs_error *error);

uint32_t file_crc32(uint32_t crc, const void *data, size_t size); /* CRC-32 (IEEE); start with 0 */

#endif
