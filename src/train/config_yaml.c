/* config_yaml: a configuration as text. Only a flat mapping of keys to scalars is understood, so nothing in a
 * file can grow beyond its own size: no aliases, no nesting, no second document. */
#include "config.h"
#include "env.h"
#include "file.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define YAML_LIMIT (1u << 20) /* bytes: a configuration has a few thousand */
#define SETTING_LIMIT 512
#define RECORDED "recorded_"

struct setting {
    char key[64], value[OPTION_TEXT_SIZE > 1024 ? OPTION_TEXT_SIZE : 1024]; /* `env` may be a long path */
    int line;
};
struct settings {
    struct setting *list;
    int count;
};

/* ---------------------------------------------------------------- text to settings */

static dqs_status copy_scalar(char *out, size_t size, const yaml_event_t *event, const char *label,
                              const char *what, dqs_error *error)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    int line = (int)event->start_mark.line + 1;
    if (memchr(text, 0, length))
        return fail(error, DQS_E_FORMAT, "%s:%d: a zero byte in a %s", label, line, what);
    if (length >= size)
        return fail(error, DQS_E_FORMAT, "%s:%d: a %s of %zu characters; %zu are the most", label, line, what,
                    length, size - 1);
    memcpy(out, text, length + 1);
    return DQS_OK;
}

static dqs_status unexpected(const yaml_event_t *event, const char *label, dqs_error *error)
{
    static const char *const names[] = {[YAML_NO_EVENT] = "nothing",
                                        [YAML_ALIAS_EVENT] = "an alias",
                                        [YAML_SEQUENCE_START_EVENT] = "a list",
                                        [YAML_MAPPING_START_EVENT] = "a nested mapping",
                                        [YAML_SCALAR_EVENT] = "text without a key",
                                        [YAML_DOCUMENT_START_EVENT] = "a second document"};
    const char *name = event->type < sizeof names / sizeof *names ? names[event->type] : NULL;
    return fail(error, DQS_E_FORMAT, "%s:%d: %s; write one `key: value` a line", label,
                (int)event->start_mark.line + 1, name ? name : "not a configuration");
}

/* Takes one key or value; *key says which comes next. */
static dqs_status take_scalar(struct settings *s, bool *key, const yaml_event_t *event, const char *label,
                              dqs_error *error)
{
    int line = (int)event->start_mark.line + 1;
    if (!*key) {
        *key = true;
        struct setting *last = &s->list[s->count++];
        return copy_scalar(last->value, sizeof last->value, event, label, "value", error);
    }
    if (s->count == SETTING_LIMIT)
        return fail(error, DQS_E_FORMAT, "%s:%d: more than %d settings", label, line, SETTING_LIMIT);
    struct setting *next = &s->list[s->count];
    TRY(copy_scalar(next->key, sizeof next->key, event, label, "key", error));
    next->line = line;
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->list[i].key, next->key) == 0)
            return fail(error, DQS_E_FORMAT, "%s:%d: %s was already set in line %d; keep one", label, line,
                        next->key, s->list[i].line);
    *key = false;
    return DQS_OK;
}

static dqs_status next_event(yaml_parser_t *parser, yaml_event_t *event, const char *label, dqs_error *error)
{
    if (yaml_parser_parse(parser, event))
        return DQS_OK;
    /* Reader errors (bytes that are no UTF-8) have no line, scanner and parser errors do. */
    const char *problem = parser->problem ? parser->problem : "not YAML";
    return fail(error, DQS_E_FORMAT, "%s:%d: %s", label, (int)parser->problem_mark.line + 1, problem);
}

