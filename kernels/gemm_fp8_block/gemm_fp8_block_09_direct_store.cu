/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_direct.cuh"

#define TILES(X) X(2, 128)

#define COMPILED(s, n) gemm_fp8_block_direct_compiled<gemm_fp8_block_direct_shape<s, n>>(),
#define START(s, n) gemm_fp8_block_direct_start<gemm_fp8_block_direct_shape<s, n>>,
static const struct gemm_fp8_compiled compiled[] = {TILES(COMPILED)};
static int (*const starts[])(const struct ridge_call *, const struct gemm_fp8_block_plan *) = {TILES(START)};
using choice = gemm_fp8_block_choice<compiled, starts, gemm_fp8_block_setup_direct>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_09_direct_store = {
    .idea = "05 with totals that go from the registers to D under the first WGMMAs of the next tile",
    .source = "CUDA driver API, cuTensorMapEncodeTiled (five dimensions in any order); gemm_bf16_10",
    .changes =
        "no slabs and no waits for copies of results; the next stage is waited for before the promotion, not after",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = choice::issued,
    .setup = choice::setup,
    .teardown = free,
    .describe = choice::describe,
    .launch = choice::launch,
    .plans = choice::plans,
    .kernel = (const void *)gemm_fp8_block_direct<gemm_fp8_block_direct_shape<2, 128>>,
};
