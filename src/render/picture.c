/* picture: see picture.h. */
#include "picture.h"
#include <stdint.h>
#include <string.h>

void picture_from_surface(struct picture *picture, cairo_surface_t *surface)
{
    cairo_surface_flush(surface);
    const unsigned char *rows = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface), width = (size_t)picture->width;
    for (size_t y = 0; y < (size_t)picture->height; y++)
        for (size_t x = 0; x < width; x++) {
            unsigned char *to = picture->rgb + 3 * (y * width + x);
            uint32_t pixel; /* 00RRGGBB in the machine's own byte order */
            memcpy(&pixel, rows + y * stride + 4 * x, sizeof pixel);
            to[0] = (unsigned char)(pixel >> 16);
            to[1] = (unsigned char)(pixel >> 8);
            to[2] = (unsigned char)pixel;
        }
}

void picture_to_surface(const struct picture *picture, cairo_surface_t *surface)
{
    cairo_surface_flush(surface);
    unsigned char *rows = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface), width = (size_t)picture->width;
    for (size_t y = 0; y < (size_t)picture->height; y++)
        for (size_t x = 0; x < width; x++) {
            const unsigned char *from = picture->rgb + 3 * (y * width + x);
            uint32_t pixel = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
            memcpy(rows + y * stride + 4 * x, &pixel, sizeof pixel);
        }
    cairo_surface_mark_dirty(surface);
}