static dqs_status read_events(struct settings *s, yaml_parser_t *parser, const char *label, dqs_error *error)
{
    int depth = 0, documents = 0;
    bool key = true;
    for (bool done = false; !done;) {
        yaml_event_t event;
        TRY(next_event(parser, &event, label, error));
        dqs_status status = DQS_OK;
        if (event.type == YAML_STREAM_END_EVENT)
            done = true;
        else if (event.type == YAML_MAPPING_START_EVENT && depth == 0)
            depth++;
        else if (event.type == YAML_MAPPING_END_EVENT)
            depth--;
        else if (event.type == YAML_SCALAR_EVENT && depth == 1)
            status = take_scalar(s, &key, &event, label, error);
        else if (event.type == YAML_DOCUMENT_START_EVENT
                     ? documents++ > 0
                     : event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_END_EVENT)
            status = unexpected(&event, label, error);
        yaml_event_delete(&event);
        TRY(status);
    }
    return DQS_OK;
}

static dqs_status read_settings(struct settings *s, const char *text, size_t size, const char *label,
                                dqs_error *error)
{
    yaml_parser_t parser;
    s->count = 0;
    s->list = NULL;
    if (size > YAML_LIMIT)
        return fail(error, DQS_E_FORMAT, "%s: %zu bytes; a configuration has at most %u", label, size,
                    YAML_LIMIT);
    s->list = calloc(SETTING_LIMIT, sizeof *s->list);
    if (!s->list || !yaml_parser_initialize(&parser))
        return fail(error, DQS_E_MEMORY, "%s: out of memory", label);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    dqs_status status = read_events(s, &parser, label, error);
    yaml_parser_delete(&parser);
    return status;
}

static struct setting *find_setting(const struct settings *s, const char *key)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->list[i].key, key) == 0)
            return &s->list[i];
    return NULL;
}

/* ---------------------------------------------------------------- settings to configuration */

static dqs_status at_line(const char *label, int line, dqs_status status, const dqs_error *inner,
                          dqs_error *error)
{
    return fail(error, status, "%s:%d: %s", label, line, inner->message);
}

/* A configuration that was not told its algorithm, or its environment, learns them from the file. */
static dqs_status adopt_algo(struct config *config, const struct setting *s, dqs_error *error)
{
    const struct algo *algo;
    if (!s || strcmp(s->value, config->algo->name) == 0)
        return DQS_OK;
    if (!config->algo_open)
        return fail(error, DQS_E_MISMATCH, "algo is %.60s, but %s was asked for; leave one of them out",
                    s->value, config->algo->name);
    TRY(config_find_algo(&algo, s->value, error));
    return config_set_algo(config, algo, error);
}

static dqs_status adopt_env(struct config *config, const struct setting *s, dqs_error *error)
{
    if (!s || !s->value[0] || strcmp(s->value, config->env_name) == 0)
        return DQS_OK;
    if (!config->env)
        return config_find_env(config, s->value, error);
    if (env_find(s->value) == config->env)
        return DQS_OK;
    return fail(error, DQS_E_MISMATCH, "env is %.80s, but %.80s was asked for; leave one of them out",
                s->value, config->env_name);
}

static dqs_status apply(struct config *config, const struct settings *s, const char *label, dqs_error *error)
{
    dqs_error inner = {0};
    const struct setting *algo = find_setting(s, "algo"), *env = find_setting(s, "env");
    dqs_status adopted = adopt_algo(config, algo, &inner);
    if (adopted != DQS_OK)
        return at_line(label, algo->line, adopted, &inner, error);
    adopted = adopt_env(config, env, &inner);
    if (adopted != DQS_OK)
        return at_line(label, env->line, adopted, &inner, error);
    for (int i = 0; i < s->count; i++) {
        const struct setting *one = &s->list[i];
        if (strcmp(one->key, "env") == 0 || strcmp(one->key, "algo") == 0 ||
            strncmp(one->key, RECORDED, strlen(RECORDED)) == 0)
            continue;
        dqs_status status = config_set(config, one->key, one->value, &inner);
        if (status != DQS_OK)
            return at_line(label, one->line, status, &inner, error);
    }
    return DQS_OK;
}

/* A record has every option there was. What it lacks came later: it is at its standard, whatever today's
 * preset has. */
static dqs_status set_unmentioned(struct config *config, const struct settings *s, dqs_error *error)
{
    const struct option *row;
    void *options;
    for (int i = 0; (row = config_row(config, &config->value, i, &options)); i++)
        if (!find_setting(s, row->key))
            TRY(config_set(config, row->key, row->standard, error));
    return DQS_OK;
}

