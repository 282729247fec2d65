/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_HBM_WRITE_CUH
#define RIDGE_HBM_WRITE_CUH

#include "kernels/ceiling_hbm_write/hbm_write.h"
#include "kernels/ptx/global.cuh"
#include "kernels/support/launch.cuh"

/* A CTA writes its 32 KiB, a row of 4 KiB at a time. */
template <void (*store)(void *, uint4)> static __global__ void __launch_bounds__(256) hbm_write(uint4 *dst)
{
    long long first = (long long)blockIdx.x * (HBM_BLOCK_BYTES / 16) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < HBM_BLOCK_BYTES / 4096; i++) {
        long long at = first + i * 256;
        uint32_t element = (uint32_t)at * 4;
        store(dst + at, make_uint4(hbm_write_bits(element), hbm_write_bits(element + 1), hbm_write_bits(element + 2),
                                   hbm_write_bits(element + 3)));
    }
}

template <void (*store)(void *, uint4)> static int hbm_write_launch(const struct ridge_call *call)
{
    hbm_write<store>
        <<<(unsigned)(call->dim[0] / HBM_BLOCK_BYTES), 256, 0, ridge_stream(call)>>>((uint4 *)call->buffer[0]);
    return RIDGE_LAUNCHED(call);
}

#endif
