/* gmm: the illustrative task of the paper. 40 means (those of the GMM-40 benchmark), unit standard deviation;
 * start uniform in the box, each action is a displacement scaled to length 1, positions are clipped to the
 * box. State (2 doubles): x, y. Observation: x, y. */
#include "gmm.h"
#include "env_options.h"
#include "gmm_metrics.h"
#include <math.h>
#include <stdlib.h>

static const double two_pi = 6.28318530717958647692;

static const double means[GMM_MODES][2] = {
    {-0.2995, 21.4577},   {-32.9218, -29.4376}, {-15.4062, 10.7263},  {-0.7925, 31.7156},
    {-3.5498, 10.5845},   {-12.0885, -7.8626},  {-38.2139, -26.4913}, {-16.4889, 1.4817},
    {15.8134, 24.0009},   {-27.1176, -17.4185}, {14.5287, 33.2155},   {-8.2320, 29.9325},
    {-6.4473, 4.2326},    {36.2190, -37.1068},  {-25.1815, -10.1266}, {-15.5920, 34.5600},
    {-25.9272, -18.4133}, {-27.9456, -37.4624}, {-23.3496, 34.3839},  {17.8487, 19.3869},
    {2.1037, -20.5073},   {6.7674, -37.3478},   {-28.9026, -20.6212}, {25.2375, 23.4529},
    {-17.7398, -1.4433},  {25.5824, 39.7653},   {15.8753, 5.4037},    {26.8195, -23.5521},
    {7.4538, -31.0122},   {-27.7234, -20.6633}, {18.0989, 16.0864},   {-23.6941, 12.0843},
    {21.9589, -5.0487},   {1.5273, 9.2682},     {24.8151, 38.4078},   {-30.8249, -14.6588},
    {15.7204, 33.1420},   {34.8083, 35.2943},   {7.9606, -34.7833},   {3.6797, -25.0242},
};

struct gmm {
    double x, y;
};

const double (*gmm_means(void))[2]
{
    return means;
}

double gmm_log_density(double x, double y)
{
    double exponent[GMM_MODES], top = -INFINITY, sum = 0.0;
    for (int i = 0; i < GMM_MODES; i++) {
        double dx = x - means[i][0], dy = y - means[i][1];
        exponent[i] = -0.5 * (dx * dx + dy * dy);
        top = exponent[i] > top ? exponent[i] : top;
    }
    for (int i = 0; i < GMM_MODES; i++)
        sum += exp(exponent[i] - top);
    return top + log(sum) - log(GMM_MODES * two_pi);
}

void gmm_sample(float *xy, int n, struct rng *rng)
{
    for (int i = 0; i < n; i++) {
        const double *mean = means[rng_below(rng, GMM_MODES)];
        xy[2 * i] = (float)(mean[0] + rng_normal(rng));
        xy[2 * i + 1] = (float)(mean[1] + rng_normal(rng));
    }
}

static double clip_to_box(double value)
{
    return value < -GMM_BOX ? -GMM_BOX : value > GMM_BOX ? GMM_BOX : value;
}

static void observe(const struct gmm *g, float *obs)
{
    obs[0] = (float)g->x;
    obs[1] = (float)g->y;
}

static dqs_status gmm_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    (void)user;
    TRY(env_options_parse("gmm", NULL, NULL, options, error));
    *self = calloc(1, sizeof(struct gmm));
    if (!*self)
        return fail(error, DQS_E_MEMORY, "gmm: out of memory");
    *spec = (dqs_spec){.obs_dim = 2, .act_dim = 2, .max_steps = 100, .state_dim = 2};
    return DQS_OK;
}

static dqs_status gmm_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct gmm *g = self;
    struct rng rng;
    (void)error;
    rng_seed(&rng, seed, RNG_ENV);
    g->x = GMM_BOX * (2.0 * rng_uniform(&rng) - 1.0);
    g->y = GMM_BOX * (2.0 * rng_uniform(&rng) - 1.0);
    observe(g, obs);
    return DQS_OK;
}

/* The zero action has no direction: the point stays where it is. */
static dqs_status gmm_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                           dqs_error *error)
{
    struct gmm *g = self;
    double ax = action[0], ay = action[1], norm = sqrt(ax * ax + ay * ay);
    (void)error;
    if (norm > 0.0) {
        g->x = clip_to_box(g->x + ax / norm);
        g->y = clip_to_box(g->y + ay / norm);
    }
    outcome->reward = gmm_log_density(g->x, g->y);
    observe(g, obs);
    return DQS_OK;
}

static void gmm_get_state(void *self, double *state)
{
    const struct gmm *g = self;
    state[0] = g->x;
    state[1] = g->y;
}

static dqs_status gmm_set_state(void *self, const double *state, float *obs, dqs_error *error)
{
    struct gmm *g = self;
    if (!(fabs(state[0]) <= GMM_BOX) || !(fabs(state[1]) <= GMM_BOX))
        return fail(error, DQS_E_USAGE, "gmm: position (%g, %g) is outside the box of +-%g", state[0],
                    state[1], GMM_BOX);
    g->x = state[0];
    g->y = state[1];
    observe(g, obs);
    return DQS_OK;
}

static int gmm_summarise(void *self, const dqs_trace *trace, dqs_number *out, int capacity)
{
    (void)self;
    return gmm_metrics_summarise(trace, out, capacity);
}

const dqs_env_type gmm_type = {
    .size = sizeof(dqs_env_type),
    .name = "gmm",
    .doc = "walk in unit steps over the log density of 40 Gaussians in the plane, 100 steps",
    .open = gmm_open,
    .close = free,
    .reset = gmm_reset,
    .step = gmm_step,
    .get_state = gmm_get_state,
    .set_state = gmm_set_state,
    .summarise = gmm_summarise,
};
