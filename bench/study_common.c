/* study_common: the command line and the verdicts of the studies. */
#include "study.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_number(long *out, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = text ? strtol(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || value < least || value > most)
        return false;
    *out = value;
    return true;
}

static bool parse(struct study_options *o, int argc, char **argv)
{
    *o = (struct study_options){.threads = 1, .seed = 1};
    for (int i = 1; i < argc; i++) {
        long value = 0;
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick")) {
            o->quick = true;
            continue;
        }
        bool threads = !strcmp(argv[i], "--threads");
        if (!threads && strcmp(argv[i], "--seed")) {
            fprintf(stderr, "dqs: bench %s: %s: not known; try --quick, --threads n, --seed n\n", argv[0],
                    argv[i]);
            return false;
        }
        if (!parse_number(&value, next, threads ? 1 : 0, threads ? 64 : 1000000000)) {
            fprintf(stderr, "dqs: bench %s: %s: a whole number must follow%s\n", argv[0], argv[i],
                    threads ? ", 1 to 64" : "");
            return false;
        }
        if (threads)
            o->threads = (int)value;
        else
            o->seed = (uint64_t)value;
        i++;
    }
    return true;
}

int study_begin(struct study_options *o, struct compute **compute, int argc, char **argv)
{
    dqs_error error;
    if (!parse(o, argc, argv))
        return 2;
    dqs_status status = compute_create(compute, o->threads, "auto", &error);
    if (status != DQS_OK)
        fprintf(stderr, "dqs: %s\n", error.message);
    return status == DQS_OK ? 0 : 1;
}

bool study_verdict(const char *what, double value, double limit)
{
    bool good = value <= limit; /* NaN falls short */
    printf("- %s: %s: %.4g, limit %.4g\n", good ? "PASS" : "SHORT", what, value, limit);
    fflush(stdout);
    return good;
}
