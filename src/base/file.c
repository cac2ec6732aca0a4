/* file: reading and atomic writing of whole files, folders, the run lock, CRC-32. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* flock */
#endif
#include "file.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a person can do about it. */
static const char *advice(int problem)
{
    switch (problem) {
    case ENOSPC:
    case EDQUOT:
        return "; free some space and try again";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; choose a folder that you may write to";
    case ENOENT:
    case ENOTDIR:
        return "; check the path";
    default:
        return "";
    }
}

static dqs_status fail_io(dqs_error *error, const char *path, const char *verb, int problem)
{
    return fail(error, DQS_E_IO, "%s: cannot %s: %s%s", path, verb, strerror(problem), advice(problem));
}

/* ---------------------------------------------------------------- reading */

/* By growing, not by the size that stat tells: pipes and /proc have none, and a file may grow meanwhile. */
static int read_all(int fd, size_t expected, char **data, size_t *size)
{
    size_t capacity = expected + 2, used = 0;
    char *buffer = malloc(capacity);
    while (buffer) {
        ssize_t n = read(fd, buffer + used, capacity - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int problem = errno;
            free(buffer);
            return problem;
        }
        if (n == 0) {
            buffer[used] = 0;
            *data = buffer;
            *size = used;
            return 0;
        }
        used += (size_t)n;
        if (used + 1 == capacity) {
            char *larger = realloc(buffer, capacity *= 2);
            if (!larger)
                free(buffer);
            buffer = larger;
        }
    }
    return ENOMEM;
}

dqs_status file_read(const char *path, char **data, size_t *size, dqs_error *error)
{
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, DQS_E_IO, "%s: cannot read: %s; check the path", path, strerror(errno));
    struct stat about;
    bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    int problem = read_all(fd, regular ? (size_t)about.st_size : 4096, data, size);
    close(fd);
    if (problem == ENOMEM)
        return fail(error, DQS_E_MEMORY, "%s: does not fit into memory", path);
    return problem ? fail(error, DQS_E_IO, "%s: cannot read: %s", path, strerror(problem)) : DQS_OK;
}

/* ---------------------------------------------------------------- writing */

dqs_status file_begin(struct file_writer *writer, const char *path, dqs_error *error)
{
    *writer = (struct file_writer){0};
    size_t length = strlen(path);
    if (length >= sizeof writer->path)
        return fail_io(error, path, "write", ENAMETOOLONG);
    memcpy(writer->path, path, length);
    snprintf(writer->aside, sizeof writer->aside, "%s.tmp-%ld", writer->path, (long)getpid());
    writer->stream = fopen(writer->aside, "wbe");
    return writer->stream ? DQS_OK : fail_io(error, path, "write", errno);
}

static void remember(struct file_writer *writer)
{
    if (!writer->failed)
        writer->saved_errno = errno ? errno : EIO;
    writer->failed = true;
}

void file_put(struct file_writer *writer, const void *data, size_t size)
{
    if (writer->failed || size == 0)
        return;
    errno = 0;
    if (fwrite(data, 1, size, writer->stream) != size)
        remember(writer);
}

/* A rename is only as durable as the folder that records it. */
static int sync_folder_of(const char *path)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == folder)
        slash[1] = 0;
    else if (slash)
        *slash = 0;
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno; /* writable but not readable: as good as it gets */
    bool cannot = fsync(fd) != 0;
    int problem = cannot && errno != EINVAL && errno != ENOTSUP ? errno : 0; /* not every file system can */
    close(fd);
    return problem;
}

dqs_status file_commit(struct file_writer *writer, dqs_error *error)
{
    assert(writer->stream);
    errno = 0;
    if (ferror(writer->stream) || fflush(writer->stream) != 0 || fsync(fileno(writer->stream)) != 0)
        remember(writer);
    if (fclose(writer->stream) != 0) /* network file systems report a full disk here */
        remember(writer);
    writer->stream = NULL;
    if (!writer->failed && rename(writer->aside, writer->path) != 0)
        remember(writer);
    if (writer->failed) {
        unlink(writer->aside);
        return fail_io(error, writer->path, "write", writer->saved_errno);
    }
    int problem = sync_folder_of(writer->path);
    return problem ? fail_io(error, writer->path, "sync the folder of", problem) : DQS_OK;
}

void file_abandon(struct file_writer *writer)
{
    if (!writer->stream)
        return;
    fclose(writer->stream);
    writer->stream = NULL;
    unlink(writer->aside);
}

dqs_status file_write_text(const char *path, const char *text, dqs_error *error)
{
    struct file_writer writer;
    TRY(file_begin(&writer, path, error));
    file_put(&writer, text, strlen(text));
    return file_commit(&writer, error);
}

/* ---------------------------------------------------------------- folders */

bool file_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

