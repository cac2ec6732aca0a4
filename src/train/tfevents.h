/* tfevents: the event file that TensorBoard reads: scalars only, one record per write. */
#ifndef TRAIN_TFEVENTS_H
#define TRAIN_TFEVENTS_H

#include "append.h"

struct tfevents {
    struct append_file file;
    size_t used; /* bytes of the summary so far */
    int full;
    unsigned char summary[24000], record[24200];
};

/* Makes a new file in `folder`, in name later than those that are there. Tells readers to forget what earlier
 * files say about `first_step` and beyond. */
dqs_status tfevents_open(struct tfevents *events, const char *folder, long first_step, dqs_error *error);
void tfevents_begin(struct tfevents *events);
void tfevents_scalar(struct tfevents *events, const char *name, double value);
dqs_status tfevents_end(struct tfevents *events, long step, dqs_error *error);
void tfevents_close(struct tfevents *events);

#endif
