/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seesaw: two blocks of keys under way. Warpgroup 0 makes the scores of block 0, warpgroup 1 those of block 1; each
 * multiplies its own probabilities with its half of its block's values, and then the other's probabilities with its
 * half of the other block's. While one is at its exponentials the other's products keep the tensor cores busy.
 *
 * Named barriers: 1 the maximum after block 0 is announced, 2 probabilities of block 1 and the maximum after it, 3
 * probabilities of block 0 under that maximum, 4 all warps of warpgroup 1 (6: 0) have their scores, 5 end of a request.
 *
 * staggered: the tensor cores take products first come, first served, so warpgroup 1 queues its scores behind those of
 * warpgroup 0 (barrier 7), which is then at its exponentials while they run.
 */
#ifndef RIDGE_MLA_DECODE_SEESAW_CUH
#define RIDGE_MLA_DECODE_SEESAW_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"
#include "kernels/ptx/emulate.cuh"
#include "kernels/ptx/grid.cuh"

/* How a block of keys comes: nine tiles that one thread sends; four pairs of tiles and one alone, sent by four warps;
 * the same under evict-first; one copy when both warpgroups gave the block back (the map kv_wide then takes nine
 * tiles). */
enum mla_copies { mla_tiles_alone, mla_pairs, mla_pairs_evict_first, mla_whole_blocks };

/* What belongs to a pair of blocks. */
struct mla_pair {
    int key;    /* first of block 0 */
    int length; /* of the request */
    bool two;   /* there is a block 1 */
    uint32_t parity[2];
};

static __device__ __forceinline__ int mla_valid_keys(const mla_pair &pair, int block)
{
    return pair.length - pair.key - block * mla_block_keys;
}

/* In the order in which the producer sends them. queued(): when all products wait for the tensor cores. */
template <mla_copies copies, typename function>
static __device__ __forceinline__ void mla_scores(float (&score)[32], const mla_shared &shared, int block,
                                                  uint32_t parity, const function &queued)
{
    constexpr int apart = copies == mla_whole_blocks ? 0 : copies == mla_tiles_alone ? 1 : 2;
    trace_begin(trace_scores);
    if (copies == mla_whole_blocks)
        mbarrier_wait(shared.full(block, 0), parity);
    if (block == 0) {
        mla_scores_of_tiles<apart>(score, shared, 0, parity, 0, 9, 0);
    } else {
        mla_scores_of_tiles<apart>(score, shared, 1, parity, 4, 8, 0);
        mla_scores_of_tiles<apart>(score, shared, 1, parity, 0, 4, 1);
        mla_scores_of_tiles<apart>(score, shared, 1, parity, 8, 9, 1);
    }
    wgmma_commit();
    queued();
    wgmma_wait<0>();
    wgmma_settle(score);
    trace_end(trace_scores);
}

/* Warpgroup 0, columns 0 .. 255. */
template <bool staggered, mla_copies copies>
static __device__ __forceinline__ void mla_pair_left(const mla_shared &shared, const mla_pair &pair,
                                                     float (&out)[mla_half / 2], mla_row_pair &rows)
{
    float score[32], factor[2], old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    mla_scores<copies>(score, shared, 0, pair.parity[0], [&] {
        if (staggered && pair.two)
            named_arrive(7, 256);
    });
    trace_begin(trace_softmax);
    if (mla_valid_keys(pair, 0) < mla_block_keys)
        mla_clear_values(shared.keys(0), mla_valid_keys(pair, 0));
    named_sync(6, 128);
    mla_mask(score, rows.visible, pair.key);
    mla_raise(rows.max, score);
    mla_announce(shared, 0, rows.max);
    named_arrive(1, 256);
    mla_factors(factor, old, rows.max);
    for (int half = 0; half < 2; half++)
        rows.sum[half] *= factor[half];
    mla_exponentiate(score, rows.max, rows.sum);
    mla_round(p, score);
    mla_scale_rows(out, factor);
    trace_end(trace_softmax);
    trace_begin(trace_values);
    wgmma_fence();
    mla_add_values(out, p, shared.keys(0), 0);
    wgmma_commit();

    if (pair.two) {
        old[0] = rows.max[0], old[1] = rows.max[1];
        trace_begin(trace_exchange);
        named_sync(2, 256);
        trace_end(trace_exchange);
        mla_announced(shared, 1, rows.max);
        mla_factors(factor, old, rows.max);
#pragma unroll
        for (int i = 0; i < 32; i++)
            score[i] *= factor[i / 2 % 2];
        for (int half = 0; half < 2; half++)
            rows.sum[half] *= factor[half];
    }
    uint32_t scaled[4][4];
    mla_round(scaled, score);
    mla_store_probabilities(shared.keys(0) + 8 * mla_tile_bytes, scaled);
    named_arrive(3, 256);
    wgmma_wait<0>();
    wgmma_settle(out);
    trace_end(trace_values);
    mla_release(shared.empty(0, 0));
    if (pair.two) {
        mla_scale_rows(out, factor);
        trace_begin(trace_values);
        wgmma_fence();
        mla_add_values(out, shared.keys(1) + 8 * mla_tile_bytes, shared.keys(1), 0);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_settle(out);
        trace_end(trace_values);
        mla_release(shared.empty(1, 0));
    }
}

