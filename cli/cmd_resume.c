/* cmd_resume: dqs resume. */
#include "args.h"
#include "cmd.h"
#include "drive.h"
#include <limits.h>

static const char about[] =
    "Goes on with the run in the folder RUN from its last checkpoint to its end, as if it\n"
    "had never stopped: the result is the same to the bit. --steps sets a new total, to train\n"
    "a finished run further.";

static const char examples[] = "  dqs resume runs/gmm/dqs/default-s0\n"
                               "  dqs resume runs/pendulum/dqs/default-s0 --steps 20000\n";

int cmd_resume(int argc, char **argv)
{
    const char *folder, *steps_text = NULL, *threads_text = NULL;
    bool json = false, quiet = false;
    const struct args_flag flags[] = {
        {"--steps", "N", "a new total of environment steps", .text = &steps_text},
        {"--threads", "N", "worker threads; the results are the same", .text = &threads_text},
        {"--json", NULL, "one JSON line on stdout, everything else on stderr", .on = &json},
        {"--quiet", NULL, "no progress, only the result", .on = &quiet},
        {0},
    };
    const struct args_spec spec = {.verb = "resume",
                                   .usage = "RUN [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = 1};
    int code = args_parse(&spec, argc, argv, &folder, NULL);
    if (code >= 0)
        return code;

    long steps = 0, threads = 0;
    if (steps_text && !args_long("--steps", steps_text, 1, 1000000000000L, &steps))
        return EXIT_USAGE;
    if (threads_text && !args_long("--threads", threads_text, 1, 1024, &threads))
        return EXIT_USAGE;

    dqs_run *run = NULL;
    dqs_error error = {.status = DQS_OK};
    if (dqs_run_resume(&run, folder, steps, (int)threads, &error) != DQS_OK)
        return complain_error(&error);
    code = drive_to_end(run, json, quiet);
    dqs_run_free(run);
    return code;
}
