#include "init_from.h"
#include "file.h"
#include "number.h"
#include <stdio.h>
#include <string.h>

/* --init-from: what is needed to act, and the learner's arrays; the optimiser, generators, counters and
 * averages, which the other run may not have, begin anew. */
struct taking {
    struct run *run;
    struct visitor *reader;
};

static void take_tensor(void *context, const char *name, enum visit_kind kind, enum visit_type type, int rank,
                        const size_t *shape, void *data)
{
    const struct taking *t = context;
    bool replay = kind & VISIT_REPLAY && t->run->options->init_replay;
    bool network = kind & VISIT_POLICY || (kind & VISIT_LEARN && type == VISIT_F32);
    if (!(kind & VISIT_COURSE) && (replay || network))
        t->reader->tensor(t->reader->context, name, kind, type, rank, shape, data);
}

static void visit_taken(void *object, struct visitor *reader)
{
    struct taking taking = {object, reader};
    struct visitor v = {.tensor = take_tensor, .context = &taking};
    taking.run->algo->visit(taking.run->self, &v);
}

static void take_repeat(void *repeat, const char *key, const char *value)
{
    if (strcmp(key, "action_repeat") == 0)
        (void)number_read_long(value, repeat);
}

/* A transition lasts as long as its action was held: one discount does not serve two lengths. Files that do
 * not say are older than the option. */
static dqs_status check_replay(const struct run *run, const struct safetensors *file, const char *path,
                               dqs_error *error)
{
    const char *yaml = safetensors_metadata(file, "config");
    long repeat = 1, own = run->options->action_repeat;
    if (!run->options->init_replay)
        return DQS_OK;
    if (yaml)
        TRY(config_scan(yaml, strlen(yaml), path, take_repeat, &repeat, error));
    return repeat == own
               ? DQS_OK
               : fail(error, DQS_E_OPTION,
                      "init_replay: actions in %.200s were held for %ld steps, here they are for %ld; "
                      "set action_repeat=%ld, or leave the replay there",
                      path, repeat, own, repeat);
}

dqs_status init_from(struct run *run, dqs_error *error)
{
    char path[RUN_PATH_SIZE];
    const char *source = run->options->init_from;
    struct safetensors file;
    if (!source[0])
        return DQS_OK;
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", source);
    if (!file_exists(path))
        snprintf(path, sizeof path, "%s", source);
    struct checkpoint_part parts[] = {{visit_taken, run}, {NULL, NULL}};
    TRY(safetensors_open(path, &file, error));
    dqs_status status = check_replay(run, &file, path, error);
    if (status == DQS_OK)
        status = checkpoint_restore(&file, path, parts, CHECKPOINT_ALL, error);
    safetensors_close(&file);
    return status;
}
