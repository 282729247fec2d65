/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_COPY_CUH
#define RIDGE_HBM_COPY_CUH

#include "kernels/ceiling_hbm_copy/hbm_copy.h"
#include "kernels/ptx/global.cuh"
#include "kernels/support/launch.cuh"

/* A CTA copies its 32 KiB: 8 loads a thread, then 8 stores. */
template <uint4 (*load)(const void *), void (*store)(void *, uint4)>
static __global__ void __launch_bounds__(256) hbm_copy(const uint4 *__restrict__ src, uint4 *__restrict__ dst)
{
    long long first = (long long)blockIdx.x * (HBM_COPY_BYTES / 16) + threadIdx.x;
    uint4 v[HBM_COPY_BYTES / 4096];
#pragma unroll
    for (int i = 0; i < HBM_COPY_BYTES / 4096; i++)
        v[i] = load(src + first + i * 256);
#pragma unroll
    for (int i = 0; i < HBM_COPY_BYTES / 4096; i++)
        store(dst + first + i * 256, v[i]);
}

template <uint4 (*load)(const void *), void (*store)(void *, uint4)>
static int hbm_copy_launch(const struct ridge_call *call)
{
    hbm_copy<load, store><<<(unsigned)(call->dim[0] / HBM_COPY_BYTES), 256, 0, ridge_stream(call)>>>(
        (const uint4 *)call->buffer[0], (uint4 *)call->buffer[1]);
    return RIDGE_LAUNCHED(call);
}

#endif
