/* figure: pictures of many runs at once, as the paper has them: learning curves of all methods in a grid of
 * tasks, the walks through a maze side by side, the samples and log partitions of gmm. What is drawn comes
 * from run folders alone. */
#ifndef LAB_FIGURE_H
#define LAB_FIGURE_H

#include "curve.h"

struct figure_choice {
    struct curve_rule rule; /* of the learning curves */
    /* Names with commas between them, in the order wanted; NULL: all. A task is also meant by its
     * environment, a method also by its algorithm. Seeds are for the pictures of single runs. */
    const char *tasks, *algos, *seeds;
    const char *name; /* of the files of the learning curves; NULL: fig-curves */
    const char *note; /* further words below the mazes; NULL: none */
};

/* What a choice takes of a collection, in the order of the names. A name that is not there is an error. */
struct figure_view {
    const struct collection *collection;
    struct figure_choice choice;
    int n_tasks, n_methods;
    int *tasks, *methods;     /* indices */
    struct chart_look *looks; /* by index of the collection: a method looks the same in every picture */
};
dqs_status figure_view(struct figure_view *view, struct arena *arena, const struct collection *collection,
                       const struct figure_choice *choice, dqs_error *error);
bool figure_takes_seed(const struct figure_view *view, long seed);
/* "DQS paper K=8": the label with the name of the algorithm in capitals, as the papers write it. */
void figure_name(char *text, int size, const struct collection_method *method);
/* "preset default" if all runs of the view share it, "presets default, paper" otherwise. */
void figure_presets(char *text, int size, const struct figure_view *view);

/* Each writes its picture (and tables) into the target and lists the files; none, if the view has no data for
 * it. Scratch memory comes from the arena. Runs passed over for a damaged trace are told to `warn`. */
struct figure_context {
    struct arena *arena;
    const struct plot_target *target;
    collection_warning *warn;
    void *user;
};
dqs_status figure_curves(const struct figure_view *view, const struct figure_context *context,
                         dqs_error *error); /* fig-curves.png, .svg */
dqs_status figure_mazes(const struct figure_view *view, const struct figure_context *context,
                        dqs_error *error); /* fig-<task>.png, .svg per maze, maze-goals.csv, .md */
dqs_status figure_gmm(const struct figure_view *view, const struct figure_context *context,
                      dqs_error *error); /* fig-gmm.png, .svg, gmm-samples.csv, .md */

/* The learning curves as the text of an SVG element (malloc'd), for a page: NULL if there are none. `prefix`
 * keeps its ids apart from those of other pictures on the page. */
dqs_status figure_curves_svg(char **svg, const struct collection *collection,
                             const struct figure_choice *choice, const char *prefix, dqs_error *error);
/* All figures of the folders (runs, or folders with runs below) into out_dir. */
dqs_status figure_all(const char *const *folders, int n, const struct figure_choice *choice,
                      const char *out_dir, struct plot_report *report, collection_warning *warn, void *user,
                      dqs_error *error);

#endif
