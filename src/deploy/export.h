/* export: a policy as a program without the library. A format is one row: how to write it, and how to run
 * what was written and compare it with the trainer. */
#ifndef DEPLOY_EXPORT_H
#define DEPLOY_EXPORT_H

#include "blueprint.h"
#include "policy.h"

#define EXPORT_NAME_SIZE 64
#define EXPORT_PATH_SIZE 1024
#define EXPORT_CLOSE 1e-5 /* how far from the trainer's action is the same, in halves of the range */

struct export_job {
    const struct blueprint *b;
    char path[EXPORT_PATH_SIZE]; /* ends in .c or .onnx */
    char name[EXPORT_NAME_SIZE]; /* of the policy, a C identifier */
    char env[100], algo[32];     /* for comments */
    int repeat;                  /* steps of the task for which an action is to be held */
    bool half;                   /* weights in half precision */
    const float *centre, *reach; /* [act_dim]: action = centre + reach a, a in the box; NULL: a itself */
};

/* What the trainer does, to be met. action is in the task's units. */
struct export_sample {
    int rows, noise_dim;
    const float *obs, *noise, *action; /* [rows x .] */
};

/* What came of it. */
struct export_outcome {
    int rows;        /* compared; 0: there was nothing to run it with */
    int beyond;      /* rows further than EXPORT_CLOSE */
    double most, us; /* largest difference, in halves of the range; microseconds for an action */
    char note[400];  /* where it was not compared: what to install or type */
};

struct export_format {
    const char *name, *ending;
    dqs_status (*write)(const struct export_job *job, dqs_error *error);
    /* Runs what was written in `folder`, where it may leave files. */
    dqs_status (*run)(const struct export_job *job, const struct export_sample *sample, const char *folder,
                      struct export_outcome *out, dqs_error *error);
};
extern const struct export_format export_c_format, export_onnx_format;
const struct export_format *export_find(const char *name,
                                        dqs_error *error); /* NULL: a message lists what there is */

/* Whole numbers and finite weights that the formats can hold? */
dqs_status export_check(const struct export_job *job, dqs_error *error);
/* One line on the ways of the policy: "6 ancestral ..."; for comments and reports. */
void export_summary(const struct blueprint *b, char *text, size_t size);
size_t export_weights(const struct blueprint *b); /* how many */

/* sample <- `rows` decisions of the policy at obs, with the noise it used; library_us: its time for one.
 * Memory is the arena's. */
dqs_status export_decide(struct deployed *policy, const struct export_job *job, const float *obs, int rows,
                         dqs_act_mode mode, struct arena *arena, struct export_sample *sample,
                         double *library_us, dqs_error *error);
/* How often rounding alone decides otherwise: rows at which the library's plain reference loops are further
 * than EXPORT_CLOSE from its fast ones, with the same generator. */
dqs_status export_rounding(const struct deployed *policy, const float *obs, int rows, dqs_act_mode mode,
                           int *beyond, dqs_error *error);
/* Observations to try where nobody has real ones: spread about what the normaliser has seen. */
float *export_observations(const struct blueprint *b, int rows, struct arena *arena);

/* The file of a sample, for programs that compare: four 32-bit numbers (rows, obs, noise and action
 * dimensions), then float32: reach [act], obs, noise, action [rows x .]. */
dqs_status export_sample_write(const struct export_job *job, const struct export_sample *sample,
                               const char *path, dqs_error *error);
/* Reads "rows N beyond N most X us X" from what such a program printed. */
bool export_outcome_read(const char *printed, struct export_outcome *out);

/* Single to half precision, to nearest, ties to even; half_fits is false beyond 65504. */
uint16_t half_of(float x);
bool half_fits(float x);

#endif
