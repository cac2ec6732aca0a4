/* main: the table of verbs. Everything else is in cmd_*.c. */
#include "args.h"
#include "cmd.h"
#include "terminal.h"
#include "text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct verb {
    const char *name, *doc;
    int (*run)(int argc, char **argv); /* NULL: not in this build */
};

static const struct verb verbs[] = {
    {"train", "learn a task and keep everything in a run folder", cmd_train},
    {"resume", "go on with a run where its last checkpoint stands", cmd_resume},
    {"sweep", "train every run of a grid, side by side or on Slurm", cmd_sweep},
    {"ablate", "what one option is worth: a sweep over its values, table and figure", cmd_ablate},
    {"eval", "measure the policy of a run", cmd_eval},
    {"export", "write a policy as C or ONNX, without dqs", cmd_export},
    {"plot", "draw the pictures of a run", cmd_plot},
    {"report", "tables and statistics of many runs, beside what was published", cmd_report},
    {"reproduce", "a table or figure of the paper: train, draw, and hold the numbers against it",
     cmd_reproduce},
    {"render", "film episodes of a policy, or a task", cmd_render},
    {"envs", "list the tasks", cmd_envs},
    {"algos", "list the algorithms", cmd_algos},
    {"options", "list every option with its value, range, meaning and source", cmd_options},
    {"bench", "time the kernels and a whole update on this machine", cmd_bench},
    {"help", "this text, or the help of a verb", cmd_help},
    {"version", "version and build", cmd_version},
    {NULL, NULL, NULL},
};

static const char *program = "dqs"; /* set once, before anything runs */

const char *program_name(void)
{
    return program;
}

int complain(int exit_code, const char *format, ...)
{
    char line[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    text_clean(line, true);
    fprintf(stderr, "dqs: %s\n", line);
    return exit_code;
}

int complain_error(const dqs_error *error)
{
    dqs_status status = error->status;
    bool usage = status == DQS_E_USAGE || status == DQS_E_OPTION || status == DQS_E_UNKNOWN;
    const char *message = *error->message ? error->message : dqs_strerror(status);
    return complain(usage ? EXIT_USAGE : EXIT_FAILED, "%s", message);
}

static const struct verb *verb_find(const char *name)
{
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (verb->run && !strcmp(verb->name, name))
            return verb;
    return NULL;
}

static int unknown_verb(const char *name)
{
    struct args_nearest nearest = {.word = name};
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (verb->run)
            args_offer(&nearest, verb->name);
    if (nearest.best)
        return complain(EXIT_USAGE, "unknown verb '%s'; did you mean '%s'?", name, nearest.best);
    return complain(EXIT_USAGE, "unknown verb '%s'; '%s help' lists them", name, program);
}

static void print_overview(FILE *out)
{
    const char *bold = terminal_style(out, STYLE_BOLD), *plain = terminal_style(out, STYLE_PLAIN);
    fprintf(out,
            "%sdqs%s: Diffusion Q-Sampling. Trains policies that draw actions in proportion to\n"
            "exp(Q/T) of a learned Q-function, so that they find every good way to solve a task.\n"
            "\n"
            "%sstart here:%s\n"
            "  dqs train gmm                     learn a task with forty goals, in a few minutes\n"
            "  dqs plot runs/gmm/dqs/default-s0  look at what it learned (train prints the folder)\n"
            "  dqs train pendulum --steps 10000  the classic swing-up\n"
            "\n"
            "%sverbs:%s\n",
            bold, plain, bold, plain, bold, plain);
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (verb->run)
            fprintf(out, "  %-10s %s\n", verb->name, verb->doc);
    fprintf(out, "\n"
                 "'dqs VERB --help' explains a verb, with examples. Exit codes: 0 done, 1 failed, 2 wrong\n"
                 "command, 130 or 143 interrupted with the state saved. NO_COLOR=1 switches colours off.\n");
}

int cmd_help(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') {
        print_overview(stdout);
        return EXIT_OK;
    }
    const struct verb *verb = verb_find(argv[1]);
    if (!verb)
        return unknown_verb(argv[1]);
    if (verb->run == cmd_help) {
        print_overview(stdout);
        return EXIT_OK;
    }
    char name[32], flag[] = "--help";
    snprintf(name, sizeof name, "%s", verb->name);
    char *words[] = {name, flag, NULL};
    return verb->run(2, words);
}

int cmd_version(int argc, char **argv)
{
    const struct args_flag flags[] = {{0}};
    const struct args_spec spec = {
        .verb = "version", .usage = "", .flags = flags, .about = "Prints the version and the build."};
    int code = args_parse(&spec, argc, argv, NULL, NULL);
    if (code >= 0)
        return code;
    printf("dqs %s\n", dqs_version());
    return EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return cmd_help(argc - 1, argv + 1);
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        printf("dqs %s\n", dqs_version());
        return EXIT_OK;
    }
    const struct verb *verb = verb_find(word);
    if (verb)
        return verb->run(argc - 1, argv + 1);
    if (word[0] == '-')
        return complain(EXIT_USAGE, "unknown option %s before the verb; try %s --help", word, program);
    return unknown_verb(word);
}

int main(int argc, char **argv)
{
    if (argc > 0 && argv[0][0])
        program = argv[0];
    int code = dispatch(argc, argv);
    /* A result that did not reach the disk is a failure, even though the work was done. */
    if ((fflush(stdout) || ferror(stdout)) && code == EXIT_OK)
        return complain(EXIT_FAILED, "standard output: cannot write: %s", strerror(errno));
    return code;
}
