/* watch: logging, evaluation, progress; and the guard that stops a run whose numbers have gone bad. */
#include "watch.h"
#include "clock.h"
#include "evaluate.h"
#include "file.h"
#include "number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WATCH_SECONDS 0.1 /* between calls of the watcher */
#define SPEED_SECONDS 5.0

dqs_status watch_log(struct run *run, dqs_error *error)
{
    const struct run_counters *c = &run->count;
    TRY(run_check_numbers(run, error));
    if (c->episodes > 0) {
        long n = c->episodes < RUN_WINDOW ? c->episodes : RUN_WINDOW;
        double returns = 0, lengths = 0;
        for (long i = 0; i < n; i++) {
            returns += c->window_return[i];
            lengths += c->window_length[i];
        }
        log_set(&run->log, "rollout/ep_rew_mean", returns / (double)n);
        log_set(&run->log, "rollout/ep_len_mean", lengths / (double)n);
    }
    dqs_progress progress;
    run_progress(run, &progress);
    log_set(&run->log, "time/episodes", (double)c->episodes);
    log_set(&run->log, "time/fps", progress.steps_per_second);
    log_set(&run->log, "time/time_elapsed", progress.seconds);
    log_set(&run->log, "train/n_updates", (double)c->updates);
    TRY(metrics_write(run->metrics, c->step, &run->log, error));
    log_clear(&run->log);
    return DQS_OK;
}

static void tell(struct run *run, const dqs_evaluation *evaluation)
{
    dqs_progress progress;
    if (!run->watcher)
        return;
    run_progress(run, &progress);
    run->watcher(run->watcher_user, &progress, evaluation);
}

dqs_status watch_evaluation(struct run *run, dqs_error *error)
{
    struct run_counters *c = &run->count;
    dqs_evaluation evaluation;
    TRY(evaluate(run, (int)run->options->eval_episodes, DQS_ACT_EVALUATE, &evaluation, error));
    if (run->algo->diagnose)
        run->algo->diagnose(run->self, &run->log);
    TRY(metrics_write_evaluation(run->metrics, &evaluation, error));
    bool better = c->evaluations == 0 || evaluation.mean > c->best_mean;
    c->evaluations++;
    c->eval_mean = evaluation.mean;
    if (better) {
        c->best_mean = evaluation.mean;
        TRY(run_save_policy(run, "best.safetensors", error));
    }
    tell(run, &evaluation);
    return DQS_OK;
}

dqs_status watch_progress(struct run *run, dqs_error *error)
{
    double now = clock_seconds();
    (void)error;
    if (now - run->mark[1].time >= SPEED_SECONDS) {
        run->mark[0] = run->mark[1];
        run->mark[1].time = now;
        run->mark[1].step = run->count.step;
    }
    if (run->options->max_minutes > 0 && now - run->started > 60 * run->options->max_minutes)
        run_stop(run);
    if (now - run->watched >= WATCH_SECONDS) {
        run->watched = now;
        tell(run, NULL);
    }
    return DQS_OK;
}

dqs_status watch_final(struct run *run, dqs_error *error)
{
    dqs_evaluation evaluation;
    char path[RUN_PATH_SIZE], text[200], mean[NUMBER_TEXT_SIZE], std[NUMBER_TEXT_SIZE];
    if (run->log.count > 0) /* what was logged since the last row */
        TRY(watch_log(run, error));
    /* The checkpoint is written first: a run that is made longer goes on from it as if this evaluation had
     * never been. */
    TRY(run_save(run, error));
    TRY(evaluate(run, (int)run->options->final_episodes, DQS_ACT_EVALUATE, &evaluation, error));
    TRY(metrics_write_evaluation(run->metrics, &evaluation, error));
    TRY(evaluate_write_trace(run, error));
    run_path(run, path, "DONE");
    number_write(mean, evaluation.mean);
    number_write(std, evaluation.std);
    snprintf(text, sizeof text, "steps: %ld\nepisodes: %d\neval_mean: %s\neval_std: %s\n", run->count.step,
             evaluation.episodes, mean, std);
    TRY(file_write_text(path, text, error));
    tell(run, &evaluation);
    return DQS_OK;
}
