/* SPDX-License-Identifier: Apache-2.0 */
/* The two warpgroups of mla_prefill_sparse_turn.cuh that multiply. */
#ifndef RIDGE_MLA_PREFILL_SPARSE_TURN_CONSUME_CUH
#define RIDGE_MLA_PREFILL_SPARSE_TURN_CONSUME_CUH

#include "kernels/mla_prefill_sparse/mla_prefill_sparse_turn.cuh"

/* A warpgroup's state for an item. */
struct prefill_turn_state {
    float out[mla_half / 2];
    uint32_t q[4][4]; /* RoPE part */
    mla_row_pair rows;
    float highest[2]; /* score of this warpgroup's blocks */
};

/* RoPE part of an item's q, as A fragments (wgmma.cuh); zeros behind the last head. */
static __device__ __forceinline__ void prefill_keep_q(const prefill_problem &problem, int item, uint32_t (&q)[4][4])
{
    const int head0 = prefill_head0(problem, item);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int head = head0 + mla_row_in_tile(half);
        const bool there = head < problem.h && prefill_is_item(problem, item);
        const int64_t row = there ? (int64_t)prefill_query(problem, item) * problem.h + head : 0;
        const uint32_t *from = (const uint32_t *)(problem.q + row * prefill_d_max + prefill_d_v) + threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 8; i++)
            q[i / 2][i % 2 * 2 + half] = there ? __ldg(from + i * 4) : 0;
    }
}

/* Scores of a block. between(): when the RoPE part, or without it the first tile, is queued. */
template <int tiles, typename function>
static __device__ __forceinline__ void prefill_turn_scores(float (&score)[32], const prefill_turn_shared &shared,
                                                           const uint32_t (&q)[4][4], int block, uint32_t parity,
                                                           const function &between)
{
    if (tiles == 9) {
        prefill_wait_part(shared.full(block, prefill_rope), parity);
        wgmma_fence();
        const uint64_t keys = wgmma_descriptor_128(shared.keys(block) + 8 * prefill_tile);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            wgmma_bf16_rs(score, q[slice], wgmma_descriptor_advance(keys, slice * 32), slice > 0);
        wgmma_commit();
        between();
    }
#pragma unroll
    for (int tile = 0; tile < 8; tile++) {
        if (tile % 4 == 0)
            prefill_wait_part(shared.full(block, tile / 4), parity);
        wgmma_fence();
        mla_multiply_keys(score, shared.q() + tile * prefill_tile, shared.keys(block) + tile * prefill_tile,
                          tile > 0 || tiles == 9);
        if (tile == 0 && tiles == 8) {
            wgmma_commit();
            between();
        }
    }
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_settle(score);
    if (tiles == 9)
        prefill_arrive(shared.empty(block, prefill_rope));
}

/* The highest scores of a thread's rows; those of what is no key become -inf. */
static __device__ __forceinline__ void prefill_turn_highest(float (&high)[2], float (&score)[32], uint32_t is_key)
{
    prefill_mask(score, is_key);
    high[0] = high[1] = -INFINITY;
    mla_raise(high, score);
}

/* The maximum stays until a score is 2^8 times as probable, which BF16 and FP32 have room for: sums then rarely have to
 * be scaled. factor: what they are worth. */
static __device__ __forceinline__ void prefill_turn_raise(prefill_turn_state &state, const float (&high)[2],
                                                          float (&factor)[2])
{
    for (int half = 0; half < 2; half++) {
        const float old = state.rows.max[half];
        state.highest[half] = fmaxf(state.highest[half], high[half]);
        if ((high[half] - old) * mla_scale_log2 > 8)
            state.rows.max[half] = high[half];
        factor[half] = mla_factor(old, state.rows.max[half]);
        state.rows.sum[half] *= factor[half];
    }
}

/* Probabilities from scores, in registers and in shared memory, and the maximum after the block for the other
 * warpgroup. */
static __device__ __forceinline__ void prefill_turn_exponentiate(const prefill_turn_shared &shared, int block,
                                                                 prefill_turn_state &state, float (&score)[32],
                                                                 uint32_t (&p)[4][4])
{
    mla_exponentiate(score, state.rows.max, state.rows.sum);
    mla_round(p, score);
    mla_store_probabilities(shared.p(block), p);
    if (threadIdx.x % 4 == 0)
        for (int half = 0; half < 2; half++)
            st_shared_f32(shared.max(block, mla_row_in_tile(half)), state.rows.max[half]);
}

