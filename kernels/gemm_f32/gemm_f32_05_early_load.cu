/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_f32/gemm_f32_early.cuh"

typedef tile_shape<128, 128, 8, 8, 8> tile;
static constexpr int blocks_per_sm = 2;

extern "C" const struct ridge_variant ridge_variant_gemm_f32_05_early_load = {
    .idea = "128x128 tile, 8x8 outputs a thread, loads issued a whole tile before they are stored",
    .source = "odd k's first: CUTLASS, transform/threadblock/predicated_tile_access_iterator.h",
    .changes = "a quarter of the load instructions, 16 bytes each, through registers refilled right after their store; "
               "two blocks an SM",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .issued = tile_work<tile>,
    .launch = early_launch<tile, blocks_per_sm>,
    .kernel = (const void *)gemm_f32_early_load<tile, blocks_per_sm, true>,
};
