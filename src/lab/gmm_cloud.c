/* gmm_cloud: see gmm_cloud.h. */
#include "gmm_cloud.h"
#include "gmm.h"
#include "gmm_exact.h"
#include "scenery.h"
#include <stdio.h>
#include <math.h>
#include <stdlib.h>

static struct gmm_cloud cloud_of(struct arena *arena, const float *xy, int n)
{
    struct gmm_cloud cloud = {.n = n, .x = arena_new(arena, double, n), .y = arena_new(arena, double, n)};
    for (int i = 0; i < n; i++) {
        cloud.x[i] = xy[2 * i];
        cloud.y[i] = xy[2 * i + 1];
    }
    return cloud;
}

dqs_status gmm_cloud_read(struct gmm_cloud *cloud, struct arena *arena, const dqs_trace *trace,
                          const char *source, dqs_error *error)
{
    if (trace->obs_dim != 2)
        return fail(error, DQS_E_MISMATCH, "%s: observations of %d numbers are not of gmm; try: dqs eval",
                    source, trace->obs_dim);
    float *xy = arena_new(arena, float, 2 * (size_t)trace->episodes);
    for (int e = 0; e < trace->episodes; e++) {
        const float *last = trace->obs + ((size_t)e * (size_t)trace->stride + (size_t)trace->length[e]) * 2;
        if (!(fabsf(last[0]) <= GMM_BOX) || !(fabsf(last[1]) <= GMM_BOX))
            return fail(error, DQS_E_MISMATCH,
                        "%s: episode %d ends at (%g, %g), outside the box of gmm; try: dqs eval", source, e,
                        last[0], last[1]);
        xy[2 * e] = last[0];
        xy[2 * e + 1] = last[1];
    }
    *cloud = cloud_of(arena, xy, trace->episodes);
    gmm_measure(&cloud->metrics, xy, trace->episodes);
    return DQS_OK;
}

bool gmm_cloud_of_run(struct gmm_cloud *cloud, struct plot_data *data, struct arena *arena,
                      const char *run_dir, collection_warning *warn, void *user)
{
    dqs_error error = {0};
    char source[700];
    snprintf(source, sizeof source, "%s/trace.safetensors", run_dir);
    dqs_status status = plot_data_read_trace(data, run_dir, &error);
    bool there = status == DQS_OK && data->trace.episodes > 0;
    if (there)
        status = gmm_cloud_read(cloud, arena, &data->trace, source, &error);
    if (status != DQS_OK && warn)
        warn(user, error.message);
    return there && status == DQS_OK;
}

struct gmm_cloud gmm_cloud_exact(struct arena *arena, int n)
{
    float *xy = arena_new(arena, float, 2 * (size_t)n);
    struct rng rng;
    rng_seed(&rng, 0, RNG_DIAGNOSE);
    gmm_sample(xy, n, &rng);
    return cloud_of(arena, xy, n);
}

struct gmm_metrics gmm_cloud_walk(struct arena *arena, int n)
{
    struct gmm_metrics metrics;
    float *xy = arena_new(arena, float, 2 * (size_t)n);
    struct rng rng;
    rng_seed(&rng, 0, RNG_DIAGNOSE);
    gmm_exact_walk(xy, n, arena, &rng);
    gmm_measure(&metrics, xy, n);
    return metrics;
}

struct chart_axes gmm_axes(struct chart_box box)
{
    return (struct chart_axes){
        .box = box, .x = {-GMM_BOX, GMM_BOX}, .y = {-GMM_BOX, GMM_BOX}, .no_grid = true};
}

void gmm_cloud_draw(cairo_t *c, const struct chart_axes *axes, const struct gmm_cloud *cloud,
                    const struct chart_field *density, struct chart_color color, double radius)
{
    scenery_gmm_levels(c, axes, density, false);
    chart_scatter(c, axes, cloud->x, cloud->y, cloud->n, color, radius);
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

struct chart_range gmm_value_range(struct arena *arena, const struct chart_field *field)
{
    size_t n = 0;
    float *sorted = arena_new(arena, float, field->columns * field->rows);
    for (int i = 0; i < field->columns * field->rows; i++)
        if (isfinite(field->values[i]))
            sorted[n++] = field->values[i];
    if (n == 0)
        return (struct chart_range){0, 1};
    qsort(sorted, n, sizeof *sorted, compare_floats);
    return (struct chart_range){sorted[n / 10], sorted[n - 1]};
}
