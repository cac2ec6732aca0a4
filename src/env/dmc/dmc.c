#include "dmc.h"
#include "env_options.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* ---------------------------------------------------------------- for the rows' functions */
double *dmc_put(double *to, const double *from, int n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
    return to + n;
}

void dmc_edits(struct dmc *dmc, double *place, int n)
{
    double **grown = realloc(dmc->edit, (size_t)(dmc->n_edits + n) * sizeof *grown);
    if (!grown) {
        dmc->short_of_memory = true;
        return;
    }
    dmc->edit = grown;
    for (int i = 0; i < n; i++)
        dmc->edit[dmc->n_edits++] = place + i;
}

void dmc_forward(struct dmc *dmc)
{
    int flags = dmc->m->opt.disableflags;
    dmc->m->opt.disableflags |= mjDSBL_ACTUATION;
    dmc->mj->mj_forward(dmc->m, dmc->d);
    dmc->m->opt.disableflags = flags;
}

void dmc_clear(struct dmc *dmc)
{
    dmc->mj->mj_resetData(dmc->m, dmc->d);
    dmc_forward(dmc);
}

void dmc_advance(struct dmc *dmc, int n)
{
    if (dmc->m->opt.integrator != mjINT_RK4) { /* RK4 cannot be split */
        dmc->mj->mj_step2(dmc->m, dmc->d);
        n--;
    }
    for (int i = 0; i < n; i++)
        dmc->mj->mj_step(dmc->m, dmc->d);
    dmc->mj->mj_step1(dmc->m, dmc->d);
}

double dmc_uniform(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_uniform(rng);
}

static void normalise(double *v, int n)
{
    double square = 0.0;
    for (int i = 0; i < n; i++)
        square += v[i] * v[i];
    for (int i = 0; i < n; i++)
        v[i] /= sqrt(square);
}

void dmc_random_quaternion(struct rng *rng, double quat[4])
{
    for (int i = 0; i < 4; i++)
        quat[i] = rng_normal(rng);
    normalise(quat, 4);
}

/* Within a cone: the axis uniform, the angle uniform in [0, most]. */
static void random_rotation(struct rng *rng, double quat[4], double most)
{
    double axis[3];
    for (int i = 0; i < 3; i++)
        axis[i] = rng_normal(rng);
    normalise(axis, 3);
    double half = 0.5 * dmc_uniform(rng, 0.0, most);
    quat[0] = cos(half);
    for (int i = 0; i < 3; i++)
        quat[i + 1] = sin(half) * axis[i];
}

void dmc_randomise_joints(struct dmc *dmc, struct rng *rng)
{
    for (int joint = 0; joint < dmc->m->njnt; joint++) {
        double *q = dmc->d->qpos + dmc->m->jnt_qposadr[joint];
        const double *range = dmc->m->jnt_range + 2 * joint;
        int kind = dmc->m->jnt_type[joint];
        bool limited = dmc->m->jnt_limited[joint];
        if (limited && (kind == mjJNT_HINGE || kind == mjJNT_SLIDE))
            *q = dmc_uniform(rng, range[0], range[1]);
        else if (kind == mjJNT_HINGE)
            *q = dmc_uniform(rng, -pi, pi);
        else if (kind == mjJNT_BALL && limited)
            random_rotation(rng, q, range[1]);
        else if (kind == mjJNT_BALL)
            dmc_random_quaternion(rng, q);
        else if (kind == mjJNT_FREE) { /* biased towards one octant, as the suite has it */
            for (int i = 3; i < 7; i++)
                q[i] = rng_uniform(rng);
            normalise(q + 3, 4);
        }
    }
}

dqs_status dmc_reset_joints(struct dmc *dmc, struct rng *rng, dqs_error *error)
{
    (void)error;
    dmc_randomise_joints(dmc, rng);
    return DQS_OK;
}

dqs_status dmc_draw_until_free(struct dmc *dmc, struct rng *rng, void (*draw)(struct dmc *, struct rng *),
                               dqs_error *error)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        draw(dmc, rng);
        dmc_forward(dmc);
        if (dmc->d->ncon == 0)
            return DQS_OK;
    }
    return fail(error, DQS_E_ENV, "%s: no start without contacts in 1000 draws; is the model damaged?",
                dmc->name);
}

double dmc_small_control(const struct dmc *dmc)
{
    double sum = 0.0;
    for (int i = 0; i < dmc->m->nu; i++) {
        double u = dmc->d->ctrl[i];
        sum += fabs(u) < 1.0 ? 1.0 - u * u : 0.0;
    }
    return sum / dmc->m->nu;
}

