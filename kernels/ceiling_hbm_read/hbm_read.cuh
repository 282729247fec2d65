/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_READ_CUH
#define RIDGE_HBM_READ_CUH

#include "kernels/ceiling_hbm_read/hbm_read.h"
#include "kernels/ptx/global.cuh"
#include "kernels/support/launch.cuh"

static __device__ __forceinline__ uint32_t fold(uint4 v)
{
    return v.x ^ v.y ^ v.z ^ v.w;
}

/* XOR over the warp. */
static __device__ __forceinline__ uint32_t fold_warp(uint32_t word)
{
#pragma unroll
    for (int distance = 16; distance; distance /= 2)
        word ^= __shfl_xor_sync(~0u, word, distance);
    return word;
}

#endif
