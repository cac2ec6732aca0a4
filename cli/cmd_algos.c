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
        json_key(&j, "name");
        json_string(&j, name);
        json_key(&j, "doc");
        json_string(&j, doc);
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
    const struct args_spec spec = {.verb = "algos",
                                   .usage = "[--json]",
                                   .flags = flags,
                                   .about = "Lists the algorithms. 'dqs options ALGO' shows what can be set.",
                                   .examples = "  dqs algos\n  dqs options sac\n"};
    int code = args_parse(&spec, argc, argv, NULL, NULL);
    if (code >= 0)
        return code;
    if (json) {
        print_json();
        return EXIT_OK;
    }
    const char *doc, *name;
    for (int i = 0; (name = dqs_algo_name(i, &doc)); i++)
        printf("%-8s %s\n", name, doc);
    return EXIT_OK;
}
