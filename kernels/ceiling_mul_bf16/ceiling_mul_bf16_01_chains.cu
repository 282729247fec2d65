/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_mul_bf16/mul_bf16.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.cuh"

struct mul_bf16_op {
    static constexpr int steps = MUL_BF16_STEPS, unroll = 64, parameters = 1;
    static constexpr uint32_t clear = 0;

    static __device__ __forceinline__ uint32_t start(uint32_t seed, unsigned kind)
    {
        return seed ^ 0x00010001 * kind;
    }

    static __device__ __forceinline__ void step(uint32_t (&x)[ALU_CHAINS], const uint32_t (&)[ALU_CHAINS], uint32_t p)
    {
#pragma unroll
        for (int i = 0; i < ALU_CHAINS; i++)
            x[i] = mul_bf16x2(x[i], p);
    }

    static __device__ __forceinline__ uint32_t fold(const uint32_t (&x)[ALU_CHAINS])
    {
        return alu_fold_xor(x);
    }
};

extern "C" const struct ridge_variant ridge_variant_ceiling_mul_bf16_01_chains = {
    .idea = "32 warps an SM, 8 independent chains a thread, nothing but mul.rn.bf16x2",
    .source = "PTX ISA 9.0, 9.7.4.3",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = alu_launch<mul_bf16_op>,
    .kernel = (const void *)alu_ceiling<mul_bf16_op>,
};
