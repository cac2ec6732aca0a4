/* parts: verbs of the papers that more than one algorithm uses, as functions on arrays. Never a base
 * class. */
#ifndef ALGO_PARTS_H
#define ALGO_PARTS_H

#include "adam.h"
#include "blueprint.h"
#include "net.h"
#include "normaliser.h"
#include "ring.h"
#include <math.h>

/* log(1 - tanh^2 u) = 2 (log 2 - |u| - log(1 + exp(-2|u|))), without loss where tanh is next to 1 */
static inline float log_tanh_slope(float u)
{
    float size = fabsf(u);
    return 2 * (0.69314718f - size - log1pf(expf(-2 * size)));
}

double mean_of(const float *x, int n);

/* ---- features: what the networks see of an observation: normalised, then (optionally) with sines and
 * cosines */
struct features {
    struct normaliser norm;
    int octaves, dim; /* dim: features per observation */
    float *row;       /* one normalised observation */
};
void features_create(struct features *f, struct arena *arena, int obs_dim, bool normalise, int octaves);
void features_of(const struct features *f, float *out, const float *obs, int rows);
void features_describe(const struct features *f, struct blueprint *b);

/* [s | a] side by side: x [rows x (features + act_dim)] */
void join_rows(float *x, const float *left, int left_dim, const float *right, int right_dim, int rows);

/* ---- twin critics; or a single one, for algorithms from before there were two */
enum twin_combine { TWIN_MIN, TWIN_MEAN, TWIN_FIRST };

struct twin {
    int count;          /* 1 or 2 */
    bool clip_together; /* the limit on gradient norms is for both as one; else for each */
    struct net net[2], target[2], gradient[2];
    struct adam adam[2];
    struct tape tape[2], target_tape[2];
    float *q[2], *dq[2]; /* [batch x out]; the first output of a critic is its value */
    float *dx[2];        /* [batch x act_dim]: action gradients of the rows in own */
    int *own[2];         /* [batch]: the rows that go back through this critic */
};
/* learn false: the nets alone, for acting. */
void twin_create(struct twin *twin, struct arena *arena, const struct net_spec *spec, int count, int batch,
                 double lr, double decay, bool learn);
void twin_initialise(struct twin *twin, enum net_init init, struct rng *rng);
/* What net_forward and net_backward of all critics at x [rows x in] take. */
void twin_passes(struct twin *twin, struct net_pass pass[2], const float *x, int rows);
/* q <- the first n target critics at x' [rows x in] */
void twin_target_forward(const struct compute *compute, struct twin *twin, const float *x_next, int rows,
                         int n);
/* v [rows] = min, mean or first of Q_target(x'), x' [rows x in] */
void twin_target_value(const struct compute *compute, struct twin *twin, float *v, const float *x_next,
                       int rows, enum twin_combine combine);
/* y = r + discount v; y may be v. The discount is gamma, 0 where the episode is over. */
void bootstrap(float *y, const float *reward, const float *discount, const float *v, int rows);
/* Both: y = r + discount Q_target(x') */
void td_target(const struct compute *compute, struct twin *twin, float *y, const float *reward,
               const float *discount, const float *x_next, int rows, enum twin_combine combine);
/* One Adam step of both critics on (Q(x) - y)^2, or on Huber's loss where huber > 0 gives the width of its
 * parabola. Returns the mean squared error; *mean_q receives the mean value. */
double twin_fit(const struct compute *compute, struct twin *twin, const float *x, const float *y, int rows,
                double huber, double max_norm, double *mean_q);
/* One Adam step of both from their gradients: what twin_fit ends with. */
void twin_step(const struct compute *compute, struct twin *twin, double max_norm);
/* The rows, of q [rows x stride] each, that go back through critic 0 or 1: all for the mean; the minimum's
 * gradient is that of the smaller critic, so each row goes back through one of the two. Returns how many. */
int twin_rows(int *list, float *const q[2], int stride, int rows, int critic, bool mean);
/* da [rows x act_dim] = d Q(s,a) / d a at x = [s | a], Q the min, mean or first; returns the mean of Q. */
double twin_action_gradient(const struct compute *compute, struct twin *twin, float *da, const float *x,
                            int rows, int act_dim, enum twin_combine combine);
void twin_blend(const struct compute *compute, struct twin *twin, double eta);
/* kind: of the nets, VISIT_LEARN where acting does without them; learn: with targets and optimisers */
void twin_visit(struct twin *twin, struct visitor *visitor, enum visit_kind kind, bool learn);

/* ---- random actions before learning starts: uniform in the box */
void uniform_actions(float *action, int n, struct rng *rng);
/* a <- clip(a + clip(N(0, sigma^2), +-limit), +-1) on n numbers */
void add_noise(const struct kernels *k, float *action, int n, double sigma, double limit, struct rng *rng);

#endif
