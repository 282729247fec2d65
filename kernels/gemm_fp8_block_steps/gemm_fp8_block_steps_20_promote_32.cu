/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_steps/gemm_fp8_block_steps.cuh"

using tile = gemm_fp8_step_tile<2, 40, 232>;
using step = gemm_fp8_step<tile, gemm_fp8_step_promote<tile, 32>>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_steps_20_promote_32 = {
    .idea = "promotion after every WGMMA",
    .source = "DeepSeek-V3 technical report (arXiv 2412.19437), 3.3.2",
    .changes = "against 01: promoted every 32 of k",
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
