/* cmd_algos: dqs algos. */
#include "args.h"
#include "cmd.h"
#include "json.h"
#include <stdio.h>

static void print_json(void)
{
    struct json j = {0};
    json_open(&j, '[');
    for (int i = 0;; i++) {
        const char *doc, *name = dqs_algo_name(i, &doc);
        if (!name)
            break;
        json_open(&j, '{');
        json_put_text(&j, "name", name);
        json_put_text(&j, "doc", doc);
        json_key(&j, "presets");
        json_open(&j, '[');
        for (int k = 0; dqs_algo_preset(name, k); k++)
            json_string(&j, dqs_algo_preset(name, k));
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    puts(j.text);
    json_free(&j);
}

int cmd_algos(int argc, char **argv)
{
    bool json = false;
    const struct args_flag flags[] = {{"--json", NULL, "as one line of JSON", .on = &json}, {0}};
    const struct args_spec spec = {
        .verb = "algos",
        .usage = "[--json]",
        .flags = flags,
        .about = "Lists the algorithms and their presets. 'dqs options ALGO --preset P' shows what one sets.",
        .examples = "  dqs algos\n  dqs options sac\n"};
    int code = args_parse(&spec, argc, argv, NULL, NULL);
    if (code >= 0)
        return code;
    if (json) {
        print_json();
        return EXIT_OK;
    }
    const char *doc, *name;
    for (int i = 0; (name = dqs_algo_name(i, &doc)); i++) {
        printf("%-8s %s\n%-8s presets:", name, doc, "");
        for (int k = 0; dqs_algo_preset(name, k); k++)
            printf("%s %s", k ? "," : "", dqs_algo_preset(name, k));
        putchar('\n');
    }
    return EXIT_OK;
}
