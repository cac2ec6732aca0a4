/* lease: see lease.h. The file: a letter (H held, R released), then machine, process, its start and the
 * host's name, a line each. */
#define _GNU_SOURCE
#include "lease.h"
#include "clock.h"
#include "number.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "lease-"
#define MACHINE_SIZE 200

struct owner {
    bool released;
    char machine[MACHINE_SIZE], host[80];
    long process;
    long long start; /* in the kernel's ticks: tells a process from a later one of the same number */
};

/* ---------------------------------------------------------------- processes and machines */

static void read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(line, (int)size, file))
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    if (file)
        fclose(file);
}

/* Process numbers mean something only within one start of one kernel, and within one container. */
static void machine_name(char out[MACHINE_SIZE], char host[80])
{
    char boot[64], space[64] = "";
    if (gethostname(host, 80) != 0)
        host[0] = 0;
    host[79] = 0;
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[n > 0 ? n : 0] = 0;
    snprintf(out, MACHINE_SIZE, "%s %.40s %.40s", host, boot, space);
}

/* When the process began; -1 if it is gone or only waits to be buried, 0 if the system does not tell. */
static long long process_start(long process)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    read_line(path, text, sizeof text);
    const char *field = strrchr(text, ')'); /* the name before it may hold anything */
    if (!field)
        return kill((pid_t)process, 0) == 0 || errno == EPERM ? 0 : -1;
    if (field[1] == ' ' && (field[2] == 'Z' || field[2] == 'X'))
        return -1;
    for (int i = 0; i < 20 && field; i++) /* the name is field 2, the start field 22 */
        field = strchr(field + 1, ' ');
    return field ? strtoll(field, NULL, 10) : 0;
}

static bool owner_lives(const struct owner *owner)
{
    long long start = process_start(owner->process);
    return start == 0 || start == owner->start;
}

/* ---------------------------------------------------------------- files */

static bool lease_path(char path[1200], const char *folder, long number)
{
    return snprintf(path, 1200, "%s/" PREFIX "%ld", folder, number) < 1200;
}

static long lease_number(const char *name)
{
    long number;
    if (strncmp(name, PREFIX, strlen(PREFIX)) ||
        strspn(name + strlen(PREFIX), "0123456789") < strlen(name + strlen(PREFIX)))
        return 0;
    return number_read_long(name + strlen(PREFIX), &number) && number > 0 ? number : 0;
}

static long newest(const char *folder)
{
    long most = 0;
    DIR *all = opendir(folder);
    for (struct dirent *one; all && (one = readdir(all));) {
        long number = lease_number(one->d_name);
        most = number > most ? number : most;
    }
    if (all)
        closedir(all);
    return most;
}

static void remove_older(const char *folder, long number)
{
    char path[1200];
    DIR *all = opendir(folder);
    for (struct dirent *one; all && (one = readdir(all));) {
        long other = lease_number(one->d_name);
        if (other > 0 && other < number && lease_path(path, folder, other))
            unlink(path);
    }
    if (all)
        closedir(all);
}

static bool next_line(char **rest, char *out, size_t size)
{
    char *line = strsep(rest, "\n");
    if (!line || !*rest) /* the last line has its end too: else the file is not whole */
        return false;
    snprintf(out, size, "%s", line);
    return true;
}

/* false: not (yet) a whole lease. */
static bool parse(struct owner *owner, char *text)
{
    char letter[8], process[32], start[32];
    if (!next_line(&text, letter, sizeof letter) ||
        !next_line(&text, owner->machine, sizeof owner->machine) ||
        !next_line(&text, process, sizeof process) || !next_line(&text, start, sizeof start) ||
        !next_line(&text, owner->host, sizeof owner->host))
        return false;
    owner->released = letter[0] == 'R';
    owner->start = strtoll(start, NULL, 10);
    for (char *c = owner->host; *c; c++)
        *c = *c > ' ' && *c < 127 ? *c : '?';
    return number_read_long(process, &owner->process) && owner->process > 0;
}

/* ---------------------------------------------------------------- looking */

