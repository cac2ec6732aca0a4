/* terminal: see terminal.h. */
#define _GNU_SOURCE
#include "terminal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_live(FILE *stream)
{
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && term && *term && strcmp(term, "dumb");
}

bool terminal_is_utf8(void)
{
    /* The first of the three that is set decides, as in setlocale. */
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

int terminal_width(FILE *stream)
{
    struct winsize size;
    if (!isatty(fileno(stream)))
        return 0;
    if (!ioctl(fileno(stream), TIOCGWINSZ, &size) && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    return width > 0 ? width : 80;
}

int terminal_height(FILE *stream)
{
    struct winsize size;
    return !ioctl(fileno(stream), TIOCGWINSZ, &size) && size.ws_row > 0 ? size.ws_row : 24;
}

const char *terminal_style(FILE *stream, enum terminal_styling style)
{
    static const char *const sequences[] = {"\033[0m", "\033[1m", "\033[2m", "\033[32m"};
    const char *no_color = getenv("NO_COLOR");
    if ((no_color && *no_color) || !terminal_is_live(stream))
        return "";
    return sequences[style];
}

void format_number(char *out, size_t size, double value)
{
    double magnitude = fabs(value);
    if (isnan(value))
        snprintf(out, size, "-");
    else if (isinf(value) || magnitude >= 1e7)
        snprintf(out, size, "%.3g", value);
    else if (magnitude >= 1000 || (value == floor(value) && magnitude < 1e6))
        snprintf(out, size, "%.0f", value);
    else if (magnitude >= 100)
        snprintf(out, size, "%.1f", value);
    else if (magnitude >= 1)
        snprintf(out, size, "%.2f", value);
    else
        snprintf(out, size, "%.3g", value);
}

void format_duration(char *out, size_t size, double seconds)
{
    if (!(seconds >= 0) || seconds > 1e8) {
        snprintf(out, size, "-");
        return;
    }
    long s = lround(seconds);
    if (s >= 3600)
        snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else if (s >= 60)
        snprintf(out, size, "%ld:%02ld", s / 60, s % 60);
    else if (seconds < 9.95)
        snprintf(out, size, "%.1f s", seconds);
    else
        snprintf(out, size, "%ld s", s);
}

void format_shell_word(char *out, size_t size, const char *word)
{
    const char *safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    if (*word && strspn(word, safe) == strlen(word)) {
        snprintf(out, size, "%s", word);
        return;
    }
    size_t n = 0;
    if (n + 1 < size)
        out[n++] = '\'';
    for (; *word && n + 6 < size; word++)
        if (*word == '\'')
            n += (size_t)snprintf(out + n, size - n, "'\\''");
        else
            out[n++] = *word;
    snprintf(out + n, size - n, "'");
}

/* ------------------------------------------------------------------ tables */

/* Columns a text takes on screen: code points, which is exact for the letters we print. */
static int text_width(const char *text, size_t bytes)
{
    int width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

void table_fit(struct table *table, const char *const *cells)
{
    for (int c = 0; c < table->columns; c++) {
        int width = text_width(cells[c], strlen(cells[c]));
        if (width > table->column[c])
            table->column[c] = width;
    }
}

void table_squeeze(struct table *table, const int *most)
{
    enum { GAP = 2, LEAST = 24 };
    int last = table->columns - 1, used = table->indent;
    if (!table->width)
        return;
    for (int c = 0; c < last; c++) {
        if (most[c] && table->column[c] > most[c])
            table->column[c] = most[c];
        used += table->column[c] + GAP;
    }
    int rest = table->width - used;
    if (rest < table->column[last])
        table->column[last] = rest > LEAST ? rest : LEAST;
}

/* How many bytes of `text` fit `width` columns, broken at a space if there is one. */
static size_t fitting(const char *text, int width)
{
    size_t bytes = strlen(text), space = 0;
    int used = 0;
    if (text_width(text, bytes) <= width)
        return bytes;
    for (size_t i = 0; text[i]; i++) {
        if (text[i] == ' ')
            space = i;
        if (((unsigned char)text[i] & 0xC0) != 0x80 && ++used > width)
            return space ? space : (i ? i : 1);
    }
    return bytes;
}

void table_print(const struct table *table, const char *const *cells)
{
    const char *rest[TABLE_COLUMNS];
    bool more = true;
    for (int c = 0; c < table->columns; c++)
        rest[c] = cells[c];
    while (more) {
        int owed = table->indent; /* spaces, printed only when something follows: no trailing blanks */
        more = false;
        for (int c = 0; c < table->columns; c++) {
            size_t bytes = fitting(rest[c], table->column[c]);
            int width = text_width(rest[c], bytes);
            if (bytes) {
                printf("%*s%.*s", owed, "", (int)bytes, rest[c]);
                owed = 0;
            }
            owed += table->column[c] - width + 2;
            rest[c] += bytes;
            rest[c] += strspn(rest[c], " ");
            more = more || *rest[c];
        }
        putchar('\n');
    }
}
