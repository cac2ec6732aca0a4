/* evaluate: whole episodes with the policy as it is, all of them side by side as lanes of one batch. The
 * starts depend on eval_seed alone, so that evaluations of any step and any run can be compared. */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include "run.h"

#define EVALUATE_ROWS 512 /* rows of one act call: enough to fill the kernels */

dqs_status evaluate(struct run *run, int episodes, dqs_act_mode mode, dqs_evaluation *out, dqs_error *error);
/* trace.safetensors: the episodes of the last evaluation; in two dimensions also a map of the soft value. */
dqs_status evaluate_write_trace(struct run *run, dqs_error *error);
void evaluate_free(struct evaluator *evaluator);

#endif