dqs_status file_make_folders(const char *path, dqs_error *error)
{
    char part[1024];
    size_t length = strlen(path);
    if (length >= sizeof part)
        return fail_io(error, path, "make the folder", ENAMETOOLONG);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != 0)
            continue;
        part[i] = 0;
        /* Whatever mkdir says, a folder that is there will do: on a read-only disk it says so first. */
        if (mkdir(part, 0777) != 0) {
            int problem = errno == EEXIST ? ENOTDIR : errno;
            if (!file_is_folder(part))
                return fail_io(error, part, "make the folder", problem);
        }
        part[i] = path[i];
    }
    return length ? DQS_OK : fail_io(error, "(empty path)", "make the folder", ENOENT);
}

bool file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static long read_pid(int fd)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

dqs_status file_lock(const char *folder, int *fd, dqs_error *error)
{
    char path[1100];
    *fd = -1;
    if ((size_t)snprintf(path, sizeof path, "%s/lock", folder) >= sizeof path)
        return fail_io(error, folder, "lock", ENAMETOOLONG);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0)
        return fail_io(error, path, "lock", errno);
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        int problem = errno;
        long pid = read_pid(lock);
        close(lock);
        if (problem != EWOULDBLOCK)
            return fail_io(error, path, "lock", problem);
        if (pid <= 0)
            return fail(error, DQS_E_BUSY, "%s: in use by another process; wait for it to end", folder);
        return fail(error, DQS_E_BUSY, "%s: in use by process %ld; wait for its end, or stop it: kill %ld",
                    folder, pid, pid);
    }
    /* The process number is only for that message: a full disk does not undo the lock. */
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(lock, 0) == 0 && pwrite(lock, text, (size_t)length, 0) != length)
        (void)!ftruncate(lock, 0);
    *fd = lock;
    return DQS_OK;
}

/* ---------------------------------------------------------------- CRC-32 */

/* Eight bytes at a time: crc_slices[k][n] is the remainder of byte n followed by k zero bytes. Remainders are
 * linear, so the entries of single bits determine the table, and the compiler can write it: nothing to
 * initialise at run time. */
#define CRC_BIT(n, bit, value) ((n) >> (bit)&1 ? (value) : 0)
#define CRC_1(n, a, b, c, d, e, f, g, h)                                                     \
    (CRC_BIT(n, 0, a##u) ^ CRC_BIT(n, 1, b##u) ^ CRC_BIT(n, 2, c##u) ^ CRC_BIT(n, 3, d##u) ^ \
     CRC_BIT(n, 4, e##u) ^ CRC_BIT(n, 5, f##u) ^ CRC_BIT(n, 6, g##u) ^ CRC_BIT(n, 7, h##u))
#define CRC_4(n, ...)                                                                \
    CRC_1(n, __VA_ARGS__), CRC_1((n) + 1, __VA_ARGS__), CRC_1((n) + 2, __VA_ARGS__), \
        CRC_1((n) + 3, __VA_ARGS__)
#define CRC_16(n, ...)                                                               \
    CRC_4(n, __VA_ARGS__), CRC_4((n) + 4, __VA_ARGS__), CRC_4((n) + 8, __VA_ARGS__), \
        CRC_4((n) + 12, __VA_ARGS__)
#define CRC_64(n, ...)                                                                    \
    CRC_16(n, __VA_ARGS__), CRC_16((n) + 16, __VA_ARGS__), CRC_16((n) + 32, __VA_ARGS__), \
        CRC_16((n) + 48, __VA_ARGS__)
#define CRC_SLICE(...)                                                                                      \
    {                                                                                                       \
        CRC_64(0, __VA_ARGS__), CRC_64(64, __VA_ARGS__), CRC_64(128, __VA_ARGS__), CRC_64(192, __VA_ARGS__) \
    }

static const uint32_t crc_slices[8][256] = {
    CRC_SLICE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
    CRC_SLICE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
    CRC_SLICE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
    CRC_SLICE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
    CRC_SLICE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
    CRC_SLICE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
    CRC_SLICE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
    CRC_SLICE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da),
};

uint32_t file_crc32(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *p = data;
    const uint32_t(*t)[256] = crc_slices;
    crc = ~crc;
    for (; size >= 8; size -= 8, p += 8) {
        /* By bytes, so that the order is the same on every machine; compilers make one load of it. */
        uint32_t a = crc ^ (p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        uint32_t b = p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
        crc = t[7][a & 255] ^ t[6][a >> 8 & 255] ^ t[5][a >> 16 & 255] ^ t[4][a >> 24] ^ t[3][b & 255] ^
              t[2][b >> 8 & 255] ^ t[1][b >> 16 & 255] ^ t[0][b >> 24];
    }
    for (; size > 0; size--, p++)
        crc = t[0][(crc ^ *p) & 255] ^ crc >> 8;
    return ~crc;
}
