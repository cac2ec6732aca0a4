/* cmd_render: dqs render. */
#include "args.h"
#include "cmd.h"
#include "file.h"
#include "film.h"
#include "json.h"
#include "number.h"
#include "terminal.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "Films evaluation episodes of the best policy in the folder RUN: an mp4 of all of them, a\n"
    "small GIF and a contact sheet (PNG) of the first. With --random it films a task, with\n"
    "actions drawn at random. Prints the file names. Works without a screen; the control tasks\n"
    "are drawn by OpenGL, from EGL or OSMesa (MUJOCO_GL=egl or osmesa allows only that one).\n"
    "mp4 and GIF need ffmpeg.";

static const char examples[] = "  dqs render runs/cheetah-run/dqs/default-s0\n"
                               "  dqs render runs/walker-run/dqs/default-s0 --episodes 3 --out films\n"
                               "  dqs render runs/maze/dqs/default-s0 --format png\n"
                               "  dqs render quadruped-run --random --seconds 5 --out quadruped.mp4\n";

static const char *const endings[FILM_FORMATS] = {[FILM_MP4] = "mp4", [FILM_GIF] = "gif", [FILM_PNG] = "png"};

enum { PATH_SIZE = 1024 };

struct wishes { /* the flags as given */
    const char *word;
    const char *episodes, *out, *size, *fps, *camera, *format, *seed, *seconds;
    bool random, json;
};

/* ---------------------------------------------------------------- flags to a film */
static bool read_formats(const char *text, bool wanted[FILM_FORMATS])
{
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        int format = 0;
        while (format < FILM_FORMATS &&
               (strlen(endings[format]) != length || strncmp(endings[format], word, length) != 0))
            format++;
        if (format == FILM_FORMATS) {
            complain(EXIT_USAGE,
                     "--format: no format '%.*s'; there are mp4, gif and png, as in --format mp4,png",
                     (int)(length < 40 ? length : 40), word);
            return false;
        }
        wanted[format] = true;
        word += length + (word[length] == ',');
    }
    return true;
}

static bool read_size(const char *text, int *width, int *height)
{
    char rest;
    if (sscanf(text, "%5dx%5d%c", width, height, &rest) == 2 && *width >= 32 && *height >= 32 &&
        *width <= 4096 && *height <= 4096 && *width % 2 == 0 &&
        *height % 2 == 0) /* H.264 has half the resolution for colours */
        return true;
    complain(EXIT_USAGE, "--size: '%.40s' is not WIDTHxHEIGHT, two even numbers in 32 .. 4096 as in 640x480",
             text);
    return false;
}

static bool read_positive(const char *flag, const char *text, double low, double high, double *out)
{
    if (number_read(text, out) && *out >= low && *out <= high)
        return true;
    complain(EXIT_USAGE, "%s: '%.40s' is not a number in %g .. %g", flag, text, low, high);
    return false;
}

/* A name that ends in .mp4, .gif or .png is one file; anything else is a folder. */
static int ending_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (int format = 0; dot && dot[1] && format < FILM_FORMATS; format++)
        if (!strcmp(dot + 1, endings[format]))
            return format;
    return -1;
}

static bool join(char *path, const char *folder, const char *name, const char *ending)
{
    if (snprintf(path, PATH_SIZE, "%s%s%s.%s", folder, *folder ? "/" : "", name, ending) < PATH_SIZE)
        return true;
    complain(EXIT_USAGE, "--out: %.60s...: the path is too long; use a shorter one", folder);
    return false;
}

/* Where the files go: beside the run's own, or, of a task, in the current folder under the task's name. */
static int choose_paths(const struct wishes *w, struct film *film, char paths[FILM_FORMATS][PATH_SIZE])
{
    bool wanted[FILM_FORMATS] = {false};
    int one = w->out ? ending_of(w->out) : -1;
    const char *format = w->format ? w->format : one >= 0 ? endings[one] : "mp4,gif,png";
    if (!read_formats(format, wanted))
        return EXIT_USAGE;
    int count = 0;
    for (int i = 0; i < FILM_FORMATS; i++)
        count += wanted[i];
    if (!count || (one >= 0 && (count > 1 || !wanted[one])))
        return complain(EXIT_USAGE,
                        "--out: '%.200s' is one file, and --format asks for '%.60s'; give a folder",
                        w->out ? w->out : "", format);
    const char *slash = film->run ? NULL : strrchr(film->task, '/'); /* dm_control/cheetah-run-v0 */
    const char *name = film->run ? "render" : slash ? slash + 1 : film->task;
    const char *folder = w->out ? w->out : film->run ? film->run : "";
    for (int i = 0; i < FILM_FORMATS; i++) {
        if (!wanted[i])
            continue;
        if (one < 0 && !join(paths[i], folder, name, endings[i]))
            return EXIT_USAGE;
        film->path[i] = one < 0 ? paths[i] : w->out;
    }
    dqs_error error = {.status = DQS_OK};
    if (w->out && one < 0 && file_make_folders(w->out, &error) != DQS_OK)
        return complain_error(&error);
    return -1;
}

