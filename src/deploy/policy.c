/* policy: creation, seeding and acting of a learner made with act_only. */
#include "policy.h"
#include <stdlib.h>
#include <string.h>

static dqs_status make_learner(struct deployed *policy, struct arena *arena, void **self, uint64_t seed,
                               dqs_error *error)
{
    struct algo_setup setup = {.compute = policy->compute,
                               .options = policy->options,
                               .obs_dim = policy->shape.obs_dim,
                               .act_dim = policy->shape.act_dim,
                               .n_envs = 1,
                               .total_steps = 1,
                               .seed = seed,
                               .terminates = policy->shape.terminates,
                               .act_only = true,
                               .max_rows = 1};
    return policy->algo->create(self, arena, &setup, error);
}

dqs_status deployed_create(struct deployed **out, const struct algo *algo, const void *options,
                           const char *kernels, struct deployed_shape shape, uint64_t seed, dqs_error *error)
{
    struct deployed *policy = calloc(1, sizeof *policy);
    *out = NULL;
    if (!policy || !(policy->options = malloc(algo->options_size ? algo->options_size : 1))) {
        free(policy);
        return fail(error, DQS_E_MEMORY, "policy: out of memory");
    }
    memcpy(policy->options, options, algo->options_size);
    policy->algo = algo;
    policy->shape = shape;
    dqs_status status = compute_create(&policy->compute, 1, kernels, error);
    if (status == DQS_OK)
        status = make_learner(policy, &policy->arena, &policy->self, seed, error);
    if (status != DQS_OK) {
        deployed_free(policy);
        return status;
    }
    *out = policy;
    return DQS_OK;
}

void deployed_visit(void *policy, struct visitor *visitor)
{
    struct deployed *p = policy;
    p->algo->visit(p->self, visitor);
}

/* Two learners of one kind name the same tensors in the same order: a first visit notes where they are, a
 * second copies. */
struct transfer {
    const void **from;
    size_t count, capacity;
};

static void note_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct transfer *t = context;
    (void)name, (void)kind, (void)type, (void)rank, (void)shape;
    if (t->count < t->capacity)
        t->from[t->count] = data;
    t->count++;
}

static void copy_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    struct transfer *t = context;
    const void *from = t->from[t->count++];
    size_t bytes = visit_type_size(type);
    (void)name;
    for (int i = 0; i < rank; i++)
        bytes *= shape[i];
    if (kind & VISIT_POLICY && bytes)
        memcpy(data, from, bytes);
}

static dqs_status copy_weights(const struct algo *algo, void *to, void *from, dqs_error *error)
{
    struct transfer t = {0};
    algo->visit(from, &(struct visitor){.tensor = note_tensor, .context = &t});
    t.capacity = t.count;
    t.from = calloc(t.capacity ? t.capacity : 1, sizeof *t.from);
    if (!t.from)
        return fail(error, DQS_E_MEMORY, "policy: out of memory");
    t.count = 0;
    algo->visit(from, &(struct visitor){.tensor = note_tensor, .context = &t});
    t.count = 0;
    algo->visit(to, &(struct visitor){.tensor = copy_tensor, .context = &t});
    free(t.from);
    return DQS_OK;
}

dqs_status deployed_seed(struct deployed *policy, uint64_t seed, dqs_error *error)
{
    struct arena arena = {0};
    void *self;
    dqs_status status = make_learner(policy, &arena, &self, seed, error);
    if (status == DQS_OK)
        status = copy_weights(policy->algo, self, policy->self, error);
    if (status != DQS_OK) {
        arena_free(&arena);
        return status;
    }
    arena_free(&policy->arena);
    policy->arena = arena;
    policy->self = self;
    return DQS_OK;
}

dqs_status deployed_twin(struct deployed **twin, const struct deployed *policy, const char *kernels,
                         uint64_t seed, dqs_error *error)
{
    TRY(deployed_create(twin, policy->algo, policy->options, kernels, policy->shape, seed, error));
    dqs_status status = copy_weights(policy->algo, (*twin)->self, policy->self, error);
    if (status != DQS_OK) {
        deployed_free(*twin);
        *twin = NULL;
    }
    return status;
}

dqs_status deployed_act(struct deployed *policy, const float *obs, float *action, dqs_error *error)
{
    return policy->algo->act(policy->self, action, obs, 1, DQS_ACT_EVALUATE, error);
}

void deployed_free(struct deployed *policy)
{
    if (!policy)
        return;
    compute_free(policy->compute);
    arena_free(&policy->arena);
    free(policy->options);
    free(policy->low);
    free(policy->high);
    free(policy);
}
