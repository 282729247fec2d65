/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_grouped_contiguous/gemm_grouped_naive.cuh"
#include "kernels/gemm_grouped_masked/gemm_grouped_masked.h"

static __global__ void __launch_bounds__(GROUPED_NAIVE_SIDE *GROUPED_NAIVE_SIDE)
    gemm_grouped_masked_naive(gemm_grouped_naive_arguments x, int64_t blocks_n)
{
    const int64_t row = blockIdx.x / blocks_n * GROUPED_NAIVE_SIDE + threadIdx.y;
    const int64_t column = blockIdx.x % blocks_n * GROUPED_NAIVE_SIDE + threadIdx.x;
    const int64_t group = row / x.m, row_in = row % x.m;
    if (group >= x.groups || column >= x.n || row_in >= masked_rows(x.index[group], (int)x.m))
        return;
    const float *scale_a = x.scale_a + group * x.blocks * x.pitch + row_in;
    x.d[row * x.n + column] = to_bf16(gemm_grouped_dot(x, row, column, group, scale_a));
}

static int launch(const struct ridge_call *call)
{
    return gemm_grouped_naive_launch(call, call->dim[GROUPED_GROUPS] * call->dim[GROUPED_M], gemm_grouped_masked_naive);
}

extern "C" const struct ridge_variant ridge_variant_gemm_grouped_masked_01_naive = {
    .idea = "one thread an output of every row that there is memory for; FP32 accumulation on the FP32 units",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = gemm_grouped_too_slow,
    .issued = gemm_grouped_naive_issue,
    .launch = launch,
    .kernel = (const void *)gemm_grouped_masked_naive,
};
