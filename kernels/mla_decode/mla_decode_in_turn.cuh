/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In turn: two blocks of keys under way, as in the seesaw, but both warpgroups multiply the values of block 0 first and
 * those of block 1 then. Warpgroup 0 makes the probabilities of block 0, warpgroup 1 those of block 1, each under the
 * maximum so far, so that none is scaled again; each keeps a copy in registers for its own product and leaves one in
 * shared memory for the other's.
 *
 *   warpgroup 0   scores 0, softmax 0, P0 V0 left,            P1 V1 left
 *   warpgroup 1   scores 1,            P0 V0 right, softmax 1, P1 V1 right
 *
 * Scores of block 1 run under the exponentials of block 0, values of block 0 under those of block 1. A block is given
 * back in three parts: its last tile, which holds no values, when its scores are there, and each half of its values
 * when they are multiplied. The last tile of Q is kept in registers; its memory takes the probabilities of block 1.
 *
 * Named barriers: 1 probabilities of block 0 and the maximum after it, 2 the same of block 1, 3 and 4 rows of block 0
 * and 1 behind the length are zero, 5 end of a request.
 */
#ifndef RIDGE_MLA_DECODE_IN_TURN_CUH
#define RIDGE_MLA_DECODE_IN_TURN_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"
#include "kernels/ptx/grid.cuh"
#include "kernels/ptx/tma_side_by_side.cuh"

/* A warpgroup's state for a request. */
struct mla_turn_state {
    float out[mla_half / 2];
    uint32_t q[4][4]; /* last tile of Q */
    mla_row_pair rows;
};

/* Readers of a block's parts: mla_shared::empty. */
constexpr int mla_last_part = 2;

/* Barrier at which a warpgroup's warps find out whether any of them scales sums. */
constexpr int mla_scale_vote = 7;

static __device__ __forceinline__ void mla_keep_last_q(const mla_shared &shared, uint32_t (&q)[4][4])
{
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        ldmatrix_x4(q[slice], shared.q() + 8 * mla_tile_bytes + swizzle_128(row, slice * 32 + lane / 16 * 16));
}

/* The last tile, which is given back first, begins the sum. */
static __device__ __forceinline__ void mla_scores_of_last(float (&score)[32], const uint32_t (&q)[4][4],
                                                          const mla_shared &shared, int block, uint32_t parity)
{
    mbarrier_wait(shared.full(block, 8), parity);
    wgmma_fence();
    const uint64_t keys = wgmma_descriptor_128(shared.keys(block) + 8 * mla_tile_bytes);
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        mla_wgmma_rs(score, q[slice], wgmma_descriptor_advance(keys, slice * 32), slice > 0);
}

/* word[j] of thread q of four becomes word[q] of thread j. */
static __device__ __forceinline__ void mla_transpose_quad(uint32_t (&word)[4])
{
#pragma unroll
    for (int apart = 1; apart < 4; apart *= 2) {
        const bool upper = threadIdx.x & apart;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i & apart)
                continue;
            const uint32_t other = __shfl_xor_sync(~0u, upper ? word[i] : word[i + apart], apart);
            word[i] = upper ? other : word[i];
            word[i + apart] = upper ? word[i + apart] : other;
        }
    }
}

/* The warpgroup's half of the rows to global memory, 16 bytes at a time, past the memory of q, which may hold the next
 * request's. */
static __device__ __forceinline__ void mla_store_direct(const mla_problem &problem, const float (&out)[mla_half / 2],
                                                        const float (&factor)[2], int warpgroup, int request, int row0)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = row0 + mla_row_in_tile(half);
        mla_element *dst = problem.out + ((int64_t)request * mla_rows_of(problem) + row) * mla_d_v +
                           warpgroup * mla_half + threadIdx.x % 4 * 8;