/* ---------------------------------------------------------------- open, close */
static const char *find_text(const char *name)
{
    for (const struct dmc_model_text *row = dmc_model_texts; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row->text;
    return NULL;
}

static dqs_status load_model(struct dmc *dmc, dqs_error *error)
{
    const char *text = find_text(dmc->task->model);
    if (!text)
        return fail(error, DQS_E_FORMAT, "model %s: is not in this build; look at src/env/dmc/models",
                    dmc->task->model);
    char *composed = dmc->task->compose ? dmc->task->compose(dmc->task, text) : NULL;
    if (dmc->task->compose && !composed)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", dmc->name);
    dqs_status status = mujoco_compile(dmc->mj, &dmc->m, dmc->task->model, composed ? composed : text, error);
    free(composed);
    return status;
}

static dqs_status find_names(struct dmc *dmc, dqs_error *error)
{
    for (int i = 0; dmc->task->names && dmc->task->names[i].name; i++) {
        const struct dmc_name *row = &dmc->task->names[i];
        int id = i < DMC_MOST_NAMES ? dmc->mj->mj_name2id(dmc->m, row->kind, row->name) : -1;
        if (id < 0)
            return fail(error, DQS_E_FORMAT, "model %s: has no %s; the file and %s do not fit together",
                        dmc->task->model, row->name, dmc->name);
        dmc->id[i] = row->kind == mjOBJ_SENSOR ? dmc->m->sensor_adr[id] : id;
    }
    return DQS_OK;
}

static void make_data(void *argument)
{
    struct dmc *dmc = argument;
    dmc->d = dmc->mj->mj_makeData(dmc->m);
    if (dmc->d && dmc->task->ready)
        dmc->task->ready(dmc);
}

static dqs_status prepare(struct dmc *dmc, dqs_error *error)
{
    char message[200];
    TRY(load_model(dmc, error));
    TRY(find_names(dmc, error));
    if (!mujoco_try(make_data, dmc, message, sizeof message))
        return fail(error, DQS_E_ENV, "%s: MuJoCo says: %s", dmc->name, message);
    size_t nu = (size_t)dmc->m->nu;
    dmc->act_low = calloc(2 * nu, sizeof *dmc->act_low);
    dmc->act_high = dmc->act_low ? dmc->act_low + nu : NULL;
    dmc->obs = calloc((size_t)dmc->task->obs_dim, sizeof *dmc->obs);
    dmc->edit_start = calloc((size_t)dmc->n_edits + 1, sizeof *dmc->edit_start);
    if (!dmc->d || !dmc->act_low || !dmc->obs || !dmc->edit_start || dmc->short_of_memory)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", dmc->name);
    for (int i = 0; i < dmc->n_edits; i++)
        dmc->edit_start[i] = *dmc->edit[i];
    for (size_t i = 0; i < nu; i++) {
        const double *range =
            dmc->m->actuator_ctrlrange + 2 * i; /* a learner needs bounds even where MuJoCo has none */
        dmc->act_low[i] = range[0] < range[1] ? (float)range[0] : -1.0f;
        dmc->act_high[i] = range[0] < range[1] ? (float)range[1] : 1.0f;
    }
    return DQS_OK;
}

static int state_dim(const struct dmc *dmc)
{
    const mjModel *m = dmc->m;
    return (int)(1 + m->nq + 2 * m->nv + m->na + m->nu + m->nsensordata + dmc->n_edits);
}

dqs_status dmc_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    const struct dmc_entry *entry = user;
    TRY(env_options_parse(entry->name, NULL, NULL, options, error));
    const struct mujoco_api *mj = mujoco_load(error);
    if (!mj)
        return DQS_E_UNSUPPORTED;
    struct dmc *dmc = calloc(1, sizeof *dmc);
    if (!dmc)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", entry->name);
    dmc->mj = mj;
    dmc->task = entry->task;
    dmc->name = entry->name;
    dqs_status status = prepare(dmc, error);
    if (status != DQS_OK) {
        dmc_close(dmc);
        return status;
    }
    *self = dmc;
    *spec = (dqs_spec){.obs_dim = dmc->task->obs_dim,
                       .act_dim = (int)dmc->m->nu,
                       .max_steps = dmc->task->max_steps ? dmc->task->max_steps : 1000,
                       .state_dim = state_dim(dmc),
                       .terminates = dmc->task->over != NULL,
                       .act_low = dmc->act_low,
                       .act_high = dmc->act_high};
    return DQS_OK;
}

void dmc_close(void *self)
{
    struct dmc *dmc = self;
    if (dmc->d)
        dmc->mj->mj_deleteData(dmc->d);
    if (dmc->m)
        dmc->mj->mj_deleteModel(dmc->m);
    free(dmc->edit);
    free(dmc->edit_start);
    free(dmc->act_low);
    free(dmc->obs);
    free(dmc);
}

struct dmc *dmc_of(const dqs_env_type *type, void *self)
{
    return type->open == dmc_open ? self : NULL;
}

/* ---------------------------------------------------------------- reset, step */
static void observe(struct dmc *dmc, float *obs)
{
    dmc->task->observe(dmc, dmc->obs);
    for (int i = 0; i < dmc->task->obs_dim; i++)
        obs[i] = (float)dmc->obs[i];
}

