/* SPDX-License-Identifier: Apache-2.0 */
/* Reference of D = A B^T, A [m,k], B [n,k]: ref = sum of products, mag = sum of absolute products, both FP32 [m,n].
 * Products are rounded to FP32 (exact for BF16 operands), sums are compensated. */
#ifndef RIDGE_SUPPORT_GEMM_REFERENCE_CUH
#define RIDGE_SUPPORT_GEMM_REFERENCE_CUH

#include "kernels/support/compensated.cuh"
#include "kernels/support/launch.cuh"

#define GEMM_REFERENCE_TILE 32

template <typename element>
__global__ void __launch_bounds__(GEMM_REFERENCE_TILE *GEMM_REFERENCE_TILE)
    gemm_reference_kernel(const element *__restrict__ a, const element *__restrict__ b, float *__restrict__ ref,
                          float *__restrict__ mag, int64_t m, int64_t n, int64_t k, int64_t tiles_n)
{
    constexpr int tile = GEMM_REFERENCE_TILE;
    __shared__ float tile_a[tile][tile + 1], tile_b[tile][tile + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    const int64_t row0 = blockIdx.x / tiles_n * tile, column0 = blockIdx.x % tiles_n * tile;
    const int64_t row = row0 + y, column = column0 + x;
    compensated sum;
    float absolute = 0;

    for (int64_t k0 = 0; k0 < k; k0 += tile) {
        const bool inside = k0 + x < k;
        tile_a[y][x] = inside && row < m ? (float)a[row * k + k0 + x] : 0;
        tile_b[y][x] = inside && column0 + y < n ? (float)b[(column0 + y) * k + k0 + x] : 0;
        __syncthreads();
        for (int i = 0; i < tile; i++) {
            const float product = __fmul_rn(tile_a[y][i], tile_b[x][i]);
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

template <typename element> static int gemm_reference(const struct ridge_call *call, float *ref, float *mag)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int64_t tiles_m = ridge_ceil_div(m, GEMM_REFERENCE_TILE), tiles_n = ridge_ceil_div(n, GEMM_REFERENCE_TILE);
    const dim3 block(GEMM_REFERENCE_TILE, GEMM_REFERENCE_TILE);
    gemm_reference_kernel<element><<<(unsigned)(tiles_m * tiles_n), block, 0, ridge_stream(call)>>>(
        (const element *)call->buffer[0], (const element *)call->buffer[1], ref, mag, m, n, k, tiles_n);
    return RIDGE_LAUNCHED(call);
}

#endif
