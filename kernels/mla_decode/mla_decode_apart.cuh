/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed products where each of two warpgroups has every other block for itself, with sums of its own for all 512
 * columns; they meet only at the end of a piece. */
#ifndef RIDGE_MLA_DECODE_APART_CUH
#define RIDGE_MLA_DECODE_APART_CUH

#include "kernels/mla_decode/mla_decode_transposed.cuh"

/* Sums of a warpgroup: out[tile] is columns 64 tile .. of O^T, the rest is by the thread's columns of S^T. */
template <int heads> struct apart_state {
    float out[mla_transposed<heads>::value_tiles][heads / 2];
    float max[heads / 4], sum[heads / 4];
};

/* One block of keys of a request. */
template <int heads>
static __device__ __forceinline__ void apart_block(apart_state<heads> &state, uint32_t base, int warpgroup,
                                                   uint32_t parity, const mla_problem &problem, int length, int key)
{
    using memory = mla_transposed<heads>;
    const uint32_t keys = base + warpgroup * mla_block_bytes, p = base + memory::p + warpgroup * memory::p_bytes;
    float score[1][heads / 2], factor[heads / 4];
    mla_transposed_scores<heads>(score[0], base, warpgroup, parity);
    wgmma_wait<0>();
    wgmma_settle(score[0]);
    if (length - key < mla_block_keys)
        mla_clear_values(keys, length - key);
    mla_transposed_mask<heads>(score[0], problem, length, key);
    mla_transposed_softmax<heads, 1>(state.max, state.sum, factor, score, base, warpgroup);
    mla_transposed_scale<heads>(state.out, factor);
    mla_transposed_store_p<heads>(score[0], p);
    named_sync(1 + warpgroup, 128);
    mla_transposed_values<heads>(state.out, keys, p);
    wgmma_wait<0>();
#pragma unroll
    for (int tile = 0; tile < memory::value_tiles; tile++)
        wgmma_settle(state.out[tile]);
    mla_release(base + memory::empty + warpgroup * 8);
}

/* Both warpgroups' maxima and sums (named barrier 3): state.sum becomes the total, state.max the maximum, factor what
 * this warpgroup's sums are worth. */
template <int heads>
static __device__ __forceinline__ void apart_totals(apart_state<heads> &state, uint32_t base, int warpgroup,
                                                    float (&factor)[heads / 4])
{
    using memory = mla_transposed<heads>;
    mla_reduce_columns<heads, false>(state.sum, base + memory::warp_sum, warpgroup);
    const auto at = [&](int of, int j) { return base + memory::totals + (of * heads + mla_head(j)) * 8; };
    if (threadIdx.x % 128 < 4)
#pragma unroll
        for (int j = 0; j < heads / 4; j++) {
            st_shared_f32(at(warpgroup, j), state.max[j]);
            st_shared_f32(at(warpgroup, j) + 4, state.sum[j]);
        }
    named_sync(3, 256);
#pragma unroll
    for (int j = 0; j < heads / 4; j++) {
        const float other = ld_shared_f32(at(1 - warpgroup, j)), max = fmaxf(state.max[j], other);
        factor[j] = mla_factor(state.max[j], max);
        state.sum[j] = state.sum[j] * factor[j] + ld_shared_f32(at(1 - warpgroup, j) + 4) * mla_factor(other, max);
        state.max[j] = max;
    }
}

#endif
