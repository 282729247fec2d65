/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma.cuh for 168 columns of BF16, both operands in shared memory, K-major. */
#ifndef RIDGE_PTX_WGMMA_N168_CUH
#define RIDGE_PTX_WGMMA_N168_CUH

#include "kernels/ptx/wgmma.cuh"

static __device__ __forceinline__ void wgmma_bf16_ss(float (&d)[84], uint64_t a, uint64_t b, int scale_d)
{
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %86, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n168k16.f32.bf16.bf16 {" WGMMA_T80 ", %80, %81, %82, %83"
                 "}, %84, %85, accumulate, 1, 1, 0, 0;\n}"
                 : WGMMA_D64, WGMMA_D16_AT(64), WGMMA_D4_AT(80)
                 : "l"(a), "l"(b), "r"(scale_d));
}

#endif
