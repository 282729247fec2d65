/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_steps/gemm_fp8_block_steps.cuh"

using tile = gemm_fp8_step_tile<2, 40, 232>;
using step = gemm_fp8_step<tile, gemm_fp8_step_promote<tile, 128>, 2, 2>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_steps_60_stages_2 = {
    .idea = "a ring of two stages",
    .source = "",
    .changes = "against 01: two stages instead of four",
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