#pragma unroll
        for (int i = 2 * half; i < mla_half / 2; i += 16) {
            uint32_t word[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                word[j] = mla_pack(out[i + 4 * j] * factor[half], out[i + 4 * j + 1] * factor[half]);
            mla_transpose_quad(word);
            if (row < mla_rows_of(problem))
                st_global_v4(dst + i / 16 * 32, make_uint4(word[0], word[1], word[2], word[3]));
        }
    }
}

/* The largest scores of the thread's rows; keys that a row does not see no longer count. */
static __device__ __forceinline__ void mla_highest(float (&high)[2], float (&score)[32], const int (&visible)[2],
                                                   int key)
{
    high[0] = high[1] = -INFINITY;
    mla_mask(score, visible, key);
    mla_raise(high, score);
}

/* Probabilities from scores; factor: what sums so far are worth. Where `lazy`, the maximum stays until a score is 2^8
 * times as probable, which BF16 and FP32 have room for: sums then rarely have to be scaled. */
template <bool lazy>
static __device__ __forceinline__ void mla_turn_softmax(mla_row_pair &rows, const float (&high)[2], float (&score)[32],
                                                        float (&factor)[2], uint32_t (&p)[4][4])
{
    const float old[2] = {rows.max[0], rows.max[1]};
    for (int half = 0; half < 2; half++)
        if (lazy ? (high[half] - old[half]) * mla_scale_log2 > 8 : high[half] > old[half])
            rows.max[half] = high[half];
    mla_factors(factor, old, rows.max);
    for (int half = 0; half < 2; half++)
        rows.sum[half] *= factor[half];
    mla_exponentiate(score, rows.max, rows.sum);
    mla_round(p, score);
}

/* The other warpgroup raised the maximum. */
static __device__ __forceinline__ void mla_take_maximum(const mla_shared &shared, int block, mla_row_pair &rows,
                                                        float (&out)[mla_half / 2])
{
    float factor[2];
    const float old[2] = {rows.max[0], rows.max[1]};
    mla_announced(shared, block, rows.max);
    mla_factors(factor, old, rows.max);
    for (int half = 0; half < 2; half++)
        rows.sum[half] *= factor[half];
    mla_scale_rows(out, factor);
}

static __device__ __forceinline__ void mla_clear_behind(const mla_shared &shared, int block, int valid)
{
    if (valid < mla_block_keys) {
        mla_clear_values(shared.keys(block), valid);
        named_sync(3 + block, 128);
    }
}

/* Warpgroup 0: scores of block 0 in two steps; between them `between`, when products queued before are done. */
template <typename function>
static __device__ __forceinline__ void mla_turn_left_scores(const mla_shared &shared, mla_turn_state &state,
                                                            float (&score)[32], uint32_t parity,
                                                            const function &between)
{
    mla_scores_of_last(score, state.q, shared, 0, parity);
    mla_scores_of_tiles<2>(score, shared, 0, parity, 0, 4, 1);
    wgmma_commit();
    between();
    mla_scores_of_tiles<2>(score, shared, 0, parity, 4, 8, 1);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
    mla_release(shared.empty(0, mla_last_part));
}

/* Probabilities of block 0 and its values. */
template <bool lazy>
static __device__ __forceinline__ void mla_turn_left_first(const mla_shared &shared, mla_turn_state &state,
                                                           float (&score)[32], int key, int length)
{
    float high[2], factor[2];
    uint32_t p[4][4];
    mla_clear_behind(shared, 0, length - key);
    mla_highest(high, score, state.rows.visible, key);
    mla_turn_softmax<lazy>(state.rows, high, score, factor, p);
    mla_store_probabilities(shared.p(), p);
    mla_announce(shared, 0, state.rows.max);
    named_arrive(1, 256);
    mla_scale_rows(state.out, factor);
    wgmma_fence();
    mla_add_values(state.out, p, shared.keys(0), 0);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(state.out);
    mla_release(shared.empty(0, 0));
}

