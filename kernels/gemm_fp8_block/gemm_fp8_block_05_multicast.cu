/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_cluster.cuh"

#define TILES(X) X(2, 128, 1)

#define COMPILED(s, n, boxes) gemm_fp8_block_compiled<gemm_fp8_block_shape<s, n, boxes>, false, false>(),
#define START(s, n, boxes) gemm_fp8_block_start<gemm_fp8_block_shape<s, n, boxes>, false, false>,
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static int (*const starts[])(const struct ridge_call *, const struct gemm_fp8_block_plan *) = {TILES(START)};
using choice = gemm_fp8_block_choice<compiled, starts, gemm_fp8_block_setup_cluster>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_05_multicast = {
    .idea = "clusters of two CTAs share what they load by TMA multicast; 256 x 128 tiles",
    .source = "DeepGEMM, sm90_fp8_gemm_1d2d (clusters of two, consumers of 128 rows)",
    .changes = "against 02 and 04: L2 is read once for two CTAs; wait-then-promote stays",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = choice::issued,
    .setup = choice::setup,
    .teardown = free,
    .describe = choice::describe,
    .launch = choice::launch,
    .plans = choice::plans,
    .kernel = (const void *)gemm_fp8_block_cluster<gemm_fp8_block_shape<2, 128, 1>, false, false>,
};