/* Warpgroup 1, columns 256 .. 511. */
template <bool staggered, mla_copies copies>
static __device__ __forceinline__ void mla_pair_right(const mla_shared &shared, const mla_pair &pair,
                                                      float (&out)[mla_half / 2], mla_row_pair &rows)
{
    float score[32], factor[2], old[2] = {rows.max[0], rows.max[1]};
    uint32_t p[4][4];
    if (pair.two) {
        if (staggered)
            named_sync(7, 256);
        mla_scores<copies>(score, shared, 1, pair.parity[1], [] {});
        if (mla_valid_keys(pair, 1) < mla_block_keys)
            mla_clear_values(shared.keys(1), mla_valid_keys(pair, 1));
        named_sync(4, 128);
        mla_mask(score, rows.visible, pair.key + mla_block_keys);
    }
    trace_begin(trace_exchange);
    named_sync(1, 256);
    trace_end(trace_exchange);
    trace_begin(trace_softmax);
    mla_announced(shared, 0, rows.max);
    if (pair.two)
        mla_raise(rows.max, score);
    mla_factors(factor, old, rows.max);
    for (int half = 0; half < 2; half++)
        rows.sum[half] *= factor[half];
    if (pair.two) {
        mla_announce(shared, 1, rows.max);
        mla_exponentiate(score, rows.max, rows.sum);
        mla_round(p, score);
        mla_store_probabilities(shared.keys(1) + 8 * mla_tile_bytes, p);
        named_arrive(2, 256);
    }
    mla_scale_rows(out, factor);
    trace_end(trace_softmax);
    trace_begin(trace_values);
    if (pair.two) {
        wgmma_fence();
        mla_add_values(out, p, shared.keys(1), 1);
        wgmma_commit();
    }
    trace_begin(trace_exchange);
    named_sync(3, 256);
    trace_end(trace_exchange);
    wgmma_fence();
    mla_add_values(out, shared.keys(0) + 8 * mla_tile_bytes, shared.keys(0), 1);
    wgmma_commit();
    if (pair.two) {
        wgmma_wait<1>();
        mla_release(shared.empty(1, 1));
    }
    wgmma_wait<0>();
    wgmma_settle(out);
    trace_end(trace_values);
    mla_release(shared.empty(0, 1));
}

template <bool staggered, mla_copies copies>
static __device__ __forceinline__ void mla_consume(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                   int warpgroup)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    uint32_t q_parity = 0;
    mla_pair pair = {};
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        float out[mla_half / 2];
        mla_row_pair rows;
        mla_begin_rows(arguments.problem, piece, row0, out, rows);
        pair.length = piece.length;
        mbarrier_wait(shared.q_full(), q_parity);
#pragma unroll 1
        for (int block = piece.first; block < piece.last; block += 2) {
            pair.key = block * mla_block_keys;
            pair.two = block + 1 < piece.last;
            if (warpgroup == 0)
                mla_pair_left<staggered, copies>(shared, pair, out, rows);
            else
                mla_pair_right<staggered, copies>(shared, pair, out, rows);
            pair.parity[0] ^= 1;
            pair.parity[1] ^= pair.two;
        }
        mla_finish(arguments, shared, piece, (int)q_parity, row0, warpgroup, out, rows);
        q_parity ^= 1;
    });
}

