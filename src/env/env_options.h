/* env_options: the options of a task as one text, "key=value,key=value", read by a table of rows. */
#ifndef ENV_ENV_OPTIONS_H
#define ENV_ENV_OPTIONS_H

#include "option.h"

/* Sets what `text` names (NULL or empty: nothing) in an options struct already filled with defaults. A NULL
 * table means that the task has no options. */
dqs_status env_options_parse(const char *task, const struct option *table, void *options, const char *text,
                             dqs_error *error);

#endif
