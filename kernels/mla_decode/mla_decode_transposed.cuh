/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed products for few rows: S^T = K Q^T puts 64 keys on wgmma's M side and the `heads` rows on its N side, so
 * that no row is padding beyond sixteen; O^T = V^T P^T reads V^T from the block of keys where it lies, as an MN-major
 * operand. What 07 and 08 share: the two slots of 64 keys, the softmax over columns, and both ends of a piece.
 */
#ifndef RIDGE_MLA_DECODE_TRANSPOSED_CUH
#define RIDGE_MLA_DECODE_TRANSPOSED_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"
#include "kernels/ptx/grid.cuh"

template <int heads> struct mla_transposed {
    static constexpr int q_tile_bytes = heads * 128, q_bytes = mla_tiles * q_tile_bytes;
    static constexpr int sums = heads / 2; /* accumulators a thread of a 64 x heads tile */
    static constexpr int own = heads / 4;  /* columns of it that the thread has: heads lane % 4 * 2 and the next of 8 */
    static constexpr int value_tiles = mla_d_v / 64;
    static constexpr int p_bytes = heads * 128; /* probabilities of 64 keys; room for four */
    static constexpr int q = 2 * mla_block_bytes, p = q + q_bytes, warp_max = p + 4 * p_bytes;
    static constexpr int warp_sum = warp_max + 2 * 4 * heads * 4, totals = warp_sum + 2 * 4 * heads * 4;
    static constexpr int exchange = totals + 2 * heads * 8, barriers = exchange + 2 * sums * 128 * 4;
    static constexpr int full = barriers, empty = full + 2 * mla_tiles * 8, q_full = empty + 16, q_empty = q_full + 8;
    static constexpr int bytes = q_empty + 8;
    static_assert(bytes <= 232448, "more than the shared memory of a block");
};

/* Arrivals that give back a slot, and q. One thread. */
template <int heads> static __device__ __forceinline__ void mla_transposed_init(uint32_t base, int slot, int q)
{
    using memory = mla_transposed<heads>;
    for (int i = 0; i < 2 * mla_tiles; i++)
        mbarrier_init(base + memory::full + i * 8, 1);
    mbarrier_init(base + memory::empty, slot);
    mbarrier_init(base + memory::empty + 8, slot);
    mbarrier_init(base + memory::q_full, 1);
    mbarrier_init(base + memory::q_empty, q);
    mbarrier_init_fence();
}

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

/* S^T of the keys in a slot, which are its rows; committed, to be waited for. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_scores(float (&score)[heads / 2], uint32_t base, int slot,
                                                             uint32_t parity)
{
    using memory = mla_transposed<heads>;
    const uint32_t keys = base + slot * mla_block_bytes;
#pragma unroll
    for (int tile = 0; tile < mla_tiles; tile++) {
        if (tile == 0)
            trace_begin(trace_keys);
        mbarrier_wait(base + memory::full + (slot * mla_tiles + tile) * 8, parity);
        if (tile == 0)
            trace_end(trace_keys);
        wgmma_fence();
        const uint64_t a = wgmma_descriptor_128(keys + tile * mla_tile_bytes);
        const uint64_t b = wgmma_descriptor_128(base + memory::q + tile * memory::q_tile_bytes);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            mla_wgmma_ss(score, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(b, slice * 32),
                         tile + slice > 0);
    }
    wgmma_commit();
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

/* Scores of `slots` times 64 keys become probabilities under the raised maximum; factor: what sums so far are worth. */
template <int heads, int slots>
static __device__ __forceinline__ void
mla_transposed_softmax(float (&max)[heads / 4], float (&sum)[heads / 4], float (&factor)[heads / 4],
                       float (&score)[slots][heads / 2], uint32_t base, int warpgroup)
{
    float high[heads / 4];
#pragma unroll
    for (int j = 0; j < heads / 4; j++)
        high[j] = -INFINITY;
#pragma unroll
    for (int i = 0; i < slots * heads / 2; i++)
        high[mla_own(i % (heads / 2))] = fmaxf(high[mla_own(i % (heads / 2))], score[i / (heads / 2)][i % (heads / 2)]);
    mla_reduce_columns<heads, true>(high, base + mla_transposed<heads>::warp_max, warpgroup);
#pragma unroll
    for (int j = 0; j < heads / 4; j++) {
        high[j] = fmaxf(high[j], max[j]);
        factor[j] = mla_factor(max[j], high[j]);
        max[j] = high[j];
        sum[j] *= factor[j];
        high[j] = high[j] == -INFINITY ? 0 : high[j] * mla_scale_log2;
    }
#pragma unroll
    for (int slot = 0; slot < slots; slot++)
#pragma unroll
        for (int i = 0; i < heads / 2; i++) {
            score[slot][i] = ex2(fmaf(score[slot][i], mla_scale_log2, -high[mla_own(i)]));
            sum[mla_own(i)] += score[slot][i];
        }
}

