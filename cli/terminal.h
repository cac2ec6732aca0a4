/* terminal: what the place we print to can show. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum terminal_styling { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD };

bool terminal_is_live(FILE *stream); /* a terminal that understands carriage return and erase */
bool terminal_is_utf8(void);
int terminal_width(FILE *stream);  /* columns; 0 if it is no terminal: do not wrap */
int terminal_height(FILE *stream); /* lines; 24 if it does not tell */
/* The escape sequence, or "" where colour is not wanted (NO_COLOR, TERM=dumb, not a terminal). */
const char *terminal_style(FILE *stream, enum terminal_styling style);

/* A number for people: four digits or so, "-" for not-a-number. */
void format_number(char *out, size_t size, double value);
void format_duration(char *out, size_t size, double seconds); /* "42 s", "3:05", "1:02:03" */
/* A word that a shell reads back as it is. */
void format_shell_word(char *out, size_t size, const char *word);

/* A table of text: cells are wrapped to their column when `width` (columns; 0: unlimited) is short. The last
 * column takes what is left. */
enum { TABLE_COLUMNS = 5 };
struct table {
    int columns, width, indent;
    int column[TABLE_COLUMNS]; /* widths, set by table_fit */
};
void table_fit(struct table *table, const char *const *cells); /* widen for a row; call for every row first */
/* Then cap the columns but the last (0: no cap). */
void table_squeeze(struct table *table, const int *most);
void table_print(const struct table *table, const char *const *cells);

#endif
