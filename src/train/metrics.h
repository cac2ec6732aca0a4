/* metrics: a run's numbers on disk: progress.csv and evaluations.csv for people and scripts, an event file
 * for TensorBoard. Names are Stable-Baselines3's; docs/formats.md lists them. Nothing is allocated after the
 * opening, except when a column appears for the first time. */
#ifndef TRAIN_METRICS_H
#define TRAIN_METRICS_H

#include "log.h"
#include "status.h"

struct metrics;

/* resume_step < 0: a new run, whose tables start empty. Otherwise the tables go on after their last row at or
 * before resume_step, and a new event file makes TensorBoard forget what came later. The folder must exist.
 */
dqs_status metrics_open(struct metrics **metrics, const char *run_dir, long resume_step, dqs_error *error);
/* A row of progress.csv and an event with the mean of each number; the step itself is time/total_timesteps.
 */
dqs_status metrics_write(struct metrics *metrics, long step, const struct log_sink *sink, dqs_error *error);
/* A row of evaluations.csv; and, as eval/mean_reward etc., a row of progress.csv and an event. */
dqs_status metrics_write_evaluation(struct metrics *metrics, const dqs_evaluation *evaluation,
                                    dqs_error *error);
/* How long the tables are, for the checkpoint: what is written after it would be written again by whoever
 * goes on from it, also where the step is the same. */
struct metrics_rows {
    long progress, evaluations;
};
struct metrics_rows metrics_rows(const struct metrics *metrics);
dqs_status metrics_cut(struct metrics *metrics, struct metrics_rows rows, dqs_error *error);
void metrics_close(struct metrics *metrics); /* NULL is allowed */

#endif
