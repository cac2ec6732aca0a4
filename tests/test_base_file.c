/* Tests of src/base/file.c: atomic writing where the world is at fault, locks, CRC-32. Oracles from outside:
 * the kernel's own full device, full disk, size limit and locks; CRC values of zlib. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "file.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h> /* last: its macro fail() would spoil the declaration of ours */

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

struct place {
    char folder[64], path[128];
};

static int place_make(void **state)
{
    static struct place place;
    strcpy(place.folder, "/tmp/dqs-test-base-XXXXXX");
    if (!mkdtemp(place.folder) || chmod(place.folder, 0755) != 0)
        return -1;
    snprintf(place.path, sizeof place.path, "%s/data", place.folder);
    *state = &place;
    return 0;
}

static int place_remove(void **state)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", ((struct place *)*state)->folder);
    return system(command);
}

static void assert_file_is(const char *path, const char *text)
{
    char *data;
    size_t size;
    dqs_error error = {DQS_OK, ""};
    if (file_read(path, &data, &size, &error) != DQS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(size, strlen(text));
    assert_string_equal(data, text);
    free(data);
}

static void assert_nothing_aside(const char *folder)
{
    char command[160];
    snprintf(command, sizeof command, "test -z \"$(find '%s' -name '*.tmp-*')\"", folder);
    assert_int_equal(system(command), 0);
}

static void file_round_trip(void **state)
{
    struct place *place = *state;
    dqs_error error = {DQS_OK, ""};
    assert_false(file_exists(place->path));
    struct file_writer writer;
    assert_int_equal(file_begin(&writer, place->path, &error), DQS_OK);
    file_put(&writer, "one ", 4);
    file_put(&writer, "", 0);
    assert_false(file_exists(place->path)); /* until the commit nothing is there */
    file_put(&writer, "two", 3);
    assert_int_equal(file_commit(&writer, &error), DQS_OK);
    assert_file_is(place->path, "one two");
    assert_int_equal(file_begin(&writer, place->path, &error), DQS_OK);
    file_put(&writer, "half", 4);
    file_abandon(&writer);
    file_abandon(&writer);
    assert_file_is(place->path, "one two");
    assert_int_equal(file_write_text(place->path, "", &error), DQS_OK);
    assert_file_is(place->path, "");
    assert_nothing_aside(place->folder);
    char *data;
    size_t size;
    assert_int_equal(file_read("/proc/self/status", &data, &size, &error), DQS_OK); /* stat says: empty */
    assert_true(size > 100 && data[size] == 0);
    free(data);
}

static void file_errors_say_what_and_where(void **state)
{
    struct place *place = *state;
    dqs_error error;
    char *data, path[200];
    size_t size;
    snprintf(path, sizeof path, "%s/none", place->folder);
    assert_int_equal(file_read(path, &data, &size, &error), DQS_E_IO);
    assert_null(data);
    assert_contains(error.message, path);
    assert_contains(error.message, "No such file");
    assert_int_equal(file_read(place->folder, &data, &size, &error), DQS_E_IO);
    assert_contains(error.message, "Is a directory");
    snprintf(path, sizeof path, "%s/none/data", place->folder);
    assert_int_equal(file_write_text(path, "x", &error), DQS_E_IO);
    assert_contains(error.message, "No such file");
    char longest[3000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(file_write_text(longest, "x", NULL), DQS_E_IO);
    assert_int_equal(file_make_folders(longest, NULL), DQS_E_IO);
}

static void file_read_only_folder(void **state)
{
    struct place *place = *state;
    dqs_error write_error = {DQS_OK, ""}, lock_error = {DQS_OK, ""}, make_error = {DQS_OK, ""};
    char below[200];
    snprintf(below, sizeof below, "%s/below", place->folder);
    int fd = -1;
    assert_int_equal(file_write_text(place->path, "old", NULL), DQS_OK);
    assert_int_equal(chmod(place->folder, 0555), 0);
    bool root = geteuid() == 0; /* whom permissions do not stop */
    assert_true(!root || seteuid(65534) == 0);
    dqs_status write = file_write_text(place->path, "new", &write_error);
    dqs_status lock = file_lock(place->folder, &fd, &lock_error);
    dqs_status make = file_make_folders(below, &make_error);
    assert_true(!root || seteuid(0) == 0);
    assert_int_equal(chmod(place->folder, 0755), 0);
    assert_int_equal(write, DQS_E_IO);
    assert_contains(write_error.message, "Permission denied");
    assert_contains(write_error.message, "choose a folder that you may write to");
    assert_int_equal(lock, DQS_E_IO);
    assert_int_equal(fd, -1);
    assert_contains(lock_error.message, "Permission denied");
    assert_int_equal(make, DQS_E_IO);
    assert_contains(make_error.message, below);
    assert_file_is(place->path, "old");
}

/* The kernel's full device for the aside file: a small size fails in the flush, a large one in the put. */
static void check_full_device(struct place *place, size_t size)
{
    dqs_error error;
    struct file_writer writer;
    char *data = calloc(1, size);
    assert_int_equal(file_write_text(place->path, "old", &error), DQS_OK);
    assert_int_equal(file_begin(&writer, place->path, &error), DQS_OK);
    assert_non_null(freopen("/dev/full", "wb", writer.stream));
    file_put(&writer, data, size);
    file_put(&writer, "more", 4);
    assert_int_equal(file_commit(&writer, &error), DQS_E_IO);
    assert_contains(error.message, place->path);
    assert_contains(error.message, "No space left");
    assert_contains(error.message, "free some space");
    assert_file_is(place->path, "old");
    assert_nothing_aside(place->folder);
    free(data);
}

static void file_full_device(void **state)
{
    check_full_device(*state, 10);
    check_full_device(*state, 1 << 20);
}

/* A file size limit: needs no rights, and the writer's own descriptor fails half way. */
static void file_too_large(void **state)
{
    struct place *place = *state;
    dqs_error error;
    struct rlimit before, small;
    assert_int_equal(file_write_text(place->path, "old", &error), DQS_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 10000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    char *text = malloc(100001);
    memset(text, 'x', 100000);
    text[100000] = 0;
    dqs_status status = file_write_text(place->path, text, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    free(text);
    assert_int_equal(status, DQS_E_IO);
    assert_contains(error.message, "File too large");
    assert_file_is(place->path, "old");
    assert_nothing_aside(place->folder);
}

static void file_full_disk(void **state)
{
    struct place *place = *state;
    if (mount("dqs-test", place->folder, "tmpfs", 0, "size=64k") != 0)
        skip(); /* not allowed to mount */
    dqs_error error;
    char *text = malloc(200001);
    memset(text, 'x', 200000);
    text[200000] = 0;
    dqs_status small = file_write_text(place->path, "old", &error);
    dqs_status large = file_write_text(place->path, text, &error);
    char *data = NULL;
    size_t size = 0;
    dqs_status read = file_read(place->path, &data, &size, NULL);
    assert_int_equal(umount(place->folder), 0);
    assert_int_equal(small, DQS_OK);
    assert_int_equal(large, DQS_E_IO);
    assert_contains(error.message, "No space left");
    assert_int_equal(read, DQS_OK);
    assert_string_equal(data, "old");
    free(data);
    free(text);
}

static void file_makes_folders(void **state)
{
    struct place *place = *state;
    char path[200];
    dqs_error error;
    snprintf(path, sizeof path, "%s/a//b/c/", place->folder);
    assert_int_equal(file_make_folders(path, &error), DQS_OK);
    assert_int_equal(file_make_folders(path, &error), DQS_OK);
    assert_true(file_exists(path));
    assert_int_equal(file_make_folders("/", &error), DQS_OK);
    assert_int_equal(file_make_folders("", &error), DQS_E_IO);
    assert_int_equal(file_write_text(place->path, "x", NULL), DQS_OK);
    snprintf(path, sizeof path, "%s/data/b", place->folder);
    assert_int_equal(file_make_folders(path, &error), DQS_E_IO);
    assert_contains(error.message, "Not a directory");
}

static void file_lock_of_another_process(void **state)
{
    struct place *place = *state;
    dqs_error error;
    int ready[2], fd;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        char status = (char)file_lock(place->folder, &fd, NULL);
        if (write(ready[1], &status, 1) == 1)
            pause();
        _exit(0);
    }
    char status = 1;
    assert_int_equal(read(ready[0], &status, 1), 1);
    assert_int_equal(status, DQS_OK);
    dqs_status busy = file_lock(place->folder, &fd, &error);
    kill(child, SIGKILL); /* the lock dies with its process, however it ends */
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(busy, DQS_E_BUSY);
    assert_int_equal(fd, -1);
    char process[64];
    snprintf(process, sizeof process, "in use by process %ld;", (long)child);
    assert_contains(error.message, process);
    assert_contains(error.message, place->folder);
    assert_int_equal(file_lock(place->folder, &fd, &error), DQS_OK);
    assert_true(fd >= 0);
    int second;
    assert_int_equal(file_lock(place->folder, &second, &error), DQS_E_BUSY); /* also within one process */
    close(fd);
    assert_int_equal(file_lock(place->folder, &fd, &error), DQS_OK);
    close(fd);
    assert_int_equal(file_lock("/tmp/dqs/no/such/folder", &fd, &error), DQS_E_IO);
}

static uint32_t crc_by_bits(const unsigned char *data, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static void file_crc_known_answers(void **state)
{
    (void)state;
    assert_int_equal(file_crc32(0, "", 0), 0);
    assert_int_equal(file_crc32(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(file_crc32(0, "The quick brown fox jumps over the lazy dog", 43), 0x414FA339);
    unsigned char data[1000];
    for (int i = 0; i < 1000; i++)
        data[i] = (unsigned char)(i * i * 7 + i / 3);
    for (size_t start = 0; start < 9; start++) /* every alignment, every split */
        for (size_t size = 0; size + start <= 1000; size += 13) {
            uint32_t whole = file_crc32(0, data + start, size);
            assert_int_equal(whole, crc_by_bits(data + start, size));
            size_t cut = size / 3;
            uint32_t first = file_crc32(0, data + start, cut);
            assert_int_equal(file_crc32(first, data + start + cut, size - cut), whole);
        }
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(file_round_trip),
        IN_A_PLACE(file_errors_say_what_and_where),
        IN_A_PLACE(file_read_only_folder),
        IN_A_PLACE(file_full_device),
        IN_A_PLACE(file_too_large),
        IN_A_PLACE(file_full_disk),
        IN_A_PLACE(file_makes_folders),
        IN_A_PLACE(file_lock_of_another_process),
        cmocka_unit_test(file_crc_known_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
