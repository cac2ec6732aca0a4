/* sweep_child: starting programs. A run's process is in a group of its own, so that Ctrl-C reaches the sweep alone. */
#define _GNU_SOURCE
#include "sweep_child.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

struct start {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
};

/* In a group of its own or not; with the signals as a fresh process has them. */
static void start_begin(struct start *start, bool own_group)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2};
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&usual, numbers[i]);
    posix_spawn_file_actions_init(&start->files);
    posix_spawnattr_init(&start->attributes);
    posix_spawnattr_setsigmask(&start->attributes, &none);
    posix_spawnattr_setsigdefault(&start->attributes, &usual);
    posix_spawnattr_setflags(&start->attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                         (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    posix_spawn_file_actions_addopen(&start->files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
}

static void start_end(struct start *start)
{
    posix_spawn_file_actions_destroy(&start->files);
    posix_spawnattr_destroy(&start->attributes);
}

/* The environment with one more variable. */
static char **environment_with(struct arena *arena, const char *pair)
{
    int n = 0;
    while (environ[n])
        n++;
    char **all = arena_new(arena, char *, n + 2);
    memcpy(all, environ, sizeof *all * (size_t)n);
    all[n] = words_join(arena, pair, "", "");
    return all;
}

pid_t child_start(char **words, const char *log_path, dqs_error *error)
{
    struct arena arena = {0};
    struct start start;
    char pair[64];
    pid_t pid = -1;
    snprintf(pair, sizeof pair, CHILD_OF "=%ld", (long)getpid());
    start_begin(&start, true);
    posix_spawn_file_actions_addopen(&start.files, STDOUT_FILENO, log_path, O_WRONLY | O_CREAT | O_APPEND,
                                     0666);
    posix_spawn_file_actions_adddup2(&start.files, STDOUT_FILENO, STDERR_FILENO);
    int problem =
        posix_spawn(&pid, words[0], &start.files, &start.attributes, words, environment_with(&arena, pair));
    start_end(&start);
    arena_free(&arena);
    if (problem == 0)
        return pid;
    fail(error, DQS_E_IO, "%s: cannot be started with the log %s: %s", words[0], log_path, strerror(problem));
    return -1;
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
    struct start start;
    int ends[2], status = -1;
    pid_t pid = -1;
    output[0] = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(error, DQS_E_IO, "%s: cannot be run: %s", words[0], strerror(errno));
    start_begin(&start, false);
    posix_spawn_file_actions_adddup2(&start.files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&start.files, ends[1], STDERR_FILENO);
    int problem =
        posix_spawnp(&pid, words[0], &start.files, &start.attributes, (char *const *)words, environ);
    start_end(&start);
    close(ends[1]);
    if (problem == 0)
        drain(ends[0], output, size);
    close(ends[0]);
    if (problem)
        return fail(error, DQS_E_IO, "%s: cannot be run: %s; is it installed?", words[0], strerror(problem));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(error, DQS_E_IO, "%s failed: %.300s", words[0], output[0] ? output : "it said nothing");
    return DQS_OK;
}
