/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/cublaslt.h"

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return cublaslt_fp8_unsupported(dim, device, CUBLASLT_FP8_BLOCK);
}

static int setup(struct ridge_call *call, void **state)
{
    return cublaslt_fp8_setup(call, CUBLASLT_FP8_BLOCK, state);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_90_cublaslt_block = {
    .idea =
        "cuBLASLt with scales per 1 x 128 of A and 128 x 128 of B, the fastest of the heuristic's first 16 algorithms",
    .source = "cuBLAS documentation, 128-element 1D and 128x128 2D block scaling for FP8 data types",
    .changes = "vendor library; scales of B are padded to rows of four before the timing",
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
