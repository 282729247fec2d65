/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_ex2/ex2.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.cuh"

/* The seed is the parameter of each chain, so a thread keeps 16 registers of state. */
struct ex2_op {
    static constexpr int steps = EX2_STEPS, unroll = 16, parameters = 0;
    static constexpr uint32_t clear = 0;

    static __device__ __forceinline__ uint32_t start(uint32_t seed, unsigned kind)
    {
        return alu_start_float(seed, kind);
    }

    static __device__ __forceinline__ void step(uint32_t (&x)[ALU_CHAINS], const uint32_t (&start)[ALU_CHAINS],
                                                uint32_t)
    {
#pragma unroll
        for (int i = 0; i < ALU_CHAINS; i++)
            x[i] = __float_as_uint(ex2(__fmaf_rn(__uint_as_float(x[i]), -0.5f, __uint_as_float(start[i]))));
    }

    static __device__ __forceinline__ uint32_t fold(const uint32_t (&x)[ALU_CHAINS])
    {
        return alu_fold_float(x);
    }
};

extern "C" const struct ridge_variant ridge_variant_ceiling_ex2_01_chains = {
    .idea = "32 warps an SM, 8 independent chains a thread, one FMA beside each MUFU.EX2",
    .source = "PTX ISA 9.0, 9.7.3.22",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = alu_launch<ex2_op>,
    .kernel = (const void *)alu_ceiling<ex2_op>,
};
