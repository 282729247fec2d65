/* SPDX-License-Identifier: Apache-2.0 */
#define MLA_DECODE_F16
#include "kernels/mla_decode/mla_decode_flash.cuh"
#include "kernels/support/element.cuh"

struct p_bf16 {
    static __device__ __forceinline__ float rounded(float p)
    {
        return float(to_bf16(p));
    }
};

extern "C" const struct ridge_variant ridge_variant_mla_decode_f16_21_p_bf16 = {
    .idea = "02 with probabilities rounded to BF16",
    .source = "",
    .changes = "against 02: three bits less of P than FP16",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .ladder_break = true,
    .unsupported = mla_flash_unsupported,
    .issued = mla_flash_issued,
    .launch = mla_flash_launch<p_bf16>,
    .kernel = (const void *)mla_flash_kernel<p_bf16>,
};