template <int heads, int tiles>
static __device__ __forceinline__ void mla_transposed_scale(float (&out)[tiles][heads / 2],
                                                            const float (&factor)[heads / 4])
{
    bool raised = false;
#pragma unroll
    for (int j = 0; j < heads / 4; j++)
        raised |= factor[j] != 1;
    if (!raised)
        return;
#pragma unroll
    for (int tile = 0; tile < tiles; tile++)
#pragma unroll
        for (int i = 0; i < heads / 2; i++)
            out[tile][i] *= factor[mla_own(i)];
}

/* P^T to shared memory as [heads][64 keys]: the columns of the fragments become rows. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_store_p(const float (&p)[heads / 2], uint32_t tile)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int i = 0; i < heads / 2; i += 8)
        stmatrix_trans_x4(tile + swizzle_128(i * 2 + lane / 16 * 8 + lane % 8, warp * 32 + lane / 8 % 2 * 16),
                          mla_pack(p[i], p[i + 1]), mla_pack(p[i + 2], p[i + 3]), mla_pack(p[i + 4], p[i + 5]),
                          mla_pack(p[i + 6], p[i + 7]));
    fence_proxy_async();
}

/* out[tile] += V^T P^T: 64 columns of values from `values` on, as rows; committed, to be waited for. */
template <int heads, int tiles>
static __device__ __forceinline__ void mla_transposed_values(float (&out)[tiles][heads / 2], uint32_t values,
                                                             uint32_t p)
{
    const uint64_t b = wgmma_descriptor_128(p);
    wgmma_fence();
#pragma unroll
    for (int tile = 0; tile < tiles; tile++) {
        const uint64_t a = wgmma_descriptor_128(values + tile * mla_tile_bytes, 1024, mla_tile_bytes);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            mla_wgmma_ss<1, 0>(out[tile], wgmma_descriptor_advance(a, slice * 2048),
                               wgmma_descriptor_advance(b, slice * 32), 1);
    }
    wgmma_commit();
}

/* Columns column0 .. + 63 of every row of the piece. */
template <int heads>
static __device__ __forceinline__ void mla_transposed_store(const mla_tile_arguments &arguments, const mla_piece &piece,
                                                            int row0, const float (&sums)[heads / 4],
                                                            const float (&value)[heads / 2], int column0)
{
    const mla_problem &problem = arguments.problem;
    const int rows = mla_rows_of(problem);
#pragma unroll
    for (int i = 0; i < heads / 2; i++) {
        const int row = row0 + mla_head(mla_own(i)), column = column0 + wgmma_row(threadIdx.x, i);
        const float sum = sums[mla_own(i)], mean = sum > 0 || sum != sum ? value[i] / sum : 0;
        if (row >= rows)
            continue;
        if (piece.whole)
            problem.out[((int64_t)piece.request * rows + row) * mla_d_v + column] = mla_from_float(mean);
        else
            __stcg(arguments.split.part_out + ((int64_t)piece.slot * rows + row) * mla_d_v + column, mean);
    }
}

template <int heads>
static __device__ __forceinline__ void
mla_transposed_store_lse(const mla_tile_arguments &arguments, const mla_piece &piece, int row0,
                         const float (&max)[heads / 4], const float (&sums)[heads / 4])
{
    const mla_problem &problem = arguments.problem;
#pragma unroll
    for (int j = 0; j < heads / 4; j++) {
        const int row = row0 + mla_head(j);
        const float sum = sums[j];
        const float lse = sum > 0 || sum != sum ? max[j] * mla_scale_log2 + log2f(sum) : -INFINITY;
        if (row >= mla_rows_of(problem))
            continue;
        if (piece.whole)
            problem.lse[mla_lse_at(problem, piece.request, row)] = lse == -INFINITY ? INFINITY : lse * mla_ln2;
        else
            __stcg(arguments.split.part_lse + (int64_t)piece.slot * mla_rows_of(problem) + row, lse);
    }
}

/* `hint`: under the policy of L2 that the arguments name. */
template <int heads, bool hint>
static __device__ __forceinline__ void mla_transposed_load(const mla_tile_arguments &arguments, uint32_t base, int slot,
                                                           int page, int key, uint32_t parity)
{
    using memory = mla_transposed<heads>;
    if (threadIdx.x % 32 == 0) {
        mbarrier_wait(base + memory::empty + slot * 8, parity ^ 1);
        for (int tile = 0; tile < mla_tiles; tile++)
            mla_load_keys<hint>(arguments, base + slot * mla_block_bytes, tile, page, key,
                                base + memory::full + (slot * mla_tiles + tile) * 8);
    }
    __syncwarp();
}

/* Slots that a block of `slots` has beyond the piece's last key get zeros, from a page that is not there. */
template <int heads, int slots, bool hint = false>
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
        for (int block = piece.first; block < piece.last || block - piece.first & slots - 1; block++) {
            const int slot = block - piece.first & 1;
            const int page = block < piece.last ? mla_page_of_block(problem, pages, piece.request, block, piece.last)
                                                : problem.pages;
            mla_transposed_load<heads, hint>(arguments, base, slot, page, block * mla_block_keys,
                                             slot ? parity[1] : parity[0]);
            parity[0] ^= !slot;
            parity[1] ^= slot;
        }
    });
}

#endif
