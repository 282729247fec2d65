/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_chain/gemm_fp8_chain.cuh"

using chain = gemm_fp8_chain<gemm_fp8_chain_producer, true>;

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_chain_02_dependent_launch = {
    .idea = "the second kernel starts under the first and waits before its first load",
    .source = "CUDA C++ Programming Guide, Programmatic Dependent Launch and Synchronization",
    .changes = "the same kernel, launched with programmatic stream serialization: launch and prologue are hidden",
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
