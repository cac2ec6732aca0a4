/* reference: see reference.h. */
#include "reference.h"
#include "dmc_types.h"
#include <string.h>

#define NAME(symbol, name, doc) name,
static const char *const suite[] = {DMC_TYPES(NAME)};

bool reference_find(struct reference *reference, const char *env)
{
    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++)
        if (strcmp(suite[i], env) == 0 && strncmp(env, "lqr-", 4) != 0) {
            *reference = (struct reference){0, 1000};
            return true;
        }
    return false;
}

double reference_score(const struct reference *reference, double value)
{
    return (value - reference->zero) / (reference->one - reference->zero);
}
