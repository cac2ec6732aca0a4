/* document: building it, and the Markdown of it. */
#include "document.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- building */

static char *format_text(struct arena *arena, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *text = arena_new(arena, char, size);
    vsnprintf(text, (size_t)size, format, list);
    return text;
}

static struct document_block *add(struct document *document, enum document_kind kind, const char *text)
{
    struct document_block *block = arena_new(&document->arena, struct document_block, 1);
    block->kind = kind;
    block->text = text;
    *(document->last ? &document->last->next : &document->first) = block;
    document->last = block;
    return block;
}

void document_free(struct document *document)
{
    arena_free(&document->arena);
}

void document_heading(struct document *document, int level, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(document, DOCUMENT_HEADING, format_text(&document->arena, format, list))->level = level;
    va_end(list);
}

void document_paragraph(struct document *document, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(document, DOCUMENT_PARAGRAPH, format_text(&document->arena, format, list));
    va_end(list);
}

void document_item(struct document *document, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(document, DOCUMENT_ITEM, format_text(&document->arena, format, list));
    va_end(list);
}

void document_table(struct document *document, int columns, int words, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    struct document_block *table = add(document, DOCUMENT_TABLE, format_text(&document->arena, format, list));
    va_end(list);
    table->columns = columns;
    table->words = words;
}

void document_cell(struct document *document, int style, const char *format, ...)
{
    struct document_block *table = document->last;
    va_list list;
    if (table->n_cells == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 64;
        struct document_cell *larger = arena_new(&document->arena, struct document_cell, capacity);
        if (table->n_cells)
            memcpy(larger, table->cells, sizeof *larger * (size_t)table->n_cells);
        table->cells = larger;
        table->capacity = capacity;
    }
    va_start(list, format);
    table->cells[table->n_cells++] =
        (struct document_cell){format_text(&document->arena, format, list), style};
    va_end(list);
}

void document_figure(struct document *document, char *svg, const char *format, ...)
{
    if (!svg)
        return;
    size_t size = strlen(svg) + 1;
    va_list list;
    va_start(list, format);
    struct document_block *figure =
        add(document, DOCUMENT_FIGURE, format_text(&document->arena, format, list));
    va_end(list);
    figure->svg = memcpy(arena_take(&document->arena, size), svg, size);
    free(svg);
}

/* ---------------------------------------------------------------- Markdown */

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* An underscore between letters is just that, elsewhere it would lean the text; a bracket is no link by
 * itself. */
static bool needs_backslash(const char *text, const char *c)
{
    if (*c == '_')
        return c == text || !is_word(c[-1]) || !is_word(c[1]);
    if (*c == ']')
        return c[1] == '(' || c[1] == '[' || c[1] == ':';
    return strchr("\\`*|~", *c) != NULL;
}

static void put_markdown(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '<' || *c == '&')
            fputs(*c == '<' ? "&lt;" : "&amp;", out);
        else
            fprintf(out, needs_backslash(text, c) ? "\\%c" : "%c", *c);
    }
}

static void put_markdown_cell(FILE *out, const struct document_cell *cell)
{
    bool bold = cell->style & DOCUMENT_BOLD, underline = cell->style & DOCUMENT_UNDERLINE;
    fputs(bold ? " **" : underline ? " <u>" : " ", out);
    put_markdown(out, cell->text);
    fputs(bold ? "** |" : underline ? "</u> |" : " |", out);
}

static void put_markdown_table(FILE *out, const struct document_block *table)
{
    for (int i = 0; i < table->n_cells; i++) {
        int column = i % table->columns;
        if (column == 0)
            fputc('|', out);
        put_markdown_cell(out, &table->cells[i]);
        if (column < table->columns - 1)
            continue;
        fputc('\n', out);
        if (i == table->columns - 1) { /* the head ends here */
            for (int k = 0; k < table->columns; k++)
                fputs(k == 0             ? (table->words ? "|---|" : "|---:|")
                      : k < table->words ? "---|"
                                         : "---:|",
                      out);
            fputc('\n', out);
        }
    }
}

void document_markdown(FILE *out, const struct document *document)
{
    enum document_kind before = DOCUMENT_FIGURE;
    for (const struct document_block *b = document->first; b; b = b->next) {
        if (b->kind == DOCUMENT_FIGURE)
            continue;
        if (b != document->first && !(b->kind == DOCUMENT_ITEM && before == DOCUMENT_ITEM))
            fputc('\n', out);
        before = b->kind;
        if (b->kind == DOCUMENT_HEADING)
            fprintf(out, "%.*s ", b->level, "######");
        if (b->kind == DOCUMENT_ITEM)
            fputs("- ", out);
        put_markdown(out, b->text);
        fputc('\n', out);
        if (b->kind == DOCUMENT_TABLE) {
            fputc('\n', out);
            put_markdown_table(out, b);
        }
    }
}
