/* log: running means of named numbers. */
#include "log.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static int find(const struct log_sink *sink, const char *name)
{
    /* Names are literals: nearly always the very same pointer comes again. */
    for (int i = 0; i < sink->count; i++)
        if (sink->rows[i].name == name)
            return i;
    for (int i = 0; i < sink->count; i++)
        if (strcmp(sink->rows[i].name, name) == 0)
            return i;
    return -1;
}

static int find_or_append(struct log_sink *sink, const char *name)
{
    int i = find(sink, name);
    if (i >= 0)
        return i;
    assert(sink->count < LOG_CAPACITY);
    if (sink->count >= LOG_CAPACITY)
        return -1;
    i = sink->count++;
    sink->rows[i].name = name;
    sink->rows[i].sum = 0;
    sink->rows[i].n = 0;
    return i;
}

void log_add(struct log_sink *sink, const char *name, double value)
{
    int i = sink ? find_or_append(sink, name) : -1;
    if (i < 0)
        return;
    sink->rows[i].sum += value;
    sink->rows[i].n++;
}

void log_set(struct log_sink *sink, const char *name, double value)
{
    int i = sink ? find_or_append(sink, name) : -1;
    if (i < 0)
        return;
    sink->rows[i].sum = value;
    sink->rows[i].n = 1;
}

double log_mean(const struct log_sink *sink, const char *name)
{
    int i = sink ? find(sink, name) : -1;
    return i < 0 ? NAN : sink->rows[i].sum / (double)sink->rows[i].n;
}

void log_clear(struct log_sink *sink)
{
    if (sink)
        sink->count = 0;
}

void log_phase(struct log_sink *sink, const char *name)
{
    if (sink && sink->phases)
        phase_begin(sink->phases, name);
}

dqs_status log_check_losses(const struct log_sink *sink, long updates, dqs_error *error)
{
    for (int i = 0; i < sink->count; i++)
        if (!isfinite(sink->rows[i].sum) && strncmp(sink->rows[i].name, "train/", 6) == 0)
            return fail(error, DQS_E_NUMERIC, "%s became %g in update %ld; try a smaller learning rate",
                        sink->rows[i].name, sink->rows[i].sum, updates);
    return DQS_OK;
}
