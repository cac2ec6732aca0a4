#include "export.h"
#include "file.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct export_format *const formats[] = {&export_c_format, &export_onnx_format};

const struct export_format *export_find(const char *name, dqs_error *error)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    fail(error, DQS_E_OPTION, "export: no format '%.40s'; there are c and onnx", name);
    return NULL;
}

/* ---------------------------------------------------------------- what a format must hold */
static dqs_status check_net(const struct net *net, bool half, dqs_error *error)
{
    for (size_t i = 0; net && i < net->count; i++) {
        if (!isfinite(net->params[i]))
            return fail(error, DQS_E_NUMERIC, "export: a weight is %g; export an earlier policy",
                        net->params[i]);
        if (half && !half_fits(net->params[i]))
            return fail(error, DQS_E_UNSUPPORTED, "export: a weight is %g, too large for fp16; use fp32",
                        net->params[i]);
    }
    return DQS_OK;
}

dqs_status export_check(const struct export_job *job, dqs_error *error)
{
    const struct blueprint *b = job->b;
    int most = 65535; /* positions of inputs are 16 bits in C */
    if (b->feature_dim > most)
        return fail(error, DQS_E_UNSUPPORTED, "export: %d features of an observation; %d are the most",
                    b->feature_dim, most);
    TRY(check_net(b->net, job->half, error));
    for (int i = 0; i < 2; i++)
        TRY(check_net(b->critic[i], job->half, error));
    for (int i = 0; i < b->obs_dim; i++)
        if (!isfinite(b->norm->shift[i]) || !isfinite(b->norm->scale[i]))
            return fail(error, DQS_E_NUMERIC, "export: the normaliser of observation %d is not finite", i);
    return DQS_OK;
}

size_t export_weights(const struct blueprint *b)
{
    int levels = b->steps > 0 ? b->net->spec.in - b->feature_dim - b->act_dim : 0;
    size_t width = (size_t)b->net->spec.width, n = b->net->count - (size_t)levels * width;
    if (b->steps > 0)
        n += (size_t)(b->steps - 1) * width; /* one bias a level */
    for (int i = 0; i < 2; i++)
        n += b->critic[i] ? b->critic[i]->count : 0;
    return n;
}

void export_summary(const struct blueprint *b, char *text, size_t size)
{
    const struct net_spec *s = &b->net->spec;
    int n = snprintf(text, size, "%d observations to %d actions by %d x %d units", b->obs_dim, b->act_dim,
                     s->hidden, s->width);
    char *at = text + n;
    size_t left = size - (size_t)n;
    if (b->steps > 0)
        n = snprintf(at, left, ", %d sampling steps", b->steps);
    else
        n = snprintf(at, left, ", one pass");
    at += n, left -= (size_t)n;
    if (b->particles > 1)
        n = snprintf(at, left, ", %s%d particles", b->best ? "best of " : "", b->particles), at += n,
        left -= (size_t)n;
    if (b->corrector > 0)
        snprintf(at, left, ", %d steps of the corrector", b->corrector);
}

/* ---------------------------------------------------------------- what the trainer does */
float *export_observations(const struct blueprint *b, int rows, struct arena *arena)
{
    float *obs = arena_new(arena, float, (size_t)rows *(size_t)b->obs_dim);
    struct rng rng;
    rng_seed(&rng, 1, RNG_TEST);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < b->obs_dim; i++)
            obs[(size_t)r * (size_t)b->obs_dim + (size_t)i] =
                b->norm->shift[i] + (float)rng_normal(&rng) / b->norm->scale[i];
    return obs;
}

/* As the exported program is timed: the best of some rounds over all rows, in CPU time and without the noise
 * that both are given. */
static double time_library(struct deployed *policy, const struct export_sample *sample,
                           const struct blueprint *b, dqs_act_mode mode, float *action)
{
    double best = INFINITY, spent = 0;
    for (int round = 0; round < 1000 && (round == 0 || spent < 0.05); round++) {
        clock_t begin = clock();
        for (size_t r = 0; r < (size_t)sample->rows; r++)
            policy->algo->act(policy->self, action, sample->obs + r * (size_t)b->obs_dim, 1, mode, NULL);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        best = fmin(best, seconds / sample->rows);
        spent += seconds;
    }
    return best * 1e6;
}