/* The tiles of a block that warpgroup `reader` reads last: of block 0 the left values for 0, the others for 1; of block
 * 1 the right values for 1, the others for 0, whose last holds the probabilities that the other warpgroup reads. */
static __device__ __forceinline__ void mla_load_part(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                     int block, int reader, int page, int key, uint32_t parity)
{
    if (threadIdx.x % 32 == 0) {
        mbarrier_wait(shared.empty(block, reader), parity ^ 1);
        const int first = reader * 4, last = reader == 1 && block == 0 ? 9 : first + 4;
        for (int tile = first; tile < last; tile++)
            mla_load_keys(arguments, shared.keys(block), tile, page, key, shared.full(block, tile));
        if (reader == 0 && block == 1)
            mla_load_keys(arguments, shared.keys(block), 8, page, key, shared.full(block, 8));
    }
    __syncwarp();
}

static __device__ __forceinline__ void mla_produce(const mla_tile_arguments &arguments, const mla_shared &shared)
{
    const mla_problem &problem = arguments.problem;
    uint32_t q_parity = 0, parity[2] = {0, 0};
    mla_each_piece(arguments, [&](const mla_piece &piece) {
        mla_pages pages = {-32, 0};
        mla_produce_q(arguments, shared, piece, q_parity);
        q_parity ^= 1;
#pragma unroll 1
        for (int block = piece.first; block < piece.last; block += 2) {
            const bool two = block + 1 < piece.last;
            const int key = block * mla_block_keys;
            const int page = mla_page_of_block(problem, pages, piece.request, block, piece.last);
            const int next = two ? mla_page_of_block(problem, pages, piece.request, block + 1, piece.last) : 0;
            mla_load_part(arguments, shared, 0, 0, page, key, parity[0]);
            if (two)
                mla_load_part(arguments, shared, 1, 1, next, key + mla_block_keys, parity[1]);
            mla_load_part(arguments, shared, 0, 1, page, key, parity[0]);
            if (two)
                mla_load_part(arguments, shared, 1, 0, next, key + mla_block_keys, parity[1]);
            parity[0] ^= 1;
            parity[1] ^= two;
        }
    });
}

static __device__ __forceinline__ void mla_load_whole(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                      int block, int row, uint32_t parity)
{
    for (int reader = 0; reader < 2; reader++)
        mbarrier_wait(shared.empty(block, reader), parity ^ 1);
    mbarrier_arrive_expect(shared.full(block, 0), mla_block_bytes);
    tma_load_side_by_side(shared.keys(block), &arguments.kv_wide, 0, row, shared.full(block, 0));
}

/* By four warps: a wait of one does not keep the others from loading. */
template <mla_copies copies>
static __device__ __forceinline__ void mla_produce_wide(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                        int block, int half)
{
    constexpr bool evict_first = copies == mla_pairs_evict_first;
    mla_produce_half(
        arguments, shared, block, half,
        [&](int row, uint32_t parity) {
            if (copies == mla_whole_blocks) {
                if (half == block)
                    mla_load_whole(arguments, shared, block, row, parity);
                return;
            }
            mla_load_half<evict_first>(arguments, shared, block, half, row, parity);
            if (half != block)
                mla_load_last<evict_first>(arguments, shared, block, half, row, parity);
        },
        [&](const mla_piece &piece, uint32_t parity) { mla_produce_q(arguments, shared, piece, parity); });
}

/* blockIdx: tile of rows, part. */
template <bool staggered, mla_copies copies = mla_tiles_alone>
static __global__ void __launch_bounds__(mla_threads, 1)
    mla_seesaw_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const mla_shared shared = {shared_address(memory)};
    if (threadIdx.x == 0)
        mla_init_barriers(shared);
    emulate_begin();
    trace_open();
    __syncthreads();
    grid_launch_dependents();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        const int warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
        if (copies != mla_tiles_alone)
            mla_produce_wide<copies>(arguments, shared, warp / 2, warp % 2);
        else if (warp == 0)
            mla_produce(arguments, shared);
    } else {
        registers_take<mla_consumer_registers>();
        mla_consume<staggered, copies>(arguments, shared, warpgroup);
    }
}

#endif
