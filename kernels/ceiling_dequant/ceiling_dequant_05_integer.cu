/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dequant/dequant.cuh"

/* Exponent and mantissa of e4m3, four bits further down, are those of a BF16 2^-120 times as large, subnormals
 * included: the multiplication with the scale makes up for it. NaN codes become 480. */
struct route {
    static __device__ __forceinline__ uint32_t factor(float scale)
    {
        return cvt_bf16x2_f32(scale * 0x1p120f, scale * 0x1p120f);
    }

    static __device__ __forceinline__ uint32_t place(uint32_t high_bytes)
    {
        return (high_bytes & 0x80008000) | (high_bytes >> 4 & 0x07f007f0);
    }

    static __device__ __forceinline__ uint2 convert(uint32_t word, uint32_t factor)
    {
        return make_uint2(mul_bf16x2(place(__byte_perm(word, 0, 0x1404)), factor),
                          mul_bf16x2(place(__byte_perm(word, 0, 0x3424)), factor));
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
    work->cvt_e4m3_f16 = 0;
    work->mul_bf16 = values;
}

extern "C" const struct ridge_variant ridge_variant_ceiling_dequant_05_integer = {
    .idea = "bits of e4m3 moved into BF16 by integers, times the scale and 2^120 in BF16",
    .source = "",
    .changes = "no conversion: a byte permutation, a shift and two logical operations a pair, the scale for nothing",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = dequant_workspace,
    .launch = dequant_launch<route>,
    .plans = dequant_plans,
    .kernel = (const void *)dequant_tokens<route>,
};
