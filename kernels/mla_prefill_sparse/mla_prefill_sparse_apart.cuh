/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores apart from values: warpgroup 2 has most of q in its registers and makes the probabilities of block after
 * block; warpgroups 0 and 1 multiply them with their halves of the values, and gather the keys that come where the
 * values were, and the RoPE part where probabilities were. q leaves room for a third block of keys, and products with
 * it read half as much shared memory. Persistent: a CTA takes tiles of 64 heads in turn, and the ring of blocks goes on
 * from one to the next.
 *
 * in_turn: the tensor cores serve warpgroups alternately, so that the values of block j would be done before the scores
 * of block j + 1, and nothing would be left to multiply under its exponentials. So they wait for those scores.
 *
 * Named barriers: 1 warpgroup 2, 2 and 3 warpgroups 0 and 1.
 */
#ifndef RIDGE_MLA_PREFILL_SPARSE_APART_CUH
#define RIDGE_MLA_PREFILL_SPARSE_APART_CUH

#include "kernels/mla_prefill_sparse/mla_prefill_sparse_launch.cuh"

constexpr int prefill_apart_threads = 384, prefill_ring = 3;
constexpr int prefill_score_registers = 184, prefill_value_registers = 160;
constexpr int prefill_held_tiles = 7; /* of q, in registers; the others are in shared memory */

/* Shared memory: two tiles of q; two tiles that have the RoPE part of a block and then its probabilities; a ring of
 * blocks, the values only, that is tiles 0 to 7; what rows exchange; barriers. */
struct prefill_apart_shared {
    static constexpr int keys_at = 4 * prefill_tile, rows_at = keys_at + prefill_ring * 8 * prefill_tile;
    static constexpr int barriers_at = rows_at + 4 * 64 * (int)sizeof(float);
    static constexpr int bytes = barriers_at + (2 * prefill_ring + 6) * 8;
    static_assert(bytes <= 232448, "more than the shared memory of a block");
    uint32_t base;

    __device__ uint32_t q(int tile) const
    {
        return base + (tile - prefill_held_tiles) * prefill_tile;
    }
    __device__ uint32_t probabilities(int turn) const
    {
        return base + (2 + turn) * prefill_tile;
    }
    __device__ uint32_t keys(int block) const
    {
        return base + keys_at + block * 8 * prefill_tile;
    }
    /* What the sums so far of a row are worth once the block is added; and what they are divided by after the last. */
    __device__ uint32_t factor(int turn, int row) const
    {
        return base + rows_at + (turn * 128 + row) * 4;
    }
    __device__ uint32_t inverse(int turn, int row) const
    {
        return factor(turn, 64 + row);
    }
    /* A warpgroup's tiles of a block are there. */
    __device__ uint32_t full(int block, int warpgroup) const
    {
        return base + barriers_at + (block * 2 + warpgroup) * 8;
    }
    /* Probabilities and factors may be used; have been used. */
    __device__ uint32_t ready(int turn) const
    {
        return base + barriers_at + (2 * prefill_ring + turn) * 8;
    }
    __device__ uint32_t used(int turn) const
    {
        return base + barriers_at + (2 * prefill_ring + 2 + turn) * 8;
    }
    /* The RoPE part is there. */
    __device__ uint32_t rope(int turn) const
    {
        return base + barriers_at + (2 * prefill_ring + 4 + turn) * 8;
    }
    __device__ void init() const
    {
        for (int i = 0; i < 2 * prefill_ring; i++)
            mbarrier_init(full(0, i), 128);
        for (int turn = 0; turn < 2; turn++) {
            mbarrier_init(ready(turn), 4);
            mbarrier_init(used(turn), 8);
            mbarrier_init(rope(turn), 256);
        }
        mbarrier_init_fence();
    }
};

/* q of an item: slices of 16 columns as A fragments (wgmma.cuh), the last tiles to shared memory. Zeros behind the last
 * head. */
template <int tiles>
static __device__ __forceinline__ void prefill_take_q(const prefill_problem &problem,
                                                      const prefill_apart_shared &shared, int item,
                                                      uint32_t (&q)[4 * prefill_held_tiles][4])
{
    const int head0 = prefill_head0(problem, item), heads = problem.h - head0;
    const bf16 *first = problem.q + ((int64_t)prefill_query(problem, item) * problem.h + head0) * (tiles * 64);
#pragma unroll
    for (int tile = prefill_held_tiles; tile < tiles; tile++) {
#pragma unroll 1
        for (int row = threadIdx.x % 128 / 8; row < 64; row += 16) {
            const int chunk = threadIdx.x % 8;
            uint4 word = make_uint4(0, 0, 0, 0);
            if (row < heads)
                word = ld_global_v4(first + row * (tiles * 64) + tile * 64 + chunk * 8);
            st_shared_v4(shared.q(tile) + swizzle_128(row, chunk * 16), word);
        }
    }
    fence_proxy_async();
    named_sync(1, 128);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = mla_row_in_tile(half);
        const uint32_t *from = (const uint32_t *)(first + (row < heads ? row : 0) * (tiles * 64)) + threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 8 * prefill_held_tiles; i++)
            q[i / 2][i % 2 * 2 + half] = row < heads ? __ldg(from + i * 4) : 0;
    }
}

