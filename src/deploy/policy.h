/* policy: a deployed policy, that is a learner that only acts: no replay, no optimiser, one row at a time.
 * Reading its file is the caller's business (api_policy.c); the tensors are named by deployed_visit. */
#ifndef DEPLOY_POLICY_H
#define DEPLOY_POLICY_H

#include "algo.h"
#include "arena.h"
#include "compute.h"
#include "visit.h"

struct deployed_shape {
    int obs_dim, act_dim;
    bool terminates;
};

struct deployed {
    char env[100];     /* what it was learned on, "" where nobody knows */
    float *low, *high; /* [act_dim]: the task's bounds; NULL where nobody knows */
    int steps;         /* of sampling, in one action; 0: one pass */
    int repeat;        /* steps of the task for which an action is to be held */
    const struct algo *algo;
    void *options; /* its own copy */
    struct deployed_shape shape;
    struct compute *compute; /* one thread: a policy must not compete with its host program */
    struct arena arena;
    void *self;
};

dqs_status deployed_create(struct deployed **policy, const struct algo *algo, const void *options,
                           const char *kernels, struct deployed_shape shape, uint64_t seed, dqs_error *error);
void deployed_visit(void *policy, struct visitor *visitor); /* what VISIT_POLICY names is the policy file */
/* Starts its random numbers afresh; the weights stay. Allocates; not for the control loop. */
dqs_status deployed_seed(struct deployed *policy, uint64_t seed, dqs_error *error);
/* A second one with the same weights, on kernels of that name, its random numbers at their start. */
dqs_status deployed_twin(struct deployed **twin, const struct deployed *policy, const char *kernels,
                         uint64_t seed, dqs_error *error);
dqs_status deployed_act(struct deployed *policy, const float *obs, float *action, dqs_error *error);
void deployed_free(struct deployed *policy);

#endif
