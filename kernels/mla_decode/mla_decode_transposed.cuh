/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed products for few rows: S^T = K Q^T puts 64 keys on wgmma's M side and the `heads` rows on its N side, so
 * that no row is padding beyond eight; O^T = V^T P^T reads V^T from the block of keys where it lies, as an MN-major
 * operand.
 *
 * Each of two consumer warpgroups has every other block for itself, with sums of its own for all 512 columns; they meet
 * only at the end of a piece. Shared memory: two blocks of keys, Q, probabilities and maxima of each warpgroup, what
 * they exchange at the end, barriers.
 */
#ifndef RIDGE_MLA_DECODE_TRANSPOSED_CUH
#define RIDGE_MLA_DECODE_TRANSPOSED_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"

template <int heads> struct mla_transposed {
    static constexpr int q_tile_bytes = heads * 128, q_bytes = mla_tiles * q_tile_bytes;
    static constexpr int sums = heads / 2; /* accumulators a thread of a 64 x heads tile */
    static constexpr int own = heads / 4;  /* columns of it that the thread has: heads lane % 4 * 2 and the next of 8 */
    static constexpr int value_tiles = mla_d_v / 64;
    static constexpr int q = 2 * mla_block_bytes, p = q + q_bytes, warp_max = p + 2 * heads * 128;
    static constexpr int warp_sum = warp_max + 2 * 4 * heads * 4, totals = warp_sum + 2 * 4 * heads * 4;
    static constexpr int exchange = totals + 2 * heads * 8, barriers = exchange + 2 * sums * 128 * 4;
    static constexpr int full = barriers, empty = full + 2 * mla_tiles * 8, q_full = empty + 16, q_empty = q_full + 8;
    static constexpr int bytes = q_empty + 8;
    static_assert(bytes <= 232448, "more than the shared memory of a block");
};

/* Sums of a warpgroup: out[tile] is columns 64 tile .. of O^T, the rest is by the thread's columns of S^T. */
template <int heads> struct mla_transposed_state {
    float out[mla_transposed<heads>::value_tiles][heads / 2];
    float max[heads / 4], sum[heads / 4];
};

/* Which of the thread's columns register i of a tile belongs to, and that column's number. */
static __device__ __forceinline__ constexpr int mla_own(int i)
{
    return i / 4 * 2 + i % 2;
}

static __device__ __forceinline__ int mla_head(int own)
{
    return own / 2 * 8 + threadIdx.x % 4 * 2 + own % 2;
}

/* value[j] becomes that of all rows of the warpgroup's tile: maximum or sum. Named barrier 1 + warpgroup. */
template <int heads, bool maximum>
static __device__ __forceinline__ void mla_reduce_columns(float (&value)[heads / 4], uint32_t exchange, int warpgroup)
{
    const int warp = threadIdx.x / 32 % 4;
    const uint32_t mine = exchange + warpgroup * 4 * heads * 4;
#pragma unroll
    for (int j = 0; j < heads / 4; j++) {
#pragma unroll
        for (int apart = 4; apart < 32; apart *= 2) {
            const float other = __shfl_xor_sync(~0u, value[j], apart);
            value[j] = maximum ? fmaxf(value[j], other) : value[j] + other;
        }
        if (threadIdx.x % 32 < 4)
            st_shared_f32(mine + (warp * heads + mla_head(j)) * 4, value[j]);
    }
    named_sync(1 + warpgroup, 128);
#pragma unroll
    for (int j = 0; j < heads / 4; j++) {
        value[j] = ld_shared_f32(mine + mla_head(j) * 4);
#pragma unroll
        for (int w = 1; w < 4; w++) {
            const float other = ld_shared_f32(mine + (w * heads + mla_head(j)) * 4);
            value[j] = maximum ? fmaxf(value[j], other) : value[j] + other;
        }
    }
}

