/* mjcf: models that are partly written by code. A file of models/ carries marks,
 * comments such as <!--link-->, and a task's `compose` replaces them by text; text with the same mark
 * again at its end, or inside, makes lists and chains. */
#ifndef ENV_DMC_MJCF_H
#define ENV_DMC_MJCF_H

char *mjcf_copy(const char *text); /* malloc'd; NULL if memory is short */

/* Puts formatted text in place of the first `old`, which must be there. Takes over `text`, which may be
 * NULL, and returns the new one, malloc'd; NULL if memory is short. No floating-point formats: they
 * follow the locale. */
char *mjcf_replace(char *text, const char *old, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