dqs_status export_decide(struct deployed *policy, const struct export_job *job, const float *obs, int rows,
                         dqs_act_mode mode, struct arena *arena, struct export_sample *sample,
                         double *library_us, dqs_error *error)
{
    const struct blueprint *b = job->b;
    size_t o = (size_t)b->obs_dim, d = (size_t)b->act_dim, n = (size_t)(b->normals + b->uniforms);
    float *noise = arena_new(arena, float, (size_t)rows *n + 1),
          *action = arena_new(arena, float, (size_t)rows *d);
    for (size_t r = 0; r < (size_t)rows; r++) {
        float *a = action + r * d;
        blueprint_noise_of(b, policy->compute->k, noise + r * n);
        TRY(policy->algo->act(policy->self, a, obs + r * o, 1, mode, error));
        for (size_t i = 0; job->centre && i < d; i++)
            a[i] = job->centre[i] + job->reach[i] * a[i];
    }
    *sample = (struct export_sample){rows, (int)n, obs, noise, action};
    *library_us = time_library(policy, sample, b, mode, arena_new(arena, float, d));
    return DQS_OK;
}

static dqs_status count_beyond(struct deployed *const pair[2], const float *obs, int rows, dqs_act_mode mode,
                               int *beyond, dqs_error *error)
{
    int d = pair[0]->shape.act_dim;
    float action[2][d];
    for (size_t r = 0; r < (size_t)rows; r++) {
        double worst = 0;
        for (int k = 0; k < 2; k++)
            TRY(pair[k]->algo->act(pair[k]->self, action[k], obs + r * (size_t)pair[k]->shape.obs_dim, 1,
                                   mode, error));
        for (int i = 0; i < d; i++)
            worst = fmax(worst, fabs((double)action[0][i] - action[1][i]));
        *beyond += worst > EXPORT_CLOSE;
    }
    return DQS_OK;
}

dqs_status export_rounding(const struct deployed *policy, const float *obs, int rows, dqs_act_mode mode,
                           int *beyond, dqs_error *error)
{
    struct deployed *pair[2] = {NULL, NULL};
    dqs_status status = deployed_twin(&pair[0], policy, policy->compute->k->name, 1, error);
    *beyond = 0;
    if (status == DQS_OK)
        status = deployed_twin(&pair[1], policy, "ref", 1, error);
    if (status == DQS_OK)
        status = count_beyond(pair, obs, rows, mode, beyond, error);
    deployed_free(pair[0]);
    deployed_free(pair[1]);
    return status;
}

dqs_status export_sample_write(const struct export_job *job, const struct export_sample *sample,
                               const char *path, dqs_error *error)
{
    const struct blueprint *b = job->b;
    const int32_t head[4] = {sample->rows, b->obs_dim, sample->noise_dim, b->act_dim};
    size_t rows = (size_t)sample->rows;
    struct file_writer writer;
    TRY(file_begin(&writer, path, error));
    file_put(&writer, head, sizeof head);
    for (int i = 0; i < b->act_dim; i++) {
        float reach = job->reach ? job->reach[i] : 1;
        file_put(&writer, &reach, sizeof reach);
    }
    file_put(&writer, sample->obs, sizeof(float) * rows * (size_t)b->obs_dim);
    file_put(&writer, sample->noise, sizeof(float) * rows * (size_t)sample->noise_dim);
    file_put(&writer, sample->action, sizeof(float) * rows * (size_t)b->act_dim);
    return file_commit(&writer, error);
}

bool export_outcome_read(const char *printed, struct export_outcome *out)
{
    const char *line = strstr(printed, "rows ");
    return line && sscanf(line, "rows %d beyond %d most %lf us %lf", &out->rows, &out->beyond, &out->most,
                          &out->us) == 4;
}

/* ---------------------------------------------------------------- half precision */
bool half_fits(float x)
{
    return fabsf(x) < 65520.0f; /* rounds to 65504 at most */
}

uint16_t half_of(float x)
{
    union {
        float value;
        uint32_t bits;
    } u = {x};
    uint32_t sign = u.bits >> 16 & 0x8000u, size = u.bits & 0x7fffffffu;
    if (size < 0x38800000u) { /* below 2^-14 a half has steps of 2^-24 */
        float steps = fabsf(x) * 0x1p24f;
        return (uint16_t)(sign | (uint32_t)lrintf(steps));
    }
    uint32_t rest = size & 0x1fffu, half = (size - 0x38000000u) >> 13;
    half += rest > 0x1000u || (rest == 0x1000u && (half & 1));
    return (uint16_t)(sign | half);
}