/* Values of block 1, which are still being added on return. */
static __device__ __forceinline__ void mla_turn_left_second(const mla_shared &shared, mla_turn_state &state)
{
    named_sync(2, 256);
    mla_take_maximum(shared, 1, state.rows, state.out);
    wgmma_fence();
    mla_add_values(state.out, shared.q() + 8 * mla_tile_bytes, shared.keys(1), 0);
    wgmma_commit();
}

template <bool lazy>
static __device__ __forceinline__ void mla_turn_left(const mla_shared &shared, mla_turn_state &state,
                                                     const mla_piece &piece, uint32_t &parity)
{
    float score[32];
    int block = piece.first;
    if (block == piece.last) {
        mla_release(shared.q_empty());
        return;
    }
    mla_turn_left_scores(shared, state, score, parity, [] {});
#pragma unroll 1
    for (; block + 2 < piece.last; block += 2) {
        parity ^= 1;
        mla_turn_left_first<lazy>(shared, state, score, block * mla_block_keys, piece.length);
        mla_turn_left_second(shared, state);
        mla_turn_left_scores(shared, state, score, parity, [&] {
            wgmma_wait<1>();
            mla_release(shared.empty(1, 0));
        });
        wgmma_settle(state.out);
    }
    parity ^= 1;
    mla_release(shared.q_empty());
    mla_turn_left_first<lazy>(shared, state, score, block * mla_block_keys, piece.length);
    if (block + 1 < piece.last) {
        mla_turn_left_second(shared, state);
        wgmma_wait<0>();
        wgmma_settle(state.out);
        mla_release(shared.empty(1, 0));
    }
}

/* Warpgroup 1: its half of the values of block 0, which are still being added on return. */
static __device__ __forceinline__ void mla_turn_right_first(const mla_shared &shared, mla_turn_state &state)
{
    named_sync(1, 256);
    mla_take_maximum(shared, 0, state.rows, state.out);
    wgmma_fence();
    mla_add_values(state.out, shared.p(), shared.keys(0), 1);
    wgmma_commit();
}

template <bool lazy>
static __device__ __forceinline__ void mla_turn_right(const mla_shared &shared, mla_turn_state &state,
                                                      const mla_piece &piece, uint32_t &parity)
{
    int block = piece.first;
    if (block + 1 >= piece.last)
        mla_release(shared.q_empty());
#pragma unroll 1
    for (; block + 1 < piece.last; block += 2) {
        float score[32], high[2], factor[2];
        uint32_t p[4][4];
        const int key = (block + 1) * mla_block_keys;
        mla_scores_of_last(score, state.q, shared, 1, parity);
        mla_scores_of_tiles<2>(score, shared, 1, parity, 4, 8, 1);
        mla_scores_of_tiles<2>(score, shared, 1, parity, 0, 4, 1);
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_settle(score);
        mla_release(shared.empty(1, mla_last_part));
        if (block + 3 >= piece.last)
            mla_release(shared.q_empty());
        mla_clear_behind(shared, 1, piece.length - key);
        mla_highest(high, score, state.rows.visible, key);
        mla_turn_right_first(shared, state);
        mla_turn_softmax<lazy>(state.rows, high, score, factor, p);
        mla_store_probabilities(shared.q() + 8 * mla_tile_bytes, p);
        mla_announce(shared, 1, state.rows.max);
        named_arrive(2, 256);
        if (named_any(mla_scale_vote, 128, factor[0] != 1 || factor[1] != 1)) {
            wgmma_wait<0>();
            wgmma_settle(state.out);
            mla_scale_rows(state.out, factor);
        }
        wgmma_fence();
        mla_add_values(state.out, p, shared.keys(1), 1);
        wgmma_commit();
        wgmma_wait<1>();
        mla_release(shared.empty(0, 1));
        wgmma_wait<0>();
        wgmma_settle(state.out);
        mla_release(shared.empty(1, 1));
        parity ^= 1;
    }
    if (block < piece.last) {
        mla_turn_right_first(shared, state);
        wgmma_wait<0>();
        wgmma_settle(state.out);
        mla_release(shared.empty(0, 1));
    }
}

