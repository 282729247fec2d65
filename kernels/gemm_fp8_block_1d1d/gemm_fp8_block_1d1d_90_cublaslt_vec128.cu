/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/cublaslt.h"

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return cublaslt_fp8_unsupported(dim, device, CUBLASLT_FP8_VEC128);
}

static int setup(struct ridge_call *call, void **state)
{
    return cublaslt_fp8_setup(call, CUBLASLT_FP8_VEC128, state);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_1d1d_90_cublaslt_vec128 = {
    .idea =
        "cuBLASLt with scales per 1 x 128 of both operands, beta 1, FP32 out, the fastest of the heuristic's first 16 "
        "algorithms",
    .source = "cuBLAS documentation, 128-element 1D block scaling for FP8 data types",
    .changes = "vendor library",
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
