/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/cublaslt.h"

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return cublaslt_fp8_unsupported(dim, device, CUBLASLT_FP8_SLOW);
}

static int setup(struct ridge_call *call, void **state)
{
    return cublaslt_fp8_setup(call, CUBLASLT_FP8_SLOW, state);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_tensor_91_cublaslt_slow = {
    .idea = "cuBLASLt with slow accumulation, the fastest of the heuristic's first 16 algorithms",
    .source = "cuBLAS documentation, cublasLtMatmul, CUBLASLT_MATMUL_DESC_FAST_ACCUM",
    .changes = "sums are promoted to FP32 registers at intervals",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .ladder_break = true,
    .unsupported = unsupported,
    .workspace_bytes = cublaslt_workspace_bytes,
    .setup = setup,
    .teardown = cublaslt_teardown,
    .describe = cublaslt_describe,
    .launch = cublaslt_launch,
};
