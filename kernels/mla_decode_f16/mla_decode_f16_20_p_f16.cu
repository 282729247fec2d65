/* SPDX-License-Identifier: Apache-2.0 */
#define MLA_DECODE_F16
#include "kernels/mla_decode/mla_decode_flash.cuh"

struct p_f16 {
    static __device__ __forceinline__ float rounded(float p)
    {
        return mla_to_float(mla_from_float(p));
    }
};

extern "C" const struct ridge_variant ridge_variant_mla_decode_f16_20_p_f16 = {
    .idea = "02 with probabilities rounded to FP16",
    .source = "",
    .changes = "against 02: the precision at which tensor cores take P, and nothing else",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .ladder_break = true,
    .unsupported = mla_flash_unsupported,
    .issued = mla_flash_issued,
    .launch = mla_flash_launch<p_f16>,
    .kernel = (const void *)mla_flash_kernel<p_f16>,
};
