/* sweep_file: the grid as text. A flat mapping of keys to a value or a list of values; a key with a mapping
 * below it is a section for one task or one algorithm. No aliases, no deeper nesting, no second document:
 * what a file asks for cannot grow beyond its own size. */
#include "config.h"
#include "file.h"
#include "number.h"
#include "sweep.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define FILE_LIMIT (1u << 20) /* bytes */
#define AXES_LIMIT 512
#define VALUES_LIMIT 10000 /* of one key */

/* ---------------------------------------------------------------- axes */

static const char *keep(struct sweep_spec *spec, const char *text, size_t length)
{
    char *copy = arena_take(&spec->arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

void sweep_begin(struct sweep_spec *spec, const char *label, const char *out)
{
    *spec = (struct sweep_spec){.capacity = AXES_LIMIT};
    spec->label = keep(spec, label, strlen(label));
    spec->out = keep(spec, out, strlen(out));
    spec->axes = arena_new(&spec->arena, struct sweep_axis, AXES_LIMIT);
}

void sweep_free(struct sweep_spec *spec)
{
    arena_free(&spec->arena);
    *spec = (struct sweep_spec){0};
}

static bool same_section(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static struct sweep_axis *find(const struct sweep_spec *spec, const char *key, const char *section)
{
    for (int i = 0; i < spec->n_axes; i++)
        if (!strcmp(spec->axes[i].key, key) && same_section(spec->axes[i].section, section))
            return &spec->axes[i];
    return NULL;
}

const struct sweep_axis *sweep_axis(const struct sweep_spec *spec, const char *key)
{
    return find(spec, key, NULL);
}

static dqs_status add_value(struct sweep_spec *spec, struct sweep_axis *axis, const char *text, size_t length,
                            dqs_error *error)
{
    if (length >= OPTION_TEXT_SIZE)
        return fail(error, DQS_E_FORMAT, "%s: a value of %zu characters; %d are the most", axis->key, length,
                    OPTION_TEXT_SIZE - 1);
    if (axis->count == VALUES_LIMIT)
        return fail(error, DQS_E_FORMAT, "%s: more than %d values", axis->key, VALUES_LIMIT);
    if ((axis->count & (axis->count - 1)) == 0) { /* full at powers of two: twice the room */
        const char **more = arena_new(&spec->arena, const char *, axis->count ? 2 * axis->count : 1);
        if (axis->count)
            memcpy(more, axis->values, sizeof *more * (size_t)axis->count);
        axis->values = more;
    }
    axis->values[axis->count++] = keep(spec, text, length);
    return config_is_text(axis->values[axis->count - 1])
               ? DQS_OK
               : fail(error, DQS_E_FORMAT, "%s: a value is not plain UTF-8 text", axis->key);
}

/* "0..9" stands for the whole numbers between. */
static dqs_status spread_range(struct sweep_spec *spec, struct sweep_axis *axis, bool *spread,
                               dqs_error *error)
{
    char first[32], number[32];
    long low, high;
    const char *text = axis->count == 1 ? axis->values[0] : "", *dots = strstr(text, "..");
    size_t length = dots ? (size_t)(dots - text) : 0;
    *spread = false;
    if (!dots || length >= sizeof first)
        return DQS_OK;
    snprintf(first, sizeof first, "%.*s", (int)length, text);
    if (!number_read_long(first, &low) || !number_read_long(dots + 2, &high))
        return DQS_OK;
    if (low > high || high - low >= VALUES_LIMIT || low < -VALUES_LIMIT * 1000L)
        return fail(error, DQS_E_FORMAT, "%s: %.60s is no range of 1 to %d numbers", axis->key, text,
                    VALUES_LIMIT);
    axis->count = 0;
    for (long i = low; i <= high; i++) {
        int n = snprintf(number, sizeof number, "%ld", i);
        TRY(add_value(spec, axis, number, (size_t)n, error));
    }
    *spread = axis->is_list = true;
    return DQS_OK;
}

/* `seeds: 3` counts, `seeds: [3]` names. */
static dqs_status count_seeds(struct sweep_spec *spec, struct sweep_axis *axis, dqs_error *error)
{
    long n;
    char range[64];
    bool spread;
    if (!number_read_long(axis->values[0], &n) || n < 1 || n > VALUES_LIMIT)
        return fail(error, DQS_E_FORMAT, "seeds: '%.60s' is no number of seeds; try 3, [0, 5] or 0..9",
                    axis->values[0]);
    int length = snprintf(range, sizeof range, "0..%ld", n - 1);
    axis->count = 0;
    TRY(add_value(spec, axis, range, (size_t)length, error));
    return spread_range(spec, axis, &spread, error);
}

/* 0.001 and 1e-3 would be one run made twice. */
static bool same_value(const char *a, const char *b)
{
    double x, y;
    return !strcmp(a, b) || (number_read(a, &x) && number_read(b, &y) && x == y);
}

static dqs_status finish_axis(struct sweep_spec *spec, struct sweep_axis *axis, dqs_error *error)
{
    bool spread = false;
    if (axis->count == 0)
        return fail(error, DQS_E_FORMAT, "%s: an empty list", axis->key);
    if (!axis->is_list)
        TRY(spread_range(spec, axis, &spread, error));
    if (!strcmp(axis->key, "seeds") && !axis->is_list && !spread)
        TRY(count_seeds(spec, axis, error));
    for (int i = 0; i < axis->count; i++)
        for (int k = 0; k < i && axis->count <= 1000;
             k++) /* longer lists come from ranges, or are found by folder */
            if (same_value(axis->values[i], axis->values[k]))
                return fail(error, DQS_E_FORMAT, "%s: %.60s stands there twice; keep one", axis->key,
                            axis->values[i]);
    return DQS_OK;
}

/* Keys that are for all runs alike. */
static bool is_whole(const char *key)
{
    return !strcmp(key, "tasks") || !strcmp(key, "algos") || !strcmp(key, "seeds") || !strcmp(key, "out");
}

static dqs_status check_key(const struct sweep_axis *axis, dqs_error *error)
{
    static const struct {
        const char *wrong, *right;
    } words[] = {{"seed", "seeds: 3, [0, 5] or 0..9"}, {"task", "tasks: [pendulum, gmm]"},
                 {"env", "tasks: [pendulum, gmm]"},    {"envs", "tasks: [pendulum, gmm]"},
                 {"algo", "algos: [dqs, sac]"},        {"name", "out: FOLDER"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(axis->key, words[i].wrong))
            return fail(error, DQS_E_FORMAT, "%s: not a key of a sweep; write %s", axis->key, words[i].right);
    if (axis->section && is_whole(axis->key))
        return fail(error, DQS_E_FORMAT, "%s: stands outside of sections, not in %.60s", axis->key,
                    axis->section);
    return DQS_OK;
}

static dqs_status new_axis(struct sweep_spec *spec, struct sweep_axis **axis, const char *key, size_t length,
                           const char *section, dqs_error *error)
{
    if (length == 0 || length > 60)
        return fail(error, DQS_E_FORMAT, "a key of %zu characters", length);
    if (spec->n_axes == spec->capacity)
        return fail(error, DQS_E_FORMAT, "more than %d keys", spec->capacity);
    *axis = &spec->axes[spec->n_axes];
    **axis = (struct sweep_axis){.key = keep(spec, key, length), .section = section};
    const struct sweep_axis *before = find(spec, (*axis)->key, section);
    for (int i = 0; i < spec->n_axes && !before && !section; i++) /* a section of that name */
        if (same_section(spec->axes[i].section, (*axis)->key))
            before = &spec->axes[i];
    if (before)
        return fail(error, DQS_E_FORMAT, "%s: was already there in line %d; keep one", (*axis)->key,
                    before->line);
    if (!config_is_text((*axis)->key))
        return fail(error, DQS_E_FORMAT, "a key is not plain UTF-8 text");
    return check_key(*axis, error);
}

/* ---------------------------------------------------------------- YAML */

struct reader {
    struct sweep_spec *spec;
    yaml_parser_t parser;
    yaml_event_t event;
    bool have; /* an event to free */
    int line;
};

static dqs_status advance(struct reader *r, dqs_error *error)
{
    if (r->have)
        yaml_event_delete(&r->event);
    r->have = yaml_parser_parse(&r->parser, &r->event);
    r->line = (int)(r->have ? r->event.start_mark.line : r->parser.problem_mark.line) + 1;
    if (!r->have)
        return fail(error, DQS_E_FORMAT, "%s", r->parser.problem ? r->parser.problem : "not YAML");
    if (r->event.type == YAML_SCALAR_EVENT &&
        memchr(r->event.data.scalar.value, 0, r->event.data.scalar.length))
        return fail(error, DQS_E_FORMAT, "a zero byte");
    return DQS_OK;
}

static dqs_status unexpected(const struct reader *r, const char *wanted, dqs_error *error)
{
    static const char *const names[] = {[YAML_ALIAS_EVENT] = "an alias",
                                        [YAML_SEQUENCE_START_EVENT] = "a list",
                                        [YAML_MAPPING_START_EVENT] = "a mapping",
                                        [YAML_SCALAR_EVENT] = "text",
                                        [YAML_DOCUMENT_START_EVENT] = "a second document"};
    const char *name = r->event.type < sizeof names / sizeof *names ? names[r->event.type] : NULL;
    return fail(error, DQS_E_FORMAT, "%s where %s is expected", name ? name : "nothing", wanted);
}

static dqs_status take_value(struct reader *r, struct sweep_axis *axis, dqs_error *error)
{
    if (r->event.type != YAML_SCALAR_EVENT)
        return unexpected(r, "a value", error);
    return add_value(r->spec, axis, (const char *)r->event.data.scalar.value, r->event.data.scalar.length,
                     error);
}

static dqs_status read_values(struct reader *r, struct sweep_axis *axis, dqs_error *error)
{
    int line = r->line;
    axis->is_list = r->event.type == YAML_SEQUENCE_START_EVENT;
    if (!axis->is_list)
        TRY(take_value(r, axis, error));
    while (axis->is_list) {
        TRY(advance(r, error));
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        TRY(take_value(r, axis, error));
    }
    r->line = line;
    return finish_axis(r->spec, axis, error);
}

/* The pairs of a mapping whose start has been read, up to its end. */
static dqs_status read_mapping(struct reader *r, const char *section, dqs_error *error)
{
    for (;;) {
        struct sweep_axis *axis;
        TRY(advance(r, error));
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return DQS_OK;
        if (r->event.type != YAML_SCALAR_EVENT)
            return unexpected(r, "a key", error);
        TRY(new_axis(r->spec, &axis, (const char *)r->event.data.scalar.value, r->event.data.scalar.length,
                     section, error));
        axis->line = r->line;
        TRY(advance(r, error));
        if (r->event.type == YAML_MAPPING_START_EVENT && !section && !is_whole(axis->key)) {
            TRY(read_mapping(r, axis->key,
                             error)); /* takes the axis' place: a section has no values of its own */
            continue;
        }
        r->spec->n_axes++;
        TRY(read_values(r, axis, error));
    }
}

static dqs_status read_document(struct reader *r, dqs_error *error)
{
    do
        TRY(advance(r, error));
    while (r->event.type == YAML_STREAM_START_EVENT || r->event.type == YAML_DOCUMENT_START_EVENT);
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return unexpected(r, "`key: value`", error);
    TRY(read_mapping(r, NULL, error));
    do
        TRY(advance(r, error));
    while (r->event.type == YAML_DOCUMENT_END_EVENT);
    return r->event.type == YAML_STREAM_END_EVENT ? DQS_OK : unexpected(r, "the end", error);
}

/* runs/<name> for some/where/<name>.yaml */
static void default_out(char *out, size_t size, const char *label)
{
    const char *slash = strrchr(label, '/'), *name = slash ? slash + 1 : label;
    const char *dot = strrchr(name, '.');
    snprintf(out, size, "runs/%.*s", (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name)), name);
}

static dqs_status take_out(struct sweep_spec *spec, dqs_error *error)
{
    struct sweep_axis *axis = find(spec, "out", NULL);
    if (!axis)
        return DQS_OK;
    if (axis->count != 1 || !axis->values[0][0])
        return fail(error, DQS_E_FORMAT, "%s:%d: out: one folder", spec->label, axis->line);
    spec->out = axis->values[0];
    memmove(axis, axis + 1, sizeof *axis * (size_t)(&spec->axes[--spec->n_axes] - axis));
    return DQS_OK;
}

dqs_status sweep_read(struct sweep_spec *spec, const char *text, size_t size, const char *label,
                      dqs_error *error)
{
    char out[1024];
    dqs_error inner = {0};
    struct reader r = {.spec = spec};
    default_out(out, sizeof out, label);
    sweep_begin(spec, label, out);
    dqs_status status = DQS_OK;
    if (size > FILE_LIMIT)
        status = fail(error, DQS_E_FORMAT, "%s: %zu bytes; a sweep has at most %u", label, size, FILE_LIMIT);
    else if (!yaml_parser_initialize(&r.parser))
        status = fail(error, DQS_E_MEMORY, "%s: out of memory", label);
    if (status == DQS_OK) {
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
        status = read_document(&r, &inner);
        if (r.have)
            yaml_event_delete(&r.event);
        yaml_parser_delete(&r.parser);
        for (char *c = inner.message; *c; c++) /* keys and values may stand in it before they are looked at */
            *c = (unsigned char)*c < ' ' ? ' ' : *c;
        if (status != DQS_OK)
            fail(error, status, "%.200s:%d: %s", label, r.line, inner.message);
    }
    if (status == DQS_OK)
        status = take_out(spec, error);
    if (status != DQS_OK)
        sweep_free(spec);
    return status;
}

dqs_status sweep_read_file(struct sweep_spec *spec, const char *path, dqs_error *error)
{
    char inside[1100], *text;
    size_t size;
    bool folder = file_is_folder(path);
    if (folder) {
        snprintf(inside, sizeof inside, "%.1000s/sweep.yaml", path);
        if (!file_exists(inside))
            return fail(error, DQS_E_IO,
                        "%s: has no sweep.yaml; name the file of a sweep, or the folder of one", path);
    }
    TRY(file_read(folder ? inside : path, &text, &size, error));
    dqs_status status = sweep_read(spec, text, size, folder ? inside : path, error);
    free(text);
    if (status == DQS_OK && folder) /* wherever it was moved to */
        spec->out = keep(spec, path, strlen(path));
    return status;
}

dqs_status sweep_set(struct sweep_spec *spec, const char *key, const char *values, dqs_error *error)
{
    struct sweep_axis *axis, *old;
    size_t length = strlen(values);
    if (!strcmp(key, "out")) {
        spec->out = keep(spec, values, length);
        return DQS_OK;
    }
    for (int i = spec->n_axes - 1; i >= 0; i--) /* what sections say about it goes too */
        if (spec->axes[i].section && !strcmp(spec->axes[i].key, key))
            memmove(&spec->axes[i], &spec->axes[i + 1], sizeof *axis * (size_t)(--spec->n_axes - i));
    old = find(spec, key, NULL);
    if (old) {
        *old = (struct sweep_axis){.key = old->key};
        axis = old;
    } else {
        TRY(new_axis(spec, &axis, key, strlen(key), NULL, error));
        spec->n_axes++;
    }
    bool brackets = length >= 2 && values[0] == '[' && values[length - 1] == ']';
    const char *p = values + brackets, *end = values + length - brackets;
    axis->is_list = brackets || strchr(values, ',');
    for (bool more = true; more; p++) {
        size_t n = axis->is_list ? strcspn(p, ",") : (size_t)(end - p);
        n = n > (size_t)(end - p) ? (size_t)(end - p) : n;
        size_t skip = strspn(p, " ") < n ? strspn(p, " ") : n;
        TRY(add_value(spec, axis, p + skip, n - skip, error));
        p += n;
        more = p < end;
    }
    return finish_axis(spec, axis, error);
}

/* ---------------------------------------------------------------- back to text */

static void write_axis(FILE *out, const struct sweep_axis *axis)
{
    fputs(axis->section ? "  " : "", out);
    text_put_quoted(out, axis->key, strlen(axis->key));
    fputs(axis->is_list ? ": [" : ": ", out);
    for (int i = 0; i < axis->count; i++) {
        fputs(i ? ", " : "", out);
        text_put_quoted(out, axis->values[i], strlen(axis->values[i]));
    }
    fputs(axis->is_list ? "]\n" : "\n", out);
}

char *sweep_write(const struct sweep_spec *spec)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("\"out\": ", out);
    text_put_quoted(out, spec->out, strlen(spec->out));
    fputc('\n', out);
    for (int i = 0; i < spec->n_axes; i++)
        if (!spec->axes[i].section)
            write_axis(out, &spec->axes[i]);
    for (int i = 0; i < spec->n_axes; i++) {
        const char *section = spec->axes[i].section;
        bool first = section != NULL;
        for (int k = 0; k < i && first; k++)
            first = !same_section(spec->axes[k].section, section);
        if (!first)
            continue;
        text_put_quoted(out, section, strlen(section));
        fputs(":\n", out);
        for (int k = i; k < spec->n_axes; k++)
            if (same_section(spec->axes[k].section, section))
                write_axis(out, &spec->axes[k]);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