static int plan(const struct wishes *w, struct film *film)
{
    long episodes = 1, seed;
    if (w->episodes && !args_long("--episodes", w->episodes, 1, 1000, &episodes))
        return EXIT_USAGE;
    if (w->seed && !args_long("--seed", w->seed, 0, 9000000000000000L, &seed))
        return EXIT_USAGE;
    if (!read_size(w->size, &film->width, &film->height))
        return EXIT_USAGE;
    if (w->fps && !read_positive("--fps", w->fps, 1, 240, &film->fps))
        return EXIT_USAGE;
    if (w->seconds && !read_positive("--seconds", w->seconds, 0.01, 100000, &film->seconds))
        return EXIT_USAGE;
    film->episodes = (int)episodes;
    film->camera = w->camera;
    film->seed = w->seed;
    return -1;
}

/* Is the word the name of a task? Then the user forgot --random. */
static bool is_task(const char *word)
{
    const char *name;
    for (int i = 0; (name = dqs_env_name(i, NULL)); i++)
        if (!strcmp(name, word))
            return true;
    return false;
}

/* ---------------------------------------------------------------- while it runs */
static volatile sig_atomic_t caught; /* a signal handler has no argument of its own */

static void on_signal(int number)
{
    if (caught) /* asked twice: at once, whatever is left lying about */
        _exit(128 + number);
    caught = number;
}

static void take_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before, action;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], NULL, &before);
        if (before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

static void watch(void *user, const struct film_news *news)
{
    const bool *live = user;
    char score[32];
    if (!news->over && (!*live || news->step % 20))
        return;
    format_number(score, sizeof score, news->score);
    fprintf(stderr, "%sepisode %d of %d: step %ld of %ld, return %s%s", *live ? "\r\033[K" : "",
            news->episode + 1, news->episodes, news->step, news->most_steps, score, news->over ? "\n" : "");
}

static void print_result(const struct film *film, const struct film_result *result)
{
    char text[32];
    for (int i = 0; i < FILM_FORMATS; i++)
        if (film->path[i])
            puts(film->path[i]);
    printf("%s: %d episode%s at %.4g frames/s, drawn by %s; return", result->task, film->episodes,
           film->episodes > 1 ? "s" : "", result->fps, result->means);
    for (int e = 0; e < film->episodes; e++) {
        format_number(text, sizeof text, result->score[e]);
        printf("%s %s", e ? "," : "", text);
    }
    puts("");
}

static void print_json(const struct film *film, const struct film_result *result)
{
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "env");
    json_string(&j, result->task);
    json_key(&j, "fps");
    json_number(&j, result->fps);
    json_key(&j, "drawn_by");
    json_string(&j, result->means);
    json_key(&j, "returns");
    json_open(&j, '[');
    for (int e = 0; e < film->episodes; e++)
        json_number(&j, result->score[e]);
    json_close(&j, ']');
    json_key(&j, "files");
    json_open(&j, '[');
    for (int i = 0; i < FILM_FORMATS; i++)
        if (film->path[i])
            json_string(&j, film->path[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    puts(j.text);
    json_free(&j);
}

static int shoot(struct film *film, bool json)
{
    bool live = terminal_is_live(stderr);
    struct film_result result;
    dqs_error error = {.status = DQS_OK};
    film->watch = watch;
    film->user = &live;
    film->stop = &caught;
    take_signals();
    dqs_status status = film_make(film, &result, &error);
    if (status == DQS_STOPPED) {
        complain(EXIT_FAILED, "%s%s", live ? "\n" : "", error.message);
        return 128 + caught;
    }
    if (status != DQS_OK)
        return complain_error(&error);
    if (json)
        print_json(film, &result);
    else
        print_result(film, &result);
    free(result.score);
    return EXIT_OK;
}

int cmd_render(int argc, char **argv)
{
    struct wishes w = {.size = "640x480"};
    const struct args_flag flags[] = {
        {"--episodes", "E", "how many (default 1)", .text = &w.episodes},
        {"--seconds", "S", "of each episode at most (default: all of it)", .text = &w.seconds},
        {"--format", "F,F", "of mp4, gif, png (default: all three)", .text = &w.format},
        {"--out", "PATH", "a folder, or one file .mp4, .gif or .png (default: RUN)", .text = &w.out},
        {"--size", "WxH", "in pixels, even numbers (default 640x480)", .text = &w.size},
        {"--fps", "N", "frames a second (default: the task's rate, within 60)", .text = &w.fps},
        {"--camera", "NAME", "of the task's model, or its number (default 0)", .text = &w.camera},
        {"--seed", "S", "of the episodes (default: the run's eval_seed)", .text = &w.seed},
        {"--random", NULL, "the word is a task, not a run: random actions", .on = &w.random},
        {"--json", NULL, "one JSON line on stdout, everything else on stderr", .on = &w.json},
        {0},
    };
    const struct args_spec spec = {.verb = "render",
                                   .usage = "RUN [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = 1};
    int code = args_parse(&spec, argc, argv, &w.word, NULL);
    if (code >= 0)
        return code;
    if (!w.random && is_task(w.word) && !file_exists(w.word))
        return complain(EXIT_USAGE,
                        "render: '%s' is a task, not a run folder; to see it: dqs render %s --random", w.word,
                        w.word);
    char paths[FILM_FORMATS][PATH_SIZE];
    struct film film = {.run = w.random ? NULL : w.word, .task = w.random ? w.word : NULL};
    code = plan(&w, &film);
    if (code < 0)
        code = choose_paths(&w, &film, paths);
    return code >= 0 ? code : shoot(&film, w.json);
}
