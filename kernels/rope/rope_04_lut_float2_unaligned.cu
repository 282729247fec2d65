/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/rope/rope_lut_global.cuh"

extern "C" const struct ridge_variant ridge_variant_rope_04_lut_float2_unaligned = {
    .idea = "rope_02 on a table that is 8 but not 16 bytes aligned",
    .source = "",
    .changes = "against 02: the table starts 8 bytes later, so that a row of it straddles one more 32-byte sector",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .ladder_break = true,
    .offset_bytes = {0, 0, 8},
    .launch = rope_lut_global_launch,
    .kernel = (const void *)rope_lut_global<4>,
};
