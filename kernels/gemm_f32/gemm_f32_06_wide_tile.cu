/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_f32/gemm_f32_early.cuh"

typedef tile_shape<128, 256, 8, 8, 16> tile;
static constexpr int blocks_per_sm = 1;

extern "C" const struct ridge_variant ridge_variant_gemm_f32_06_wide_tile = {
    .idea = "128x256 tile, 8x16 outputs a thread, loads issued a whole tile before they are stored",
    .source = "",
    .changes = "24 words from shared memory feed 128 FMA instead of 16 feeding 64; one block an SM",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = tile_work<tile>,
    .launch = early_launch<tile, blocks_per_sm>,
    .kernel = (const void *)gemm_f32_early_load<tile, blocks_per_sm, true>,
};
