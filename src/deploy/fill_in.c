#include "fill_in.h"
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#define DEEPEST 8 /* ifs in ifs */

static struct fill_in_gap *add(struct fill_in *f, const char *key)
{
    assert(f->count < FILL_IN_GAPS);
    f->gap[f->count] = (struct fill_in_gap){.key = key};
    return &f->gap[f->count++];
}

void fill_in_text(struct fill_in *f, const char *key, const char *format, ...)
{
    struct fill_in_gap *gap = add(f, key);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(gap->value, sizeof gap->value, format, arguments);
    va_end(arguments);
}

void fill_in_flag(struct fill_in *f, const char *key, bool on)
{
    add(f, key)->value[0] = on ? '1' : 0;
}

void fill_in_writer(struct fill_in *f, const char *key, void (*write)(struct file_writer *, const void *),
                    const void *context)
{
    struct fill_in_gap *gap = add(f, key);
    gap->write = write;
    gap->context = context;
}

static const struct fill_in_gap *find(const struct fill_in *f, const char *key, size_t length)
{
    for (int i = 0; i < f->count; i++)
        if (strlen(f->gap[i].key) == length && strncmp(f->gap[i].key, key, length) == 0)
            return &f->gap[i];
    assert(!"a gap that nobody fills");
    return NULL;
}

static void put_line(const struct fill_in *f, struct file_writer *to, const char *line, size_t length)
{
    const char *end = line + length;
    while (line < end) {
        const char *gap = memchr(line, '@', (size_t)(end - line));
        if (!gap) {
            file_put(to, line, (size_t)(end - line));
            return;
        }
        const char *close = memchr(gap + 1, '@', (size_t)(end - gap - 1));
        assert(close);
        const struct fill_in_gap *known = find(f, gap + 1, (size_t)(close - gap - 1));
        file_put(to, line, (size_t)(gap - line));
        file_put(to, known->value, strlen(known->value));
        line = close + 1;
    }
}

/* Every key of the text must be known: the texts are our own. */
static void write_filled(const struct fill_in *f, struct file_writer *to, const char *text)
{
    bool open[DEEPEST] = {true};
    int depth = 0;
    for (const char *line = text, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        bool order = length > 2 && line[0] == '/' && line[1] == '/';
        if (order && strncmp(line, "//if ", 5) == 0) {
            assert(depth + 1 < DEEPEST);
            open[depth + 1] = open[depth] && find(f, line + 5, length - 5)->value[0];
            depth++;
        } else if (order && strncmp(line, "//else", length) == 0) {
            open[depth] = open[depth - 1] && !open[depth];
        } else if (order && strncmp(line, "//end", length) == 0) {
            assert(depth > 0);
            depth--;
        } else if (order && open[depth]) {
            const struct fill_in_gap *gap = find(f, line + 2, length - 2);
            gap->write(to, gap->context);
        } else if (open[depth]) {
            put_line(f, to, line, (size_t)(next - line));
        }
    }
    assert(depth == 0);
}

dqs_status fill_in_file(const struct fill_in *f, const char *path, const char *text, dqs_error *error)
{
    struct file_writer writer;
    TRY(file_begin(&writer, path, error));
    write_filled(f, &writer, text);
    return file_commit(&writer, error);
}
