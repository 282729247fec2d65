/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_GEMM_GROUPED_K_PLACE_CUH
#define RIDGE_GEMM_GROUPED_K_PLACE_CUH

#include <stdint.h>

/* A group along k. */
struct grouped_k_place {
    int64_t first;
    int k; /* 0: no group that is allowed has the element */
};

/* The group of element i, by a whole warp. A k that breaks the rule (grouped_k_allowed) ends the list. */
static __device__ __forceinline__ grouped_k_place grouped_k_place_of(const int32_t *__restrict__ ks, int groups,
                                                                     int64_t i, int64_t total)
{
    const int lane = threadIdx.x % 32;
    int64_t first = 0;
    for (int base = 0; base < groups; base += 32) {
        const int k = base + lane < groups ? __ldg(ks + base + lane) : 0;
        int64_t end = k;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
            const int64_t below = __shfl_up_sync(~0u, end, distance);
            end += lane >= distance ? below : 0;
        }
        end += first;
        const unsigned broken = __ballot_sync(~0u, k < 0 || k % 128 || end > total);
        const unsigned found = __ballot_sync(~0u, end > i);
        const unsigned allowed = broken ? (broken & -broken) - 1 : ~0u;
        if (found & allowed) {
            const int at = __ffs(found & allowed) - 1;
            const int length = __shfl_sync(~0u, k, at);
            return {__shfl_sync(~0u, end, at) - length, length};
        }
        if (broken)
            break;
        first = __shfl_sync(~0u, end, 31);
    }
    return {0, 0};
}

#endif
