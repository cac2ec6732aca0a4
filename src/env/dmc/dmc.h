/* dmc: the tasks of the DeepMind Control Suite on MuJoCo. A task is one const row of struct dmc_task; dmc.c
 * does what all of them share: open, reset, the control step, state. Sources of every number: docs/tasks.md.
 *
 * State, in doubles: time, qpos (nq), qvel (nv), act (na), qacc_warmstart (nv), ctrl (nu), sensordata, then
 * the numbers of the model the task edits, in the order its row names them. */
#ifndef ENV_DMC_DMC_H
#define ENV_DMC_DMC_H

#include "dmc_types.h"
#include "mujoco_api.h"
#include "rng.h"

struct dmc;

/* A named thing of the model, looked up once at open; dmc->id[i] is the id of names[i], of a sensor its
 * address in sensordata. The list ends with a NULL name. */
struct dmc_name {
    int kind; /* mjOBJ_BODY, ... */
    const char *name;
};

struct dmc_task {
    const char *model;            /* MJCF file of models/, without .xml */
    const struct dmc_name *names; /* may be NULL */
    int substeps;                 /* physics steps in a control step */
    int max_steps;                /* control steps in an episode; 0: 1000, as in all tasks but lqr */
    int obs_dim;
    double parameter; /* the domain's own: a wanted speed, the size of a target */
    /* Optional: the model's text for this task, made from the file's; malloc'd, NULL if memory is short. */
    char *(*compose)(const struct dmc_task *task, const char *text);
    /* Optional, after loading: edits of the model that last, and dmc_edits for those made at each reset. */
    void (*ready)(struct dmc *dmc);
    /* After mj_resetData and a forward pass; a forward pass follows. */
    dqs_status (*reset)(struct dmc *dmc, struct rng *rng, dqs_error *error);
    void (*observe)(const struct dmc *dmc, double *obs);
    double (*reward)(const struct dmc *dmc);
    bool (*over)(const struct dmc *dmc); /* optional: the task has ended, no value beyond */
};

enum { DMC_MOST_NAMES = 64 };

struct dmc {
    const struct mujoco_api *mj;
    const struct dmc_task *task;
    const char *name;
    mjModel *m;
    mjData *d;
    int id[DMC_MOST_NAMES];
    double **edit;      /* n_edits places in the model */
    double *edit_start; /* what stands there before each reset, whatever state was set in between */
    int n_edits;
    bool short_of_memory;      /* in dmc_edits, which cannot say so */
    float *act_low, *act_high; /* nu */
    double *obs;               /* obs_dim: the last observation, before it becomes float32 */
};

/* ---------------------------------------------------------------- for the rows' functions */
static inline const double *dmc_sensor(const struct dmc *dmc, int name)
{
    return dmc->d->sensordata + dmc->id[name];
}
static inline const double *dmc_xmat(const struct dmc *dmc,
                                     int body_name) /* 3x3, row-major: 0 xx, 2 xz, 8 zz */
{
    return dmc->d->xmat + 9 * dmc->id[body_name];
}
static inline const double *dmc_xpos(const struct dmc *dmc, int body_name)
{
    return dmc->d->xpos + 3 * dmc->id[body_name];
}
/* Copies n numbers and returns the place behind them. */
double *dmc_put(double *to, const double *from, int n);

/* Names n numbers of the model as part of the state. Only from `ready`. */
void dmc_edits(struct dmc *dmc, double *place, int n);
/* mj_forward with the actuators off, as at every reset of the suite. */
void dmc_forward(struct dmc *dmc);
/* mj_resetData and dmc_forward. */
void dmc_clear(struct dmc *dmc);
/* n physics steps, the first and last of them split so that positions and velocities are current afterwards
 * while forces stay those of the last step; the suite's legacy scheme. */
void dmc_advance(struct dmc *dmc, int n);
/* Every joint anywhere in its range, velocities untouched. */
void dmc_randomise_joints(struct dmc *dmc, struct rng *rng);
/* A whole reset that does just this. */
dqs_status dmc_reset_joints(struct dmc *dmc, struct rng *rng, dqs_error *error);
/* Draws and forward passes until nothing touches, 1000 times at most. */
dqs_status dmc_draw_until_free(struct dmc *dmc, struct rng *rng, void (*draw)(struct dmc *, struct rng *),
                               dqs_error *error);
double dmc_uniform(struct rng *rng, double low, double high);
void dmc_random_quaternion(struct rng *rng, double quat[4]); /* uniform over rotations */
/* Mean over the actuators of the price of control: 1 at rest, 1 - u^2, 0 at full thrust. */
double dmc_small_control(const struct dmc *dmc);

/* ---------------------------------------------------------------- the callbacks of dqs_env_type, and behind
 * them */
struct dmc_entry { /* the `user` of the type */
    const char *name;
    const struct dmc_task *task;
};
dqs_status dmc_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error);
void dmc_close(void *self);
dqs_status dmc_reset(void *self, uint64_t seed, float *obs, dqs_error *error);
dqs_status dmc_step(void *self, const float *action, float *obs, dqs_outcome *outcome, dqs_error *error);
void dmc_get_state(void *self, double *state);
dqs_status dmc_set_state(void *self, const double *state, float *obs, dqs_error *error);
/* The task behind an instance of `type`, for tests and pictures; NULL if it is not one of these. */
struct dmc *dmc_of(const dqs_env_type *type, void *self);

/* ---------------------------------------------------------------- the MJCF files, embedded by the build */
struct dmc_model_text {
    const char *name;
    const char *text; /* ends with a zero */
};
extern const struct dmc_model_text dmc_model_texts[]; /* ends with a NULL name */

#endif
