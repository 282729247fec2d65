/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_direct.cuh"

#define TILES(X) X(2, 128) X(1, 192) X(1, 144)

#define COMPILED(s, n) gemm_fp8_block_direct_compiled<gemm_fp8_block_staged_shape<s, n>>(),
#define START(s, n) gemm_fp8_block_direct_start<gemm_fp8_block_staged_shape<s, n>>,
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static int (*const starts[])(const struct ridge_call *, const struct gemm_fp8_block_plan *) = {TILES(START)};
using choice = gemm_fp8_block_choice<compiled, starts, gemm_fp8_block_setup_direct>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_10_staged_scales = {
    .idea = "09 with the scales of B in the stages, from where a consumer needs one load to have them",
    .source = "gemm_fp8_block_09",
    .changes =
        "the producer puts scales of B beside those of A; a stage is given back when its WGMMAs are done, not later",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = choice::issued,
    .setup = choice::setup,
    .teardown = free,
    .describe = choice::describe,
    .launch = choice::launch,
    .plans = choice::plans,
    .kernel = (const void *)gemm_fp8_block_direct<gemm_fp8_block_staged_shape<2, 128>>,
};
