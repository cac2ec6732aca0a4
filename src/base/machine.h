/* machine: what the results were made on. */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stddef.h>

/* The processor's name as the system has it; "unknown" where it does not tell. */
void machine_cpu(char *name, size_t size);

#endif
