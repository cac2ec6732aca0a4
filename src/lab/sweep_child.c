/* sweep_child: starting programs. A run's process is in a group of its own, so that Ctrl-C reaches the sweep alone, and
 * is told to stop if the sweep dies. */
#define _GNU_SOURCE
#include "sweep_child.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* ---------------------------------------------------------------- the command of a run */

static char *words_join(struct arena *arena, const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = arena_take(arena, size);
    snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

char **sweep_command(struct arena *arena, const char *program, const struct sweep_run *run,
                     const struct sweep_state *state)
{
    char **words = arena_new(arena, char *, 16 + 2 * run->n_settings), number[32];
    int n = 0;
    bool threads = false;
#define WORD(text) words[n++] = words_join(arena, text, "", "")
    WORD(program);
    if (state && state->begun) {
        WORD("resume");
        WORD(run->folder);
        if (state->longer) {
            snprintf(number, sizeof number, "%ld", run->steps);
            WORD("--steps");
            WORD(number);
        }
        return words;
    }
    WORD("train");
    WORD(run->task);
    WORD("--algo");
    WORD(run->algo);
    WORD("--preset");
    WORD(run->preset);
    WORD("--seed");
    snprintf(number, sizeof number, "%ld", run->seed);
    WORD(number);
    for (int i = 0; i < run->n_settings; i++) {
        threads = threads || !strcmp(run->settings[i].key, "threads");
        WORD("--set");
        words[n++] = words_join(arena, run->settings[i].key, "=", run->settings[i].value);
    }
    if (!threads) { /* cores are used best by runs side by side */
        WORD("--threads");
        WORD("1");
    }
    WORD("--out");
    WORD(run->folder);
#undef WORD
    return words;
}

/* ---------------------------------------------------------------- processes */

static void child_signals(void)
{
    sigset_t none;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t child_start(char **words, const char *log_path, dqs_error *error)
{
    pid_t parent = getpid();
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log < 0) {
        fail(error, DQS_E_IO, "%s: cannot write: %s", log_path, strerror(errno));
        return -1;
    }
    pid_t pid = fork();
    if (pid < 0)
        fail(error, DQS_E_IO, "cannot start a process: %s; try fewer --jobs", strerror(errno));
    if (pid == 0) {
        int nothing = open("/dev/null", O_RDONLY);
        setpgid(0, 0);
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
        child_signals();
        if (getppid() != parent || nothing < 0 || dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
            _exit(126);
        execv(words[0], words);
        dprintf(2, "dqs: %s: cannot be run: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    close(log);
    return pid;
}

/* What the pipe holds, up to its end; more than fits is read and dropped, so that the writer can end. */
static void drain(int fd, char *output, size_t size)
{
    char rest[512];
    size_t used = 0;
    for (;;) {
        bool room = used + 1 < size;
        ssize_t n = read(fd, room ? output + used : rest, room ? size - 1 - used : sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += room ? (size_t)n : 0;
    }
    output[used] = 0;
    while (used > 0 && (output[used - 1] == '\n' || output[used - 1] == ' '))
        output[--used] = 0;
}

dqs_status sweep_run_program(const char *const *words, char *output, size_t size, dqs_error *error)
{
    int ends[2], status = -1;
    output[0] = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(error, DQS_E_IO, "%s: cannot be run: %s", words[0], strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        child_signals();
        if (dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0)
            _exit(126);
        execvp(words[0], (char *const *)words);
        dprintf(2, "%s", strerror(errno));
        _exit(127);
    }
    close(ends[1]);
    if (pid > 0)
        drain(ends[0], output, size);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        return fail(error, DQS_E_IO, "%s: cannot be run: %s", words[0], strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(error, DQS_E_IO, "%s failed: %.300s", words[0], output[0] ? output : "it said nothing");
    return DQS_OK;
}
