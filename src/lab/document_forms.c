/* document_forms: a document as LaTeX and as HTML. */
#include "document.h"
#include <string.h>

/* ---------------------------------------------------------------- LaTeX */

static const struct {
    const char *from, *to;
} latex_words[] = {
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"~", "\\textasciitilde{}"},
    {"^", "\\textasciicircum{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"\"", "\\textquotedbl{}"},
    {"`", "\\textasciigrave{}"},
    {"\u00b1", "$\\pm$"},
    {"\u2212", "$-$"},
    {"\u2013", "--"},
    {"\u00b7", "$\\cdot$"},
    {"\u2265", "$\\geq$"},
};

static void put_latex(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t length = 1, k = 0, n = sizeof latex_words / sizeof *latex_words;
        while (k < n && strncmp((const char *)c, latex_words[k].from, strlen(latex_words[k].from)) != 0)
            k++;
        if (k < n) {
            fputs(latex_words[k].to, out);
            length = strlen(latex_words[k].from);
        } else if (*c < 0x80) {
            fputc(*c, out);
        } else {
            fputc('?', out);
            while ((c[length] & 0xc0) == 0x80)
                length++;
        }
        c += length;
    }
}

static void put_latex_cell(FILE *out, const struct document_cell *cell, bool head)
{
    bool bold = head || cell->style & DOCUMENT_BOLD, underline = cell->style & DOCUMENT_UNDERLINE;
    /* A bracket or a star at the start of a row would belong to the `\\` before it: hence the empty group. */
    fputs(bold ? "\\textbf{" : underline ? "\\underline{" : "{}", out);
    put_latex(out, cell->text);
    fputs(bold || underline ? "}" : "", out);
}

static void put_latex_table(FILE *out, const struct document_block *table)
{
    int columns = table->columns;
    fprintf(out, "{%s\\setlength{\\tabcolsep}{%dpt}\n\\begin{longtable}{",
            columns <= 6    ? "\\small"
            : columns <= 10 ? "\\footnotesize"
                            : "\\scriptsize",
            columns <= 10 ? 5 : 2);
    for (int k = 0; k < columns; k++)
        fputc(k < table->words ? 'l' : 'r', out);
    fputs("}\n\\caption{", out);
    put_latex(out, table->text);
    fputs("}\\\\\n\\toprule\n", out);
    for (int i = 0; i < table->n_cells; i++) {
        int column = i % columns;
        put_latex_cell(out, &table->cells[i], i < columns);
        fputs(column < columns - 1 ? " & " : " \\\\\n", out);
        if (i == columns - 1)
            fputs("\\midrule\n\\endhead\n", out);
    }
    fputs("\\bottomrule\n\\end{longtable}}\n\n", out);
}

static void put_latex_heading(FILE *out, const struct document_block *b)
{
    static const char *const commands[] = {"\\section*{", "\\subsection*{", "\\subsubsection*{"};
    fputs(b->level <= 1 ? "\\title{" : commands[b->level <= 2 ? 0 : b->level <= 3 ? 1 : 2], out);
    put_latex(out, b->text);
    fputs(b->level <= 1 ? "}\\author{}\\date{}\\maketitle\n\n" : "}\n\n", out);
}

void document_latex(FILE *out, const struct document *document)
{
    fputs("\\documentclass[a4paper]{article}\n\\usepackage[T1]{fontenc}\n"
          "\\usepackage[landscape,margin=15mm]{geometry}\n\\usepackage{longtable,textcomp}\n"
          "\\IfFileExists{booktabs.sty}{\\usepackage{booktabs}}"
          "{\\let\\toprule\\hline\\let\\midrule\\hline\\let\\bottomrule\\hline}\n"
          "\\setlength{\\parindent}{0pt}\\setlength{\\parskip}{6pt}\n\\begin{document}\n\n",
          out);
    for (const struct document_block *b = document->first; b; b = b->next) {
        if (b->kind == DOCUMENT_HEADING) {
            put_latex_heading(out, b);
        } else if (b->kind == DOCUMENT_TABLE) {
            put_latex_table(out, b);
        } else if (b->kind != DOCUMENT_FIGURE) {
            fputs(b->kind == DOCUMENT_ITEM ? "\\textbullet\\ " : "", out);
            put_latex(out, b->text);
            fputs("\n\n", out);
        }
    }
    fputs("\\end{document}\n", out);
}

