/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 15 with parts that announce themselves one by one and are fetched by the producing warps (mla_decode_fetch.cuh). A
 * request that is alone is cut into equal parts, and its first keys are asked for before its length is there.
 */
#include "kernels/mla_decode/mla_decode_fetch.cuh"
#include "kernels/mla_decode/mla_decode_meet_launch.cuh"

/* Blocks before part `part` of those that share a request. */
static __device__ __forceinline__ int fetched_cut(int blocks, int parts, int part)
{
    const int each = (int)((unsigned)blocks / (unsigned)parts);
    return each * part + min(part, blocks - each * parts);
}

static __device__ __forceinline__ mla_range fetched_range_alone(const mla_problem &problem, int parts, int part)
{
    const int blocks = mla_blocks(mla_length(problem, 0));
    return {part ? fetched_cut(blocks, parts, part) + MLA_OVERHEAD : 0,
            fetched_cut(blocks, parts, part + 1) + MLA_OVERHEAD, 0, 0};
}

/* As mla_each_piece, but for a request that is alone. */
template <typename function>
static __device__ __forceinline__ void fetched_each_piece(const mla_tile_arguments &arguments, const function &of_piece)
{
    const mla_problem &problem = arguments.problem;
    const int parts = arguments.split.parts;
    mla_range range = problem.b == 1 ? fetched_range_alone(problem, parts, (int)blockIdx.y)
                                     : mla_range_of(problem, parts, (int)blockIdx.y);
    if (range.request >= problem.b)
        return;
    do {
        mla_piece piece = mla_piece_of(problem, range, blockIdx.y);
        if (problem.b == 1)
            piece.parts = {0, max(min(parts, mla_blocks(piece.length)), 1) - 1};
        if (piece.mine)
            of_piece(piece);
    } while (mla_advance(problem, range));
}

/* By one warp, before its lengths are there: what mla_prefetch_share does, and all lines of 32 pages. */
static __device__ __forceinline__ void fetched_prefetch_share(const mla_problem &problem, int parts)
{
    const int lane = threadIdx.x % 32, blocks = mla_blocks(problem.s_k);
    if (problem.b > 1) {
        mla_prefetch_share(problem, parts);
        return;
    }
    if (lane == 0)
        prefetch_global_l1(problem.length);
    if (lane < 2 && blocks > 0) {
        const int block = min(fetched_cut(blocks, parts, (int)blockIdx.y) + 31 * lane, blocks - 1);
        prefetch_global_l1(problem.block_table + block * mla_block_keys / problem.page_size);
    }
}

/* A request that is alone may have s_k keys, as it has where lengths are full: its first blocks are then asked for
 * before its length is there. */
static __device__ __forceinline__ bool fetched_guesses(const mla_problem &problem, int parts)
{
    return problem.b == 1 && mla_blocks(problem.s_k) >= 2 * parts;
}

/* Barrier of all threads, at which what a wrong guess asked for is there, so that the barriers of keys are a phase on
 * before consumers wait for them. */
constexpr int fetched_again = 8;

static __device__ __forceinline__ bool fetched_guessed_wrong(const mla_problem &problem, int parts)
{
    return fetched_guesses(problem, parts) && mla_length(problem, 0) != problem.s_k;
}

/* The warpgroup and the piece's slot are made anew where they are needed: no register is left to keep them in. */
static __device__ __forceinline__ void fetched_finish(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                      const mla_piece &piece, int turn, const mla_half_layout &tile,
                                                      const mla_quarters_state &state)
{
    const int warpgroup = mla_warpgroup_again();
    const bool whole = piece.first == 0 && piece.last == mla_blocks(piece.length);
    float factor[2], lse[2], out[mla_half / 2];
    mla_half_total(shared, turn, warpgroup, state.rows, factor, lse);
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        out[i] = state.out[i / 64][i % 64];
    if (whole) {
        mla_half_whole_lse(arguments.problem, piece.request, tile, warpgroup, lse);
        mla_store_direct(arguments.problem, out, factor, warpgroup, piece.request, tile.row0);
    } else {
        fetch_store(arguments, shared, tile, 2 * (int)blockIdx.y + (piece.first == 0), warpgroup, out, factor, lse);
    }
}

