/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/launch.cuh"

#define SIDE 16

static __global__ void __launch_bounds__(SIDE *SIDE)
    gemm_f32_naive(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ d, int64_t m,
                   int64_t n, int64_t k, int64_t blocks_n)
{
    const int64_t row = blockIdx.x / blocks_n * SIDE + threadIdx.y;
    const int64_t column = blockIdx.x % blocks_n * SIDE + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += a[row * k + i] * b[column * k + i];
    d[row * n + column] = sum;
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t blocks_m = ridge_ceil_div(m, SIDE), blocks_n = ridge_ceil_div(n, SIDE);
    gemm_f32_naive<<<(unsigned)(blocks_m * blocks_n), dim3(SIDE, SIDE), 0, ridge_stream(call)>>>(
        (const float *)call->buffer[0], (const float *)call->buffer[1], (float *)call->buffer[2], m, n, k, blocks_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_f32_01_naive = {
    .idea = "one thread an output, both operands from global memory",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = ridge_too_slow,
    .launch = launch,
    .kernel = (const void *)gemm_f32_naive,
};
