/* fill_in: texts with gaps, for exported programs. In a text stand
 *     @key@            replaced by the key's value
 *     //if key         on lines of their own: what follows, up to //else or //end, only if the key's value is not empty
 *     //else  //end
 *     //key            on a line of its own, for a key whose `write` is set: what that function writes */
#ifndef DEPLOY_FILL_IN_H
#define DEPLOY_FILL_IN_H

#include "file.h"

extern const char export_policy_c[], export_policy_h[], export_parity_c[], export_parity_py[];

#define FILL_IN_GAPS 80
struct fill_in {
    int count;
    struct fill_in_gap {
        const char *key;
        char value[200];
        void (*write)(struct file_writer *to, const void *context);
        const void *context;
    } gap[FILL_IN_GAPS];
};

void fill_in_text(struct fill_in *f, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void fill_in_flag(struct fill_in *f, const char *key, bool on);
void fill_in_writer(struct fill_in *f, const char *key, void (*write)(struct file_writer *, const void *),
                    const void *context);
/* The same as a whole file. */
dqs_status fill_in_file(const struct fill_in *f, const char *path, const char *text, dqs_error *error);

#endif
