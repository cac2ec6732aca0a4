/* document: headings, paragraphs, tables and figures, written once and told as Markdown, LaTeX or HTML. All
 * texts are plain UTF-8; whatever means something to the form is escaped by its writer, so names may come
 * from any file. */
#ifndef LAB_DOCUMENT_H
#define LAB_DOCUMENT_H

#include "arena.h"
#include "status.h"
#include <stdbool.h>
#include <stdio.h>

enum document_style { DOCUMENT_PLAIN = 0, DOCUMENT_BOLD = 1, DOCUMENT_UNDERLINE = 2 };
enum document_kind { DOCUMENT_HEADING, DOCUMENT_PARAGRAPH, DOCUMENT_ITEM, DOCUMENT_TABLE, DOCUMENT_FIGURE };

struct document_cell {
    const char *text;
    int style;
};

struct document_block {
    enum document_kind kind;
    int level;        /* of a heading: 1 the title */
    const char *text; /* heading, paragraph, item; caption of a table; words for a figure */
    const char *svg;  /* of a figure: an SVG element */
    int columns, words, n_cells,
        capacity;                /* of a table: its first `words` columns are words, the others numbers */
    struct document_cell *cells; /* the head first */
    struct document_block *next;
};

struct document {
    struct arena arena;
    struct document_block *first, *last;
};
void document_free(struct document *document);

void document_heading(struct document *document, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void document_paragraph(struct document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void document_item(struct document *document, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Cells follow from left to right, the head first. */
void document_table(struct document *document, int columns, int words, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void document_cell(struct document *document, int style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Only HTML shows figures. The svg is taken over from malloc; NULL adds nothing. */
void document_figure(struct document *document, char *svg, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef void document_writer(FILE *out, const struct document *document);
document_writer document_markdown;
document_writer document_latex; /* a whole document for pdflatex; ASCII, what it cannot say becomes `?` */
document_writer document_html;  /* one page, nothing outside it needed */

#endif
