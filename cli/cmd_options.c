/* cmd_options: dqs options, the table from which configuration, checks and this very text derive. */
#include "args.h"
#include "cmd.h"
#include "json.h"
#include "terminal.h"
#include <stdio.h>
#include <string.h>

static const char about[] =
    "Lists every option of ALGO (default: dqs): its value under the preset and for the task,\n"
    "the values allowed, what it means, and where the value comes from. Set one with\n"
    "dqs train ENV --set KEY=VALUE.";

static const char examples[] = "  dqs options\n"
                               "  dqs options dqs --env pendulum --preset paper\n"
                               "  dqs options --markdown > options.md\n";

static void put_text(struct json *j, const char *key, const char *value)
{
    json_put_text(j, key, value ? value : "");
}

static void print_json(const dqs_config *config, const char *algo, const char *env, const char *preset)
{
    struct json j = {0};
    dqs_option_info info;
    json_open(&j, '{');
    put_text(&j, "algo", algo);
    put_text(&j, "env", env);
    put_text(&j, "preset", preset);
    json_key(&j, "options");
    json_open(&j, '[');
    for (int i = 0; dqs_config_describe(config, i, &info); i++) {
        json_open(&j, '{');
        put_text(&j, "key", info.key);
        put_text(&j, "type", info.type);
        put_text(&j, "value", info.value);
        put_text(&j, "preset_default", info.preset_default);
        put_text(&j, "range", info.range);
        put_text(&j, "doc", info.doc);
        put_text(&j, "source", info.source);
        put_text(&j, "group", info.group);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    puts(j.text);
    json_free(&j);
}

static const char *shown(const char *text)
{
    return text && *text ? text : "-";
}

/* In a Markdown table a bar inside a cell needs a backslash. */
static void print_cell(const char *text)
{
    for (const char *c = shown(text); *c; c++)
        printf(*c == '|' ? "\\|" : "%c", *c);
    fputs(" | ", stdout);
}

static void print_markdown(const dqs_config *config)
{
    dqs_option_info info;
    char group[64] = "";
    for (int i = 0; dqs_config_describe(config, i, &info); i++) {
        if (i == 0 || strcmp(group, shown(info.group))) {
            snprintf(group, sizeof group, "%s", shown(info.group));
            printf("%s### %s\n\n| key | value | range | meaning | source |\n", i ? "\n" : "", group);
            puts("|---|---|---|---|---|");
        }
        printf("| `%s` | ", info.key);
        print_cell(info.value);
        print_cell(info.range);
        print_cell(info.doc);
        printf("%s |\n", shown(info.source));
    }
}

static void print_table(const dqs_config *config)
{
    struct table table = {.columns = 4, .indent = 2, .width = terminal_width(stdout)};
    const int most[] = {22, 12, table.width < 100 ? 14 : 24};
    const char *bold = terminal_style(stdout, STYLE_BOLD), *plain = terminal_style(stdout, STYLE_PLAIN);
    char group[64] = "";
    dqs_option_info info;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; dqs_config_describe(config, i, &info); i++) {
            char doc[600];
            snprintf(doc, sizeof doc, info.source && *info.source ? "%s [%s]" : "%s%s", info.doc,
                     info.source ? info.source : "");
            const char *cells[] = {info.key, shown(info.value), shown(info.range), doc};
            if (pass && strcmp(group, shown(info.group))) {
                printf("%s%s%s%s\n", *group ? "\n" : "", bold, shown(info.group), plain);
                snprintf(group, sizeof group, "%s", shown(info.group));
            }
            pass ? table_print(&table, cells) : table_fit(&table, cells);
        }
        if (!pass)
            table_squeeze(&table, most);
    }
}

int cmd_options(int argc, char **argv)
{
    const char *algo = "dqs", *env = NULL, *preset = NULL;
    bool json = false, markdown = false;
    const struct args_flag flags[] = {
        {"--algo", "A", "as ALGO, in the way of other verbs", .text = &algo},
        {"--env", "E", "values for this task (default: those for any task)", .text = &env},
        {"--preset", "P", "values of this preset (default: default)", .text = &preset},
        {"--json", NULL, "as one line of JSON", .on = &json},
        {"--markdown", NULL, "as Markdown tables, for documents", .on = &markdown},
        {0},
    };
    const struct args_spec spec = {.verb = "options",
                                   .usage = "[ALGO] [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .most = 1};
    int code = args_parse(&spec, argc, argv, &algo, NULL);
    if (code >= 0)
        return code;
    if (json && markdown)
        return complain(EXIT_USAGE, "options: --json and --markdown exclude each other");

    dqs_config *config = NULL;
    dqs_error error = {.status = DQS_OK};
    dqs_status status = dqs_config_create(&config, algo, env, &error);
    if (status == DQS_OK && preset)
        status = dqs_config_preset(config, preset, &error);
    if (status != DQS_OK)
        code = complain_error(&error);
    else {
        code = EXIT_OK;
        if (json)
            print_json(config, algo, env, preset ? preset : "default");
        else if (markdown)
            print_markdown(config);
        else
            print_table(config);
    }
    dqs_config_free(config);
    return code;
}