/* On bad numbers mj_step resets the whole state by itself and only counts a warning: a run that went on would
 * learn from nonsense. Any warning is therefore an error, as in the suite. */
static dqs_status check_warnings(const struct dmc *dmc, const char *verb, dqs_error *error)
{
    for (int i = 0; i < mjNWARNING; i++)
        if (dmc->d->warning[i].number)
            return fail(error, DQS_E_ENV, "%s: MuJoCo warned while %s: %s", dmc->name, verb,
                        mujoco_warning()[0] ? mujoco_warning() : "no reason given");
    return DQS_OK;
}

struct resetting {
    struct dmc *dmc;
    struct rng rng;
    dqs_status status;
    dqs_error *error;
};

static void reset(void *argument)
{
    struct resetting *r = argument;
    for (int i = 0; i < r->dmc->n_edits; i++)
        *r->dmc->edit[i] = r->dmc->edit_start[i];
    dmc_clear(r->dmc);
    r->status = r->dmc->task->reset(r->dmc, &r->rng, r->error);
    if (r->status == DQS_OK)
        dmc_forward(r->dmc);
}

dqs_status dmc_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct resetting r = {.dmc = self, .error = error};
    char message[200];
    rng_seed(&r.rng, seed, RNG_ENV);
    if (!mujoco_try(reset, &r, message, sizeof message))
        return fail(error, DQS_E_ENV, "%s: MuJoCo failed while resetting: %s", r.dmc->name, message);
    TRY(r.status);
    TRY(check_warnings(r.dmc, "resetting", error));
    observe(r.dmc, obs);
    return DQS_OK;
}

static void control_step(void *self)
{
    struct dmc *dmc = self;
    dmc_advance(dmc, dmc->task->substeps);
}

dqs_status dmc_step(void *self, const float *action, float *obs, dqs_outcome *outcome, dqs_error *error)
{
    struct dmc *dmc = self;
    char message[200];
    for (int i = 0; i < dmc->m->nu; i++)
        dmc->d->ctrl[i] = action[i];
    if (!mujoco_try(control_step, dmc, message, sizeof message))
        return fail(error, DQS_E_ENV, "%s: MuJoCo failed while stepping: %s", dmc->name, message);
    TRY(check_warnings(dmc, "stepping", error));
    outcome->reward = dmc->task->reward(dmc);
    outcome->terminated = dmc->task->over && dmc->task->over(dmc);
    observe(dmc, obs);
    return DQS_OK;
}

/* ---------------------------------------------------------------- state */
/* Walks through the state in its documented order: the one place that knows it. */
static void walk_state(struct dmc *dmc, double *state, void (*part)(double *state, double *place, int n))
{
    const mjModel *m = dmc->m;
    mjData *d = dmc->d;
    struct {
        double *place;
        int n;
    } parts[] = {{&d->time, 1},
                 {d->qpos, (int)m->nq},
                 {d->qvel, (int)m->nv},
                 {d->act, (int)m->na},
                 {d->qacc_warmstart, (int)m->nv},
                 {d->ctrl, (int)m->nu},
                 {d->sensordata, (int)m->nsensordata}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        part(state, parts[i].place, parts[i].n);
        state += parts[i].n;
    }
    for (int i = 0; i < dmc->n_edits; i++)
        part(state++, dmc->edit[i], 1);
}

static void save(double *state, double *place, int n)
{
    if (n > 0)
        memcpy(state, place, (size_t)n * sizeof *state);
}

static void restore(double *state, double *place, int n)
{
    if (n > 0)
        memcpy(place, state, (size_t)n * sizeof *state);
}

void dmc_get_state(void *self, double *state)
{
    walk_state(self, state, save);
}

struct restoring {
    struct dmc *dmc;
    const double *state;
};

/* mj_step1 brings positions and velocities up to date and, unlike mj_forward, leaves the warm start and the
 * sensors of forces, which belong to the step before, as they were saved. */
static void restore_all(void *argument)
{
    struct restoring *r = argument;
    r->dmc->mj->mj_resetData(r->dmc->m, r->dmc->d);
    walk_state(r->dmc, (double *)r->state, restore);
    r->dmc->mj->mj_step1(r->dmc->m, r->dmc->d);
}

dqs_status dmc_set_state(void *self, const double *state, float *obs, dqs_error *error)
{
    struct restoring r = {.dmc = self, .state = state};
    char message[200];
    for (int i = 0; i < state_dim(r.dmc); i++)
        if (!isfinite(state[i]))
            return fail(error, DQS_E_USAGE, "%s: entry %d of the state is %g; a state has finite numbers",
                        r.dmc->name, i, state[i]);
    if (!mujoco_try(restore_all, &r, message, sizeof message))
        return fail(error, DQS_E_ENV, "%s: MuJoCo failed while restoring: %s", r.dmc->name, message);
    TRY(check_warnings(r.dmc, "restoring", error));
    observe(r.dmc, obs);
    return DQS_OK;
}