/* The maximum after the other warpgroup's block. */
static __device__ __forceinline__ void prefill_take_maximum(const prefill_turn_shared &shared, int block,
                                                            prefill_turn_state &state)
{
    float factor[2];
    for (int half = 0; half < 2; half++) {
        const float old = state.rows.max[half];
        state.rows.max[half] = ld_shared_f32(shared.max(block, mla_row_in_tile(half)));
        factor[half] = mla_factor(old, state.rows.max[half]);
        state.rows.sum[half] *= factor[half];
    }
    mla_scale_rows(state.out, factor);
}

/* Begins to add a warpgroup's half of a block's values. p: in registers, or where it is. */
template <typename p_type>
static __device__ __forceinline__ void prefill_queue_values(const prefill_turn_shared &shared, int block, int warpgroup,
                                                            prefill_turn_state &state, const p_type &p)
{
    wgmma_fence();
    mla_add_values(state.out, p, shared.keys(block), warpgroup);
    wgmma_commit();
}

/* Gives that half back, which is added; `later` groups of products were queued after it. */
template <int later>
static __device__ __forceinline__ void prefill_give_back(const prefill_turn_shared &shared, int block, int warpgroup)
{
    wgmma_wait<later>();
    prefill_arrive(shared.empty(block, warpgroup));
}

/* Warpgroup 0: from the scores of block 0 to its values. */
static __device__ __forceinline__ void prefill_left_first(const prefill_turn_shared &shared, prefill_turn_state &state,
                                                          float (&score)[32])
{
    float high[2], factor[2];
    uint32_t p[4][4];
    prefill_turn_highest(high, score, shared.is_key(0));
    prefill_turn_raise(state, high, factor);
    prefill_turn_exponentiate(shared, 0, state, score, p);
    named_arrive(1, 256);
    mla_scale_rows(state.out, factor);
    prefill_queue_values(shared, 0, 0, state, p);
    prefill_give_back<0>(shared, 0, 0);
    wgmma_settle(state.out);
}

/* Values of block 1, which are still being added on return. */
static __device__ __forceinline__ void prefill_left_second(const prefill_turn_shared &shared, prefill_turn_state &state)
{
    named_sync(2, 256);
    prefill_take_maximum(shared, 1, state);
    prefill_queue_values(shared, 1, 0, state, shared.p(1));
}

template <int tiles>
static __device__ __forceinline__ void prefill_left(const prefill_problem &problem, const prefill_turn_shared &shared,
                                                    prefill_turn_state &state, uint32_t &parity)
{
    float score[32];
    int first = 0;
    prefill_turn_scores<tiles>(score, shared, state.q, 0, parity, [] {});
#pragma unroll 1
    for (; first + 2 * prefill_block < problem.topk; first += 2 * prefill_block) {
        parity ^= 1;
        prefill_left_first(shared, state, score);
        prefill_left_second(shared, state);
        prefill_turn_scores<tiles>(score, shared, state.q, 0, parity, [&] { prefill_give_back<1>(shared, 1, 0); });
        wgmma_settle(state.out);
    }
    parity ^= 1;
    prefill_arrive(shared.q_empty());
    prefill_left_first(shared, state, score);
    if (first + prefill_block < problem.topk) {
        prefill_left_second(shared, state);
        prefill_give_back<0>(shared, 1, 0);
        wgmma_settle(state.out);
    }
}

/* Warpgroup 1: its half of the values of block 0, which are still being added on return. */
static __device__ __forceinline__ void prefill_right_first(const prefill_turn_shared &shared, prefill_turn_state &state)
{
    named_sync(1, 256);
    prefill_take_maximum(shared, 0, state);
    prefill_queue_values(shared, 0, 1, state, shared.p(0));
}

/* Softmax and values of block 1. Whether sums have to be scaled is asked first: across a branch the compiler does not
 * move exponentials between the products just queued, which would make those late. */
static __device__ __forceinline__ void prefill_right_second(const prefill_turn_shared &shared,
                                                            prefill_turn_state &state, const float (&high)[2],
                                                            float (&score)[32])
{
    float factor[2];
    uint32_t p[4][4];
    prefill_turn_raise(state, high, factor);
    if (named_any(3, 128, factor[0] != 1 || factor[1] != 1)) {
        wgmma_wait<0>();
        wgmma_settle(state.out);
        mla_scale_rows(state.out, factor);
    }
    prefill_turn_exponentiate(shared, 1, state, score, p);
    named_arrive(2, 256);
    prefill_queue_values(shared, 1, 1, state, p);
    prefill_give_back<1>(shared, 0, 1);
    prefill_give_back<0>(shared, 1, 1);
    wgmma_settle(state.out);
}

