/* budget: dqs eval --steps-budget: what a policy is worth, and what an action costs, by the number of
 * sampling steps. */
#ifndef CLI_BUDGET_H
#define CLI_BUDGET_H

#include <stdbool.h>

#define BUDGET_STEPS "1,2,5,10,20,50"

/* policy: a file of the run's, NULL for its last. list: numbers of steps with commas between. settings: other
 * options for acting, "corrector=0". episodes 0: ten. seed NULL: the run's. Returns the exit code. */
int budget_print(const char *run, const char *policy, const char *list, const char *settings, long episodes,
                 const char *seed, bool json);

#endif
