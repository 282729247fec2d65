/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_naive.cuh"

static __global__ void __launch_bounds__(GEMM_1D1D_SIDE *GEMM_1D1D_SIDE)
    gemm_fp8_block_1d1d_naive(gemm_1d1d_operands x, float *__restrict__ d, int64_t m, int64_t n, int64_t tiles_n)
{
    const int64_t row = blockIdx.x / tiles_n * GEMM_1D1D_SIDE + threadIdx.y;
    const int64_t column = blockIdx.x % tiles_n * GEMM_1D1D_SIDE + threadIdx.x;
    if (row < m && column < n)
        d[row * n + column] += gemm_1d1d_dot(x, row, column);
}

/* The products run on the FP32 units, not on the tensor cores. */
static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    work->flop_fp32 += 2.0 * (double)dim[0] * (double)dim[1] * (double)dim[2];
    work->flop_fp8 = 0;
}

static int launch(const struct ridge_call *call)
{
    const int64_t m = call->dim[0], n = call->dim[1];
    const int64_t tiles_n = ridge_ceil_div(n, GEMM_1D1D_SIDE), tiles = ridge_ceil_div(m, GEMM_1D1D_SIDE) * tiles_n;
    const gemm_1d1d_operands x = {(const e4m3 *)call->buffer[0],
                                  (const e4m3 *)call->buffer[1],
                                  (const float *)call->buffer[2],
                                  (const float *)call->buffer[3],
                                  call->dim[2],
                                  gemm_fp8_block_pitch_a(m),
                                  gemm_fp8_block_pitch_a(n)};
    gemm_fp8_block_1d1d_naive<<<(unsigned)tiles, dim3(GEMM_1D1D_SIDE, GEMM_1D1D_SIDE), 0, ridge_stream(call)>>>(
        x, (float *)call->buffer[4], m, n, tiles_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_1d1d_01_naive = {
    .idea = "one thread an output, FP32 accumulation on the FP32 units, scaled once a block of 128 along k",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = ridge_too_slow,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)gemm_fp8_block_1d1d_naive,
};
