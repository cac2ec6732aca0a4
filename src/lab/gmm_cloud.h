/* gmm_cloud: where the episodes of a trace end in the task gmm, beside exact samples; for the picture of one
 * run and the figure of many. */
#ifndef LAB_GMM_CLOUD_H
#define LAB_GMM_CLOUD_H

#include "arena.h"
#include "chart.h"
#include "collection.h"
#include "gmm_metrics.h"

struct gmm_cloud {
    int n;
    double *x, *y;
    struct gmm_metrics metrics; /* not of exact samples */
};

/* The last positions, measured. A trace of another task is an error that names `source`. */
dqs_status gmm_cloud_read(struct gmm_cloud *cloud, struct arena *arena, const dqs_trace *trace,
                          const char *source, dqs_error *error);
/* The same of a run; `data`, empty before, keeps what else the trace says and is the caller's to free. False
 * if the run has no trace (yet), or one that is damaged or of another task: then with a warning. */
bool gmm_cloud_of_run(struct gmm_cloud *cloud, struct plot_data *data, struct arena *arena,
                      const char *run_dir, collection_warning *warn, void *user);
/* Always the same ones for the same n. */
struct gmm_cloud gmm_cloud_exact(struct arena *arena, int n);
/* The measure of as many episodes of the exact Boltzmann policy (gmm_exact.h), always the same ones: the
 * yardstick. */
struct gmm_metrics gmm_cloud_walk(struct arena *arena, int n);
/* The axes of a panel over the box of the task. */
struct chart_axes gmm_axes(struct chart_box box);
void gmm_cloud_draw(cairo_t *c, const struct chart_axes *axes, const struct gmm_cloud *cloud,
                    const struct chart_field *density, struct chart_color color, double radius);
/* The range of colours for a map: without its lowest tenth, which lies far from every mode and would take
 * most of them. */
struct chart_range gmm_value_range(struct arena *arena, const struct chart_field *field);

#endif
