/* cmd_plot: dqs plot. */
#include "args.h"
#include "cmd.h"
#include "json.h"
#include "plot.h"
#include <stdio.h>
#include <stdlib.h>

static const char about[] =
    "Draws what the folders have data for, as PNG and SVG: the learning curve of any task;\n"
    "the samples, density and soft value of gmm; the paths through a maze. Prints the file\n"
    "names. May be used while the run is training.";

static const char examples[] = "  dqs plot runs/gmm/dqs/default-s0\n"
                               "  dqs plot runs/maze-small/dqs/*\n"
                               "  dqs plot runs/gmm/dqs/default-s0 --out pictures\n";

int cmd_plot(int argc, char **argv)
{
    const char **folders = calloc((size_t)argc, sizeof *folders), *out = NULL;
    bool json = false;
    int n = 0;
    if (!folders)
        return complain(EXIT_FAILED, "plot: out of memory");
    const struct args_flag flags[] = {
        {"--out", "DIR", "where to put the pictures (default: the run folder)", .text = &out},
        {"--json", NULL, "the file names as one line of JSON", .on = &json},
        {0},
    };
    const struct args_spec spec = {.verb = "plot",
                                   .usage = "RUN... [options]",
                                   .about = about,
                                   .examples = examples,
                                   .flags = flags,
                                   .least = 1,
                                   .most = argc};
    int code = args_parse(&spec, argc, argv, folders, &n);
    if (code < 0 && out && n > 1)
        code = complain(EXIT_USAGE, "plot: --out takes one RUN; the pictures of several would collide");
    if (code >= 0) {
        free(folders);
        return code;
    }

    struct json j = {0};
    json_open(&j, '[');
    code = EXIT_OK;
    for (int i = 0; i < n; i++) {
        struct plot_report report = {.count = 0};
        dqs_error error = {.status = DQS_OK};
        dqs_status status = plot_run(folders[i], out, &report, &error);
        for (int f = 0; f < report.count; f++) {
            json_string(&j, report.files[f]);
            if (!json)
                puts(report.files[f]);
        }
        /* One bad folder does not cost the others their pictures. */
        if (status != DQS_OK)
            code = complain_error(&error);
    }
    json_close(&j, ']');
    if (json)
        puts(j.text);
    json_free(&j);
    free(folders);
    return code;
}
