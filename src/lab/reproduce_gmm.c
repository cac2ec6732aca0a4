/* The Gaussian mixture: where the episodes of DQS and SAC end, beside exact samples and the exact Boltzmann
 * policy. The paper: "DQS approximates the ground truth samples more closely and covers most modes, which is
 * also corroborated by a lower MMD compared to SAC." */
#include "gmm.h"
#include "gmm_cloud.h"
#include "number.h"
#include "reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MODES 30    /* of 40: three quarters are most */
#define CLEAR_RATIO 1.05 /* of two discrepancies: 5000 samples leave each open by 2 % */
#define DASH "\u2013"

struct sampled { /* a method */
    const struct collection_method *method;
    int n;               /* runs with a trace */
    double *mmd, *modes; /* n each */
    double floor;
    int samples;
    long least_steps;
    char mode[32];
    bool mixed; /* some of its runs were sampled in another mode */
};

/* ---------------------------------------------------------------- data */

static void take_run(struct reproduction *r, struct sampled *s, const struct collection_run *run)
{
    struct plot_data data = {0};
    struct gmm_cloud cloud;
    long step = 0;
    if (gmm_cloud_of_run(&cloud, &data, &r->arena, run->path, r->warn, r->user)) {
        if (!number_read_long(data.step, &step))
            step = 0;
        s->mixed = s->mixed || (s->n > 0 && strcmp(s->mode, data.mode) != 0);
        s->least_steps = s->n == 0 || step < s->least_steps ? step : s->least_steps;
        snprintf(s->mode, sizeof s->mode, "%s", data.mode);
        s->floor = cloud.metrics.mmd_floor;
        s->samples = cloud.n;
        s->mmd[s->n] = cloud.metrics.mmd;
        s->modes[s->n++] = cloud.metrics.modes;
    } else if (collection_finished(run) && data.trace.episodes == 0 && r->warn) {
        char line[1200];
        snprintf(line, sizeof line,
                 "%.900s: has no trace.safetensors, and so no samples; `dqs eval` makes one", run->path);
        r->warn(r->user, line);
    }
    plot_data_free(&data);
}

static struct sampled take_method(struct reproduction *r, int index)
{
    int method = r->view.methods[index];
    const struct collection_cell *cell = collection_cell(r->collection, r->view.tasks[0], method);
    struct sampled s = {.method = &r->collection->methods[method],
                        .mmd = arena_new(&r->arena, double, cell->count + 1),
                        .modes = arena_new(&r->arena, double, cell->count + 1)};
    for (int i = 0; i < cell->count; i++)
        take_run(r, &s, cell->runs[i]);
    return s;
}

/* ---------------------------------------------------------------- the table */

static const char *words_for(const struct sampled *s)
{
    return s->mixed                              ? "of several kinds"
           : strcmp(s->mode, "explore") == 0     ? "drawn from the policy"
           : strcmp(s->mode, "exact") == 0       ? "exact, from exp(Q/T)"
           : strcmp(s->method->algo, "sac") == 0 ? "the policy's mean"
                                                 : "as in evaluation";
}

static void put_row(struct reproduction *r, const char *name, const char *preset, const char *actions,
                    int seeds, int samples, double mmd, double exact, double modes)
{
    struct document *d = &r->document;
    document_cell(d, 0, "%s", name);
    document_cell(d, 0, "%s", preset);
    document_cell(d, 0, "%s", actions);
    if (seeds > 0)
        document_cell(d, 0, "%d", seeds);
    else
        document_cell(d, 0, DASH);
    document_cell(d, 0, "%d", samples);
    document_cell(d, 0, "%.4f", mmd);
    document_cell(d, 0, "%.2f", mmd / exact);
    document_cell(d, 0, "%.1f", modes);
}

static void put_table(struct reproduction *r, const struct sampled *all, const struct gmm_metrics *exact,
                      int samples)
{
    struct document *d = &r->document;
    char name[128];
    static const char *const head[] = {
        "Method", "Preset", "Actions", "Seeds", "Samples", "MMD", "Times the exact policy's", "Modes of 40"};
    document_table(d, 8, 3,
                   "Where episodes end, against exact samples of the mixture: maximum mean discrepancy at "
                   "bandwidth 1, and "
                   "modes with a sample within 3 standard deviations; means over seeds; %s. From uniform "
                   "starts even the exact "
                   "Boltzmann policy of the true reward fills modes by the size of their basins, so its "
                   "discrepancy, not "
                   "the floor between sets of exact samples, is what can be reached.",
                   r->presets);
    for (int k = 0; k < 8; k++)
        document_cell(d, 0, "%s", head[k]);
    for (int i = 0; i < r->view.n_methods; i++) {
        const struct sampled *s = &all[i];
        if (s->n == 0)
            continue;
        figure_name(name, sizeof name, s->method);
        put_row(r, name, s->method->preset, words_for(s), s->n, s->samples, stats_mean(s->mmd, s->n),
                exact->mmd, stats_mean(s->modes, s->n));
    }
    put_row(r, "exact Boltzmann policy", DASH, "from exp(reward)", 0, samples, exact->mmd, exact->mmd,
            exact->modes);
    put_row(r, "exact samples (floor)", DASH, DASH, 0, samples, exact->mmd_floor, exact->mmd, GMM_MODES);
}

