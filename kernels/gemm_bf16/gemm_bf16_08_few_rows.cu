/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_few_rows_host.cuh"

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    return few_rows_unsupported(dim, gemm_unsupported(dim, device));
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_08_few_rows = {
    .idea = "for few rows of A: operands swapped, tiles of any multiple of 16 rows of B, k split over a cluster",
    .source = "PTX ISA 9.0, 9.7.9.12 (st.async) and 9.7.9.18 (createpolicy)",
    .changes = "all SMs read B at once however few tiles there are, and nothing precedes the first loads of it",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = few_rows_issued<few_rows_bf16>,
    .setup = few_rows_setup<few_rows_bf16, RIDGE_BF16>,
    .teardown = free,
    .describe = few_rows_describe,
    .launch = few_rows_launch<few_rows_bf16>,
    .plans = few_rows_list<few_rows_bf16>,
    .kernel = (const void *)gemm_few_rows<few_rows_bf16<64>>,
};
