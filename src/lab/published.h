/* published: returns that others published on the paper's eight tasks, as mean and standard deviation over
 * seeds. Steps are environment steps without action repeat: those of SimBa, SimbaV2, MR.Q and TD-MPC2 repeat
 * each action twice and are given here by frames. The paper counts PPO's network updates as its steps. */
#ifndef LAB_PUBLISHED_H
#define LAB_PUBLISHED_H

#include "verdict.h"
#include <stdbool.h>

#define PUBLISHED_TASKS 8
extern const char *const published_tasks[PUBLISHED_TASKS];

struct published_row {
    const char *name; /* "DQS", "TD-MPC2" */
    const char *algo; /* ours of the same name, for the tables of the paper; NULL for others */
    long steps;
    int seeds;
    const char *source;
    struct verdict_claim cell[PUBLISHED_TASKS];
};
extern const struct published_row published_rows[]; /* ends with name NULL */

/* By name, whatever its case; NULL if not known at so many steps. */
const struct published_row *published_find(const char *name, long steps);
bool published_knows(const char *name); /* at some number of steps */
/* The paper's row for one of our algorithms. */
const struct published_row *published_paper(const char *algo, long steps);
/* NULL if the task is none of the eight, or row is NULL. */
const struct verdict_claim *published_cell(const struct published_row *row, const char *env);

#endif
