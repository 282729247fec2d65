/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_dequant/dequant.cuh"

struct route {
    static __device__ __forceinline__ uint32_t factor(float)
    {
        return 0;
    }

    static __device__ __forceinline__ uint2 convert(uint32_t word, uint32_t)
    {
        return cvt_f16x4_e4m3x4(word);
    }

    static __device__ __forceinline__ float4 value(uint2 halves, float scale)
    {
        const float4 v = dequant_f32(halves);
        return make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
    }
};

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    const double values = (double)DEQUANT_VALUES * (double)dim[0];
    (void)device;
    work->cvt_e4m3_f16 = values;
}

extern "C" const struct ridge_variant ridge_variant_ceiling_dequant_04_f16 = {
    .idea = "e4m3 to f16, which a WGMMA takes as well; the scale goes to the sums of the products",
    .source = "",
    .changes = "one conversion",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .issued = issued,
    .workspace_bytes = dequant_workspace,
    .launch = dequant_launch<route>,
    .plans = dequant_plans,
    .kernel = (const void *)dequant_tokens<route>,
};
