/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_cvt_f16_f32/cvt_f16_f32.h"
#include "kernels/ceiling_fma_f32/alu_ceiling.cuh"

struct cvt_f16_op {
    static constexpr int steps = CVT_F16_STEPS, unroll = 16, parameters = 1;
    static constexpr uint32_t clear = CVT_F16_CLEAR;

    static __device__ __forceinline__ uint32_t start(uint32_t seed, unsigned kind)
    {
        return (seed ^ 0x12345678 * kind) & ~CVT_F16_CLEAR;
    }

    static __device__ __forceinline__ void step(uint32_t (&x)[ALU_CHAINS], const uint32_t (&)[ALU_CHAINS], uint32_t p)
    {
#pragma unroll
        for (int i = 0; i < ALU_CHAINS; i++)
            x[i] =
                ~(__float_as_uint(cvt_f32_f16((uint16_t)x[i])) ^ __float_as_uint(cvt_f32_f16((uint16_t)(x[i] >> 16)))) &
                p;
    }

    static __device__ __forceinline__ uint32_t fold(const uint32_t (&x)[ALU_CHAINS])
    {
        return alu_fold_xor(x);
    }
};

extern "C" const struct ridge_variant ridge_variant_ceiling_cvt_f16_f32_01_chains = {
    .idea = "32 warps an SM, 8 independent chains a thread, one logical operation per two cvt.f32.f16",
    .source = "PTX ISA 9.0, 9.7.9.22",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = alu_launch<cvt_f16_op>,
    .kernel = (const void *)alu_ceiling<cvt_f16_op>,
};
