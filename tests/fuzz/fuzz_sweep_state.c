/* fuzz_sweep_state: any bytes as one of the files by which a run's folder tells how it stands. The first byte
 * chooses the file; whatever is in it, the look ends with a state. */
#include "sweep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void demand(bool kept)
{
    if (!kept)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"progress.csv", "evaluations.csv", "DONE",
                                        "config.yaml",  "failures.txt",    "lease-7"};
    static char folder[64];
    char path[200];
    if (!folder[0]) {
        strcpy(folder, "/tmp/dqs-fuzz-XXXXXX");
        demand(mkdtemp(folder) != NULL);
    }
    if (size == 0)
        return 0;
    snprintf(path, sizeof path, "%s/%s", folder, names[data[0] % (sizeof names / sizeof *names)]);
    FILE *file = fopen(path, "wb");
    demand(file && fwrite(data + 1, 1, size - 1, file) == size - 1 && fclose(file) == 0);
    struct sweep_run run = {
        .task = "pendulum", .algo = "dqs", .preset = "default", .name = "x", .folder = folder, .steps = 1000};
    struct sweep_state state = {0};
    struct sweep_plan plan = {.count = 1, .runs = &run};
    struct sweep_count count;
    sweep_look(&state, &run, 1, 1);
    demand(state.phase < SWEEP_PHASES && state.step >= 0 && state.failures >= 0);
    demand(memchr(state.owner, 0, sizeof state.owner) && memchr(state.message, 0, sizeof state.message));
    sweep_count(&count, &plan, &state, 1);
    demand(count.phase[state.phase] == 1);
    if (data[0] & 128) /* now and then a folder with little in it */
        unlink(path);
    return 0;
}
