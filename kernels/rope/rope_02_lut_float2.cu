/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/rope/rope_lut_global.cuh"

extern "C" const struct ridge_variant ridge_variant_rope_02_lut_float2 = {
    .idea = "table of (cos, sin) read as float2, x in 16-byte pieces, four heads a thread",
    .source = "",
    .changes = "no trigonometry; a table entry is read once for four heads; 64 bytes of x under way a thread",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = rope_lut_global_launch,
    .kernel = (const void *)rope_lut_global<4>,
};
