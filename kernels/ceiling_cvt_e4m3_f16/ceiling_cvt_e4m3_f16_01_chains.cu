/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_cvt_e4m3_f16/cvt_e4m3_f16.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.cuh"

struct cvt_e4m3_op {
    static constexpr int steps = CVT_E4M3_STEPS, unroll = 16, parameters = 1;
    static constexpr uint32_t clear = 0;

    static __device__ __forceinline__ uint32_t start(uint32_t seed, unsigned kind)
    {
        return seed ^ 0x12345678 * kind;
    }

    static __device__ __forceinline__ void step(uint32_t (&x)[ALU_CHAINS], const uint32_t (&)[ALU_CHAINS], uint32_t p)
    {
#pragma unroll
        for (int i = 0; i < ALU_CHAINS; i++) {
            uint2 halves = cvt_f16x4_e4m3x4(x[i]);
            x[i] = halves.x * p + halves.y;
        }
    }

    static __device__ __forceinline__ uint32_t fold(const uint32_t (&x)[ALU_CHAINS])
    {
        return alu_fold_xor(x);
    }
};

extern "C" const struct ridge_variant ridge_variant_ceiling_cvt_e4m3_f16_01_chains = {
    .idea = "32 warps an SM, 8 independent chains a thread, one integer multiply-add per two cvt.rn.f16x2.e4m3x2",
    .source = "PTX ISA 9.0, 9.7.9.22",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = alu_launch<cvt_e4m3_op>,
    .kernel = (const void *)alu_ceiling<cvt_e4m3_op>,
};