static __device__ __forceinline__ void mla_turn_finish(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                       const mla_piece &piece, int turn, int row0, int warpgroup,
                                                       const mla_turn_state &state)
{
    float factor[2];
    mla_total(arguments, shared, piece, turn, row0, warpgroup, state.rows, factor);
    if (piece.whole)
        mla_store_direct(arguments.problem, state.out, factor, warpgroup, piece.request, row0);
    else
        mla_store_part(arguments.problem, arguments.split, state.out, factor, warpgroup, piece.slot, row0);
}

template <bool lazy>
static __device__ __forceinline__ void mla_turn_consume(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                        int warpgroup)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    uint32_t q_parity = 0, parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        mla_turn_state state;
        mla_begin_rows(arguments.problem, piece, row0, state.out, state.rows);
        mbarrier_wait(shared.q_full(), q_parity);
        mla_keep_last_q(shared, state.q);
        if (warpgroup == 0)
            mla_turn_left<lazy>(shared, state, piece, parity);
        else
            mla_turn_right<lazy>(shared, state, piece, parity);
        mla_release(shared.q_last_empty());
        mla_piece done = piece;
        done.whole = /* made anew: no register is left to keep it in */
            piece.first == 0 && piece.last == mla_blocks(piece.length);
        mla_turn_finish(arguments, shared, done, (int)q_parity, row0, warpgroup, state);
        q_parity ^= 1;
    });
}

/* The last tile of q waits for the probabilities that lie there. */
static __device__ __forceinline__ void mla_turn_load_q(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                       const mla_piece &piece, uint32_t parity)
{
    const int row = piece.request * mla_rows_of(arguments.problem) + (int)blockIdx.x * mla_tile_rows;
    if (threadIdx.x % 32 == 0) {
        mbarrier_wait(shared.q_empty(), parity ^ 1);
        mbarrier_arrive_expect(shared.q_full(), mla_block_bytes);
#pragma unroll 1
        for (int tile = 0; tile < mla_tiles; tile++) {
            if (tile == 8)
                mbarrier_wait(shared.q_last_empty(), parity ^ 1);
            tma_load(shared.q() + tile * mla_tile_bytes, &arguments.q, tile * 64, row, shared.q_full());
        }
    }
    __syncwarp();
}

/* Four warps, one for each half of each block; of the halves the one that is needed first comes with the last tile. */
static __device__ __forceinline__ void mla_turn_produce(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                        int block, int half)
{
    mla_produce_half(
        arguments, shared, block, half,
        [&](int row, uint32_t parity) {
            if (half == block)
                mla_load_last(arguments, shared, block, mla_last_part, row, parity);
            mla_load_half(arguments, shared, block, half, row, parity);
        },
        [&](const mla_piece &piece, uint32_t parity) { mla_turn_load_q(arguments, shared, piece, parity); });
}

/* By the first producer. */
static __device__ __forceinline__ void mla_turn_prefetch(const mla_tile_arguments &arguments)
{
    if (threadIdx.x != 256)
        return;
    tma_prefetch_map(&arguments.kv_wide);
    tma_prefetch_map(&arguments.q);
    tma_prefetch_map(&arguments.kv);
}

/* blockIdx: tile of rows, part. */
template <bool lazy>
static __global__ void __launch_bounds__(mla_threads, 1)
    mla_turn_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const mla_shared shared = {shared_address(memory)};
    if (threadIdx.x == 0)
        mla_init_barriers(shared);
    mla_turn_prefetch(arguments);
    __syncthreads();
    grid_launch_dependents();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        const int warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
        mla_turn_produce(arguments, shared, warp / 2, warp % 2);
    } else {
        registers_take<mla_consumer_registers>();
        mla_turn_consume<lazy>(arguments, shared, warpgroup);
    }
}

#endif
