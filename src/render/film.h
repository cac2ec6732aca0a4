/* film: plays episodes of a task and writes them as an mp4 (all of them), a GIF and a contact sheet (the
 * first). The film runs at the task's own speed. */
#ifndef RENDER_FILM_H
#define RENDER_FILM_H

#include "status.h"
#include <signal.h>
#include <stdbool.h>

enum film_format { FILM_MP4, FILM_GIF, FILM_PNG, FILM_FORMATS };

struct film_news { /* of the episode being played, which is over if `over` */
    int episode, episodes;
    long step, most_steps;
    double score;
    bool over;
};

struct film {
    /* Either a run folder, whose best policy acts as in evaluation, or a task, where actions are drawn at
     * random. */
    const char *run, *task;
    const char *path[FILM_FORMATS]; /* NULL: not wanted */
    int episodes;
    double seconds; /* of each episode at most; 0: all of it */
    double fps;     /* 0: one frame a step, or as few as keep it within 60 */
    int width, height;
    const char *camera; /* NULL: the first */
    const char *seed;   /* NULL: the run's eval_seed; the starts are then those of `dqs eval` */
    void (*watch)(void *user, const struct film_news *news); /* after every step; may be NULL */
    void *user;
    const volatile sig_atomic_t *stop; /* not 0: give up and leave nothing behind, DQS_STOPPED; may be NULL */
};

struct film_result {
    char task[128];
    char means[16]; /* what drew: "EGL", ... */
    double fps;
    double *score; /* episodes; the caller frees it */
};

dqs_status film_make(const struct film *film, struct film_result *result, dqs_error *error);

#endif
