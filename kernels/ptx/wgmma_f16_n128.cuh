/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma_f16.cuh for 128 columns, both operands in shared memory. */
#ifndef RIDGE_PTX_WGMMA_F16_N128_CUH
#define RIDGE_PTX_WGMMA_F16_N128_CUH

#include "kernels/ptx/wgmma_f16.cuh"

template <int major_a = 0, int major_b = 0>
static __device__ __forceinline__ void wgmma_f16_ss(float (&d)[64], uint64_t a, uint64_t b, int scale_d)
{
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" WGMMA_T64
                 "}, %64, %65, accumulate, 1, 1, %67, %68;\n}"
                 : WGMMA_D64
                 : "l"(a), "l"(b), "r"(scale_d), "n"(major_a), "n"(major_b));
}

#endif
