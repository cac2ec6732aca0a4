/* ablate: what one option is worth. The runs of a sweep over its values, summed up: score at the end, area
 * under the curve and return per hour, each over the seeds, as a table and a figure. */
#ifndef LAB_ABLATE_H
#define LAB_ABLATE_H

#include "collection.h"
#include "document.h"
#include "json.h"
#include "stats.h"
#include "sweep.h"

struct ablate_value {
    const char *text;             /* the option's value */
    int n, planned;               /* seeds with a score at the end; seeds of the plan */
    const double *scores, *areas; /* n each */
    double mean, std;
    struct stats_interval interval; /* of the mean */
    double area, area_std;          /* mean over the steps of the curve, then over the seeds */
    struct stats_interval area_interval;
    double hours;                            /* of one core, mean over the seeds */
    int n_curve;                             /* evaluations that all of its seeds have */
    const double *step, *curve, *low, *high; /* mean, least and most of the seeds */
};

struct ablation {
    struct arena arena;
    const char *task, *algo, *preset, *option, *measure;
    long steps;
    int n_values;
    struct ablate_value *values; /* in the order of the plan */
};

/* `option` is the key that varies in the plan, `measure` a column of evaluations.csv. Free it in any case. */
dqs_status ablate_read(struct ablation *ablation, const struct sweep_plan *plan, const char *option,
                       const char *measure, collection_warning *warn, void *user, dqs_error *error);
void ablate_free(struct ablation *ablation);

void ablate_document(struct document *document, const struct ablation *ablation);
void ablate_json(struct json *json, const struct ablation *ablation);
/* ablation.png and .svg */
dqs_status ablate_figure(const struct ablation *ablation, const struct plot_target *target, dqs_error *error);
/* All of it into the folder: ablation.md, .csv, .png, .svg. */
dqs_status ablate_write(const struct ablation *ablation, const char *folder, struct plot_report *files,
                        dqs_error *error);

#endif