/* Scores of a block. The RoPE part comes last: it is gathered last. */
template <int tiles>
static __device__ __forceinline__ void
prefill_make_scores(float (&score)[32], const prefill_apart_shared &shared, const prefill_place<prefill_ring> &at,
                    const prefill_place<2> &turn, const uint32_t (&q)[4 * prefill_held_tiles][4])
{
    const uint64_t keys = wgmma_descriptor_128(shared.keys(at.block));
#pragma unroll
    for (int tile = 0; tile < 8; tile++) {
        if (tile % 4 == 0) {
            mbarrier_wait(shared.full(at.block, tile / 4), at.parity);
            wgmma_fence();
        }
        if (tile >= prefill_held_tiles)
            mla_multiply_keys(score, shared.q(tile), shared.keys(at.block) + tile * prefill_tile, 1);
#pragma unroll
        for (int slice = 0; slice < 4 && tile < prefill_held_tiles; slice++)
            wgmma_bf16_rs(score, q[tile * 4 + slice], wgmma_descriptor_advance(keys, tile * prefill_tile + slice * 32),
                          tile + slice > 0);
    }
    wgmma_commit();
    if (tiles == 9) {
        prefill_wait_part(shared.rope(turn.block), turn.parity);
        wgmma_fence();
        mla_multiply_keys(score, shared.q(8), shared.probabilities(turn.block), 1);
        wgmma_commit();
    } else {
        mbarrier_wait(shared.used(turn.block), turn.parity ^ 1);
    }
    wgmma_wait<0>();
    wgmma_settle(score);
}

template <int tiles, bool in_turn>
static __device__ __forceinline__ void prefill_score(const prefill_problem &problem, const prefill_apart_shared &shared)
{
    prefill_place<prefill_ring> at = {0, 0};
    prefill_place<2> turn = {0, 0};
    prefill_each_item(problem, [&](int item) {
        const int32_t *list = prefill_list(problem, prefill_query(problem, item));
        mla_row_pair rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
        uint32_t q[4 * prefill_held_tiles][4];
        prefill_take_q<tiles>(problem, shared, item, q);
#pragma unroll 1
        for (int first = 0; first < problem.topk; first += prefill_block, at.next(), turn.next()) {
            const bool last = first + prefill_block >= problem.topk;
            const int low = __ldg(list + first + threadIdx.x % 32), high = __ldg(list + first + 32 + threadIdx.x % 32);
            float score[32];
            prefill_make_scores<tiles>(score, shared, at, turn, q);
            if (in_turn && first > 0)
                prefill_arrive(shared.ready(turn.block ^ 1));
            prefill_mask(score, __ballot_sync(~0u, prefill_is_key(problem, low)),
                         __ballot_sync(~0u, prefill_is_key(problem, high)));
            prefill_softmax(score, shared, turn.block, rows);
            if (last)
                prefill_finish_rows(problem, shared, turn.block, prefill_query(problem, item),
                                    prefill_head0(problem, item), rows);
            if (!in_turn || last)
                prefill_arrive(shared.ready(turn.block));
        }
    });
}

/* Where the gathering of a value warpgroup is, a ring ahead of its products. */
struct prefill_ahead {
    int item, first; /* place in its list */
    int index[4];    /* there, of rows t / 8 + 16 i: loaded a block before they are needed */
    int rope[2];     /* of the block before, rows of this warpgroup: its RoPE part comes a block later */
};

static __device__ __forceinline__ void prefill_load_indices(const prefill_problem &problem, prefill_ahead &ahead)
{
    const bool there = ahead.item < problem.s_q * prefill_head_tiles(problem);
    const int32_t *list = prefill_list(problem, there ? prefill_query(problem, ahead.item) : 0) + ahead.first;
#pragma unroll
    for (int i = 0; i < 4; i++)
        ahead.index[i] = __ldg(list + threadIdx.x % 128 / 8 + 16 * i);
}

/* What was gathered into a block is there. Copies are of the generic proxy, and products read through the other. */
static __device__ __forceinline__ void prefill_tell_landed(const prefill_apart_shared &shared, int warpgroup, int block)
{
    cp_async_wait<0>();
    fence_proxy_async();
    mbarrier_arrive(shared.full(block, warpgroup));
}

/* A warpgroup's tiles of the next block, to where it has read values. */
template <int tiles>
static __device__ __forceinline__ void prefill_gather_ahead(const prefill_problem &problem,
                                                            const prefill_apart_shared &shared, int warpgroup,
                                                            int block, prefill_ahead &ahead)
{
    const int row = threadIdx.x % 128 / 8, chunk = threadIdx.x % 8;
    const uint32_t to = shared.keys(block) + warpgroup * 4 * prefill_tile + swizzle_128(row, chunk * 16);
    if (ahead.item >= problem.s_q * prefill_head_tiles(problem))
        return;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int bytes = prefill_is_key(problem, ahead.index[i]) ? 16 : 0;
        const bf16 *from =
            problem.kv + (bytes ? (int64_t)ahead.index[i] * (tiles * 64) : 0) + warpgroup * mla_half + chunk * 8;
#pragma unroll
        for (int tile = 0; tile < 4; tile++)
            cp_async_16_zfill(to + tile * prefill_tile + i * 2048, from + tile * 64, bytes);
    }
    cp_async_commit();
    ahead.first += prefill_block;
    if (ahead.first >= problem.topk) {
        ahead.first = 0;
        ahead.item += gridDim.x;
    }
    for (int i = 0; i < 2; i++)
        ahead.rope[i] = ahead.index[2 * warpgroup + i];
    prefill_load_indices(problem, ahead);
}

