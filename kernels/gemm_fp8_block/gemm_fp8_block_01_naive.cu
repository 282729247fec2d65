/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/element.cuh"
#include "kernels/support/launch.cuh"

#define SIDE 16

static __global__ void __launch_bounds__(SIDE *SIDE)
    gemm_fp8_block_naive(const e4m3 *__restrict__ a, const e4m3 *__restrict__ b, const float *__restrict__ scale_a,
                         const float *__restrict__ scale_b, bf16 *__restrict__ d, int64_t m, int64_t n, int64_t k,
                         int64_t blocks_n)
{
    const int64_t row = blockIdx.x / blocks_n * SIDE + threadIdx.y;
    const int64_t column = blockIdx.x % blocks_n * SIDE + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int64_t pitch = (m + 3) / 4 * 4, blocks = (k + 127) / 128;
    float total = 0;
    for (int64_t block = 0; block < blocks; block++) {
        const int64_t end = block * 128 + 128 < k ? block * 128 + 128 : k;
        float sum = 0;
        for (int64_t i = block * 128; i < end; i++)
            sum += (float)a[row * k + i] * (float)b[column * k + i];
        total += sum * (scale_a[block * pitch + row] * scale_b[column / 128 * blocks + block]);
    }
    d[row * n + column] = to_bf16(total);
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
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t blocks_m = ridge_ceil_div(m, SIDE), blocks_n = ridge_ceil_div(n, SIDE);
    gemm_fp8_block_naive<<<(unsigned)(blocks_m * blocks_n), dim3(SIDE, SIDE), 0, ridge_stream(call)>>>(
        (const e4m3 *)call->buffer[0], (const e4m3 *)call->buffer[1], (const float *)call->buffer[2],
        (const float *)call->buffer[3], (bf16 *)call->buffer[4], m, n, k, blocks_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_01_naive = {
    .idea = "one thread an output, FP32 accumulation on the FP32 units, scaled once a block of 128 along k",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = ridge_too_slow,
    .issued = issued,
    .launch = launch,
    .kernel = (const void *)gemm_fp8_block_naive,
};
