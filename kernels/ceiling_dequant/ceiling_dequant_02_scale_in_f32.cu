/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dequant/dequant.cuh"

struct route {
    static __device__ __forceinline__ uint32_t factor(float scale)
    {
        return __float_as_uint(scale);
    }

    static __device__ __forceinline__ uint2 convert(uint32_t word, uint32_t factor)
    {
        const float4 v = dequant_f32(cvt_f16x4_e4m3x4(word));
        const float scale = __uint_as_float(factor);
        return dequant_bf16(make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale));
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
    work->flop_fp32 = work->cvt_f16_f32 = work->cvt_f32_bf16 = values;
}

extern "C" const struct ridge_variant ridge_variant_ceiling_dequant_02_scale_in_f32 = {
    .idea = "e4m3 to f16, to f32, times the scale in f32, to BF16",
    .source = "",
    .changes = "a scale that is no BF16 is not rounded: four FMUL instead of two HMUL2 for four values",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = dequant_workspace,
    .launch = dequant_launch<route>,
    .plans = dequant_plans,
    .kernel = (const void *)dequant_tokens<route>,
};
