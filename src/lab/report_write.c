/* report_write: a report in its four forms. */
#include "file.h"
#include "report.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

const struct report_form report_forms[REPORT_FORMS] = {
    {"md", "report.md"}, {"latex", "report.tex"}, {"csv", "report.csv"}, {"html", "report.html"}};

static document_writer *const writers[REPORT_FORMS] = {
    [REPORT_MARKDOWN] = document_markdown, [REPORT_LATEX] = document_latex, [REPORT_HTML] = document_html};

dqs_status report_text(char **text, const struct report *report, const struct report_words *words,
                       enum report_form_index form, dqs_error *error)
{
    struct document document = {0};
    size_t size;
    *text = NULL;
    dqs_status status =
        form == REPORT_CSV ? DQS_OK : report_document(&document, report, words, form == REPORT_HTML, error);
    FILE *out = status == DQS_OK ? open_memstream(text, &size) : NULL;
    if (out) {
        if (form == REPORT_CSV)
            report_csv(out, report);
        else
            writers[form](out, &document);
        if (fclose(out) != 0) {
            free(*text);
            *text = NULL;
        }
    }
    document_free(&document);
    if (status == DQS_OK && !*text)
        return fail(error, DQS_E_MEMORY, "report: out of memory");
    return status;
}

dqs_status report_write(const struct report *report, const struct report_words *words, const char *folder,
                        const bool forms[REPORT_FORMS], struct plot_report *files, dqs_error *error)
{
    files->count = 0;
    TRY(file_make_folders(folder, error));
    for (int k = 0; k < REPORT_FORMS; k++) {
        char *text, *path = files->files[files->count];
        size_t size = sizeof files->files[0];
        if (!forms[k])
            continue;
        if ((size_t)snprintf(path, size, "%s/%s", folder, report_forms[k].file) >= size)
            return fail(error, DQS_E_USAGE, "%s: the path is too long; try a shorter one", folder);
        TRY(report_text(&text, report, words, (enum report_form_index)k, error));
        dqs_status status = file_write_text(path, text, error);
        free(text);
        TRY(status);
        files->count++;
    }
    return DQS_OK;
}

void report_title(struct report_words *words, const char *title)
{
    snprintf(words->title, sizeof words->title, "%s", title);
    text_clean(words->title, true); /* the names of folders may be anything */
}

void report_note(struct report_words *words, const char *line)
{
    if (words->n_notes == REPORT_NOTES) {
        words->more_notes++;
        return;
    }
    char *note = words->notes[words->n_notes++];
    snprintf(note, sizeof words->notes[0], "%s", line);
    text_clean(note, true);
}
