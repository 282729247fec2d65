/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_fma_f32/alu_ceiling.cuh"
#include "kernels/ceiling_fma_f32/fma_f32.h"

struct fma_op {
    static constexpr int steps = FMA_STEPS, unroll = 64, parameters = 1;
    static constexpr uint32_t clear = 0;

    static __device__ __forceinline__ uint32_t start(uint32_t seed, unsigned kind)
    {
        return alu_start_float(seed, kind);
    }

    static __device__ __forceinline__ void step(uint32_t (&x)[ALU_CHAINS], const uint32_t (&)[ALU_CHAINS], uint32_t p)
    {
#pragma unroll
        for (int i = 0; i < ALU_CHAINS; i++) {
            float value = __uint_as_float(x[i]);
            x[i] = __float_as_uint(__fmaf_rn(value, -value, __uint_as_float(p)));
        }
    }

    static __device__ __forceinline__ uint32_t fold(const uint32_t (&x)[ALU_CHAINS])
    {
        return alu_fold_float(x);
    }
};

extern "C" const struct ridge_variant ridge_variant_ceiling_fma_f32_01_chains = {
    .idea = "32 warps an SM, 8 independent chains a thread",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = alu_launch<fma_op>,
    .kernel = (const void *)alu_ceiling<fma_op>,
};
