/* sweep_child: starting programs. A run's process is in a group of its own, so that Ctrl-C reaches the sweep
 * alone. */
#define _GNU_SOURCE
#include "sweep_child.h"
#include "process.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char pair[64];
    pid_t pid = -1;
    snprintf(pair, sizeof pair, CHILD_OF "=%ld", (long)getpid());
    process_fresh(&attributes, true);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    int problem = posix_spawn(&pid, words[0], &files, &attributes, words, environment_with(&arena, pair));
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    arena_free(&arena);
    if (problem == 0)
        return pid;
    fail(error, DQS_E_IO, "%s: cannot be started with the log %s: %s", words[0], log_path, strerror(problem));
    return -1;
}
