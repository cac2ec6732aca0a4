/* paper_steps: see paper_steps.h. */
#include "paper_steps.h"
#include "number.h"
#include <math.h>
#include <string.h>

double paper_steps_of(const char *algo, const char *batch, const char *epochs, const char *action_repeat)
{
    long rows, passes, held;
    if (strcmp(algo, "ppo") != 0 || !batch || !epochs || !number_read_long(batch, &rows) ||
        !number_read_long(epochs, &passes) || rows < 1 || passes < 1)
        return 1;
    if (!action_repeat || !number_read_long(action_repeat, &held) || held < 1)
        held = 1; /* from before there was such an option */
    return (double)rows * (double)held / (double)passes;
}

double paper_steps_ratio(const struct collection_run *run)
{
    return paper_steps_of(run->algo, collection_option(run, "batch"), collection_option(run, "epochs"),
                          collection_option(run, "action_repeat"));
}

long paper_steps_whole(double steps, long rollout)
{
    long least = (long)ceil(steps);
    return (least + rollout - 1) / rollout * rollout;
}

long paper_steps(const struct collection_run *run, long budget)
{
    long stride = collection_stride(run), rollout = 1;
    const char *length = collection_option(run, "n_steps");
    bool on_policy = strcmp(run->algo, "ppo") == 0 && length && number_read_long(length, &rollout);
    if (!on_policy || rollout < 1 || rollout > 1000000000L / stride)
        return lround((double)budget * paper_steps_ratio(run));
    return paper_steps_whole((double)budget * paper_steps_ratio(run), rollout * stride);
}
