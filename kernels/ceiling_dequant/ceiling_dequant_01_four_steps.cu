/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dequant/dequant.cuh"

struct route {
    static __device__ __forceinline__ uint32_t factor(float scale)
    {
        return cvt_bf16x2_f32(scale, scale);
    }

    static __device__ __forceinline__ uint2 convert(uint32_t word, uint32_t factor)
    {
        const uint2 pairs = dequant_bf16(dequant_f32(cvt_f16x4_e4m3x4(word)));
        return make_uint2(mul_bf16x2(pairs.x, factor), mul_bf16x2(pairs.y, factor));
    }

    static __device__ __forceinline__ float4 value(uint2 pairs, float)
    {
        return dequant_value_bf16(pairs);
    }
};

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const double values = (double)DEQUANT_VALUES * (double)dim[0];
    (void)device;
    work->cvt_f16_f32 = work->cvt_f32_bf16 = work->mul_bf16 = values;
}

extern "C" const struct ridge_variant ridge_variant_ceiling_dequant_01_four_steps = {
    .idea = "e4m3 to f16, to f32, to BF16, times the scale in BF16",
    .source = "FlashMLA, docs/20250929-hopper-fp8-sparse-deep-dive.md",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = dequant_workspace,
    .launch = dequant_launch<route>,
    .plans = dequant_plans,
    .kernel = (const void *)dequant_tokens<route>,
};
