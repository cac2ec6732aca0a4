#include "cloud.h"

void cloud_create(struct cloud *c, struct arena *arena, int most, int dim, int width)
{
    size_t panels = ((size_t)most + CLOUD_PANEL - 1) / CLOUD_PANEL, w = (size_t)width;
    *c = (struct cloud){.most = most, .dim = dim, .width = width};
    c->points = arena_new(arena, float, panels *(size_t)dim *CLOUD_PANEL);
    c->hidden = arena_new(arena, float, w *CLOUD_PANEL);
    c->sign1 = arena_new(arena, uint32_t, panels * w);
    c->sign2 = arena_new(arena, uint32_t, panels * w);
    c->open = arena_new(arena, int, w);
    c->constant = arena_new(arena, float, w);
    c->fold = arena_new(arena, float, (size_t)dim *w);
    c->room = arena_new(arena, float, 4 * w * 16);
    c->list = arena_new(arena, int, 2 * w);
}

void cloud_fill(struct cloud *c, const float *y, int count)
{
    c->panels = (count + CLOUD_PANEL - 1) / CLOUD_PANEL;
    for (int p = 0; p < c->panels; p++)
        for (int i = 0; i < CLOUD_PANEL; i++) {
            int point = p * CLOUD_PANEL + i < count ? p * CLOUD_PANEL + i : count - 1;
            for (int j = 0; j < c->dim; j++)
                c->points[(p * c->dim + j) * CLOUD_PANEL + i] = y[point * c->dim + j];
        }
}