static bool foreign_lives(struct lease_watch *watch, long number, const struct stat *about, double patience)
{
    double now = clock_seconds();
    if (!watch)
        return true;
    if (watch->number != number || watch->touched.tv_sec != about->st_mtim.tv_sec ||
        watch->touched.tv_nsec != about->st_mtim.tv_nsec)
        *watch = (struct lease_watch){number, about->st_mtim, now};
    return now - watch->since < patience;
}

void lease_look(struct lease_view *view, const char *folder, struct lease_watch *watch, double patience)
{
    char path[1200], text[512], machine[MACHINE_SIZE], host[80];
    struct owner owner = {0};
    struct stat about;
    *view = (struct lease_view){.number = newest(folder)};
    if (!view->number || !lease_path(path, folder, view->number))
        return;
    int fd =
        open(path,
             O_RDONLY | O_CLOEXEC); /* opening asks the server again; stat alone may be answered by a cache */
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    bool there = n >= 0 && fstat(fd, &about) == 0;
    if (fd >= 0)
        close(fd);
    if (!there)
        return; /* gone since it was listed */
    text[n] = 0;
    bool whole = parse(&owner, text);
    if (whole && owner.released)
        return;
    machine_name(machine, host);
    bool here = whole && !strcmp(machine, owner.machine);
    view->held = here ? owner_lives(&owner) : foreign_lives(watch, view->number, &about, patience);
    if (whole)
        snprintf(view->owner, sizeof view->owner, "process %ld on %s", owner.process, owner.host);
}

/* ---------------------------------------------------------------- taking */

/* The whole text at once under a name that nobody has yet. Some file systems have no hard links: there the
 * file is empty for a moment, which readers take for a foreign lease. */
static bool create(const char *path, const char *aside, const char *text, dqs_error *error)
{
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int problem = written ? 0 : errno;
    if (fd >= 0)
        close(fd);
    bool made = written && link(aside, path) == 0;
    if (written && !made)
        problem = errno;
    unlink(aside);
    if (written && !made && problem != EEXIST) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        made = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
        problem = made ? 0 : errno;
        if (fd >= 0)
            close(fd);
    }
    if (!made && problem != EEXIST)
        fail(error, DQS_E_IO, "%s: cannot write: %s", path, strerror(problem));
    return made;
}

bool lease_take(struct lease *lease, const char *folder, const struct lease_view *seen, dqs_error *error)
{
    char path[1200], aside[1300], text[512], machine[MACHINE_SIZE], host[80];
    long number = seen->number + 1;
    *lease = (struct lease){.number = 0};
    if (strlen(folder) >= sizeof lease->folder || !lease_path(path, folder, number)) {
        fail(error, DQS_E_IO, "%.200s...: the path is too long; choose a shorter one", folder);
        return false;
    }
    machine_name(machine, host);
    snprintf(aside, sizeof aside, "%s/.taking-%.60s-%ld", folder, host, (long)getpid());
    snprintf(text, sizeof text, "H\n%s\n%ld\n%lld\n%s\n", machine, (long)getpid(), process_start(getpid()),
             host);
    if (!create(path, aside, text, error))
        return false;
    if (newest(folder) != number) { /* what was seen is long past */
        unlink(path);
        return false;
    }
    snprintf(lease->folder, sizeof lease->folder, "%s", folder);
    lease->number = number;
    remove_older(folder, number);
    return true;
}

static bool still_ours(const struct lease *lease)
{
    return lease->number > 0 && newest(lease->folder) == lease->number;
}

bool lease_renew(struct lease *lease)
{
    char path[1200];
    lease_path(path, lease->folder, lease->number);
    return still_ours(lease) && utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

void lease_release(struct lease *lease)
{
    char path[1200];
    if (lease->number == 0)
        return;
    lease_path(path, lease->folder, lease->number);
    int fd = still_ours(lease) ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0 || pwrite(fd, "R", 1, 0) != 1)
        unlink(path);
    if (fd >= 0)
        close(fd);
    lease->number = 0;
}

void lease_end(struct lease *lease)
{
    char path[1200];
    if (lease->number == 0)
        return;
    lease_path(path, lease->folder, lease->number);
    unlink(path);
    lease->number = 0;
}

void lease_clear(const char *folder, const struct lease_view *seen)
{
    if (seen->number > 0 && !seen->held)
        remove_older(folder, seen->number + 1);
}
