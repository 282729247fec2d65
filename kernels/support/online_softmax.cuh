/* SPDX-License-Identifier: Apache-2.0 */
/* Online softmax on the accumulators of a 64-row wgmma: a thread has two rows, row lane / 4 of its warp's 16 and the
 * one 8 below, in registers score[i] with i / 2 % 2 the row (wgmma_row, wgmma_column); four threads share a row. Scores
 * are those of the product; `scale` is the softmax's times log2 e. */
#ifndef RIDGE_SUPPORT_ONLINE_SOFTMAX_CUH
#define RIDGE_SUPPORT_ONLINE_SOFTMAX_CUH

#include "kernels/ptx/arithmetic.cuh"
#include "kernels/ptx/wgmma.cuh"

struct softmax_rows {
    float max[2] = {-INFINITY, -INFINITY}, sum[2] = {}; /* sum: of this thread's columns */
};

/* Scores from column `columns` on become -inf. */
template <int count> static __device__ __forceinline__ void softmax_mask(float (&score)[count], int columns)
{
    if (columns >= 2 * count)
        return;
#pragma unroll
    for (int i = 0; i < count; i++)
        if (wgmma_column(threadIdx.x, i) >= columns)
            score[i] = -INFINITY;
}

/* Raises the rows' maxima to those of the scores, takes the sums along; factor: what sums made so far are now worth. */
template <int count>
static __device__ __forceinline__ void softmax_raise(softmax_rows &rows, float (&factor)[2],
                                                     const float (&score)[count], float scale)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float high = score[2 * half];
#pragma unroll
        for (int i = 0; i < count; i++)
            if (i / 2 % 2 == half)
                high = fmaxf(high, score[i]);
        high = fmaxf(high, __shfl_xor_sync(~0u, high, 1));
        high = fmaxf(rows.max[half], fmaxf(high, __shfl_xor_sync(~0u, high, 2)));
        factor[half] = rows.max[half] == high ? 1 : ex2((rows.max[half] - high) * scale);
        rows.max[half] = high;
        rows.sum[half] *= factor[half];
    }
}

/* score becomes exp(score - max), its sum is added. */
template <int count>
static __device__ __forceinline__ void softmax_exponentiate(softmax_rows &rows, float (&score)[count], float scale)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float base = rows.max[half] == -INFINITY ? 0 : rows.max[half] * scale;
#pragma unroll
        for (int i = 0; i < count; i++)
            if (i / 2 % 2 == half) {
                score[i] = ex2(fmaf(score[i], scale, -base));
                rows.sum[half] += score[i];
            }
    }
}

template <int count>
static __device__ __forceinline__ void softmax_scale(float (&value)[count], const float (&factor)[2])
{
#pragma unroll
    for (int i = 0; i < count; i++)
        value[i] *= factor[i / 2 % 2];
}

/* To BF16, as wgmma takes them as A from registers: 16 columns a slice. */
template <int slices>
static __device__ __forceinline__ void softmax_round(uint32_t (&p)[slices][4], const float (&value)[8 * slices])
{
#pragma unroll
    for (int i = 0; i < 4 * slices; i++)
        p[i / 4][i % 4] = cvt_bf16x2_f32(value[2 * i], value[2 * i + 1]);
}

/* The whole row's sum, in each of its four threads. */
static __device__ __forceinline__ float softmax_row_sum(const softmax_rows &rows, int half)
{
    const float sum = rows.sum[half] + __shfl_xor_sync(~0u, rows.sum[half], 1);
    return sum + __shfl_xor_sync(~0u, sum, 2);
}

#endif
