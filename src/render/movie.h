/* movie: a film file, written by ffmpeg, which is fed raw frames. The file appears under its name when it
 * is whole. */
#ifndef RENDER_MOVIE_H
#define RENDER_MOVIE_H

#include "picture.h"
#include "status.h"

/* MP4: H.264, of the frames' size (even numbers) and rate. GIF: at most 320 pixels wide and 20 frames a
 * second. */
enum movie_format { MOVIE_MP4, MOVIE_GIF };

struct movie;

dqs_status movie_open(struct movie **movie, const char *path, enum movie_format format, int width, int height,
                      double fps, dqs_error *error);
dqs_status movie_add(struct movie *movie, const struct picture *picture, dqs_error *error);
/* Waits for ffmpeg and moves the file into place. movie_close is still due. */
dqs_status movie_finish(struct movie *movie, dqs_error *error);
/* Without a movie_finish before, nothing is left of the film. NULL is allowed. */
void movie_close(struct movie *movie);

#endif
