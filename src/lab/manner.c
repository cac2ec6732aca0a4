#include "manner.h"
#include "number.h"
#include <stdio.h>
#include <string.h>

#define TEXT 280

static double number_of(const struct collection_run *run, const char *key, double otherwise)
{
    const char *text = collection_option(run, key);
    double value;
    return text && number_read(text, &value) ? value : otherwise;
}

/* "actions held for 2 steps; 4 updates a step; networks begin anew after 16000, 32000, ... steps; evaluated by
 * the best of 32 draws from averaged networks", or "". */
static void describe(char *text, size_t size, const struct collection_run *run)
{
    double repeat = number_of(run, "action_repeat", 1), updates = number_of(run, "updates_per_step", 1),
           first = number_of(run, "reset_first", 0), draws = number_of(run, "eval_particles", 0);
    const char *choice = collection_option(run, "eval_choice");
    bool averaged = number_of(run, "average", 0) > 0;
    char held[40] = "", made[40] = "", anew[80] = "", evaluated[80] = "";
    if (draws == 0)
        draws = number_of(run, "particles", 1);
    bool best = draws > 1 && choice && strcmp(choice, "best") == 0;
    if (repeat != 1)
        snprintf(held, sizeof held, "actions held for %g steps", repeat);
    if (updates != 1)
        snprintf(made, sizeof made, "%g updates a step", updates);
    if (first > 0)
        snprintf(anew, sizeof anew, "networks begin anew after %.12g, %.12g, ... steps", first, 2 * first);
    if (best)
        snprintf(evaluated, sizeof evaluated, "evaluated by the best of %g draws%s", draws,
                 averaged ? " from averaged networks" : "");
    else if (averaged)
        snprintf(evaluated, sizeof evaluated, "evaluated by averaged networks");
    const char *parts[] = {held, made, anew, evaluated}, *join = "";
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < 4 && used < size; i++) {
        if (!parts[i][0])
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", join, parts[i]);
        join = "; ";
    }
}

/* What all its runs have in common, or that they differ. */
static void describe_method(char *text, size_t size, const struct collection *c, int method)
{
    char other[TEXT];
    const struct collection_run *first = NULL;
    text[0] = 0;
    for (int i = 0; i < c->n_runs; i++) {
        if (c->runs[i].method_index != method)
            continue;
        describe(first ? other : text, first ? sizeof other : size, &c->runs[i]);
        if (first && strcmp(other, text) != 0) {
            snprintf(text, size, "held actions, updates, new beginnings or evaluation, by task: see each config.yaml");
            return;
        }
        first = first ? first : &c->runs[i];
    }
}

static void tell(struct document *document, const char *label, int more, const char *text)
{
    if (more > 0)
        document_item(document, "%s and %d more, other than in the paper: %s", label, more, text);
    else
        document_item(document, "%s, other than in the paper: %s", label, text);
}

void manner_tell(struct document *document, const struct collection *c, const int *methods, int n)
{
    n = methods ? n : c->n_methods;
    for (int i = 0; i < n; i++) {
        char own[TEXT], other[TEXT];
        int same = 0;
        bool told = false;
        describe_method(own, sizeof own, c, methods ? methods[i] : i);
        for (int k = 0; k < n; k++) {
            describe_method(other, sizeof other, c, methods ? methods[k] : k);
            same += strcmp(own, other) == 0;
            told = told || (k < i && strcmp(own, other) == 0);
        }
        if (own[0] && !told)
            tell(document, c->methods[methods ? methods[i] : i].label, same - 1, own);
    }
}
