/* api_run: dqs_run over train/run. */
#include "evaluate.h"
#include "handles.h"

dqs_status dqs_run_create(dqs_run **run, const dqs_config *config, dqs_error *error)
{
    NEED(run, error);
    NEED(config, error);
    struct run *inner = NULL;
    dqs_status status = run_create(&inner, config_inside(config), error);
    *run = (dqs_run *)inner;
    return status;
}

dqs_status dqs_run_resume(dqs_run **run, const char *run_dir, long steps, int threads, dqs_error *error)
{
    NEED(run, error);
    NEED(run_dir, error);
    struct run *inner = NULL;
    dqs_status status = run_resume(&inner, run_dir, NULL, NULL, steps, threads, error);
    *run = (dqs_run *)inner;
    return status;
}

dqs_status dqs_run_step(dqs_run *run, long n, dqs_error *error)
{
    NEED(run, error);
    return run_train(run_inside(run), n, error);
}

void dqs_run_stop(dqs_run *run)
{
    if (run)
        run_stop(run_inside(run));
}

void dqs_run_watch(dqs_run *run, void (*watch)(void *user, const dqs_progress *, const dqs_evaluation *),
                   void *user)
{
    run_inside(run)->watcher = watch;
    run_inside(run)->watcher_user = user;
}

dqs_status dqs_run_evaluate(dqs_run *run, int episodes, dqs_act_mode mode, dqs_evaluation *out,
                            dqs_error *error)
{
    NEED(run, error);
    NEED(out, error);
    struct run *inner = run_inside(run);
    int most = 100000;
    if (episodes <= 0)
        episodes = (int)inner->options->final_episodes;
    if (episodes > most)
        return fail(error, DQS_E_OPTION, "evaluation: %d episodes; %d are the most", episodes, most);
    if (mode < DQS_ACT_EXPLORE || mode > DQS_ACT_EXACT)
        return fail(error, DQS_E_USAGE, "evaluation: no such mode: %d", (int)mode);
    TRY(evaluate(inner, episodes, mode, out, error));
    return evaluate_write_trace(inner, error);
}

dqs_status dqs_run_show_policy(dqs_run *run, const char *path, dqs_error *error)
{
    NEED(run, error);
    NEED(path, error);
    return run_show_policy(run_inside(run), path, error);
}

dqs_status dqs_run_save(dqs_run *run, dqs_error *error)
{
    NEED(run, error);
    return run_save(run_inside(run), error);
}

const char *dqs_run_dir(const dqs_run *run)
{
    return run_inside(run)->dir;
}

const dqs_config *dqs_run_config(const dqs_run *run)
{
    return (const dqs_config *)run_inside(run)->config;
}

void dqs_run_progress(const dqs_run *run, dqs_progress *out)
{
    run_progress(run_inside(run), out);
}

void dqs_run_free(dqs_run *run)
{
    run_free(run_inside(run));
}