/* S^T of a block: rows are its keys. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_scores(float (&score)[heads / 2], uint32_t base, int block,
                                                             uint32_t parity)
{
    using memory = mla_transposed<heads>;
    const uint32_t keys = base + block * mla_block_bytes;
#pragma unroll
    for (int tile = 0; tile < mla_tiles; tile++) {
        mbarrier_wait(base + memory::full + (block * mla_tiles + tile) * 8, parity);
        wgmma_fence();
        const uint64_t a = wgmma_descriptor_128(keys + tile * mla_tile_bytes);
        const uint64_t b = wgmma_descriptor_128(base + memory::q + tile * memory::q_tile_bytes);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            wgmma_bf16_ss(score, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(b, slice * 32),
                          tile + slice > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
}

/* Keys that a row does not see become -inf; the first row sees the fewest. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_mask(float (&score)[heads / 2], const mla_problem &problem,
                                                           int length, int key)
{
    const int row0 = blockIdx.x * heads;
    if (key + mla_block_keys <= mla_visible(problem, length, row0))
        return;
#pragma unroll
    for (int i = 0; i < heads / 2; i++)
        if (key + wgmma_row(threadIdx.x, i) >= mla_visible(problem, length, row0 + mla_head(mla_own(i))))
            score[i] = -INFINITY;
}

/* Scores become probabilities under the raised maximum; all sums are scaled to it. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_softmax(mla_transposed_state<heads> &state,
                                                              float (&score)[heads / 2], uint32_t base, int warpgroup)
{
    float max[heads / 4], factor[heads / 4];
    bool raised = false;
#pragma unroll
    for (int j = 0; j < heads / 4; j++)
        max[j] = -INFINITY;
#pragma unroll
    for (int i = 0; i < heads / 2; i++)
        max[mla_own(i)] = fmaxf(max[mla_own(i)], score[i]);
    mla_reduce_columns<heads, true>(max, base + mla_transposed<heads>::warp_max, warpgroup);
#pragma unroll
    for (int j = 0; j < heads / 4; j++) {
        max[j] = fmaxf(max[j], state.max[j]);
        factor[j] = mla_factor(state.max[j], max[j]);
        raised |= factor[j] != 1;
        state.max[j] = max[j];
        state.sum[j] *= factor[j];
        max[j] = max[j] == -INFINITY ? 0 : max[j] * mla_scale_log2;
    }
#pragma unroll
    for (int i = 0; i < heads / 2; i++) {
        score[i] = ex2(fmaf(score[i], mla_scale_log2, -max[mla_own(i)]));
        state.sum[mla_own(i)] += score[i];
    }
    if (raised) {
#pragma unroll
        for (int tile = 0; tile < mla_d_v / 64; tile++)
#pragma unroll
            for (int i = 0; i < heads / 2; i++)
                state.out[tile][i] *= factor[mla_own(i)];
    }
}

/* P^T to shared memory as [heads][64 keys]: the columns of the fragments become rows. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_store_p(const float (&p)[heads / 2], uint32_t tile)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int i = 0; i < heads / 2; i += 8)
        stmatrix_trans_x4(tile + swizzle_128(i * 2 + lane / 16 * 8 + lane % 8, warp * 32 + lane / 8 % 2 * 16),
                          cvt_bf16x2_f32(p[i], p[i + 1]), cvt_bf16x2_f32(p[i + 2], p[i + 3]),
                          cvt_bf16x2_f32(p[i + 4], p[i + 5]), cvt_bf16x2_f32(p[i + 6], p[i + 7]));
    fence_proxy_async();
}

template <int heads>
static __device__ __forceinline__ void mla_transposed_values(mla_transposed_state<heads> &state, uint32_t keys,
                                                             uint32_t p)
{
    const uint64_t b = wgmma_descriptor_128(p);
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < mla_d_v / 64; tile++) {
        const uint64_t a = wgmma_descriptor_128(keys + tile * mla_tile_bytes, 1024, mla_tile_bytes);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            wgmma_bf16_ss<1, 0>(state.out[tile], wgmma_descriptor_advance(a, slice * 2048),
                                wgmma_descriptor_advance(b, slice * 32), 1);
    }
    wgmma_commit();
    wgmma_wait<0>();
#pragma unroll
    for (int tile = 0; tile < mla_d_v / 64; tile++)
        wgmma_settle(state.out[tile]);
}

/* One block of keys of a request. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_block(mla_transposed_state<heads> &state, uint32_t base,
                                                            int warpgroup, uint32_t parity, const mla_problem &problem,
                                                            int length, int key)
{
    using memory = mla_transposed<heads>;
    const uint32_t keys = base + warpgroup * mla_block_bytes, p = base + memory::p + warpgroup * heads * 128;
    float score[heads / 2];
    mla_transposed_scores<heads>(score, base, warpgroup, parity);
    if (length - key < mla_block_keys)
        mla_clear_values(keys, length - key);
    mla_transposed_mask<heads>(score, problem, length, key);
    mla_transposed_softmax<heads>(state, score, base, warpgroup);
    mla_transposed_store_p<heads>(score, p);
    named_sync(1 + warpgroup, 128);
    mla_transposed_values<heads>(state, keys, p);
    mla_release(base + memory::empty + warpgroup * 8);
}

/* Both warpgroups' maxima and sums (named barrier 3): state.sum becomes the total, state.max the maximum, factor what
 * this warpgroup's sums are worth. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_totals(mla_transposed_state<heads> &state, uint32_t base,
                                                             int warpgroup, float (&factor)[heads / 4])
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

/* Each warpgroup gives the other its sums of half of the columns, a tile at a time, and finishes its own half. */
template <int heads, typename function>
static __device__ __forceinline__ void mla_transposed_merge(mla_transposed_state<heads> &state, uint32_t base,
                                                            int warpgroup, const float (&factor)[heads / 4],
                                                            const function &store)
{
    constexpr int half = mla_d_v / 128;
    const uint32_t exchange = base + mla_transposed<heads>::exchange + threadIdx.x % 128 * 4;
#pragma unroll
    for (int tile = 0; tile < half; tile++) {
        float mine[heads / 2];
#pragma unroll
        for (int i = 0; i < heads / 2; i++) {
            const float give = warpgroup ? state.out[tile][i] : state.out[half + tile][i];
            st_shared_f32(exchange + (warpgroup * (heads / 2) + i) * 512, give * factor[mla_own(i)]);
        }
        named_sync(3, 256);
#pragma unroll
        for (int i = 0; i < heads / 2; i++) {
            const float keep = warpgroup ? state.out[half + tile][i] : state.out[tile][i];
            mine[i] = keep * factor[mla_own(i)] + ld_shared_f32(exchange + ((1 - warpgroup) * (heads / 2) + i) * 512);
        }
        named_sync(3, 256);
        store(mine, (warpgroup * half + tile) * 64);
    }
}

