/* result: how train, resume and eval end: one line for people and, if asked for, one JSON line on stdout. */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include "dqs.h"
#include <stdbool.h>

struct result {
    const dqs_run *run;
    const dqs_evaluation *evaluation; /* NULL: none was made */
    double seconds, steps_per_second;
    long steps;
    const char *mode; /* of eval, else NULL */
    bool stopped;     /* before its end, state saved */
};

void result_print(const struct result *result, bool json);

#endif
