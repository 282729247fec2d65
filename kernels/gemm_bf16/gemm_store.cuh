/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary stores of results: any m and n. */
#ifndef RIDGE_GEMM_STORE_CUH
#define RIDGE_GEMM_STORE_CUH

#include "kernels/ptx/arithmetic.cuh"
#include "kernels/support/element.cuh"

#include <stdint.h>

/* D [m,n], row-major. */
struct gemm_output {
    bf16 *d;
    int64_t m, n;
};

/* Elements (row, column) and (row, column + 1) of D; column is even. `even`: n is even, so that the pair is a word. */
template <bool even>
static __device__ __forceinline__ void gemm_store_pair(const gemm_output &out, int64_t row, int64_t column, float x,
                                                       float y)
{
    bf16 *d = out.d + row * out.n + column;
    if (even) {
        if (row < out.m && column < out.n)
            *(uint32_t *)d = cvt_bf16x2_f32(x, y);
    } else {
        if (row < out.m && column < out.n)
            d[0] = to_bf16(x);
        if (row < out.m && column + 1 < out.n)
            d[1] = to_bf16(y);
    }
}

/* Where unit `unit` of 16 bytes of a row is staged: rows of 128 bytes, units exchanged so that no bank is met twice. */
static __device__ __forceinline__ uint32_t gemm_staged(uint32_t place, int row, int unit)
{
    return place + row * 128 + (unit ^ row % 8) * 16;
}

#endif