/* ---------------------------------------------------------------- claims */

static void ratio_of_means(double *out, const struct stats_scores *sets, const void *context, double *scratch)
{
    (void)context;
    (void)scratch;
    *out = stats_mean(sets[0].values, sets[0].count[0]) / stats_mean(sets[1].values, sets[1].count[0]);
}

static struct stats_interval ratio_interval(const double *x, int n, const double *y, int m)
{
    struct stats_interval interval;
    const struct stats_scores sets[] = {{1, &n, x}, {1, &m, y}};
    stats_bootstrap(&interval, 1, sets, 2, ratio_of_means, NULL, STATS_REPETITIONS, STATS_SEED);
    return interval;
}

static const struct sampled *find(const struct reproduction *r, const struct sampled *all, const char *algo)
{
    for (int i = 0; i < r->view.n_methods; i++)
        if (all[i].n > 0 && strcmp(all[i].method->algo, algo) == 0)
            return &all[i];
    return NULL;
}

/* What forbids a verdict on the samples of both (either may be NULL), or NULL. */
static const char *objection(const struct reproduction *r, const struct sampled *dqs,
                             const struct sampled *sac)
{
    if (!dqs || !sac)
        return "no data";
    if (dqs->least_steps < r->item->least_steps || sac->least_steps < r->item->least_steps)
        return "no verdict: too few steps";
    if (sac->mixed || strcmp(sac->mode, "explore") != 0)
        return "no verdict: SAC's actions are not drawn";
    return NULL;
}

static void judge(struct reproduction *r, const struct sampled *all)
{
    const struct sampled *dqs = find(r, all, "dqs"), *sac = find(r, all, "sac");
    struct stats_interval nothing = {NAN, NAN, NAN};
    const char *task = r->collection->tasks[r->view.tasks[0]], *against = objection(r, dqs, sac);
    const struct collection_method *method = dqs ? dqs->method : NULL;
    int seeds = dqs ? dqs->n : 0;
    bool both = dqs && sac;

    struct reproduce_verdict *v = reproduce_add(r, task, method);
    v->measure = "modes covered";
    v->said = "DQS covers most modes";
    v->bound = "30 of 40 modes or more";
    struct stats_interval modes = dqs ? stats_mean_interval(dqs->modes, dqs->n, STATS_REPETITIONS) : nothing;
    reproduce_claim(v, &modes, MOST_MODES - 0.5, MOST_MODES - 0.5, seeds);
    if (dqs && dqs->least_steps < r->item->least_steps)
        reproduce_say(v, "no verdict: too few steps", seeds);

    seeds = both && sac->n < seeds ? sac->n : seeds;
    v = reproduce_add(r, task, method);
    v->measure = "MMD of SAC over MMD of DQS";
    v->said = "DQS has a lower MMD than SAC";
    v->bound = "MMD of SAC over MMD of DQS above 1.05";
    struct stats_interval ratio = both ? ratio_interval(sac->mmd, sac->n, dqs->mmd, dqs->n) : nothing;
    reproduce_claim(v, &ratio, CLEAR_RATIO, 1 / CLEAR_RATIO, seeds);
    if (against)
        reproduce_say(v, against, seeds);

    v = reproduce_add(r, task, method);
    v->measure = "modes of DQS less modes of SAC";
    v->said = "SAC covers fewer modes (in the figure)";
    v->bound = "more modes than SAC";
    struct stats_interval more = both ? stats_lead_interval(dqs->modes, dqs->n, sac->modes, sac->n) : nothing;
    reproduce_claim(v, &more, 0, 0, seeds);
    if (against)
        reproduce_say(v, against, seeds);
}

dqs_status reproduce_gmm(struct reproduction *r, dqs_error *error)
{
    struct sampled *all = arena_new(&r->arena, struct sampled, r->view.n_methods);
    int samples = 0;
    (void)error;
    for (int i = 0; i < r->view.n_methods; i++) {
        all[i] = take_method(r, i);
        samples = samples ? samples : all[i].n ? all[i].samples : 0;
    }
    if (samples > 0) {
        struct gmm_metrics exact = gmm_cloud_walk(&r->arena, samples);
        put_table(r, all, &exact, samples);
    }
    judge(r, all);
    reproduce_put_claims(r, 0);
    const struct sampled *sac = find(r, all, "sac");
    if (sac && strcmp(sac->mode, "explore") == 0)
        document_item(
            &r->document,
            "SAC's samples: actions drawn from its Gaussian policy by an evaluation of its own after "
            "training; at the end of training SAC is evaluated by its mean action.");
    return DQS_OK;
}
