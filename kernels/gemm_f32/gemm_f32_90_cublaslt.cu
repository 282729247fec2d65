/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/cublaslt.h"

static int setup(struct ridge_call *call, void **state)
{
    return cublaslt_setup(call, RIDGE_F32, state);
}

extern "C" const struct ridge_variant ridge_variant_gemm_f32_90_cublaslt = {
    .idea = "cuBLASLt, the fastest of the heuristic's first 16 algorithms, FP32 compute without TF32",
    .source = "cuBLAS documentation, cublasLtMatmul",
    .changes = "vendor library",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .ladder_break = true,
    .unsupported = cublaslt_unsupported,
    .workspace_bytes = cublaslt_workspace_bytes,
    .setup = setup,
    .teardown = cublaslt_teardown,
    .describe = cublaslt_describe,
    .launch = cublaslt_launch,
};
