/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In turn, quarter by quarter. A pair of blocks is a chain through shared memory: keys arrive, scores, exponentials,
 * values, and keys are asked for again. Its links are shorter here, and products of the two warpgroups, which delay
 * each other where they run at once and cost power, follow each other more often:
 *
 *   warpgroup 0   scores 0, softmax 0, P0 V0 left,             P1 V1 left
 *   warpgroup 1             scores 1,  P0 V0 right, softmax 1, P1 V1 right
 *
 * Values are multiplied 128 columns at a time, a quarter of a block, and its two tiles are given back. A quarter is
 * queued before the probabilities are laid down for the other warpgroup; so it is before the exponents of block 1, with
 * the next one between them and the exponentials. Scores of block 1 queue behind those of block 0.
 */
#ifndef RIDGE_MLA_DECODE_QUARTERS_CUH
#define RIDGE_MLA_DECODE_QUARTERS_CUH

#include "kernels/mla_decode/mla_decode_exponents.cuh"
#include "kernels/mla_decode/mla_decode_in_turn.cuh"

constexpr int mla_quarters_bytes = mla_shared_bytes + 10 * 8;
static_assert(mla_quarters_bytes <= 232448, "more than the shared memory of a block");

/* A named barrier beside those of in turn: scores of block 0 are queued. Behind a piece 15 meets in it
 * (mla_meet_barrier). */
constexpr int mla_scores_queued = 6;

struct mla_quarters : mla_shared {
    /* Quarter 0 to 3 of a block, two tiles; 4: the last tile. */
    __device__ uint32_t given_back(int block, int quarter) const
    {
        return base + mla_shared_bytes + (block * 5 + quarter) * 8;
    }
};

static __device__ __forceinline__ void mla_quarters_init(const mla_quarters &shared)
{
    for (int i = 0; i < 10; i++)
        mbarrier_init(shared.given_back(i / 5, i % 5), 4);
    mla_init_barriers(shared);
}

/* A warpgroup's state for a request. */
struct mla_quarters_state {
    float out[2][64]; /* quarters */
    uint32_t q[4][4]; /* last tile of Q */
    mla_row_pair rows;
};

/* A quarter of the values of a block, which are still being added on return; probabilities in registers or, rows of
 * 64 keys, in shared memory. */
static __device__ __forceinline__ void mla_add_quarter(float (&out)[2][64], const uint32_t (&p)[4][4], uint32_t keys,
                                                       int quarter)
{
    const uint64_t values = wgmma_descriptor_128(keys + quarter * 2 * mla_tile_bytes, 1024, mla_tile_bytes);
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        mla_wgmma_rs<1>(out[quarter % 2], p[slice], wgmma_descriptor_advance(values, slice * 2048), 1);
    wgmma_commit();
}

static __device__ __forceinline__ void mla_add_quarter(float (&out)[2][64], uint32_t p, uint32_t keys, int quarter)
{
    const uint64_t values = wgmma_descriptor_128(keys + quarter * 2 * mla_tile_bytes, 1024, mla_tile_bytes);
    const uint64_t a = wgmma_descriptor_128(p);
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        mla_wgmma_ss<0, 1>(out[quarter % 2], wgmma_descriptor_advance(a, slice * 32),
                           wgmma_descriptor_advance(values, slice * 2048), 1);
    wgmma_commit();
}

static __device__ __forceinline__ void mla_quarters_settle(mla_quarters_state &state)
{
    wgmma_settle(state.out[0]);
    wgmma_settle(state.out[1]);
}

static __device__ __forceinline__ void mla_quarters_scale(mla_quarters_state &state, const float (&factor)[2])
{
    if (!__any_sync(~0u, factor[0] != 1 || factor[1] != 1))
        return;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        state.out[i / 64][i % 64] *= factor[i / 2 % 2];
}

