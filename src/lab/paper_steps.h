/* paper_steps: the unit of the paper's budgets. It counts environment steps, whatever updates are made in
 * one, but for PPO the network updates: "for PPO, the x-axis represents the number of network updates". */
#ifndef LAB_PAPER_STEPS_H
#define LAB_PAPER_STEPS_H

#include "collection.h"

/* Environment steps to one step of the paper: 1; of PPO a minibatch over the passes that each row is in, 6.4
 * for 64 and 10. */
double paper_steps_ratio(const struct collection_run *run);
/* The same from the values as text, any of which may be NULL. Where actions are held, a row is as many
 * steps. */
double paper_steps_of(const char *algo, const char *batch, const char *epochs, const char *action_repeat);
/* A budget of the paper in environment steps of this run; of PPO the end of the rollout that it ends in. */
long paper_steps(const struct collection_run *run, long budget);
/* The first whole number of rollouts that is not less than `steps`. */
long paper_steps_whole(double steps, long rollout);

#endif
