/* verdict: the one rule by which our numbers are compared with published ones.
 *
 *   reproduced   our 95 % interval overlaps the published mean +- std
 *   above/below  it lies wholly above or below that
 *
 * With fewer than three seeds the verdict says how many there were: such an interval hardly is one. */
#ifndef LAB_VERDICT_H
#define LAB_VERDICT_H

enum verdict { VERDICT_NONE, VERDICT_REPRODUCED, VERDICT_ABOVE, VERDICT_BELOW, VERDICTS };

struct verdict_claim { /* what was published */
    double mean, std;
};

/* low, high: our interval. Not-a-number anywhere is VERDICT_NONE. */
enum verdict verdict_of(double low, double high, const struct verdict_claim *claim);

#define VERDICT_TEXT_SIZE 48
/* "reproduced", "above (2 seeds)", "no data" */
void verdict_write(char text[VERDICT_TEXT_SIZE], enum verdict verdict, int seeds);
const char *verdict_name(enum verdict verdict);

#endif
