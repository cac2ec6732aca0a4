/* cmd: the verbs of the command line. Each is one function; argv[0] is the verb itself, and the returned
 * number is the exit code: 0 done, 1 failed, 2 the command was wrong, 128 + signal when interrupted. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "dqs.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int cmd_train(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_ablate(int argc, char **argv);
int cmd_reproduce(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_envs(int argc, char **argv);
int cmd_algos(int argc, char **argv);
int cmd_options(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);
/* Lives beside the code it measures; a build without it has no such verb. */
int cmd_bench(int argc, char **argv) __attribute__((weak));

/* One line on stderr, "dqs: <message>", whatever is in the message. Returns the exit code given. */
int complain(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a failure of the library; the exit code follows from its status. */
int complain_error(const dqs_error *error);

/* The program as the user called it: so that printed commands can be pasted. */
const char *program_name(void);

#endif