/* The other warpgroup raised the maximum. */
static __device__ __forceinline__ void mla_quarters_take_maximum(const mla_shared &shared, int block,
                                                                 mla_quarters_state &state)
{
    float factor[2];
    const float old[2] = {state.rows.max[0], state.rows.max[1]};
    mla_announced(shared, block, state.rows.max);
    if (!__any_sync(~0u, state.rows.max[0] != old[0] || state.rows.max[1] != old[1]))
        return;
    mla_factors(factor, old, state.rows.max);
    for (int half = 0; half < 2; half++)
        state.rows.sum[half] *= factor[half];
    mla_quarters_scale(state, factor);
}

/* Warpgroup 0: scores of block 0, queued behind values of block 1 if there are any. paired: block 1 has scores too. */
static __device__ __forceinline__ void mla_quarters_left_scores(const mla_quarters &shared, mla_quarters_state &state,
                                                                float (&score)[32], uint32_t parity, bool values,
                                                                bool paired)
{
    mla_scores_of_last(score, state.q, shared, 0, parity);
    wgmma_commit();
    if (values) {
        wgmma_wait<2>();
        mla_release(shared.given_back(1, 0));
        wgmma_wait<1>();
        mla_release(shared.given_back(1, 1));
    }
    mla_scores_of_tiles<2>(score, shared, 0, parity, 0, 8, 1);
    wgmma_commit();
    if (paired)
        named_arrive(mla_scores_queued, 256);
    wgmma_wait<0>();
    wgmma_settle(score);
    mla_release(shared.given_back(0, 4));
}

/* Probabilities of block 0 and its values. */
static __device__ __forceinline__ void mla_quarters_left_first(const mla_quarters &shared, mla_quarters_state &state,
                                                               float (&score)[32], int key, int length)
{
    float factor[2];
    uint32_t p[4][4];
    mla_clear_behind(shared, 0, length - key);
    mla_mask(score, state.rows.visible, key);
    mla_exponents(state.rows, score, factor);
    mla_probabilities(state.rows, score, p);
    mla_quarters_scale(state, factor);
    mla_add_quarter(state.out, p, shared.keys(0), 0);
    mla_announce(shared, 0, state.rows.max);
    mla_store_probabilities(shared.p(), p);
    named_arrive(1, 256);
    mla_add_quarter(state.out, p, shared.keys(0), 1);
    wgmma_wait<1>();
    mla_release(shared.given_back(0, 0));
    wgmma_wait<0>();
    mla_quarters_settle(state);
    mla_release(shared.given_back(0, 1));
}

/* Values of block 1, which are still being added on return. */
static __device__ __forceinline__ void mla_quarters_left_second(const mla_quarters &shared, mla_quarters_state &state)
{
    named_sync(2, 256);
    mla_quarters_take_maximum(shared, 1, state);
    mla_add_quarter(state.out, shared.q() + 8 * mla_tile_bytes, shared.keys(1), 0);
    mla_add_quarter(state.out, shared.q() + 8 * mla_tile_bytes, shared.keys(1), 1);
}

static __device__ __forceinline__ void mla_quarters_left(const mla_quarters &shared, mla_quarters_state &state,
                                                         const mla_piece &piece, uint32_t &parity)
{
    float score[32];
    int block = piece.first;
    if (block == piece.last) {
        mla_release(shared.q_empty());
        return;
    }
    mla_quarters_left_scores(shared, state, score, parity, false, block + 1 < piece.last);
#pragma unroll 1
    for (; block + 2 < piece.last; block += 2) {
        parity ^= 1;
        mla_quarters_left_first(shared, state, score, block * mla_block_keys, piece.length);
        mla_quarters_left_second(shared, state);
        mla_quarters_left_scores(shared, state, score, parity, true, block + 3 < piece.last);
        mla_quarters_settle(state);
    }
    parity ^= 1;
    mla_release(shared.q_empty());
    mla_quarters_left_first(shared, state, score, block * mla_block_keys, piece.length);
    if (block + 1 < piece.last) {
        mla_quarters_left_second(shared, state);
        wgmma_wait<0>();
        mla_quarters_settle(state);
        mla_release(shared.given_back(1, 0));
        mla_release(shared.given_back(1, 1));
    }
}

