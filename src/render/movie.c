/* movie: see movie.h. */
#define _GNU_SOURCE /* environ */
#include "movie.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GIF_WIDTH = 320, GIF_FPS = 20, MOST_WORDS = 40 };

struct movie {
    char path[1024], aside[1100];
    pid_t child; /* 0: none, or already waited for */
    int feed;    /* frames go in here; -1: closed */
    FILE *words; /* what ffmpeg has to say */
};

/* ---------------------------------------------------------------- the command */
struct command {
    const char *words[MOST_WORDS];
    int count;
    char size[32], rate[32], filter[400];
};

static void add(struct command *command, const char *const *words)
{
    for (; *words; words++)
        command->words[command->count++] = *words;
}

static void compose(struct command *command, const struct movie *movie, enum movie_format format, int width,
                    int height, double fps)
{
    snprintf(command->size, sizeof command->size, "%dx%d", width, height);
    snprintf(command->rate, sizeof command->rate, "%.6f", fps);
    /* One palette for the whole film, made of what moves; an ordered pattern of dots stays still where the
     * picture does, which keeps the file small. */
    snprintf(command->filter, sizeof command->filter,
             "fps=%.6f,scale=%d:-2:flags=lanczos,split[a][b];[a]palettegen=stats_mode=diff[p];"
             "[b][p]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle",
             fmin(fps, GIF_FPS), width < GIF_WIDTH ? width : GIF_WIDTH);
    const char *const input[] = {
        "ffmpeg",      "-y",          "-loglevel",  "error",       "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-video_size", command->size, "-framerate", command->rate, "-i", "pipe:0",   "-an",      NULL};
    const char *const mp4[] = {"-c:v",      "libx264",    "-pix_fmt", "yuv420p", "-crf", "20",
                               "-movflags", "+faststart", "-f",       "mp4",     NULL};
    const char *const gif[] = {"-filter_complex", command->filter, "-f", "gif", NULL};
    const char *const output[] = {movie->aside, NULL};
    add(command, input);
    add(command, format == MOVIE_MP4 ? mp4 : gif);
    add(command, output);
}

/* ---------------------------------------------------------------- the child */
/* In a process group of its own, so that Ctrl-C is told to us alone and we decide what becomes of the
 * film. */
static int spawn(struct movie *movie, const struct command *command, int input)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, fileno(movie->words), STDERR_FILENO);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int problem =
        posix_spawnp(&movie->child, "ffmpeg", &files, &attributes, (char *const *)command->words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (problem)
        movie->child = 0;
    return problem;
}

static dqs_status start(struct movie *movie, const struct command *command, dqs_error *error)
{
    int ends[2];
    /* A socket rather than a pipe: writing to it can be told not to raise SIGPIPE, and so a dead ffmpeg is
     * an error of ours without touching the signals of the process. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(error, DQS_E_IO, "ffmpeg: cannot make a channel to it: %s", strerror(errno));
    movie->feed = ends[0];
    movie->words = tmpfile();
    if (!movie->words || fcntl(fileno(movie->words), F_SETFD, FD_CLOEXEC) != 0) {
        close(ends[1]);
        return fail(error, DQS_E_IO,
                    "ffmpeg: cannot make a temporary file for its messages: %s; is TMPDIR full?",
                    strerror(errno));
    }
    int problem = spawn(movie, command, ends[1]);
    close(ends[1]);
    if (problem == ENOENT || problem == EACCES)
        return fail(
            error, DQS_E_UNSUPPORTED,
            "ffmpeg: not found in PATH, and films need it; try: apt-get install ffmpeg, or: --format png");
    if (problem)
        return fail(error, DQS_E_IO, "ffmpeg: cannot be started: %s", strerror(problem));
    return DQS_OK;
}

dqs_status movie_open(struct movie **out, const char *path, enum movie_format format, int width, int height,
                      double fps, dqs_error *error)
{
    struct command command = {.count = 0};
    struct movie *movie = calloc(1, sizeof *movie);
    *out = NULL;
    if (!movie)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", path);
    movie->feed = -1;
    size_t length = (size_t)snprintf(movie->path, sizeof movie->path, "%s", path);
    /* "./" so that ffmpeg takes no name for an option or a protocol. */
    snprintf(movie->aside, sizeof movie->aside, "%s%s.tmp-%ld", path[0] == '/' ? "" : "./", path,
             (long)getpid());
    compose(&command, movie, format, width, height, fps);
    dqs_status status =
        length < sizeof movie->path
            ? start(movie, &command, error)
            : fail(error, DQS_E_IO, "%.60s...: the path is too long; use a shorter one", path);
    if (status != DQS_OK)
        movie_close(movie);
    else
        *out = movie;
    return status;
}

/* Closes the feed and waits. Returns whether ffmpeg ended well. */
static bool wait_for(struct movie *movie)
{
    int ending = 0;
    if (movie->feed >= 0)
        close(movie->feed);
    movie->feed = -1;
    if (!movie->child)
        return false;
    pid_t done;
    do
        done = waitpid(movie->child, &ending, 0);
    while (done < 0 && errno == EINTR);
    movie->child = 0;
    return done > 0 && WIFEXITED(ending) && WEXITSTATUS(ending) == 0;
}

/* ffmpeg's first line is the cause, the others are what follows from it. */
static dqs_status blame(struct movie *movie, dqs_error *error)
{
    char line[300] = "";
    rewind(movie->words);
    while (fgets(line, sizeof line, movie->words) && line[strspn(line, " \n")] == '\0')
        continue;
    line[strcspn(line, "\r\n")] = '\0';
    return fail(error, DQS_E_IO, "%.150s: ffmpeg could not write it: %s", movie->path,
                line[0] ? line : "it gave no reason");
}

dqs_status movie_add(struct movie *movie, const struct picture *picture, dqs_error *error)
{
    const unsigned char *data = picture->rgb;
    size_t left = picture_bytes(picture);
    while (left > 0) {
        ssize_t sent = send(movie->feed, data, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            wait_for(movie);
            return blame(movie, error);
        }
        data += sent;
        left -= (size_t)sent;
    }
    return DQS_OK;
}

dqs_status movie_finish(struct movie *movie, dqs_error *error)
{
    if (!wait_for(movie))
        return blame(movie, error);
    if (rename(movie->aside, movie->path) != 0)
        return fail(error, DQS_E_IO, "%s: cannot be written: %s", movie->path, strerror(errno));
    return DQS_OK;
}

void movie_close(struct movie *movie)
{
    if (!movie)
        return;
    if (movie->child)
        kill(movie->child, SIGKILL);
    wait_for(movie);
    unlink(movie->aside); /* after movie_finish it is not there any more */
    if (movie->words)
        fclose(movie->words);
    free(movie);
}
