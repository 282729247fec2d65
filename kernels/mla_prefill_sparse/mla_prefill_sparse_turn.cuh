/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of mla_decode_in_turn.cuh over a list of keys: both warpgroups multiply the values of block 0 first and
 * those of block 1 then. Warpgroup 0 makes the probabilities of block 0, warpgroup 1 those of block 1, each under the
 * maximum so far; each keeps a copy in registers for its own product and leaves one in shared memory for the other's.
 *
 *   warpgroup 0   scores 0, softmax 0, P0 V0 left,            P1 V1 left
 *   warpgroup 1   scores 1,            P0 V0 right, softmax 1, P1 V1 right
 *
 * A block is gathered and given back in three parts: its RoPE part, when its scores are there, and each half of its
 * values, when they are multiplied. Scores of both blocks take the parts in the order in which they are given back,
 * since the third warpgroup gathers them in one order and cannot wait for two. RoPE parts of q are in registers.
 *
 * Named barriers: 1 probabilities of block 0 and the maximum after it, 2 the same of block 1, 5 end of an item.
 *
 * Persistent: a CTA takes tiles of 64 heads in turn, and while one ends, q and the first keys of the next are gathered.
 */
#ifndef RIDGE_MLA_PREFILL_SPARSE_TURN_CUH
#define RIDGE_MLA_PREFILL_SPARSE_TURN_CUH

#include "kernels/mla_prefill_sparse/mla_prefill_sparse_launch.cuh"

constexpr int prefill_turn_registers = 224, prefill_turn_gather_registers = 56;
constexpr int prefill_rope = 2, prefill_parts = 3; /* parts 0 and 1: halves of the values */

/* Shared memory: eight tiles of q, two blocks of keys, probabilities of both, what rows exchange, barriers. */
struct prefill_turn_shared {
    static constexpr int keys_at = 8 * prefill_tile, p_at = keys_at + 2 * prefill_block_bytes;
    static constexpr int rows_at = p_at + 2 * prefill_tile, is_key_at = rows_at + 6 * 64 * (int)sizeof(float);
    static constexpr int barriers_at = is_key_at + 2 * 8, bytes = barriers_at + (2 + 4 * prefill_parts) * 8;
    static_assert(bytes <= 232448, "more than the shared memory of a block");
    uint32_t base;

    __device__ uint32_t q() const
    {
        return base;
    }
    __device__ uint32_t keys(int block) const
    {
        return base + keys_at + block * prefill_block_bytes;
    }
    __device__ uint32_t p(int block) const
    {
        return base + p_at + block * prefill_tile;
    }
    /* A float a row: the maximum that a warpgroup announces; its sum, warpgroup 0's for every other item, since it may
     * be at the next one's end while warpgroup 1 still reads; warpgroup 1's highest score. */
    __device__ uint32_t max(int warpgroup, int row) const
    {
        return base + rows_at + (warpgroup * 64 + row) * 4;
    }
    __device__ uint32_t sum(int warpgroup, int turn, int row) const
    {
        return max(2 + (warpgroup == 0 ? turn : 2), row);
    }
    __device__ uint32_t highest(int row) const
    {
        return max(5, row);
    }
    /* 64 bits, told with part 0. */
    __device__ uint32_t is_key(int block) const
    {
        return base + is_key_at + block * 8;
    }
    __device__ uint32_t q_full() const
    {
        return base + barriers_at;
    }
    __device__ uint32_t q_empty() const
    {
        return base + barriers_at + 8;
    }
    __device__ uint32_t full(int block, int part) const
    {
        return base + barriers_at + (2 + block * prefill_parts + part) * 8;
    }
    __device__ uint32_t empty(int block, int part) const
    {
        return full(2 + block, part);
    }
    __device__ void init() const
    {
        mbarrier_init(q_full(), 128);
        mbarrier_init(q_empty(), 8);
        for (int i = 0; i < 2 * prefill_parts; i++) {
            mbarrier_init(full(0, i), i % prefill_parts == 0 ? 128 + 2 : 128);
            mbarrier_init(empty(0, i), 4);
        }
        mbarrier_init_fence();
    }
};

static __device__ __forceinline__ bool prefill_is_item(const prefill_problem &problem, int item)
{
    return item < problem.s_q * prefill_head_tiles(problem);
}

/* The list of what a CTA gathers `first` places after the beginning of an item, the items that follow included. */
static __device__ __forceinline__ const int32_t *prefill_list_from(const prefill_problem &problem, int item, int first)
{
    if (first >= problem.topk) {
        first -= problem.topk;
        item += (int)gridDim.x;
    }
    return prefill_is_item(problem, item) ? prefill_list(problem, prefill_query(problem, item)) + first
                                          : problem.indices;
}

/* Parts of a block in the order in which scores need them. */
template <int tiles>
static __device__ __forceinline__ void
prefill_turn_gather_block(const prefill_problem &problem, const prefill_turn_shared &shared,
                          const prefill_indices &indices, int block, uint32_t parity)
{
    if (tiles == 9) {
        mbarrier_wait(shared.empty(block, prefill_rope), parity ^ 1);
        prefill_gather_part<tiles>(problem, shared, block, indices, prefill_rope);
    }
    mbarrier_wait(shared.empty(block, 0), parity ^ 1);
    prefill_tell_keys(problem, shared, block, indices, shared.full(block, 0));
    prefill_gather_part<tiles>(problem, shared, block, indices, 0);
    mbarrier_wait(shared.empty(block, 1), parity ^ 1);
    prefill_gather_part<tiles>(problem, shared, block, indices, 1);
}

/* The warpgroup that gathers. Indices are loaded a block before they are needed. */
template <int tiles>
static __device__ __forceinline__ void prefill_turn_gather(const prefill_problem &problem,
                                                           const prefill_turn_shared &shared)
{
    uint32_t q_parity = 1, parity = 0; /* a bit a block */
    prefill_indices ahead(prefill_list_from(problem, (int)blockIdx.x, 0));
    prefill_each_item(problem, [&](int item) {
        const int query = prefill_query(problem, item), head0 = prefill_head0(problem, item);
        mbarrier_wait(shared.q_empty(), q_parity);
        q_parity ^= 1;
        prefill_load_q<tiles, 8>(problem, shared.q(), (int64_t)query * problem.h + head0, problem.h - head0);
        cp_async_arrive(shared.q_full());
#pragma unroll 1
        for (int first = 0; first < problem.topk; first += prefill_block) {
            const prefill_indices indices = ahead;
            const int block = first / prefill_block % 2;
            ahead = prefill_indices(prefill_list_from(problem, item, first + prefill_block));
            prefill_turn_gather_block<tiles>(problem, shared, indices, block, parity >> block & 1);
            parity ^= 1 << block;
        }
    });
}

#endif
