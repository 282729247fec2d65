/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/mla_decode/mla_decode_flash.cuh"

extern "C" const struct ridge_variant ridge_variant_mla_decode_02_flash = {
    .idea = "online softmax: a warp a row, one pass over the keys",
    .source = "Milakov and Gimelshein 2018, algorithm 3",
    .changes = "no scores in memory",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = mla_flash_unsupported,
    .issued = mla_flash_issued,
    .launch = mla_flash_launch<mla_p_f32>,
    .kernel = (const void *)mla_flash_kernel<mla_p_f32>,
};
