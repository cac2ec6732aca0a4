/* gym: Gymnasium's environments for the C program, "gym:Pendulum-v1". A helper process in Python runs them;
 * all instances of a type share one, which starts with the first and ends with the last. What it costs is in
 * docs/python.md. */
#ifndef ENV_GYM_H
#define ENV_GYM_H

#include "status.h"
#include <stdbool.h>

#define GYM_PREFIX "gym:"

struct gym;
bool gym_is_name(const char *name);
/* Makes a type; nothing is started before it is opened. The type lives as long as the gym. */
dqs_status gym_create(struct gym **gym, const char *name, dqs_error *error);
const dqs_env_type *gym_type(const struct gym *gym);
void gym_free(struct gym *gym);

#endif
