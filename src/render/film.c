/* film: see film.h. */
#include "film.h"
#include "contact.h"
#include "env.h"
#include "file.h"
#include "movie.h"
#include "number.h"
#include "plot_data.h"
#include "rng.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FASTEST = 60 }; /* frames a second */

struct studio {
    const struct film *film;
    struct film_result *result;
    /* the actor */
    const dqs_env_type *type;
    void *handle, *env;
    dqs_spec spec;
    dqs_policy *policy; /* NULL: at random */
    int repeat;         /* steps for which an action is held */
    struct rng rng;
    uint64_t seed;
    long most_steps;
    float *obs, *action, *mapped;
    /* the crew */
    struct view *view;
    struct picture picture;
    struct movie *movie[2]; /* by enum movie_format */
    struct contact *contact;
    char title[300];
};

/* ---------------------------------------------------------------- before the first episode */
static dqs_status take_seed(struct studio *s, const char *text, dqs_error *error)
{
    long seed = 0;
    if (text && *text && (!number_read_long(text, &seed) || seed < 0))
        return fail(error, DQS_E_OPTION, "seed '%.40s': is not a whole number of 0 or more", text);
    s->seed = (uint64_t)seed;
    return DQS_OK;
}

static dqs_status open_env(struct studio *s, const char *name, const char *options, dqs_error *error)
{
    TRY(env_load(&s->type, &s->handle, name, error));
    snprintf(s->result->task, sizeof s->result->task, "%s", s->type->name);
    TRY(env_open(s->type, &s->env, &s->spec, options, error));
    s->obs = calloc((size_t)s->spec.obs_dim, sizeof *s->obs);
    s->action = calloc((size_t)s->spec.act_dim, sizeof *s->action);
    s->mapped = calloc((size_t)s->spec.act_dim, sizeof *s->mapped);
    if (!s->obs || !s->action || !s->mapped)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", s->type->name);
    return DQS_OK;
}

static dqs_status cast_random(struct studio *s, dqs_error *error)
{
    TRY(take_seed(s, s->film->seed, error));
    TRY(open_env(s, s->film->task, "", error));
    snprintf(s->title, sizeof s->title, "%s, random actions", s->type->name);
    return DQS_OK;
}

static dqs_status cast_policy(struct studio *s, const struct plot_data *data, dqs_error *error)
{
    const char *run = s->film->run;
    char origin[200];
    TRY(take_seed(s, s->film->seed ? s->film->seed : data->eval_seed, error));
    TRY(open_env(s, data->env, data->env_options, error));
    TRY(dqs_policy_load(&s->policy, run, error));
    s->repeat = dqs_policy_action_repeat(s->policy);
    if (dqs_policy_obs_dim(s->policy) != s->spec.obs_dim || dqs_policy_act_dim(s->policy) != s->spec.act_dim)
        return fail(error, DQS_E_MISMATCH,
                    "%.200s: its policy has %d observations and %d actions, %s has %d and %d; is the folder "
                    "mixed up?",
                    run, dqs_policy_obs_dim(s->policy), dqs_policy_act_dim(s->policy), s->type->name,
                    s->spec.obs_dim, s->spec.act_dim);
    plot_origin(data, false, origin, sizeof origin);
    snprintf(s->title, sizeof s->title, "%s, %s", s->type->name, origin);
    return DQS_OK;
}

static dqs_status cast(struct studio *s, dqs_error *error)
{
    if (!s->film->run)
        return cast_random(s, error);
    struct plot_data data;
    dqs_status status = plot_data_read(&data, s->film->run, error);
    if (status == DQS_OK)
        status = cast_policy(s, &data, error);
    plot_data_free(&data);
    return status;
}

