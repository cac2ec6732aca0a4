/* A plug-in whose author forgot the size field. */
#include "dqs.h"

static const dqs_env_type badsize = {.size = 8, .name = "badsize"};

const dqs_env_type *dqs_plugin(void);
const dqs_env_type *dqs_plugin(void)
{
    return &badsize;
}
