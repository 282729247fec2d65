/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_GEMM_1D1D_NAIVE_CUH
#define RIDGE_GEMM_1D1D_NAIVE_CUH

#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_reference.cuh"

#define GEMM_1D1D_SIDE 16

/* One element of A B^T. */
static __device__ __forceinline__ float gemm_1d1d_dot(const gemm_1d1d_operands &x, int64_t row, int64_t column)
{
    float total = 0;
    for (int64_t i = 0; i < x.k; i += 128) {
        const int64_t end = i + 128 < x.k ? i + 128 : x.k;
        float sum = 0;
        for (int64_t j = i; j < end; j++)
            sum += (float)x.pa[row * x.k + j] * (float)x.pb[column * x.k + j];
        total += sum * (x.scale_a[i / 128 * x.pitch_a + row] * x.scale_b[i / 128 * x.pitch_b + column]);
    }
    return total;
}

#endif
