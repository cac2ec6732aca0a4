/* pendulum: swing a pendulum up and keep it there; the task of Gymnasium's Pendulum-v1. */
#ifndef ENV_PENDULUM_H
#define ENV_PENDULUM_H

#include "dqs.h"

extern const dqs_env_type pendulum_type;

#endif
