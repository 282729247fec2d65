/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/transpose_e4m3/transpose_e4m3_tile.cuh"

extern "C" const struct ridge_variant ridge_variant_transpose_e4m3_02_words = {
    .idea = "128 x 128 bytes a CTA: 4 x 4 transposed in registers, words exchanged through shared memory",
    .source = "",
    .changes = "both sides of memory see rows of 128 bytes, 16 a thread",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = transpose_unsupported,
    .launch = transpose_launch<1>,
    .kernel = (const void *)transpose_tile<1>,
};
