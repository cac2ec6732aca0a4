#include "manner.h"
#include "number.h"
#include <stdio.h>
#include <string.h>

static double number_of(const struct collection_run *run, const char *key, double otherwise)
{
    const char *text = collection_option(run, key);
    double value;
    return text && number_read(text, &value) ? value : otherwise;
}

/* "4 updates a step; evaluated by the best of 32 draws from averaged networks", or "". */
static void describe(char *text, size_t size, const struct collection_run *run)
{
    double updates = number_of(run, "updates_per_step", 1), draws = number_of(run, "eval_particles", 0);
    const char *choice = collection_option(run, "eval_choice");
    bool best = choice && strcmp(choice, "best") == 0, averaged = number_of(run, "average", 0) > 0;
    size_t used = 0;
    text[0] = 0;
    if (draws == 0)
        draws = number_of(run, "particles", 1);
    if (updates != 1)
        used += (size_t)snprintf(text, size, "%g updates a step", updates);
    if (best && draws > 1 && used < size)
        used += (size_t)snprintf(text + used, size - used, "%sevaluated by the best of %g draws",
                                 used ? "; " : "", draws);
    if (averaged && used < size)
        snprintf(text + used, size - used, "%s averaged networks",
                 best && draws > 1 ? " from"
                 : used            ? "; evaluated by"
                                   : "evaluated by");
}

void manner_tell(struct document *document, const struct collection *c)
{
    for (int m = 0; m < c->n_methods; m++) {
        char first[200] = "", text[200];
        bool same = true, any = false;
        for (int i = 0; i < c->n_runs; i++) {
            if (c->runs[i].method_index != m)
                continue;
            describe(text, sizeof text, &c->runs[i]);
            if (!any)
                snprintf(first, sizeof first, "%s", text);
            same = same && strcmp(first, text) == 0;
            any = true;
        }
        if (any && (first[0] || !same))
            document_item(document, "%s, other than in the paper: %s%s", c->methods[m].label,
                          same ? first : "updates a step or evaluation, by task",
                          same ? "" : " (config.yaml of each run)");
    }
}
