/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of the groups in inputs of the families that are grouped along k. */
#ifndef RIDGE_GEMM_GROUPED_K_SPLIT_H
#define RIDGE_GEMM_GROUPED_K_SPLIT_H

#include "kernels/support/fill.h"

enum { GROUPED_K_BLOCK = 128, GROUPED_K_MAX_GROUPS = 256 };

enum grouped_k_how {
    GROUPED_K_UNEVEN,       /* weighted by 0.7 to 1.3 */
    GROUPED_K_ONE_GROUP,    /* all to the one in the middle */
    GROUPED_K_EMPTY_GROUPS, /* uneven, none to groups 0, 2, 4, ... unless there is only one */
};

/* ks[0..groups) become multiples of GROUPED_K_BLOCK that add up to `blocks` blocks. */
static inline void grouped_k_split(int32_t *ks, int64_t groups, int64_t blocks, enum grouped_k_how how, uint64_t seed)
{
    double weight[GROUPED_K_MAX_GROUPS], sum = 0, before = 0;
    for (int64_t g = 0; g < groups; g++) {
        const bool empty = (how == GROUPED_K_ONE_GROUP && g != groups / 2) ||
                           (how == GROUPED_K_EMPTY_GROUPS && groups > 1 && g % 2 == 0);
        weight[g] = empty ? 0 : 1 + fill_uniform(seed ^ 0x6b5, (uint64_t)g, 0.3f);
        sum += weight[g];
    }
    for (int64_t g = 0; g < groups; g++) {
        const int64_t first = (int64_t)((double)blocks * before / sum + 0.5);
        before += weight[g];
        ks[g] = (int32_t)(((int64_t)((double)blocks * before / sum + 0.5) - first) * GROUPED_K_BLOCK);
    }
}

#endif
