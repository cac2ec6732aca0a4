/* algo_table: every algorithm, one row each. */
#include "algo.h"
#include <string.h>

extern const struct algo algo_dqs, algo_sac, algo_td3, algo_ddpg, algo_ppo, algo_qsm, algo_dacer, algo_dipo;

const struct algo *const algo_table[] = {&algo_dqs, &algo_sac,   &algo_td3,  &algo_ddpg, &algo_ppo,
                                         &algo_qsm, &algo_dacer, &algo_dipo, NULL};

const struct algo *algo_find(const char *name)
{
    for (int i = 0; algo_table[i]; i++)
        if (strcmp(algo_table[i]->name, name) == 0)
            return algo_table[i];
    return NULL;
}
