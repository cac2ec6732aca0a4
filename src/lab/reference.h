/* reference: scores of different tasks on one scale, for aggregates over tasks. */
#ifndef LAB_REFERENCE_H
#define LAB_REFERENCE_H

#include <stdbool.h>

/* Where a return of 0 and of 1 on the common scale lies. */
struct reference {
    double zero, one;
};

/* The one table: tasks of the DeepMind Control Suite, whose rewards lie in [0,1] over 1000 steps, are divided
 * by 1000 (but not lqr, whose rewards have other bounds). Every other task has no reference and stays out of
 * aggregates. */
bool reference_find(struct reference *reference, const char *env);
double reference_score(const struct reference *reference, double value);

#endif
