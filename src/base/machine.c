#include "machine.h"
#include <stdio.h>
#include <string.h>

void machine_cpu(char *name, size_t size)
{
    char line[300];
    FILE *info = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown");
    while (info && fgets(line, sizeof line, info)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (info)
        fclose(info);
}
