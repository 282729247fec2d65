/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_GEMM_GROUPED_K_H
#define RIDGE_GEMM_GROUPED_K_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/gemm_grouped_k/gemm_grouped_k_split.h"

enum { GROUPED_K_GROUPS, GROUPED_K_M, GROUPED_K_N, GROUPED_K_K };
enum { GROUPED_K_A, GROUPED_K_B, GROUPED_K_SCALE_A, GROUPED_K_SCALE_B, GROUPED_K_KS, GROUPED_K_D };

/* Whether the groups' k are allowed: multiples of 128 from 0 on whose sum is at most k. Otherwise text names the first
 * that is not, its value and the rule. */
static inline bool grouped_k_allowed(const int32_t *ks, int64_t groups, int64_t k, char *text, size_t bytes)
{
    int64_t sum = 0;
    for (int64_t g = 0; g < groups; g++) {
        sum += ks[g];
        if (ks[g] < 0)
            snprintf(text, bytes, "ks[%lld] = %d: a group's k is at least 0", (long long)g, ks[g]);
        else if (ks[g] % 128)
            snprintf(text, bytes, "ks[%lld] = %d: a group's k is a multiple of 128, the length of a block of scales",
                     (long long)g, ks[g]);
        else if (sum > k)
            snprintf(text, bytes, "ks[%lld] = %d: with it the groups' k add up to %lld, more than k = %lld",
                     (long long)g, ks[g], (long long)sum, (long long)k);
        else
            continue;
        return false;
    }
    return true;
}

#endif
