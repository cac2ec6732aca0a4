/* number: numbers as text, the same in every locale. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>

#define NUMBER_TEXT_SIZE 40
/* The shortest decimal text that reads back to the same bits; "inf", "-inf", "nan" otherwise. */
void number_write(char text[NUMBER_TEXT_SIZE], double value);
/* The same for single precision. */
void number_write_float(char text[NUMBER_TEXT_SIZE], float value);
/* n of them with blanks between, malloc'd; NULL: out of memory. values NULL: `otherwise` each time. */
char *number_write_floats(const float *values, float otherwise, int n);
/* Reads a whole text: 0.5, 1e-3, 250_000, 250k, 1.5M, 2G, inf; false (value untouched) if it is none. */
bool number_read(const char *text, double *value);
/* The same forms, if they are whole numbers that a long can hold; digits without an exponent are exact. */
bool number_read_long(const char *text, long *value);

#endif