static __device__ __forceinline__ void fetched_consume(const mla_tile_arguments &arguments, const mla_quarters &shared)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    const mla_half_layout tile = {row0, mla_rows_of(arguments.problem) - row0};
    uint32_t q_parity = 0, parity = fetched_guessed_wrong(arguments.problem, arguments.split.parts);
    if (parity)
        named_sync(fetched_again, mla_threads);
    fetched_each_piece(arguments, [&](const mla_piece &piece) {
        mla_quarters_state state;
        mla_meeting_keep(shared.base + fetch_kept_at, piece);
        mla_quarters_begin(arguments.problem, piece, row0, state);
        mbarrier_wait(shared.q_full(), q_parity);
        mla_keep_last_q(shared, state.q);
        if (mla_warpgroup_again() == 0)
            mla_quarters_left(shared, state, piece, parity);
        else
            mla_quarters_right(shared, state, piece, parity);
        mla_release(shared.q_last_empty());
        fetched_finish(arguments, shared, piece, (int)q_parity, tile, state);
        q_parity ^= 1;
    });
    fetch_meet_kept(arguments, tile, shared);
}

/* Row of the cache of a block. */
static __device__ __forceinline__ int fetched_row(const mla_problem &problem, int page, int block)
{
    return page * problem.page_size + block * mla_block_keys % problem.page_size;
}

/* By a producing warp: q, and its half of a block. */
template <bool evict_first>
static __device__ __forceinline__ void fetched_guess(const mla_tile_arguments &arguments, const mla_quarters &shared,
                                                     int warp)
{
    const mla_problem &problem = arguments.problem;
    const int block = fetched_cut(mla_blocks(problem.s_k), arguments.split.parts, (int)blockIdx.y) + warp / 2;
    const int page = mla_page(problem, 0, block * mla_block_keys);
    mla_meet_load_q(arguments, shared, 0, warp, 0);
    if (threadIdx.x % 32 == 0)
        mla_quarters_load<evict_first>(arguments, shared, warp / 2, warp % 2, fetched_row(problem, page, block), 0);
    __syncwarp();
}

/* By a producing warp: its part of a wrong guess, and q, which is right, but perhaps of no use. */
static __device__ __forceinline__ void fetched_guess_there(const mla_quarters &shared, int warp)
{
    const int block = warp / 2, half = warp % 2;
    for (int quarter = 2 * half; quarter < 2 * half + 2; quarter++)
        mbarrier_wait(shared.full(block, 2 * quarter), 0);
    if (half == block)
        mbarrier_wait(shared.full(block, 8), 0);
    mbarrier_wait(shared.q_full(), 0);
    named_sync(fetched_again, mla_threads);
}

/* Half of every other block of those from `first` to `last` - 1. */
template <bool evict_first>
static __device__ __forceinline__ void fetched_keys(const mla_tile_arguments &arguments, const mla_quarters &shared,
                                                    int request, int first, int last, int warp, uint32_t &parity)
{
    const mla_problem &problem = arguments.problem;
    mla_pages pages = {-32, 0};
#pragma unroll 1
    for (int index = first + warp / 2; index < last; index += 2, parity ^= 1) {
        const int page = mla_page_of_block(problem, pages, request, index, last);
        if (threadIdx.x % 32 == 0)
            mla_quarters_load<evict_first>(arguments, shared, warp / 2, warp % 2, fetched_row(problem, page, index),
                                           parity);
        __syncwarp();
    }
}