/* ---------------------------------------------------------------- HTML */

static void put_html(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void put_html_cell(FILE *out, const struct document_cell *cell, bool head, bool word)
{
    bool bold = cell->style & DOCUMENT_BOLD, underline = cell->style & DOCUMENT_UNDERLINE;
    fprintf(out, "<%s%s>%s", head ? "th" : "td", word ? " class=\"w\"" : "",
            bold        ? "<b>"
            : underline ? "<u>"
                        : "");
    put_html(out, cell->text);
    fprintf(out, "%s</%s>", bold ? "</b>" : underline ? "</u>" : "", head ? "th" : "td");
}

static void put_html_table(FILE *out, const struct document_block *table)
{
    fputs("<div class=\"wide\"><table>\n<caption>", out);
    put_html(out, table->text);
    fputs("</caption>\n", out);
    for (int i = 0; i < table->n_cells; i++) {
        int column = i % table->columns;
        if (column == 0)
            fputs(i == 0 ? "<thead><tr>" : i == table->columns ? "<tbody><tr>" : "<tr>", out);
        put_html_cell(out, &table->cells[i], i < table->columns, column < table->words);
        if (column == table->columns - 1)
            fputs(i < table->columns ? "</tr></thead>\n" : "</tr>\n", out);
    }
    fputs(table->n_cells > table->columns ? "</tbody></table></div>\n" : "</table></div>\n", out);
}

static void put_html_figure(FILE *out, const struct document_block *figure)
{
    const char *svg = strstr(figure->svg, "<svg"); /* without the declaration of a file of its own */
    fputs("<figure>", out);
    fputs(svg ? svg : "", out);
    fputs("<figcaption>", out);
    put_html(out, figure->text);
    fputs("</figcaption></figure>\n", out);
}

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:72rem;margin:2rem "
    "auto;padding:0 1rem}"
    "h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.2rem;border-bottom:1px solid #ddd}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0;font-size:.9rem}"
    "caption{text-align:left;color:#555;padding-bottom:.4rem}"
    "th,td{padding:.2rem .7rem;text-align:right;white-space:nowrap}th{border-bottom:2px solid #888}"
    "td{border-bottom:1px solid #e4e4e4}.w{text-align:left}figure{margin:1rem 0}"
    "figure svg{max-width:100%;height:auto}figcaption{color:#555;font-size:.9rem}";

static const char *html_tag(const struct document_block *b)
{
    static const char *const headings[] = {"h1", "h1", "h2", "h3"};
    return b->kind == DOCUMENT_HEADING ? headings[b->level <= 3 ? b->level : 3] : "p";
}

static void put_html_block(FILE *out, const struct document_block *b, enum document_kind before)
{
    bool item = b->kind == DOCUMENT_ITEM;
    if (item != (before == DOCUMENT_ITEM))
        fputs(item ? "<ul>\n" : "</ul>\n", out);
    if (b->kind == DOCUMENT_TABLE) {
        put_html_table(out, b);
    } else if (b->kind == DOCUMENT_FIGURE) {
        put_html_figure(out, b);
    } else {
        const char *tag = item ? "li" : html_tag(b);
        fprintf(out, "<%s>", tag);
        put_html(out, b->text);
        fprintf(out, "</%s>\n", tag);
    }
}

void document_html(FILE *out, const struct document *document)
{
    enum document_kind before = DOCUMENT_PARAGRAPH;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
          out);
    put_html(out, document->first ? document->first->text : "");
    fprintf(out, "</title>\n<style>%s</style></head>\n<body>\n", style);
    for (const struct document_block *b = document->first; b; b = b->next) {
        put_html_block(out, b, before);
        before = b->kind;
    }
    fputs(before == DOCUMENT_ITEM ? "</ul>\n</body></html>\n" : "</body></html>\n", out);
}
