/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_few_rows_host.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block_turns.cuh"

static const char *unsupported(const int64_t *dim, const struct ridge_device *)
{
    return few_rows_unsupported(
        dim,
        dim[2] % 16 ? "k is not a multiple of 16: tensor copies need rows of A and B at multiples of 16 bytes" : NULL);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_13_turns = {
    .idea = "for few rows of A: two warpgroups take pairs of blocks of k in turn, each with all sums of a tile",
    .source = "PTX ISA 9.0, 9.7.9.12 (st.async) and 9.7.9.18 (createpolicy)",
    .changes = "of 12: one multiplies while the other promotes; totals meet at a tile's end; two loading warps",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = unsupported,
    .issued = few_rows_issued<turns_fp8_block>,
    .setup = few_rows_setup<turns_fp8_block, RIDGE_E4M3>,
    .teardown = free,
    .describe = few_rows_describe,
    .launch = few_rows_launch<turns_fp8_block>,
    .plans = few_rows_list<turns_fp8_block>,
    .kernel = (const void *)gemm_fp8_block_turns<128, false>,
};
