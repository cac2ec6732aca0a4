/* loop: the table of contents. One action of the n environments is five stages, each a call; docs/walk.md
 * follows them through the files. Neither environment nor algorithm has a kind here: both are rows of
 * functions. */
#include "loop.h"
#include "watch.h"
#include <string.h>

/* obs [n x obs_dim] -> action [n x act_dim]. The step will overwrite the observations, so they are kept. */
static dqs_status act(struct run *run, dqs_error *error)
{
    memcpy(run->obs, run->envs->obs, sizeof(float) * (size_t)run->envs->n * (size_t)run->envs->spec.obs_dim);
    return run->algo->act(run->self, run->action, run->obs, run->envs->n, DQS_ACT_EXPLORE, error);
}

/* action -> reward, next_obs, terminated, truncated; what has ended begins anew. */
static dqs_status step(struct run *run, dqs_error *error)
{
    TRY(env_batch_step(run->envs, run->action, error));
    run_count_step(run);
    return DQS_OK;
}

/* transition -> learner, which owns its buffer. next_obs is the true one, before any reset. */
static void learn(struct run *run)
{
    const struct env_batch *e = run->envs;
    const struct transitions seen = {e->n,      run->made,   run->obs,      run->action,
                                     e->reward, e->next_obs, e->terminated, e->truncated};
    run->algo->observe(run->self, &seen);
}

/* buffer -> parameters, as often as the learner wants and the run allows. */
static dqs_status update(struct run *run, dqs_error *error)
{
    while (!run_updated(run) && run->algo->update_due(run->self)) {
        run->algo->update(run->self, &run->log);
        run->count.updates++;
        TRY(log_check_losses(&run->log, run->count.updates, error));
    }
    return DQS_OK;
}

/* What happens every so many steps, in this order. */
static const struct hook {
    size_t every; /* which option says how many steps; 0 in it: never */
    dqs_status (*call)(struct run *run, dqs_error *error);
} hooks[] = {
    {offsetof(struct run_options, eval_every), watch_evaluation},
    {offsetof(struct run_options, log_every), watch_log},
    {offsetof(struct run_options, checkpoint_every), run_save},
    {offsetof(struct run_options, n_envs), watch_progress}, /* every step */
};

static dqs_status watch(struct run *run, dqs_error *error)
{
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        long every = *(const long *)((const char *)run->options + hooks[i].every);
        long now = run->count.step, before = now - run->made;
        if (every > 0 && now / every > before / every)
            TRY(hooks[i].call(run, error));
    }
    return DQS_OK;
}

dqs_status loop_run(struct run *run, long until, dqs_error *error)
{
    TRY(update(run, error)); /* what a limit on updates has left */
    while (run->count.step < until && !run_done(run) && !atomic_load(&run->stop)) {
        TRY(act(run, error));
        TRY(step(run, error));
        learn(run);
        TRY(update(run, error));
        TRY(watch(run, error));
    }
    return DQS_OK;
}
