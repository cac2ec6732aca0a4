/* number: strtod and snprintf, held to the "C" locale: a program around the library may have set another. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "number.h"
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plain { /* uselocale is per thread: nothing leaks to others */
    locale_t mine, before;
};

static struct plain plain_enter(void)
{
    struct plain plain = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
    plain.before = uselocale(plain.mine);
    return plain;
}

static void plain_leave(struct plain plain)
{
    uselocale(plain.before);
    if (plain.mine)
        freelocale(plain.mine);
}

void number_write(char text[NUMBER_TEXT_SIZE], double value)
{
    if (!isfinite(value)) {
        strcpy(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    struct plain plain = plain_enter();
    /* Any text of up to 15 digits survives a normal double, so where 15 suffice %g strips it to the shortest;
     * subnormal numbers hold fewer digits and are tried from one on. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; digits++) {
        snprintf(text, NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    plain_leave(plain);
}

void number_write_float(char text[NUMBER_TEXT_SIZE], float value)
{
    if (!isfinite(value)) {
        number_write(text, (double)value);
        return;
    }
    struct plain plain = plain_enter();
    for (int digits = fabsf(value) < FLT_MIN ? 1 : FLT_DIG; digits <= 9; digits++) {
        snprintf(text, NUMBER_TEXT_SIZE, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    plain_leave(plain);
}

/* Drops '_' between digits and writes a closing k, M or G as an exponent, so that 1.001k is rounded once. */
static bool unravel(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *c = text; *c; c++) {
        bool after_digit = c != text && isdigit((unsigned char)c[-1]);
        if (*c == '_' && after_digit && isdigit((unsigned char)c[1]))
            continue;
        /* strtod would also take leading blanks and hexadecimal. */
        if (*c == '_' || isspace((unsigned char)*c) || *c == 'x' || *c == 'X' || n + 3 >= size)
            return false;
        bool unit = !c[1] && after_digit && strchr("kKMG", *c);
        out[n++] = unit ? 'e' : *c;
        if (unit)
            out[n++] = *c == 'M' ? '6' : *c == 'G' ? '9' : '3';
    }
    out[n] = 0;
    return n > 0;
}

char *number_write_floats(const float *values, float otherwise, int n)
{
    char *text = calloc((size_t)n + 1, NUMBER_TEXT_SIZE + 1), *at = text;
    for (int i = 0; text && i < n; i++) {
        if (i > 0)
            *at++ = ' ';
        number_write_float(at, values ? values[i] : otherwise);
        at += strlen(at);
    }
    return text;
}

bool number_read(const char *text, double *value)
{
    char digits[128], *end;
    if (!unravel(text, digits, sizeof digits))
        return false;
    struct plain plain = plain_enter();
    double read = strtod(digits, &end);
    plain_leave(plain);
    if (end == digits || *end)
        return false;
    *value = read;
    return true;
}

bool number_read_long(const char *text, long *value)
{
    char digits[128], *end;
    double real;
    if (!unravel(text, digits, sizeof digits))
        return false;
    errno = 0;
    long read = strtol(digits, &end, 10); /* beyond 2^53 a double would lose the last digits */
    if (end != digits && !*end) {
        if (errno == ERANGE)
            return false;
        *value = read;
        return true;
    }
    if (!number_read(text, &real) || !(fabs(real) < 0x1p63) || real != floor(real))
        return false;
    *value = (long)real;
    return true;
}
