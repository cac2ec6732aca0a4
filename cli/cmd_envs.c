/* cmd_envs: dqs envs, the tasks with their sizes. */
#include "args.h"
#include "cmd.h"
#include "json.h"
#include "terminal.h"
#include <stdio.h>
#include <string.h>

struct row {
    const char *name, *doc;
    bool there; /* it can be opened here */
    dqs_spec spec;
};

static void print_json(const struct row *rows, int n)
{
    struct json j = {0};
    json_open(&j, '[');
    for (int i = 0; i < n; i++) {
        json_open(&j, '{');
        json_key(&j, "name");
        json_string(&j, rows[i].name);
        json_key(&j, "doc");
        json_string(&j, rows[i].doc);
        json_key(&j, "available");
        json_bool(&j, rows[i].there);
        json_key(&j, "obs_dim");
        json_integer(&j, rows[i].spec.obs_dim);
        json_key(&j, "act_dim");
        json_integer(&j, rows[i].spec.act_dim);
        json_key(&j, "max_steps");
        json_integer(&j, rows[i].spec.max_steps);
        json_key(&j, "terminates");
        json_bool(&j, rows[i].spec.terminates != 0);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    puts(j.text);
    json_free(&j);
}

static void number_cell(char *cell, size_t size, int number)
{
    snprintf(cell, size, number ? "%d" : "-", number);
}

static void print_table(const struct row *rows, int n)
{
    static const int most[] = {30, 0, 0, 0, 0};
    struct table table = {.columns = 5, .width = terminal_width(stdout)};
    for (int pass = 0; pass < 2; pass++) {
        const char *head[] = {"task", "obs", "act", "steps", "what it is"};
        pass ? table_print(&table, head) : table_fit(&table, head);
        for (int i = 0; i < n; i++) {
            char obs[16], act[16], steps[16];
            number_cell(obs, sizeof obs, rows[i].spec.obs_dim);
            number_cell(act, sizeof act, rows[i].spec.act_dim);
            number_cell(steps, sizeof steps, rows[i].spec.max_steps);
            const char *cells[] = {rows[i].name, obs, act, steps, rows[i].doc};
            pass ? table_print(&table, cells) : table_fit(&table, cells);
        }
        if (!pass)
            table_squeeze(&table, most);
    }
}

int cmd_envs(int argc, char **argv)
{
    enum { MOST = 256 };
    static struct row rows[MOST];
    bool json = false;
    const struct args_flag flags[] = {{"--json", NULL, "as one line of JSON", .on = &json}, {0}};
    const struct args_spec spec = {.verb = "envs",
                                   .usage = "[--json]",
                                   .flags = flags,
                                   .about = "Lists the built-in tasks: numbers in an observation, numbers\n"
                                            "in an action, steps of an episode.",
                                   .examples = "  dqs envs\n  dqs envs --json\n"};
    dqs_error missing = {.status = DQS_OK};
    int n = 0, code = args_parse(&spec, argc, argv, NULL, NULL);
    if (code >= 0)
        return code;
    for (const char *doc, *name; n < MOST && (name = dqs_env_name(n, &doc)); n++) {
        dqs_env *env = NULL;
        dqs_error error = {.status = DQS_OK};
        rows[n] = (struct row){.name = name, .doc = doc};
        switch (dqs_env_create(&env, name, "", &error)) {
        case DQS_OK:
            rows[n].there = true;
            rows[n].spec = *dqs_env_spec(env);
            dqs_env_free(env);
            break;
        case DQS_E_UNSUPPORTED: /* without MuJoCo the other tasks are still worth a list */
            missing = missing.status == DQS_OK ? error : missing;
            break;
        default:
            return complain_error(&error);
        }
    }
    if (json)
        print_json(rows, n);
    else
        print_table(rows, n);
    if (missing.status != DQS_OK)
        fprintf(stderr, "\nTasks without numbers cannot be used yet: %s\n", missing.message);
    return EXIT_OK;
}
