/* verdict: see verdict.h. */
#include "verdict.h"
#include <math.h>
#include <stdio.h>

#define ENOUGH_SEEDS 3

enum verdict verdict_of(double low, double high, const struct verdict_claim *claim)
{
    double least = claim->mean - claim->std, most = claim->mean + claim->std;
    if (isnan(low) || isnan(high) || isnan(least))
        return VERDICT_NONE;
    return low > most ? VERDICT_ABOVE : high < least ? VERDICT_BELOW : VERDICT_REPRODUCED;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[VERDICTS] = {"no data", "reproduced", "above", "below"};
    return names[verdict];
}

void verdict_write(char text[VERDICT_TEXT_SIZE], enum verdict verdict, int seeds)
{
    if (verdict == VERDICT_NONE || seeds >= ENOUGH_SEEDS)
        snprintf(text, VERDICT_TEXT_SIZE, "%s", verdict_name(verdict));
    else
        snprintf(text, VERDICT_TEXT_SIZE, "%s (%d seed%s)", verdict_name(verdict), seeds,
                 seeds == 1 ? "" : "s");
}
