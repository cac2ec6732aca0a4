/* bench_learner: a learner to measure, and its state on both sides of an update, for others to compare. */
#include "algo.h"
#include "bench.h"
#include "file.h"
#include "number.h"
#include "rng.h"
#include "safetensors.h"
#include <stdio.h>
#include <string.h>

/* Warm-up and replay are no matter of speed; small ones make a learner quickly. */
#define COMMON "warmup=1000 replay=4096 diag_states=0"
#define TRANSITIONS 2000

dqs_status bench_options(struct dqs_options *o, const struct bench_choice *choice, dqs_error *error)
{
    char words[4096] = "";
    bool found = strcmp(choice->preset, "default") == 0;
    option_defaults(dqs_option_table, o);
    for (const struct option_preset *row = dqs_preset_table; row->preset; row++)
        if (strcmp(row->preset, choice->preset) == 0 && !row->env) {
            snprintf(words, sizeof words, "%s ", row->settings);
            found = true;
        }
    if (!found)
        return fail(error, DQS_E_UNKNOWN, "preset %s: not known; try default, wide, quick, paper or authors",
                    choice->preset);
    strcat(words, COMMON);
    for (int i = 0; i < choice->sets; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), " %s", choice->set[i]);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        const struct option *row = NULL;
        if (value) {
            *value++ = 0;
            row = option_find(dqs_option_table, word);
        }
        if (!row)
            return fail(error, DQS_E_OPTION, "%s: no such option; see dqs options", word);
        TRY(option_set(row, o, value, error));
    }
    return DQS_OK;
}

static void fill_replay(struct bench_learner *l, int obs_dim, int act_dim)
{
    float obs[obs_dim], next[obs_dim], action[act_dim], reward;
    struct rng rng;
    rng_seed(&rng, 1, RNG_TEST);
    for (int r = 0; r < TRANSITIONS; r++) {
        uint8_t terminated = r % 50 == 0, truncated = 0;
        for (int i = 0; i < obs_dim; i++) {
            obs[i] = (float)rng_normal(&rng);
            next[i] = (float)rng_normal(&rng);
        }
        for (int i = 0; i < act_dim; i++)
            action[i] = (float)(2 * rng_uniform(&rng) - 1);
        reward = (float)rng_uniform(&rng);
        l->algo->observe(l->self,
                         &(struct transitions){1, 1, obs, action, &reward, next, &terminated, &truncated});
    }
}

dqs_status bench_learner_create(struct bench_learner *l, const struct bench_choice *choice,
                                const struct dqs_options *o, int threads, bool act_only, dqs_error *error)
{
    *l = (struct bench_learner){.algo = algo_find("dqs")};
    if (o)
        l->options = *o;
    else
        TRY(bench_options(&l->options, choice, error));
    TRY(compute_create(&l->compute, threads, choice->kernels, error));
    struct algo_setup setup = {.compute = l->compute,
                               .options = &l->options,
                               .obs_dim = choice->obs_dim,
                               .act_dim = choice->act_dim,
                               .n_envs = 1,
                               .total_steps = 100000,
                               .seed = 1,
                               .act_only = act_only,
                               .max_rows = 100};
    TRY(l->algo->create(&l->self, &l->arena, &setup, error));
    if (!act_only)
        fill_replay(l, choice->obs_dim, choice->act_dim);
    return DQS_OK;
}

void bench_learner_free(struct bench_learner *l)
{
    arena_free(&l->arena);
    compute_free(l->compute);
    *l = (struct bench_learner){0};
}

bool bench_is_heavy(const struct dqs_options *o)
{
    return o->N + o->K > 200;
}

/* ---------------------------------------------------------------- a fixture for others */
static const char *const logged[] = {"train/critic_loss", "train/actor_loss", "train/q_mean",
                                     "train/score_ess"};
enum { LOGGED = sizeof logged / sizeof *logged };

/* All options as "key=value key=value ...". */
static void options_text(const struct dqs_options *o, char *text, size_t size)
{
    char value[OPTION_TEXT_SIZE];
    *text = 0;
    for (const struct option *row = dqs_option_table; row->key; row++) {
        option_get(row, o, value, sizeof value);
        snprintf(text + strlen(text), size - strlen(text), "%s%s=%s", *text ? " " : "", row->key, value);
    }
}

static dqs_status write_side(struct bench_learner *l, const char *folder, const char *name,
                             const struct safetensors_pair *metadata, dqs_error *error)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    return safetensors_write(path, metadata, VISIT_POLICY | VISIT_LEARN | VISIT_REPLAY, l->algo->visit,
                             l->self, error);
}

dqs_status bench_fixture(const struct bench_choice *choice, dqs_error *error)
{
    struct bench_learner l;
    struct log_sink log = {0};
    char options[4096], values[LOGGED][NUMBER_TEXT_SIZE];
    dqs_status status = bench_learner_create(&l, choice, NULL, choice->threads, false, error);
    if (status == DQS_OK)
        status = file_make_folders(choice->fixture, error);
    if (status == DQS_OK) {
        options_text(&l.options, options, sizeof options);
        for (int i = bench_is_heavy(&l.options) ? 1 : 10; i > 0; i--) /* so that Adam has some past */
            l.algo->update(l.self, NULL);
        status = write_side(&l, choice->fixture, "before",
                            (struct safetensors_pair[]){{"options", options}, {0}}, error);
    }
    if (status == DQS_OK) {
        struct safetensors_pair metadata[LOGGED + 1] = {0};
        l.algo->update(l.self, &log);
        for (int i = 0; i < LOGGED; i++) {
            snprintf(values[i], sizeof values[i], "%.9g", log_mean(&log, logged[i]));
            metadata[i] = (struct safetensors_pair){logged[i], values[i]};
        }
        status = write_side(&l, choice->fixture, "after", metadata, error);
    }
    bench_learner_free(&l);
    return status;
}
