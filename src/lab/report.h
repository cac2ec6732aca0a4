/* report: the numbers of a collection of runs, and a document of them: returns per task and budget,
 * aggregates over tasks with intervals, return per hour, and how it all compares with what was published. */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include "collection.h"
#include "document.h"
#include "json.h"
#include "stats.h"
#include "verdict.h"

#define REPORT_BUDGETS 16
#define REPORT_TAUS 21 /* of the profile: 0, 0.05, ..., 1 */

struct report_choice {
    int n_budgets; /* 0: 100k and 250k, and the end of the runs for tasks that have neither */
    long budgets[REPORT_BUDGETS];
    /* NULL: "paper", the paper's numbers for each algorithm; or a method of the collection, by label; or one
     * of published_rows, by name. */
    const char *against;
    int repetitions; /* of the bootstrap; 0: STATS_REPETITIONS */
};

/* A method on a task after so many steps. */
struct report_cell {
    int n; /* seeds that have a score there */
    const double *scores;
    double mean, std;
    struct stats_interval interval; /* of the mean */
    double hours;                   /* of one core, mean over the seeds; not-a-number if not known */
    long least_episodes, most_episodes;
    bool best, close; /* the highest mean of the row; or not below it by more than its std */
};

enum report_measure { REPORT_IQM, REPORT_MEDIAN, REPORT_MEAN, REPORT_GAP, REPORT_MEASURES };
extern const char *const report_measures[REPORT_MEASURES]; /* "IQM", ... */

/* A method over several tasks, their returns normalised (reference.h). */
struct report_aggregate {
    int n_tasks, n_scores; /* 0: nothing to aggregate */
    struct stats_interval measures[REPORT_MEASURES];
    struct stats_interval profile[REPORT_TAUS];
};

struct report_improvement { /* of one method over another */
    int x, y, n_tasks;
    struct stats_interval interval;
};

struct report_budget {
    long steps;                            /* 0: the end of the runs */
    long *task_steps;                      /* per task; 0: none there */
    int n_cells;                           /* not empty */
    struct report_cell *cells;             /* n_tasks x n_methods */
    int n_common;                          /* tasks with a reference that all methods with such tasks have */
    bool *common;                          /* per task */
    bool same_tasks;                       /* `own` is `shared` for every method */
    struct report_aggregate *shared, *own; /* per method: over the common tasks; over all it has */
    int n_improvements;
    struct report_improvement *improvements;
};

struct report {
    struct arena arena;
    const struct collection *collection;
    struct report_choice choice;
    int against; /* method of the collection, or -1 */
    int n_budgets;
    struct report_budget budgets[REPORT_BUDGETS + 1];
};

/* The collection must outlive the report. Free the report in any case. */
dqs_status report_make(struct report *report, const struct collection *collection,
                       const struct report_choice *choice, dqs_error *error);
void report_free(struct report *report);

const struct report_cell *report_cell(const struct report *report, const struct report_budget *budget,
                                      int task, int method);
/* Training time until so many steps x threads; not-a-number if not known. */
double report_core_hours(const struct collection_run *run, long steps);
/* What the cell is compared with; false if there is nothing. `name` (may be NULL) tells whose number it
 * is. */
bool report_claim(const struct report *report, const struct report_budget *budget, int task, int method,
                  struct verdict_claim *claim, const char **name);
/* A verdict in words; compared with another method than its own, "level" stands for "reproduced". */
void report_verdict(const struct report *report, const struct report_cell *cell,
                    const struct verdict_claim *claim, char text[VERDICT_TEXT_SIZE]);
/* "100k steps", "the end of the runs" */
void report_budget_name(const struct report_budget *budget, char *text, int size);

/* What a report says besides its numbers, all plain text. */
#define REPORT_NOTES 20
struct report_words {
    char title[400];
    int n_notes, more_notes; /* about what was passed over: told, and only counted */
    char notes[REPORT_NOTES][400];
};
/* Both make a text plain that may come from the names of folders. */
void report_title(struct report_words *words, const char *title);
void report_note(struct report_words *words, const char *line); /* of a collection_warning, say */

dqs_status report_document(struct document *document, const struct report *report,
                           const struct report_words *words, bool figures, dqs_error *error);

enum report_form_index { REPORT_MARKDOWN, REPORT_LATEX, REPORT_CSV, REPORT_HTML, REPORT_FORMS };
struct report_form {
    const char *name, *file; /* "latex", "report.tex" */
};
extern const struct report_form report_forms[REPORT_FORMS];
/* malloc'd. */
dqs_status report_text(char **text, const struct report *report, const struct report_words *words,
                       enum report_form_index form, dqs_error *error);
/* The forms wanted, into the folder, which is made; the files are listed. */
dqs_status report_write(const struct report *report, const struct report_words *words, const char *folder,
                        const bool forms[REPORT_FORMS], struct plot_report *files, dqs_error *error);
/* Every number, one a row. */
void report_csv(FILE *out, const struct report *report);
void report_json(struct json *json, const struct report *report);

/* report_figures.c: SVG elements from malloc, or NULL where there is nothing to show. */
dqs_status report_profile_svg(char **svg, const struct report *report, int budget, dqs_error *error);
dqs_status report_interval_svg(char **svg, const struct report *report, int budget, dqs_error *error);

#endif
