/* log: numbers on their way out. An algorithm reports named numbers into a sink and does not know who
 * listens. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "phase.h"
#include "status.h"
#include <stdarg.h>

/* Means of named numbers since the last flush. Fixed capacity, no allocation. */
#define LOG_CAPACITY 96
struct log_sink {
    struct phase_clock *phases; /* NULL: nobody measures */
    int count;
    struct {
        const char *name; /* a literal: "train/critic_loss" */
        double sum;
        long n;
    } rows[LOG_CAPACITY];
};
void log_add(struct log_sink *sink, const char *name, double value); /* mean over calls; sink may be NULL */
void log_set(struct log_sink *sink, const char *name, double value); /* last value wins */
double log_mean(const struct log_sink *sink, const char *name);      /* NaN if absent */
void log_clear(struct log_sink *sink);                               /* the clock goes on */
/* After every update: a loss, "train/...", that is no number any more is DQS_E_NUMERIC. */
dqs_status log_check_losses(const struct log_sink *sink, long updates, dqs_error *error);
/* The time from here on belongs to this phase; sink may be NULL. */
void log_phase(struct log_sink *sink, const char *name);

#endif
