/* picture: one frame of a film. */
#ifndef RENDER_PICTURE_H
#define RENDER_PICTURE_H

#include <cairo.h>
#include <stddef.h>

struct picture {
    int width, height;
    unsigned char *rgb; /* height x width x 3, the top row first */
};

static inline size_t picture_bytes(const struct picture *picture)
{
    return (size_t)picture->width * (size_t)picture->height * 3;
}

/* Between a picture and a cairo surface of format RGB24 and the same size. */
void picture_from_surface(struct picture *picture, cairo_surface_t *surface);
void picture_to_surface(const struct picture *picture, cairo_surface_t *surface);

#endif
