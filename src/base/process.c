#define _GNU_SOURCE /* environ, pipe2 */
#include "process.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* To its end, also beyond what there is room for: a program must not be stopped by a pipe that nobody
 * empties. */
static void read_all(int from, char *output, size_t size)
{
    size_t used = 0;
    for (;;) {
        char piece[4096];
        ssize_t n = read(from, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n && used + 1 < size; i++)
            output[used++] = piece[i];
    }
    if (size > 0)
        output[used] = 0;
}

const char *process_python(void)
{
    static const char *const names[] = {"DQS_PYTHON", "PYTHON"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *chosen = getenv(names[i]);
        if (chosen && *chosen)
            return chosen;
    }
    return "python3";
}

void process_fresh(posix_spawnattr_t *attributes, bool own_group)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2};
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&usual, numbers[i]);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &usual);
    posix_spawnattr_setflags(attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                 (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
}

int process_run(const char *const *argv, char *output, size_t size)
{
    int ends[2], status = 0;
    pid_t child;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (size > 0)
        output[0] = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return PROCESS_ABSENT;
    process_fresh(&attributes, false);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int failed = posix_spawnp(&child, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!failed)
        read_all(ends[0], output, size);
    close(ends[0]);
    if (failed)
        return PROCESS_ABSENT;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return PROCESS_ABSENT;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
