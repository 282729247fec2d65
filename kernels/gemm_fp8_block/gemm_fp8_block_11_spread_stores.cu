/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_spread.cuh"

using tile = gemm_fp8_block_staged_shape<2, 128>;

static const struct gemm_fp8_compiled compiled[] = {gemm_fp8_block_spread_compiled<tile>()};
static int (*const starts[])(const struct ridge_call *,
                             const struct gemm_fp8_block_plan *) = {gemm_fp8_block_spread_start<tile>};
using choice = gemm_fp8_block_choice<compiled, starts, gemm_fp8_block_setup_direct>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_11_spread_stores = {
    .idea = "10 with the stores of a tile between the WGMMAs of three sets, and nothing else between WGMMAs",
    .source = "gemm_fp8_block_10",
    .changes = "the first set is stored under the second of the last block of k; a consumer finds its tile in a stage",
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
