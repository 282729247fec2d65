/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_contiguous/gemm_grouped_naive.cuh"

static __global__ void __launch_bounds__(GROUPED_NAIVE_SIDE *GROUPED_NAIVE_SIDE)
    gemm_grouped_contiguous_naive(gemm_grouped_naive_arguments x, int64_t blocks_n)
{
    const int64_t row = blockIdx.x / blocks_n * GROUPED_NAIVE_SIDE + threadIdx.y;
    const int64_t column = blockIdx.x % blocks_n * GROUPED_NAIVE_SIDE + threadIdx.x;
    if (row >= x.m || column >= x.n)
        return;
    const int32_t group = x.index[row];
    const bool some = group >= 0 && group < x.groups;
    x.d[row * x.n + column] = to_bf16(some ? gemm_grouped_dot(x, row, column, group, x.scale_a + row) : 0);
}

static int launch(const struct ridge_call *call)
{
    return gemm_grouped_naive_launch(call, call->dim[GROUPED_M], gemm_grouped_contiguous_naive);
}

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_contiguous_01_naive = {
    .idea = "one thread an output, which looks its group up; FP32 accumulation on the FP32 units",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = gemm_grouped_too_slow,
    .issued = gemm_grouped_naive_issue,
    .launch = launch,
    .kernel = (const void *)gemm_grouped_contiguous_naive,
};
