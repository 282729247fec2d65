/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_chain/gemm_fp8_chain.cuh"

using chain = gemm_fp8_chain<gemm_fp8_chain_producer, false>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_chain_01_stream = {
    .idea = "two kernels in stream order: the second starts when the first has ended",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = chain::issued,
    .setup = chain::setup,
    .teardown = free,
    .describe = chain::describe,
    .launch = chain::launch,
    .kernel = (const void *)chain::kernel,
};
