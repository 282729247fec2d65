/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_GEMM_1D1D_REFERENCE_CUH
#define RIDGE_GEMM_1D1D_REFERENCE_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8_reference.cuh"

struct gemm_1d1d_operands {
    const e4m3 *pa, *pb;
    const float *scale_a, *scale_b;
    int64_t k, pitch_a, pitch_b;

    __device__ float a(int64_t row, int64_t i) const
    {
        return (float)pa[row * k + i] * scale_a[i / 128 * pitch_a + row];
    }
    __device__ float b(int64_t column, int64_t i) const
    {
        return (float)pb[column * k + i] * scale_b[i / 128 * pitch_b + column];
    }
};

static __global__ void gemm_1d1d_add_c(float *__restrict__ ref, const float *__restrict__ c, int64_t count)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count)
        ref[i] += c[i];
}

/* call's dim are m, n, k, its buffers a, b, scale_a, scale_b, d: for a part of k, those of the part. */
static inline int gemm_1d1d_reference(const struct ridge_call *call, float *ref, float *mag)
{
    const int64_t m = call->dim[0], n = call->dim[1];
    const gemm_1d1d_operands x = {(const e4m3 *)call->buffer[0],
                                  (const e4m3 *)call->buffer[1],
                                  (const float *)call->buffer[2],
                                  (const float *)call->buffer[3],
                                  call->dim[2],
                                  gemm_fp8_block_pitch_a(m),
                                  gemm_fp8_block_pitch_a(n)};
    if (gemm_fp8_reference(call, x, ref, mag))
        return 1;
    gemm_1d1d_add_c<<<(unsigned)ridge_ceil_div(m * n, 256), 256, 0, ridge_stream(call)>>>(
        ref, (const float *)call->buffer[4], m * n);
    return RIDGE_LAUNCHED(call);
}

#endif
