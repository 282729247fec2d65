/* SPDX-License-Identifier: Apache-2.0 */
/* The walk of producer and consumers through the pieces of a part, and what both WGMMA schedules do alike. */
#ifndef RIDGE_MLA_DECODE_PIECES_CUH
#define RIDGE_MLA_DECODE_PIECES_CUH

#include "kernels/mla_decode/mla_decode_tile.cuh"
#include "kernels/ptx/tma_side_by_side.cuh"
#include "kernels/support/trace.cuh"

/* The part's share: as the table has it, or by the lengths. A whole warp calls. */
static __device__ __forceinline__ mla_range mla_share_of(const mla_tile_arguments &arguments)
{
    if (arguments.split.table)
        return arguments.split.table[blockIdx.y];
    return mla_range_of(arguments.problem, arguments.split.parts, blockIdx.y);
}

/* Each request is in some part's range, so a length that the table was not made for is found by one. */
static __device__ __forceinline__ void mla_check_table(const mla_split &split, const mla_piece &piece)
{
    if (split.table && threadIdx.x == 0 && piece.length != split.made_for[piece.request])
        *split.stale = 1 + piece.request;
}

/* Pieces of a part, in the order in which producer and consumers walk them; by the lengths alone unless `table`. */
template <bool table = true, typename function>
static __device__ __forceinline__ void mla_each_piece(const mla_tile_arguments &arguments, const function &of_piece)
{
    const mla_problem &problem = arguments.problem;
    mla_range range = table ? mla_share_of(arguments) : mla_range_of(problem, arguments.split.parts, (int)blockIdx.y);
    if (range.request >= problem.b)
        return;
    do {
        const mla_piece piece = mla_piece_of(problem, range, blockIdx.y);
        if (table)
            mla_check_table(arguments.split, piece);
        if (piece.mine)
            of_piece(piece);
    } while (mla_advance(problem, range));
}

/* Nothing seen so far. */
static __device__ __forceinline__ void mla_begin_rows(const mla_problem &problem, const mla_piece &piece, int row0,
                                                      float (&out)[mla_half / 2], mla_row_pair &rows)
{
    rows = {{-INFINITY, -INFINITY}, {0, 0}, {0, 0}};
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        out[i] = 0;
    for (int half = 0; half < 2; half++)
        rows.visible[half] = mla_visible(problem, piece.length, row0 + mla_row_in_tile(half));
}

/* Tiles first .. last - 1 of a block, as soon as they are there; they come alone, in pairs, or (0) were waited for. */
template <int tiles_a_copy = 1>
static __device__ __forceinline__ void mla_scores_of_tiles(float (&score)[32], const mla_shared &shared, int block,
                                                           uint32_t parity, int first, int last, int keep)
{
#pragma unroll
    for (int tile = first; tile < last; tile++) {
        if (tile == first)
            trace_begin(trace_keys);
        if (tiles_a_copy == 1 || (tiles_a_copy == 2 && tile % 2 == 0))
            mbarrier_wait(shared.full(block, tile), parity);
        if (tile == first)
            trace_end(trace_keys);
        wgmma_fence();
        mla_multiply_keys(score, shared.q() + tile * mla_tile_bytes, shared.keys(block) + tile * mla_tile_bytes,
                          tile > first ? 1 : keep);
    }
}

static __device__ __forceinline__ void mla_release(uint32_t empty)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(empty);
}

static __device__ __forceinline__ void mla_announce(const mla_shared &shared, int warpgroup, const float (&max)[2])
{
    if (threadIdx.x % 4 == 0)
        for (int half = 0; half < 2; half++)
            st_shared_f32(shared.max(warpgroup, mla_row_in_tile(half)), max[half]);
}

static __device__ __forceinline__ void mla_announced(const mla_shared &shared, int warpgroup, float (&max)[2])
{
    for (int half = 0; half < 2; half++)
        max[half] = ld_shared_f32(shared.max(warpgroup, mla_row_in_tile(half)));
}

static __device__ __forceinline__ void mla_factors(float (&factor)[2], const float (&old)[2], const float (&now)[2])
{
    for (int half = 0; half < 2; half++)
        factor[half] = mla_factor(old[half], now[half]);
}

/* Pages of 32 blocks, one a lane. */
struct mla_pages {
    int first, page;
};

static __device__ __forceinline__ int mla_page_of_block(const mla_problem &problem, mla_pages &pages, int request,
                                                        int block, int blocks)
{
    if (block >= pages.first + 32) {
        pages.first = block;
        const int mine = min(block + (int)(threadIdx.x % 32), blocks - 1);
        pages.page = mla_page(problem, request, mine * mla_block_keys);
    }
    return __shfl_sync(~0u, pages.page, block - pages.first);
}

/* Half of a block's values in two copies, when that half was given back. One thread calls. */
template <bool evict_first = false>
static __device__ __forceinline__ void mla_load_half(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                     int block, int half, int row, uint32_t parity)
{
    mbarrier_wait(shared.empty(block, half), parity ^ 1);
#pragma unroll
    for (int tile = half * 4; tile < half * 4 + 4; tile += 2) {
        const uint32_t full = shared.full(block, tile);
        mbarrier_arrive_expect(full, 2 * mla_tile_bytes);
        const uint32_t to = shared.keys(block) + tile * mla_tile_bytes;
        if (evict_first)
            tma_load_side_by_side_hint(to, &arguments.kv_wide, tile, row, full, l2_evict_first());
        else
            tma_load_side_by_side(to, &arguments.kv_wide, tile, row, full);
    }
}

/* A block's last tile, when `part` was given back. */
template <bool evict_first = false>
static __device__ __forceinline__ void mla_load_last(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                     int block, int part, int row, uint32_t parity)
{
    const uint32_t full = shared.full(block, 8);
    mbarrier_wait(shared.empty(block, part), parity ^ 1);
    mbarrier_arrive_expect(full, mla_tile_bytes);
    const uint32_t to = shared.keys(block) + 8 * mla_tile_bytes;
    if (evict_first)
        tma_load_hint(to, &arguments.kv, mla_d_v, row, full, l2_evict_first());
    else
        tma_load(to, &arguments.kv, mla_d_v, row, full);
}

static __device__ __forceinline__ void mla_produce_q(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                     const mla_piece &piece, uint32_t parity)
{
    if (threadIdx.x % 32 == 0) {
        mbarrier_wait(shared.q_empty(), parity ^ 1);
        mla_load_q(arguments, shared, piece.request * mla_rows_of(arguments.problem) + (int)blockIdx.x * mla_tile_rows);
    }
    __syncwarp();
}

/* One of four warps, for half of every other block: load(row of the cache, parity) in its thread 0; one also for q:
 * load_q(piece, parity). */
template <typename function, typename function_q>
static __device__ __forceinline__ void mla_produce_half(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                        int block, int half, const function &load,
                                                        const function_q &load_q)
{
    const mla_problem &problem = arguments.problem;
    uint32_t q_parity = 0, parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        mla_pages pages = {-32, 0};
        if (block == 1 && half == 0)
            load_q(piece, q_parity);
        q_parity ^= 1;
#pragma unroll 1
        for (int index = piece.first + block; index < piece.last; index += 2) {
            const int page = mla_page_of_block(problem, pages, piece.request, index, piece.last);
            const int row = page * problem.page_size + index * mla_block_keys % problem.page_size;
            if (threadIdx.x % 32 == 0)
                load(row, parity);
            __syncwarp();
            parity ^= 1;
        }
    });
}

#endif
