/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/transpose_e4m3/transpose_e4m3_tile.cuh"

extern "C" const struct ridge_variant ridge_variant_transpose_e4m3_03_two_tiles = {
    .idea = "128 x 256 bytes a CTA: a thread has eight loads under way",
    .source = "",
    .changes = "two tiles a CTA, side by side in a row of X",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = transpose_unsupported,
    .launch = transpose_launch<2>,
    .kernel = (const void *)transpose_tile<2>,
};
