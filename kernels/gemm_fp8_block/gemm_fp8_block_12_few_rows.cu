/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_few_rows_host.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block_few_rows.cuh"

static const char *unsupported(const int64_t *dim, const struct ridge_device *)
{
    return few_rows_unsupported(
        dim,
        dim[2] % 16 ? "k is not a multiple of 16: tensor copies need rows of A and B at multiples of 16 bytes" : NULL);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_12_few_rows = {
    .idea = "for few rows of A: operands swapped, tiles of any multiple of 16 rows of B, k split over a cluster",
    .source = "PTX ISA 9.0, 9.7.9.12 (st.async) and 9.7.9.18 (createpolicy)",
    .changes = "the schedule of gemm_bf16_08; a product of scales for two of four sums of a promoted fragment",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = few_rows_issued<few_rows_fp8_block>,
    .setup = few_rows_setup<few_rows_fp8_block, RIDGE_E4M3>,
    .teardown = free,
    .describe = few_rows_describe,
    .launch = few_rows_launch<few_rows_fp8_block>,
    .plans = few_rows_list<few_rows_fp8_block>,
    .kernel = (const void *)gemm_few_rows<few_rows_fp8_block<64>>,
};