static dqs_status build_set(struct studio *s, dqs_error *error)
{
    const struct film *film = s->film;
    struct view_wish wish = {film->width, film->height, film->camera};
    TRY(view_open(&s->view, s->type, s->env, &wish, error));
    double rate = view_rate(s->view);
    s->result->fps = film->fps > 0 ? film->fps : rate / ceil(rate / FASTEST - 1e-9);
    snprintf(s->result->means, sizeof s->result->means, "%s", view_means(s->view));
    s->most_steps = s->spec.max_steps > 0 ? s->spec.max_steps : DQS_LONGEST_EPISODE;
    if (film->seconds > 0)
        s->most_steps = (long)fmin(s->most_steps, fmax(1, ceil(film->seconds * rate - 1e-9)));
    s->picture = (struct picture){.width = film->width, .height = film->height};
    s->picture.rgb = malloc(picture_bytes(&s->picture));
    s->result->score = calloc((size_t)film->episodes, sizeof *s->result->score);
    if (!s->picture.rgb || !s->result->score)
        return fail(error, DQS_E_MEMORY, "film: out of memory");
    static const enum film_format formats[] = {[MOVIE_MP4] = FILM_MP4, [MOVIE_GIF] = FILM_GIF};
    for (int i = 0; i < 2; i++)
        if (film->path[formats[i]])
            TRY(movie_open(&s->movie[i], film->path[formats[i]], (enum movie_format)i, film->width,
                           film->height, s->result->fps, error));
    if (film->path[FILM_PNG]) {
        struct file_writer trial; /* a path that cannot be written is told now, not after the last episode */
        TRY(file_begin(&trial, film->path[FILM_PNG], error));
        file_abandon(&trial);
        TRY(contact_open(&s->contact, film->width, film->height, error));
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- an episode */
struct take {
    int episode;
    long step, frames; /* so far */
    double score;
    bool over;
};

static dqs_status expose(struct studio *s, const struct take *take, dqs_error *error)
{
    if (s->movie[MOVIE_MP4])
        TRY(movie_add(s->movie[MOVIE_MP4], &s->picture, error));
    if (take->episode > 0)
        return DQS_OK;
    if (s->movie[MOVIE_GIF])
        TRY(movie_add(s->movie[MOVIE_GIF], &s->picture, error));
    if (s->contact)
        TRY(contact_add(s->contact, &s->picture, take->step, (double)take->step / view_rate(s->view),
                        take->score, error));
    return DQS_OK;
}

/* Frame k is due k/fps seconds into the episode: none of them falls on some steps, or several on one. */
static dqs_status shoot(struct studio *s, struct take *take, dqs_error *error)
{
    double rate = view_rate(s->view);
    bool drawn = false;
    for (; (double)take->frames * rate <= (double)take->step * s->result->fps + 1e-6; take->frames++) {
        if (!drawn)
            TRY(view_draw(s->view, &s->picture, s->obs, take->step, error));
        drawn = true;
        TRY(expose(s, take, error));
    }
    return DQS_OK;
}

static dqs_status act(struct studio *s, dqs_error *error)
{
    if (s->policy)
        return dqs_policy_act(s->policy, s->obs, s->action, error);
    for (int i = 0; i < s->spec.act_dim; i++)
        s->action[i] = (float)(2.0 * rng_uniform(&s->rng) - 1.0);
    return DQS_OK;
}

static void tell(const struct studio *s, const struct take *take)
{
    const struct film *film = s->film;
    struct film_news news = {take->episode, film->episodes, take->step,
                             s->most_steps, take->score,    take->over};
    if (film->watch)
        film->watch(film->user, &news);
}

static dqs_status play(struct studio *s, struct take *take, dqs_error *error)
{
    uint64_t seed = rng_episode_seed(rng_evaluation_seed(s->seed), take->episode, 0); /* as in evaluations */
    TRY(env_reset(s->type, s->env, s->obs, &s->spec, seed, error));
    TRY(shoot(s, take, error));
    while (!take->over) {
        dqs_outcome outcome;
        if (s->film->stop && *s->film->stop)
            return fail(error, DQS_STOPPED, "film: stopped; no file was written");
        if (take->step % s->repeat == 0)
            TRY(act(s, error));
        take->step++;
        TRY(env_step(s->type, s->env, s->mapped, s->obs, &outcome, &s->spec, s->action, take->step, error));
        take->score += outcome.reward;
        take->over = outcome.terminated || outcome.truncated || take->step >= s->most_steps;
        TRY(shoot(s, take, error));
        tell(s, take);
    }
    return DQS_OK;
}

/* ---------------------------------------------------------------- the whole */
static dqs_status finish(struct studio *s, const struct take *first, dqs_error *error)
{
    char note[120], score[32];
    for (int i = 0; i < 2; i++)
        if (s->movie[i])
            TRY(movie_finish(s->movie[i], error));
    if (!s->contact)
        return DQS_OK;
    plot_number(score, sizeof score, fabs(first->score) < 1e-6 ? 0 : first->score);
    snprintf(note, sizeof note, "return %s after %ld steps", score, first->step);
    return contact_write(s->contact, s->film->path[FILM_PNG], s->title, note, error);
}

static dqs_status shoot_all(struct studio *s, dqs_error *error)
{
    struct take first = {0};
    TRY(cast(s, error));
    TRY(build_set(s, error));
    if (s->policy)
        dqs_policy_seed(s->policy, s->seed);
    rng_seed(&s->rng, s->seed, RNG_EVALUATE);
    for (int episode = 0; episode < s->film->episodes; episode++) {
        struct take take = {.episode = episode};
        TRY(play(s, &take, error));
        s->result->score[episode] = take.score;
        if (episode == 0)
            first = take;
    }
    return finish(s, &first, error);
}

static void strike(struct studio *s)
{
    for (int i = 0; i < 2; i++)
        movie_close(s->movie[i]);
    contact_close(s->contact);
    free(s->picture.rgb);
    view_close(s->view);
    dqs_policy_free(s->policy);
    if (s->env)
        s->type->close(s->env);
    env_unload(s->handle);
    free(s->obs);
    free(s->action);
    free(s->mapped);
}

dqs_status film_make(const struct film *film, struct film_result *result, dqs_error *error)
{
    struct studio studio = {.film = film, .result = result, .repeat = 1};
    memset(result, 0, sizeof *result);
    dqs_status status = shoot_all(&studio, error);
    strike(&studio);
    if (status != DQS_OK) {
        free(result->score);
        result->score = NULL;
    }
    return status;
}