/* Columns column0 .. + 63 of every row of the piece. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_store(const mla_tile_arguments &arguments, const mla_piece &piece,
                                                            int row0, const mla_transposed_state<heads> &state,
                                                            const float (&value)[heads / 2], int column0)
{
    const mla_problem &problem = arguments.problem;
    const int rows = mla_rows_of(problem);
#pragma unroll
    for (int i = 0; i < heads / 2; i++) {
        const int row = row0 + mla_head(mla_own(i)), column = column0 + wgmma_row(threadIdx.x, i);
        const float sum = state.sum[mla_own(i)], mean = sum > 0 || sum != sum ? value[i] / sum : 0;
        if (row >= rows)
            continue;
        if (piece.whole)
            problem.out[((int64_t)piece.request * rows + row) * mla_d_v + column] = __float2bfloat16_rn(mean);
        else
            __stcg(arguments.split.part_out + ((int64_t)piece.slot * rows + row) * mla_d_v + column, mean);
    }
}

template <int heads>
static __device__ __forceinline__ void mla_transposed_store_lse(const mla_tile_arguments &arguments,
                                                                const mla_piece &piece, int row0,
                                                                const mla_transposed_state<heads> &state)
{
    const mla_problem &problem = arguments.problem;
#pragma unroll
    for (int j = 0; j < heads / 4; j++) {
        const int row = row0 + mla_head(j);
        const float sum = state.sum[j];
        const float lse = sum > 0 || sum != sum ? state.max[j] * mla_scale_log2 + log2f(sum) : -INFINITY;
        if (row >= mla_rows_of(problem))
            continue;
        if (piece.whole)
            problem.lse[mla_lse_at(problem, piece.request, row)] = lse == -INFINITY ? INFINITY : lse * mla_ln2;
        else
            __stcg(arguments.split.part_lse + (int64_t)piece.slot * mla_rows_of(problem) + row, lse);
    }
}

template <int heads>
static __device__ __forceinline__ void mla_transposed_consume(const mla_tile_arguments &arguments, uint32_t base,
                                                              int warpgroup)
{
    using memory = mla_transposed<heads>;
    const int row0 = blockIdx.x * heads;
    uint32_t parity = 0, q_parity = 0;
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        mla_transposed_state<heads> state = {};
        float factor[heads / 4];
#pragma unroll
        for (int j = 0; j < heads / 4; j++)
            state.max[j] = -INFINITY;
        mbarrier_wait(base + memory::q_full, q_parity);
        q_parity ^= 1;
#pragma unroll 1
        for (int block = piece.first + warpgroup; block < piece.last; block += 2, parity ^= 1)
            mla_transposed_block<heads>(state, base, warpgroup, parity, arguments.problem, piece.length,
                                        block * mla_block_keys);
        mla_release(base + memory::q_empty);
        mla_transposed_totals<heads>(state, base, warpgroup, factor);
        mla_transposed_merge<heads>(state, base, warpgroup, factor, [&](const float(&value)[heads / 2], int column0) {
            mla_transposed_store<heads>(arguments, piece, row0, state, value, column0);
        });
        if (warpgroup == 0 && threadIdx.x < 4)
            mla_transposed_store_lse<heads>(arguments, piece, row0, state);
    });
}

template <int heads>
static __device__ __forceinline__ void mla_transposed_load(const mla_tile_arguments &arguments, uint32_t base,
                                                           int stage, int page, int key, uint32_t parity)
{
    using memory = mla_transposed<heads>;
    if (threadIdx.x % 32 == 0) {
        mbarrier_wait(base + memory::empty + stage * 8, parity ^ 1);
        for (int tile = 0; tile < mla_tiles; tile++)
            mla_load_keys(arguments, base + stage * mla_block_bytes, tile, page, key,
                          base + memory::full + (stage * mla_tiles + tile) * 8);
    }
    __syncwarp();
}

template <int heads>
static __device__ __forceinline__ void mla_transposed_produce(const mla_tile_arguments &arguments, uint32_t base)
{
    using memory = mla_transposed<heads>;
    const mla_problem &problem = arguments.problem;
    uint32_t q_parity = 0, parity[2] = {0, 0};
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        mla_pages pages = {-32, 0};
        if (threadIdx.x % 32 == 0) {
            const int row = piece.request * mla_rows_of(problem) + (int)blockIdx.x * heads;
            mbarrier_wait(base + memory::q_empty, q_parity ^ 1);
            mbarrier_arrive_expect(base + memory::q_full, memory::q_bytes);
            for (int tile = 0; tile < mla_tiles; tile++)
                tma_load(base + memory::q + tile * memory::q_tile_bytes, &arguments.q, tile * 64, row,
                         base + memory::q_full);
        }
        __syncwarp();
        q_parity ^= 1;
#pragma unroll 1
        for (int block = piece.first; block < piece.last; block++) {
            const int stage = block - piece.first & 1;
            const int page = mla_page_of_block(problem, pages, piece.request, block, piece.last);
            mla_transposed_load<heads>(arguments, base, stage, page, block * mla_block_keys,
                                       stage ? parity[1] : parity[0]);
            parity[0] ^= !stage;
            parity[1] ^= stage;
        }
    });
}

#endif
