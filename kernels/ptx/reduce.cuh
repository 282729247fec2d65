/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that do not depend on the order. */
#ifndef RIDGE_PTX_REDUCE_CUH
#define RIDGE_PTX_REDUCE_CUH

#include <stdint.h>

/* The sum over the warp, modulo 2^32, in every lane. */
static __device__ __forceinline__ uint32_t add_warp(uint32_t word)
{
#pragma unroll
    for (int distance = 16; distance; distance /= 2)
        word += __shfl_xor_sync(~0u, word, distance);
    return word;
}

/* Adds the words of all threads of the CTA to *sum; call once, by all. */
static __device__ void add_to_sum(uint32_t *sum, uint32_t word)
{
    __shared__ uint32_t warp_sum[32];
    word = add_warp(word);
    if (threadIdx.x % 32 == 0)
        warp_sum[threadIdx.x / 32] = word;
    __syncthreads();
    if (threadIdx.x < 32) {
        word = add_warp(threadIdx.x < blockDim.x / 32 ? warp_sum[threadIdx.x] : 0);
        if (threadIdx.x == 0)
            atomicAdd(sum, word);
    }
}

#endif
