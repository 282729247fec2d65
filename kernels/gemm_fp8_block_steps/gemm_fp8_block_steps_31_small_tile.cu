/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_steps/gemm_fp8_block_steps.cuh"

using tile = gemm_fp8_step_tile<1, 40, 232>;
using step = gemm_fp8_step<tile, gemm_fp8_step_promote<tile, 128>>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_steps_31_small_tile = {
    .idea = "128 x 128 tiles, which need 64 sums and 64 totals a thread",
    .source = "",
    .changes = "against 01: half the rows a tile; what 32 and 40 are held against",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .ladder_break = true,
    .unsupported = gemm_fp8_unsupported,
    .issued = step::issued,
    .setup = step::setup,
    .teardown = free,
    .describe = step::describe,
    .launch = step::launch,
    .kernel = (const void *)step::kernel,
};
