/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_spread.cuh"
#include "kernels/support/keep_operands.cuh"

/* The end of a tile of one set is that of 10. */
using tile = gemm_fp8_block_staged_shape<2, 128>;
using wide = gemm_fp8_block_staged_shape<1, 192>;
using narrow = gemm_fp8_block_staged_shape<1, 144>;

static const struct gemm_fp8_compiled compiled[] = {gemm_fp8_block_spread_compiled<tile>(),
                                                    gemm_fp8_block_direct_compiled<wide>(),
                                                    gemm_fp8_block_direct_compiled<narrow>()};
static int (*const starts[])(const struct ridge_call *, const struct gemm_fp8_block_plan *) = {
    gemm_fp8_block_spread_start<tile>, gemm_fp8_block_direct_start<wide>, gemm_fp8_block_direct_start<narrow>};
using choice = gemm_fp8_block_choice<compiled, starts, gemm_fp8_block_setup_direct>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_14_kept_factor = {
    .idea = "11 with machine code in which seven FFMA of eight keep the promotion's factor for the next one, not one "
            "of two",
    .source = "gemm_fp8_block_11; DeepGEMM, which once set the same hints, to the opposite",
    .changes = "hints of ptxas about operands and yielding, by cmake/keep_operands.c; three tiles",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = choice::issued,
    .setup = choice::setup,
    .teardown = free,
    .describe = choice::describe,
    .launch = choice::launch,
    .plans = choice::plans,
    .kernel = (const void *)gemm_fp8_block_spread<tile>,
};
