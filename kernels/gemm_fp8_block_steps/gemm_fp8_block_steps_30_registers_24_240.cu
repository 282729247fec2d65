/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_steps/gemm_fp8_block_steps.cuh"

using tile = gemm_fp8_step_tile<2, 24, 240>;
using step = gemm_fp8_step<tile, gemm_fp8_step_promote<tile, 128>>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_steps_30_registers_24_240 = {
    .idea = "24 registers for a producer's thread, 240 for a consumer's",
    .source = "DeepGEMM, sm90_fp8_gemm_1d2d (registers of its roles)",
    .changes = "against 01: the producer gives eight more registers away",
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
