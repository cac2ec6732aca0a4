/* text: UTF-8, where words come from strangers. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Length of the well-formed UTF-8 sequence at `text`, 0 if there is none. Reading stops at the closing 0
 * byte. */
size_t text_utf8_length(const char *text);
/* Replaces by `?` what is no UTF-8 (a letter cut in two, say) and, if asked, control characters. */
void text_clean(char *text, bool controls);
/* The first `size` bytes as a double-quoted scalar of YAML. */
void text_put_quoted(FILE *out, const char *text, size_t size);

#endif
