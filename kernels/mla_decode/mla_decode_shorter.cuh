/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of 16 and later: as those of mla_decode_apart.cuh with shorter chains in the softmax. */
#ifndef RIDGE_MLA_DECODE_SHORTER_CUH
#define RIDGE_MLA_DECODE_SHORTER_CUH

#include "kernels/mla_decode/mla_decode_ends.cuh"

constexpr int shorter_own = ends_rows / 4; /* columns of S^T that a thread has */

/* value[j] becomes that of all lanes with the same columns: maximum or sum. */
template <bool maximum> static __device__ __forceinline__ void shorter_reduce_lanes(float (&value)[shorter_own])
{
#pragma unroll
    for (int apart = 4; apart < 32; apart *= 2)
#pragma unroll
        for (int j = 0; j < shorter_own; j++) {
            const float other = __shfl_xor_sync(~0u, value[j], apart);
            value[j] = maximum ? fmaxf(value[j], other) : value[j] + other;
        }
}

/* high[j] becomes the column's maximum over the warpgroup's tile and the blocks before, as exponents of 2 have it;
 * sums so far are worth `factor` of what they were. Named barrier 1 + warpgroup. */
static __device__ __forceinline__ void shorter_raise(ends_state &state, float (&high)[shorter_own],
                                                     float (&factor)[shorter_own], uint32_t maxima, int warpgroup)
{
    shorter_reduce_lanes<true>(high);
    if (threadIdx.x % 32 < 4)
#pragma unroll
        for (int j = 0; j < shorter_own; j++)
            st_shared_f32(maxima + (threadIdx.x / 32 % 4 * ends_rows + mla_head(j)) * 4, high[j]);
    named_sync(1 + warpgroup, 128);
    float2 other[4][shorter_own / 2];
#pragma unroll
    for (int w = 0; w < 4; w++)
#pragma unroll
        for (int j = 0; j < shorter_own; j += 2)
            other[w][j / 2] = ld_shared_v2_f32(maxima + (w * ends_rows + mla_head(j)) * 4);
#pragma unroll
    for (int j = 0; j < shorter_own; j++) {
        const auto of = [&](int w) { return j % 2 ? other[w][j / 2].y : other[w][j / 2].x; };
        const float now = fmaxf(fmaxf(fmaxf(of(0), of(1)), fmaxf(of(2), of(3))), state.max[j]);
        factor[j] = mla_factor(state.max[j], now);
        state.max[j] = now;
        state.sum[j] *= factor[j];
        high[j] = now == -INFINITY ? 0 : now * mla_scale_log2;
    }
}

/* A block's scores become probabilities, and sums the block's too; factor: what sums of values are worth. seen: keys
 * that the tile's first row sees, which sees the fewest. */
static __device__ __forceinline__ void shorter_probabilities(ends_state &state, float (&score)[ends_rows / 2],
                                                             float (&factor)[shorter_own], uint32_t base, int warpgroup,
                                                             uint32_t parity, const mla_problem &problem, int length,
                                                             int key, int seen)
{
    float high[shorter_own];
    mla_transposed_scores<ends_rows>(score, base, warpgroup, parity);
    wgmma_wait<0>();
    wgmma_settle(score);
    if (length - key < mla_block_keys)
        mla_clear_values(base + warpgroup * mla_block_bytes, length - key);
    if (key + mla_block_keys > seen)
        mla_transposed_mask<ends_rows>(score, problem, length, key);
#pragma unroll
    for (int j = 0; j < shorter_own; j++)
        high[j] = fmaxf(score[j / 2 * 4 + j % 2], score[j / 2 * 4 + j % 2 + 2]);
    shorter_raise(state, high, factor, base + mla_transposed<ends_rows>::warp_max + warpgroup * 4 * ends_rows * 4,
                  warpgroup);
#pragma unroll
    for (int i = 0; i < ends_rows / 2; i++) {
        score[i] = ex2(fmaf(score[i], mla_scale_log2, -high[mla_own(i)]));
        state.sum[mla_own(i)] += score[i];
    }
}

/* As apart_block. */
static __device__ __forceinline__ void shorter_block(ends_state &state, uint32_t base, int warpgroup, uint32_t parity,
                                                     const mla_problem &problem, int length, int key, int seen)
{
    using memory = mla_transposed<ends_rows>;
    const uint32_t keys = base + warpgroup * mla_block_bytes, p = base + memory::p + warpgroup * memory::p_bytes;
    float score[ends_rows / 2], factor[shorter_own];
    shorter_probabilities(state, score, factor, base, warpgroup, parity, problem, length, key, seen);
    mla_transposed_store_p<ends_rows>(score, p);
    mla_transposed_scale<ends_rows>(state.out, factor);
    named_sync(1 + warpgroup, 128);
    mla_transposed_values<ends_rows>(state.out, keys, p);
    wgmma_wait<0>();
#pragma unroll
    for (int tile = 0; tile < memory::value_tiles; tile++)
        wgmma_settle(state.out[tile]);
    mla_release(base + memory::empty + warpgroup * 8);
}

#endif
