/* SPDX-License-Identifier: Apache-2.0 */
/* A softmax whose common case is short: the threads of a row look for its largest score only where one of a warp's
 * scores is 2^8 times as probable as its row's maximum so far, which is then raised; BF16 and FP32 have room for that.
 */
#ifndef RIDGE_MLA_DECODE_EXPONENTS_CUH
#define RIDGE_MLA_DECODE_EXPONENTS_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"

static __device__ __forceinline__ float mla_base(float max)
{
    return max == -INFINITY ? 0 : max * mla_scale_log2;
}

/* A row that has none yet takes its largest exponent as maximum, others one that is 2^8 times as probable. */
static __device__ __forceinline__ void mla_raise_late(mla_row_pair &rows, const float (&mine)[2],
                                                      const float (&limit)[2], float (&factor)[2])
{
    const float old[2] = {rows.max[0], rows.max[1]};
    for (int half = 0; half < 2; half++) {
        float row = fmaxf(mine[half], __shfl_xor_sync(~0u, mine[half], 1));
        row = fmaxf(row, __shfl_xor_sync(~0u, row, 2));
        if (row > limit[half])
            rows.max[half] = (row + mla_base(old[half])) / mla_scale_log2;
    }
    mla_factors(factor, old, rows.max);
    for (int half = 0; half < 2; half++)
        rows.sum[half] *= factor[half];
}

/* Scores become exponents of 2 below the maximum; factor: what sums so far are worth. */
static __device__ __forceinline__ void mla_exponents(mla_row_pair &rows, float (&score)[32], float (&factor)[2])
{
    const float base[2] = {mla_base(rows.max[0]), mla_base(rows.max[1])};
    float limit[2], high[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int half = 0; half < 2; half++)
        limit[half] = rows.max[half] == -INFINITY ? -INFINITY : 8;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        score[i] = fmaf(score[i], mla_scale_log2, -base[i / 2 % 2]);
        high[i % 4] = fmaxf(high[i % 4], score[i]);
    }
    const float mine[2] = {fmaxf(high[0], high[1]), fmaxf(high[2], high[3])};
    factor[0] = factor[1] = 1;
    if (__any_sync(~0u, mine[0] > limit[0] || mine[1] > limit[1])) {
        mla_raise_late(rows, mine, limit, factor);
#pragma unroll
        for (int i = 0; i < 32; i++)
            score[i] += base[i / 2 % 2] - mla_base(rows.max[i / 2 % 2]);
    }
}

/* Exponents become probabilities. */
static __device__ __forceinline__ void mla_probabilities(mla_row_pair &rows, float (&score)[32], uint32_t (&p)[4][4])
{
#pragma unroll
    for (int i = 0; i < 32; i++) {
        score[i] = ex2(score[i]);
        rows.sum[i / 2 % 2] += score[i];
    }
    mla_round(p, score);
}

#endif
