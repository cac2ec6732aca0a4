/* reproduce: the tables and figures of the paper, one row of a table each: what to train, what to draw, what
 * the paper says of it and by which rule our numbers are held against that. Sweeps train (sweep.h), run
 * folders are all that is read, and the outcome is a document, a list of verdicts and figures. */
#ifndef LAB_REPRODUCE_H
#define LAB_REPRODUCE_H

#include "collection.h"
#include "document.h"
#include "figure.h"
#include "json.h"
#include "stats.h"
#include "sweep.h"
#include "verdict.h"

struct reproduction;
typedef dqs_status reproduce_judge(struct reproduction *r, dqs_error *error);
typedef dqs_status reproduce_draw(const struct figure_view *view, const struct figure_context *context,
                                  dqs_error *error);

struct reproduce_setting { /* key NULL ends a list */
    const char *algo;      /* NULL: all */
    const char *preset;    /* only with that one; NULL: any */
    const char *key, *value;
};

struct reproduce_figure { /* draw NULL ends a list */
    reproduce_draw *draw;
    const char *name, *algos; /* of learning curves; NULL: their own name, all */
};

struct reproduce_item {
    const char *name;      /* "table1"; also of its folder and files */
    const char *title;     /* one line */
    const char *tasks;     /* with commas between them */
    const char *algos;     /* as the paper has them from left to right */
    const char *full_task; /* the paper's own, if the usual one is a smaller stand-in; NULL: it is not */
    long steps, full_steps;
    long least_steps; /* fewer are no ground for a verdict; with the paper's task: full_steps */
    int seeds;
    const struct reproduce_setting *settings;
    const char *drawn; /* the algorithm whose samples are drawn anew by its stochastic policy; NULL: none */
    const struct reproduce_figure *figures;
    bool report; /* also the whole report of the runs */
    reproduce_judge *judge;
};
extern const struct reproduce_item reproduce_items[]; /* in the order of cost; ends with name NULL */
const struct reproduce_item *reproduce_find(const char *name);

/* ---------------------------------------------------------------- what to train */
struct reproduce_request {
    const char *preset, *seeds, *steps, *tasks, *algos; /* NULL: the item's own */
    bool full;                                          /* the paper's task instead of the stand-in */
    const char *const *settings;                        /* key=value, each for the algorithms that know it */
    int n_settings;
    const char *out; /* the runs of all items are in OUT/runs, what an item says is in OUT/<item> */
};
/* Free it in any case. */
dqs_status reproduce_spec(struct sweep_spec *spec, const struct reproduce_item *item,
                          const struct reproduce_request *request, dqs_error *error);

/* ---------------------------------------------------------------- what came out */
struct reproduce_verdict {
    const char *task, *method, *preset;
    const char *measure; /* "return at 100k steps" */
    int seeds;
    struct stats_interval ours; /* not-a-number: no data */
    double std;                 /* over seeds; not-a-number where it says nothing */
    struct verdict_claim claim; /* not-a-number where the paper has no numbers */
    const char *said, *bound;   /* what the paper says, and the rule for it; "" for numbers */
    const char *word;           /* "reproduced", "above", "below", "not reproduced", "undecided", "no ..." */
    char text[VERDICT_TEXT_SIZE]; /* the word, and how many seeds if they are few */
};

struct reproduction {
    struct arena arena;
    const struct reproduce_item *item;
    const struct collection *collection;
    struct figure_view view; /* the item's tasks and methods, in its order, as far as they are there */
    char presets[200];       /* "preset default" */
    char note[400]; /* what differs from the paper by choice, set by the judge; also told in the figures */
    struct document document;
    int n_verdicts, capacity;
    struct reproduce_verdict *verdicts;
    char *csv; /* malloc'd: the scores of single runs, if the judge lists them; NULL: no */
    collection_warning *warn;
    void *user;
};

struct reproduce_scope {
    const char *tasks, *algos; /* of the item, with commas between; NULL: all */
};
/* The collection must outlive it. No run of the item in the collection is an error. Free it in any case. */
dqs_status reproduce_make(struct reproduction *r, const struct reproduce_item *item,
                          struct reproduce_scope scope, const struct collection *collection,
                          collection_warning *warn, void *user, dqs_error *error);
void reproduce_free(struct reproduction *r);
/* <item>.md, .tex and, for tables, .csv, report.html, the figures and verdicts.csv into the folder, which is
 * made. */
dqs_status reproduce_write(const struct reproduction *r, const char *folder, struct plot_report *files,
                           dqs_error *error);
/* "3 reproduced, 1 below, 2 no data" */
void reproduce_count(char *text, size_t size, const struct reproduce_verdict *verdicts, int n);
void reproduce_csv_head(FILE *out);
void reproduce_csv(FILE *out, const struct reproduction *r);
void reproduce_json(struct json *json, const struct reproduction *r); /* an array of the verdicts */

/* ---------------------------------------------------------------- for the judges */
reproduce_judge reproduce_cells, reproduce_curves, reproduce_gmm, reproduce_maze;

/* Texts are kept. */
const char *reproduce_keep(struct reproduction *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct reproduce_verdict *reproduce_add(struct reproduction *r, const char *task,
                                        const struct collection_method *method);
/* A claim that a number is large: reproduced if our interval lies above `above`, not reproduced if below
 * `below`. */
void reproduce_claim(struct reproduce_verdict *v, const struct stats_interval *ours, double above,
                     double below, int seeds);
void reproduce_say(struct reproduce_verdict *v, const char *word, int seeds);
/* "100k", "1234" */
const char *reproduce_steps(struct reproduction *r, long steps);
void reproduce_tell_ppo(struct reproduction *r); /* what its steps are, if it is there */
/* The table of the claims so far, from verdict `first` on. */
void reproduce_put_claims(struct reproduction *r, int first);
/* Steps that a run of the task needs for a verdict. */
long reproduce_least(const struct reproduction *r, const char *task);

#endif