template <int tiles>
static __device__ __forceinline__ void prefill_right(const prefill_problem &problem, const prefill_turn_shared &shared,
                                                     prefill_turn_state &state, uint32_t &parity)
{
    int first = 0;
    if (problem.topk == prefill_block)
        prefill_arrive(shared.q_empty());
#pragma unroll 1
    for (; first + prefill_block < problem.topk; first += 2 * prefill_block) {
        float score[32], high[2];
        prefill_turn_scores<tiles>(score, shared, state.q, 1, parity, [] {});
        if (first + 3 * prefill_block >= problem.topk)
            prefill_arrive(shared.q_empty());
        prefill_turn_highest(high, score, shared.is_key(1));
        prefill_right_first(shared, state);
        prefill_right_second(shared, state, high, score);
        parity ^= 1;
    }
    if (first < problem.topk) {
        prefill_right_first(shared, state);
        prefill_give_back<0>(shared, 0, 1);
        wgmma_settle(state.out);
    }
}

/* The warpgroup's half of the output, a tile of 64 columns at a time, through its tile of probabilities: all of them
 * are multiplied, and the other memory has the next item. */
static __device__ __forceinline__ void prefill_turn_store(const prefill_problem &problem, uint32_t staging, int query,
                                                          int head0, int warpgroup, const float (&out)[mla_half / 2],
                                                          const float (&inverse)[2])
{
    const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 % 4 * 16, row = warp_row + lane / 8;
    const uint32_t to_shared = staging + swizzle_128(warp_row + lane % 16, lane / 16 * 16);
    bf16 *to =
        problem.out + ((int64_t)query * problem.h + head0 + row) * prefill_d_v + warpgroup * mla_half + lane % 8 * 8;
#pragma unroll
    for (int tile = 0; tile < 4; tile++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *from = out + tile * 32 + i * 8;
            uint32_t word[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                word[j] = cvt_bf16x2_f32(from[2 * j] * inverse[j % 2], from[2 * j + 1] * inverse[j % 2]);
            stmatrix_x4(to_shared ^ i * 32, word[0], word[1], word[2], word[3]);
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (head0 + row + 4 * i < problem.h)
                st_global_v4(to + i * 4 * prefill_d_v + tile * 64,
                             ld_shared_volatile_v4(staging + swizzle_128(row + 4 * i, lane % 8 * 16)));
        __syncwarp();
    }
}

static __device__ __forceinline__ void prefill_turn_finish(const prefill_problem &problem,
                                                           const prefill_turn_shared &shared, int warpgroup, int item,
                                                           int turn, const prefill_turn_state &state)
{
    const int query = prefill_query(problem, item), head0 = prefill_head0(problem, item);
    float inverse[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        st_shared_f32(shared.sum(warpgroup, turn, row), prefill_sum_of_row(state.rows.sum[half]));
        if (warpgroup == 1)
            st_shared_f32(shared.highest(row), state.highest[half]);
    }
    named_sync(5, 256);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half), head = head0 + row;
        const float sum = ld_shared_f32(shared.sum(0, turn, row)) + ld_shared_f32(shared.sum(1, turn, row));
        const float high = fmaxf(state.highest[half], ld_shared_f32(shared.highest(row)));
        inverse[half] = prefill_inverse(sum);
        if (warpgroup == 0 && threadIdx.x % 4 == 0 && head < problem.h) {
            const int64_t at = (int64_t)query * problem.h + head;
            problem.max_logits[at] = high * prefill_scale;
            problem.lse[at] = sum == 0 ? INFINITY : state.rows.max[half] * prefill_scale + logf(sum);
        }
    }
    prefill_turn_store(problem, shared.p(warpgroup), query, head0, warpgroup, state.out, inverse);
}

/* Loads of the next item's q are under way while the results are stored. */
template <int tiles>
static __device__ __forceinline__ void prefill_turn_consume(const prefill_problem &problem,
                                                            const prefill_turn_shared &shared, int warpgroup)
{
    uint32_t q_parity = 0, parity = 0;
    prefill_turn_state state;
    if (tiles == 9)
        prefill_keep_q(problem, (int)blockIdx.x, state.q);
    prefill_each_item(problem, [&](int item) {
        state.rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
        state.highest[0] = state.highest[1] = -INFINITY;
#pragma unroll
        for (int i = 0; i < mla_half / 2; i++)
            state.out[i] = 0;
        prefill_wait_part(shared.q_full(), q_parity);
        if (warpgroup == 0)
            prefill_left<tiles>(problem, shared, state, parity);
        else
            prefill_right<tiles>(problem, shared, state, parity);
        if (tiles == 9)
            prefill_keep_q(problem, item + (int)gridDim.x, state.q);
        prefill_turn_finish(problem, shared, warpgroup, item, (int)q_parity, state);
        q_parity ^= 1;
    });
}

#endif
