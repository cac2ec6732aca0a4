/* contact: a contact sheet: evenly spaced frames of an episode whose length is not known beforehand, as
 * one PNG. */
#ifndef RENDER_CONTACT_H
#define RENDER_CONTACT_H

#include "picture.h"
#include "status.h"

struct contact;

dqs_status contact_open(struct contact **contact, int width, int height,
                        dqs_error *error); /* of the frames */
/* Frames are offered in order; only some are kept. */
dqs_status contact_add(struct contact *contact, const struct picture *picture, long step, double seconds,
                       double score, dqs_error *error);
dqs_status contact_write(const struct contact *contact, const char *path, const char *title, const char *note,
                         dqs_error *error);
void contact_close(struct contact *contact); /* NULL is allowed */

#endif