/* Warpgroup 1: scores of block 1. */
static __device__ __forceinline__ void mla_quarters_right_scores(const mla_quarters &shared, mla_quarters_state &state,
                                                                 float (&score)[32], uint32_t parity)
{
    named_sync(mla_scores_queued, 256);
    mla_scores_of_last(score, state.q, shared, 1, parity);
    mla_scores_of_tiles<2>(score, shared, 1, parity, 4, 8, 1);
    mla_scores_of_tiles<2>(score, shared, 1, parity, 0, 4, 1);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
    mla_release(shared.given_back(1, 4));
}

/* Values of block 0 and, while they are added, probabilities of block 1, then its values. */
static __device__ __forceinline__ void mla_quarters_right_both(const mla_quarters &shared, mla_quarters_state &state,
                                                               float (&score)[32])
{
    float factor[2];
    uint32_t p[4][4];
    named_sync(1, 256);
    mla_quarters_take_maximum(shared, 0, state);
    mla_add_quarter(state.out, shared.p(), shared.keys(0), 2);
    mla_exponents(state.rows, score, factor);
    mla_add_quarter(state.out, shared.p(), shared.keys(0), 3);
    mla_probabilities(state.rows, score, p);
    wgmma_wait<1>();
    mla_release(shared.given_back(0, 2));
    if (named_any(mla_scale_vote, 128, factor[0] != 1 || factor[1] != 1)) {
        wgmma_wait<0>();
        mla_quarters_settle(state);
        mla_quarters_scale(state, factor);
    }
    mla_add_quarter(state.out, p, shared.keys(1), 2);
    mla_announce(shared, 1, state.rows.max);
    mla_store_probabilities(shared.q() + 8 * mla_tile_bytes, p);
    named_arrive(2, 256);
    wgmma_wait<1>();
    mla_release(shared.given_back(0, 3));
    mla_add_quarter(state.out, p, shared.keys(1), 3);
    wgmma_wait<1>();
    mla_release(shared.given_back(1, 2));
    wgmma_wait<0>();
    mla_quarters_settle(state);
    mla_release(shared.given_back(1, 3));
}

static __device__ __forceinline__ void mla_quarters_right(const mla_quarters &shared, mla_quarters_state &state,
                                                          const mla_piece &piece, uint32_t &parity)
{
    int block = piece.first;
    if (block + 1 >= piece.last)
        mla_release(shared.q_empty());
#pragma unroll 1
    for (; block + 1 < piece.last; block += 2) {
        float score[32];
        const int key = (block + 1) * mla_block_keys;
        mla_quarters_right_scores(shared, state, score, parity);
        if (block + 3 >= piece.last)
            mla_release(shared.q_empty());
        mla_clear_behind(shared, 1, piece.length - key);
        mla_mask(score, state.rows.visible, key);
        mla_quarters_right_both(shared, state, score);
        parity ^= 1;
    }
    if (block < piece.last) {
        named_sync(1, 256);
        mla_quarters_take_maximum(shared, 0, state);
        mla_add_quarter(state.out, shared.p(), shared.keys(0), 2);
        mla_add_quarter(state.out, shared.p(), shared.keys(0), 3);
        wgmma_wait<0>();
        mla_quarters_settle(state);
        mla_release(shared.given_back(0, 2));
        mla_release(shared.given_back(0, 3));
    }
}

static __device__ __forceinline__ void mla_quarters_begin(const mla_problem &problem, const mla_piece &piece, int row0,
                                                          mla_quarters_state &state)
{
    float out[mla_half / 2];
    mla_begin_rows(problem, piece, row0, out, state.rows);
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        state.out[i / 64][i % 64] = out[i];
}

