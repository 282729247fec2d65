/* SPDX-License-Identifier: Apache-2.0 */
/* Reference of D = A B^T of dequantised e4m3 operands: ref = sum of products, mag = sum of absolute products, both FP32
 * [m,n]. A dequantised element and a product are rounded to FP32 once each, sums are compensated. */
#ifndef RIDGE_GEMM_FP8_REFERENCE_CUH
#define RIDGE_GEMM_FP8_REFERENCE_CUH

#include "kernels/support/compensated.cuh"
#include "kernels/support/element.cuh"
#include "kernels/support/launch.cuh"

#define GEMM_FP8_REFERENCE_TILE 32

/* `operands` has float a(int64_t row, int64_t i) and float b(int64_t column, int64_t i). */
template <typename operands>
static __global__ void __launch_bounds__(GEMM_FP8_REFERENCE_TILE *GEMM_FP8_REFERENCE_TILE)
    gemm_fp8_reference_kernel(operands x, float *__restrict__ ref, float *__restrict__ mag, int64_t m, int64_t n,
                              int64_t k, int64_t tiles_n)
{
    constexpr int tile = GEMM_FP8_REFERENCE_TILE;
    __shared__ float tile_a[tile][tile + 1], tile_b[tile][tile + 1];
    const int column_in = threadIdx.x, row_in = threadIdx.y;
    const int64_t row0 = blockIdx.x / tiles_n * tile, column0 = blockIdx.x % tiles_n * tile;
    const int64_t row = row0 + row_in, column = column0 + column_in;
    compensated sum;
    float absolute = 0;

    for (int64_t k0 = 0; k0 < k; k0 += tile) {
        const int64_t i = k0 + column_in;
        tile_a[row_in][column_in] = i < k && row < m ? x.a(row, i) : 0;
        tile_b[row_in][column_in] = i < k && column0 + row_in < n ? x.b(column0 + row_in, i) : 0;
        __syncthreads();
        for (int j = 0; j < tile; j++) {
            const float product = __fmul_rn(tile_a[row_in][j], tile_b[column_in][j]);
            sum.add(product);
            absolute += fabsf(product);
        }
        __syncthreads();
    }
    if (row < m && column < n) {
        ref[row * n + column] = sum.value();
        mag[row * n + column] = absolute;
    }
}

template <typename operands>
static int gemm_fp8_reference(const struct ridge_call *call, operands x, float *ref, float *mag)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t tiles_m = ridge_ceil_div(m, GEMM_FP8_REFERENCE_TILE);
    const int64_t tiles_n = ridge_ceil_div(n, GEMM_FP8_REFERENCE_TILE);
    const dim3 block(GEMM_FP8_REFERENCE_TILE, GEMM_FP8_REFERENCE_TILE);
    gemm_fp8_reference_kernel<<<(unsigned)(tiles_m * tiles_n), block, 0, ridge_stream(call)>>>(x, ref, mag, m, n, k,
                                                                                               tiles_n);
    return RIDGE_LAUNCHED(call);
}

#endif
