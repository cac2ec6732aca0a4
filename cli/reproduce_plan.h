/* reproduce_plan: what the items of `dqs reproduce` will train, and what that will cost. */
#ifndef CLI_REPRODUCE_PLAN_H
#define CLI_REPRODUCE_PLAN_H

#include "json.h"
#include "probe.h"
#include "reproduce.h"
#include <stdio.h>

#define PLAN_ITEMS 8
#define PLAN_ALGOS 16
#define PLAN_PROBES 32

struct plan_share { /* of an algorithm */
    const char *algo;
    int runs, left; /* all; not finished */
    double seconds; /* of one core, what is left; not-a-number if not known */
    double own;     /* of these, what no item before has too */
    double update;  /* seconds of one */
};

struct plan_item {
    const struct reproduce_item *item;
    struct sweep_spec spec;
    struct sweep_plan plan;
    int runs, done, shared; /* shared: runs that an item before it also has */
    int n_shares;
    struct plan_share shares[PLAN_ALGOS];
    double seconds; /* of one core, what is left and not shared */
};

struct plan {
    int n, jobs;
    double longest; /* seconds of one run */
    struct plan_item items[PLAN_ITEMS];
    const char *preset;
    int n_probes;
    struct {
        const char *algo, *task;
        bool good;
        struct probe probe;
    } probes[PLAN_PROBES];
};

/* Adds the item: its grid is laid out and checked. Free the plan in any case. */
dqs_status plan_add(struct plan *plan, const struct reproduce_item *item,
                    const struct reproduce_request *request, dqs_error *error);
/* Looks at what is there and measures what the rest costs; some seconds, said on standard error unless
 * quiet. */
void plan_estimate(struct plan *plan, int jobs, bool quiet);
void plan_free(struct plan *plan);

int plan_left(const struct plan *plan); /* runs that are not finished */
void plan_print(FILE *out, const struct plan *plan);
void plan_json(struct json *json, const struct plan *plan); /* an array of the items */
/* The share of DQS in the whole, core hours and seconds of an update: for the warning about its preset
 * `paper`. */
bool plan_paper_dqs(const struct plan *plan, double *core_hours, double *update);

#endif