static __device__ __forceinline__ void mla_quarters_finish(const mla_tile_arguments &arguments,
                                                           const mla_shared &shared, mla_piece piece, int turn,
                                                           int row0, int warpgroup, const mla_quarters_state &state)
{
    mla_turn_state whole;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        whole.out[i] = state.out[i / 64][i % 64];
    whole.rows = state.rows;
    piece.whole = /* made anew: no register is left to keep it in */
        piece.first == 0 && piece.last == mla_blocks(piece.length);
    mla_turn_finish(arguments, shared, piece, turn, row0, warpgroup, whole);
}

static __device__ __forceinline__ void mla_quarters_consume(const mla_tile_arguments &arguments,
                                                            const mla_quarters &shared, int warpgroup)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    uint32_t q_parity = 0, parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        mla_quarters_state state;
        mla_quarters_begin(arguments.problem, piece, row0, state);
        mbarrier_wait(shared.q_full(), q_parity);
        mla_keep_last_q(shared, state.q);
        if (warpgroup == 0)
            mla_quarters_left(shared, state, piece, parity);
        else
            mla_quarters_right(shared, state, piece, parity);
        mla_release(shared.q_last_empty());
        mla_quarters_finish(arguments, shared, piece, (int)q_parity, row0, warpgroup, state);
        q_parity ^= 1;
    });
}

/* By one thread: half of a block, `row` of the cache on, a quarter as soon as it was given back; the half that is
 * needed first comes with the last tile. */
template <bool evict_first = false>
static __device__ __forceinline__ void mla_quarters_load(const mla_tile_arguments &arguments,
                                                         const mla_quarters &shared, int block, int half, int row,
                                                         uint32_t parity)
{
    if (half == block) {
        const uint32_t full = shared.full(block, 8), to = shared.keys(block) + 8 * mla_tile_bytes;
        mbarrier_wait(shared.given_back(block, 4), parity ^ 1);
        mbarrier_arrive_expect(full, mla_tile_bytes);
        if (evict_first)
            tma_load_hint(to, &arguments.kv, mla_d_v, row, full, l2_evict_first());
        else
            tma_load(to, &arguments.kv, mla_d_v, row, full);
    }
    for (int quarter = 2 * half; quarter < 2 * half + 2; quarter++) {
        const uint32_t full = shared.full(block, 2 * quarter), to = shared.keys(block) + 2 * quarter * mla_tile_bytes;
        mbarrier_wait(shared.given_back(block, quarter), parity ^ 1);
        mbarrier_arrive_expect(full, 2 * mla_tile_bytes);
        if (evict_first)
            tma_load_side_by_side_hint(to, &arguments.kv_wide, 2 * quarter, row, full, l2_evict_first());
        else
            tma_load_side_by_side(to, &arguments.kv_wide, 2 * quarter, row, full);
    }
}

/* Four warps, one for each half of each block. */
static __device__ __forceinline__ void mla_quarters_produce(const mla_tile_arguments &arguments,
                                                            const mla_quarters &shared, int block, int half)
{
    mla_produce_half(
        arguments, shared, block, half,
        [&](int row, uint32_t parity) { mla_quarters_load(arguments, shared, block, half, row, parity); },
        [&](const mla_piece &piece, uint32_t parity) { mla_turn_load_q(arguments, shared, piece, parity); });
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    mla_quarters_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const mla_quarters shared = {{shared_address(memory)}};
    if (threadIdx.x == 0)
        mla_quarters_init(shared);
    mla_turn_prefetch(arguments);
    __syncthreads();
    grid_launch_dependents();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        const int warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
        mla_quarters_produce(arguments, shared, warp / 2, warp % 2);
    } else {
        registers_take<mla_consumer_registers>();
        mla_quarters_consume(arguments, shared, warpgroup);
    }
}

#endif
