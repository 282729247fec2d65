/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_cvt_f32_bf16/cvt_f32_bf16.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.cuh"

struct cvt_bf16_op {
    static constexpr int steps = CVT_BF16_STEPS, unroll = 16, parameters = 0;
    static constexpr uint32_t clear = 0;

    static __device__ __forceinline__ uint32_t start(uint32_t seed, unsigned kind)
    {
        return alu_start_float(seed, kind);
    }

    static __device__ __forceinline__ void step(uint32_t (&x)[ALU_CHAINS], const uint32_t (&)[ALU_CHAINS], uint32_t)
    {
#pragma unroll
        for (int i = 0; i < ALU_CHAINS; i++)
            x[i] = cvt_bf16x2_f32(__uint_as_float(x[(i + 1) % ALU_CHAINS]), __uint_as_float(x[i]));
    }

    static __device__ __forceinline__ uint32_t fold(const uint32_t (&x)[ALU_CHAINS])
    {
        return alu_fold_xor(x);
    }
};

extern "C" const struct ridge_variant ridge_variant_ceiling_cvt_f32_bf16_01_chains = {
    .idea = "32 warps an SM, 8 chains a thread, nothing but cvt.rn.bf16x2.f32",
    .source = "PTX ISA 9.0, 9.7.9.22",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = alu_launch<cvt_bf16_op>,
    .kernel = (const void *)alu_ceiling<cvt_bf16_op>,
};