dqs_status config_read(struct config *config, const char *text, size_t size, const char *label,
                       dqs_error *error)
{
    struct settings s;
    dqs_status status = read_settings(&s, text, size, label, error);
    if (status == DQS_OK)
        status = apply(config, &s, label, error);
    if (status == DQS_OK && find_setting(&s, RECORDED "version")) /* a run's own config.yaml */
        status = set_unmentioned(config, &s, error);
    free(s.list);
    return status;
}

dqs_status config_scan(const char *text, size_t size, const char *label, config_pair *pair, void *user,
                       dqs_error *error)
{
    struct settings s;
    dqs_status status = read_settings(&s, text, size, label, error);
    for (int i = 0; status == DQS_OK && i < s.count; i++)
        pair(user, s.list[i].key, s.list[i].value);
    free(s.list);
    return status;
}

dqs_status config_read_file(struct config *config, const char *path, dqs_error *error)
{
    char *text;
    size_t size;
    TRY(file_read(path, &text, &size, error));
    dqs_status status = config_read(config, text, size, path, error);
    free(text);
    return status;
}

static dqs_status from_settings(struct config **out, struct settings *s, const char *label,
                                const struct algo *algo, const dqs_env_type *env, bool need_env,
                                dqs_error *error)
{
    struct setting *algo_row = find_setting(s, "algo"), *env_row = find_setting(s, "env");
    if (!algo_row || (need_env && !env_row))
        return fail(error, DQS_E_FORMAT, "%s: does not say which %s", label, algo_row ? "env" : "algo");
    if (!algo)
        TRY(config_find_algo(&algo, algo_row->value, error));
    TRY(config_create_with(out, algo, env, error));
    if (env_row && !config_is_text(env_row->value))
        return fail(error, DQS_E_FORMAT, "%s:%d: env is not plain UTF-8 text", label, env_row->line);
    if (!env && !need_env && env_row && !env_find(env_row->value)) {
        snprintf((*out)->env_name, sizeof(*out)->env_name, "%s",
                 env_row->value); /* a name to tell, nothing to open */
        env_row->value[0] = 0;
    }
    TRY(apply(*out, s, label, error));
    return set_unmentioned(*out, s, error);
}

dqs_status config_from_yaml(struct config **out, const char *text, size_t size, const char *label,
                            const struct algo *algo, const dqs_env_type *env, bool need_env, dqs_error *error)
{
    struct settings s;
    *out = NULL;
    dqs_status status = read_settings(&s, text, size, label, error);
    if (status == DQS_OK)
        status = from_settings(out, &s, label, algo, env, need_env, error);
    free(s.list);
    if (status != DQS_OK) {
        config_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---------------------------------------------------------------- configuration to text */

static void write_pair(FILE *out, const char *prefix, const char *key, const char *value)
{
    fprintf(out, "%s%s: ", prefix, key);
    text_put_quoted(out, value, strlen(value));
    fputc('\n', out);
}

char *config_write(const struct config *config, const struct config_note *notes)
{
    char *text = NULL, value[OPTION_TEXT_SIZE];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (config->env_name[0])
        write_pair(out, "", "env", config->env_name);
    write_pair(out, "", "algo", config->algo->name);
    write_pair(out, "", "preset", config->preset);
    for (; notes && notes->key; notes++)
        write_pair(out, RECORDED, notes->key, notes->value);
    const char *group = "";
    for (int i = 0; i < config->rows; i++) {
        void *options;
        const struct option *row = config_row(config, &config->value, i, &options);
        const char *own = options == (void *)&config->value.run ? "run" : config->algo->name;
        if (strcmp(own, group) != 0)
            fprintf(out, "# options: %s\n", own);
        group = own;
        option_get(row, options, value, sizeof value);
        if (row->type == OPTION_TEXT)
            write_pair(out, "", row->key, value);
        else
            fprintf(out, "%s: %s\n", row->key, value);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