/* One of four warps, for a request that is alone. */
template <bool evict_first>
static __device__ __forceinline__ void fetched_produce_alone(const mla_tile_arguments &arguments,
                                                             const mla_quarters &shared, int warp)
{
    const mla_problem &problem = arguments.problem;
    const int parts = arguments.split.parts;
    fetched_guess<evict_first>(arguments, shared, warp);
    const int length = __shfl_sync(~0u, mla_length(problem, 0), 0), blocks = mla_blocks(length);
    const int first = fetched_cut(blocks, parts, (int)blockIdx.y);
    const int last = fetched_cut(blocks, parts, (int)blockIdx.y + 1);
    uint32_t parity = length == problem.s_k;
    if (!parity)
        fetched_guess_there(shared, warp);
    fetched_keys<evict_first>(arguments, shared, 0, first + 2 * (int)parity, last, warp, parity);
    fetch_all(arguments, shared, warp, last > first || (blocks == 0 && blockIdx.y == 0));
}

/* One of four warps: its fourth of q, and half of every other block, that which is needed first with the last tile. */
template <bool evict_first>
static __device__ __forceinline__ void fetched_produce(const mla_tile_arguments &arguments, const mla_quarters &shared,
                                                       int warp)
{
    if (fetched_guesses(arguments.problem, arguments.split.parts)) {
        fetched_produce_alone<evict_first>(arguments, shared, warp);
        return;
    }
    uint32_t q_parity = 0, parity = 0;
    fetched_each_piece(arguments, [&](const mla_piece &piece) {
        mla_meet_load_q(arguments, shared, piece.request, warp, q_parity);
        q_parity ^= 1;
        fetched_keys<evict_first>(arguments, shared, piece.request, piece.first, piece.last, warp, parity);
    });
    fetch_all(arguments, shared, warp, q_parity);
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    fetched_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const mla_quarters shared = {{shared_address(memory)}};
    if (threadIdx.x / 32 == 9)
        fetched_prefetch_share(arguments.problem, arguments.split.parts);
    if (threadIdx.x == 0) {
        fetch_init(shared);
        mla_quarters_init(shared);
    }
    mla_turn_prefetch(arguments);
    __syncthreads();
    if (__shfl_sync(~0u, threadIdx.x / 128, 0) == 2) {
        registers_give<mla_producer_registers>();
        const int warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
        if (arguments.evict_first)
            fetched_produce<true>(arguments, shared, warp);
        else
            fetched_produce<false>(arguments, shared, warp);
    } else {
        registers_take<mla_consumer_registers>();
        fetched_consume(arguments, shared);
    }
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    const int parts = mla_tile_parts(dim, device);
    return mla_part_elements<mla_half_layout>(dim, parts) * sizeof(uint4) +
           (size_t)2 * parts * mla_row_tiles(dim) * fetch_tile_rows * sizeof(float2);
}

static int setup(struct ridge_call *call, void **state)
{
    const int parts = mla_tile_parts(call->dim, call->device);
    if (mla_meet_setup(call, (const void *)fetched_kernel, fetch_bytes, mla_tile_rows, parts, state, 2))
        return 1;
    mla_tile_arguments *arguments = (mla_tile_arguments *)*state;
    arguments->split.part_lse = (float *)((uint4 *)call->workspace + mla_part_elements<mla_half_layout>(call->dim, parts));
    arguments->evict_first = mla_meet_evict_first(call);
    return 0;
}

static int launch(const struct ridge_call *call)
{
    return mla_meet_launch(call, fetched_kernel, fetch_bytes, mla_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_18_fetched = {
    .idea = "15 whose parts announce themselves one by one and are fetched by the warps that sent the keys",
    .source = "",
    .changes =
        "against 15: partial results by bulk copies, each when it is announced; a request that is alone is shared "
        "out evenly, and its first keys are asked for as if it had s_k",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_meet_issued,
    .workspace_bytes = workspace_bytes,
    .setup = setup,
    .teardown = mla_meet_teardown,
    .launch = launch,
    .kernel = (const void *)fetched_kernel,
};
