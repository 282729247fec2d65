/* SPDX-License-Identifier: Apache-2.0 */
#define MLA_DECODE_F16
#include "kernels/mla_decode/mla_decode_flash.cuh"

extern "C" const struct ridge_variant ridge_variant_mla_decode_f16_02_flash = {
    .idea = "online softmax on the CUDA cores: a warp a row, probabilities in FP32",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = mla_flash_unsupported,
    .issued = mla_flash_issued,
    .launch = mla_flash_launch<mla_p_f32>,
    .kernel = (const void *)mla_flash_kernel<mla_p_f32>,
};
