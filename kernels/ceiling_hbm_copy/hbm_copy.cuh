/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_COPY_CUH
#define RIDGE_HBM_COPY_CUH

#include "kernels/ceiling_hbm_copy/hbm_copy.h"
#include "kernels/ptx/global.cuh"
#include "kernels/support/launch.cuh"

/* A CTA of `threads` copies `pieces` times 16 bytes a thread: all loads, then all stores. */
template <int threads, int pieces, uint4 (*load)(const void *), void (*store)(void *, uint4)>
static __global__ void __launch_bounds__(threads) hbm_copy(const uint4 *__restrict__ src, uint4 *__restrict__ dst)
{
    long long first = (long long)blockIdx.x * (threads * pieces) + threadIdx.x;
    uint4 v[pieces];
#pragma unroll
    for (int i = 0; i < pieces; i++)
        v[i] = load(src + first + i * threads);
#pragma unroll
    for (int i = 0; i < pieces; i++)
        store(dst + first + i * threads, v[i]);
}

template <int threads, int pieces, uint4 (*load)(const void *), void (*store)(void *, uint4)>
static int hbm_copy_launch(const struct ridge_call *call)
{
    static_assert(HBM_COPY_BYTES % (threads * pieces * 16) == 0, "shapes are multiples of HBM_COPY_BYTES");
    hbm_copy<threads, pieces, load, store>
        <<<(unsigned)(call->dim[0] / (threads * pieces * 16)), threads, 0, ridge_stream(call)>>>(
            (const uint4 *)call->buffer[0], (uint4 *)call->buffer[1]);
    return RIDGE_LAUNCHED(call);
}

#endif