/* The RoPE part of the block of which the values were gathered last. Where no block came any more nobody reads it. */
static __device__ __forceinline__ void prefill_gather_rope(const prefill_problem &problem,
                                                           const prefill_apart_shared &shared, int warpgroup, int turn,
                                                           const prefill_ahead &ahead)
{
    const int row = threadIdx.x % 128 / 8 + 32 * warpgroup, chunk = threadIdx.x % 8;
    const uint32_t to = shared.probabilities(turn) + swizzle_128(row, chunk * 16);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int bytes = prefill_is_key(problem, ahead.rope[i]) ? 16 : 0;
        cp_async_16_zfill(to + i * 2048,
                          problem.kv + (bytes ? (int64_t)ahead.rope[i] * prefill_d_max : 0) + prefill_d_v + chunk * 8,
                          bytes);
    }
    cp_async_arrive(shared.rope(turn));
}

template <int tiles, int warpgroup>
static __device__ __forceinline__ void prefill_values(const prefill_problem &problem,
                                                      const prefill_apart_shared &shared)
{
    prefill_place<prefill_ring> at = {0, 0};
    prefill_place<2> turn = {0, 0};
    prefill_ahead ahead = {(int)blockIdx.x, 0, {}, {}};
    prefill_load_indices(problem, ahead);
#pragma unroll 1
    for (int block = 0; block < prefill_ring; block++) {
        prefill_gather_ahead<tiles>(problem, shared, warpgroup, block, ahead);
        if (block == prefill_ring - 1)
            break;
        if (tiles == 9)
            prefill_gather_rope(problem, shared, warpgroup, block, ahead);
        prefill_tell_landed(shared, warpgroup, block);
    }
    prefill_each_item(problem, [&](int item) {
        float out[mla_half / 2];
#pragma unroll
        for (int i = 0; i < mla_half / 2; i++)
            out[i] = 0;
#pragma unroll 1
        for (int first = 0; first < problem.topk; first += prefill_block, at.next(), turn.next()) {
            mbarrier_wait(shared.ready(turn.block), turn.parity);
            prefill_add_values(out, shared, turn.block, shared.keys(at.block), warpgroup, [&] {
                prefill_tell_landed(shared, warpgroup, at.block == 0 ? prefill_ring - 1 : at.block - 1);
            });
            named_sync(2 + warpgroup, 128); /* all warps have multiplied the block */
            if (first + prefill_block >= problem.topk) {
                prefill_store_through(problem, shared, turn.block, shared.keys(at.block), prefill_query(problem, item),
                                      prefill_head0(problem, item), warpgroup, out);
                named_sync(2 + warpgroup, 128);
            }
            prefill_arrive(shared.used(turn.block));
            if (tiles == 9) {
                mbarrier_wait(shared.used(turn.block), turn.parity);
                prefill_gather_rope(problem, shared, warpgroup, turn.block, ahead);
            }
            prefill_gather_ahead<tiles>(problem, shared, warpgroup, at.block, ahead);
        }
    });
}

template <int tiles, bool in_turn>
static __global__ void __launch_bounds__(prefill_apart_threads, 1) prefill_apart_kernel(prefill_problem problem)
{
    extern __shared__ __align__(1024) char memory[];
    const prefill_apart_shared shared = {shared_address(memory)};
    if (threadIdx.x == 0)
        shared.init();
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_take<prefill_score_registers>();
        prefill_score<tiles, in_turn>(problem, shared);
    } else {
        registers_give<prefill_value_registers>();
        if (warpgroup == 0)
            prefill_values<tiles, 0>(problem, shared);
        else
            prefill_values<tiles, 1>(problem, shared);
    }
}

template <bool in_turn> static inline int prefill_apart_setup(struct ridge_call *call, void **state)
{
    *state = NULL;
    return prefill_allow_shared(call, (const void *)prefill_apart_kernel<8, in_turn>, prefill_apart_shared::bytes) ||
           prefill_allow_shared(call, (const void *)prefill_apart_kernel<9, in_turn>, prefill_apart_shared::bytes);
}

template <bool in_turn> static inline int prefill_apart_launch(const struct ridge_call *call)
{
    const auto kernel = call->dim[4] == 512 ? prefill_apart_kernel<8, in_turn> : prefill_apart_kernel<9, in_turn>;
    kernel<<<prefill_persistent(call), prefill_apart_threads, prefill_apart_shared::bytes, ridge_stream(call)>>>(
        prefill_problem_of(call));
    return RIDGE_LAUNCHED(call);
}

#endif
