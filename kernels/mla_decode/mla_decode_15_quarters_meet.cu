/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule of 14 with the ends of 12: parts meet, q is sent by all four producing warps, and there is no second
 * kernel. Partial results are FP16 (mla_decode_meet_f16.cuh), and keys of a short cache leave L2 first, as in 13: both
 * for the dirty lines of L2, which make room for keys and for partial results.
 */
#include "kernels/mla_decode/mla_decode_meet_f16.cuh"
#include "kernels/mla_decode/mla_decode_meet_launch.cuh"
#include "kernels/mla_decode/mla_decode_quarters.cuh"

constexpr int meet_kept = (mla_quarters_bytes + 15) / 16 * 16, meet_bytes = meet_kept + mla_meetings_bytes;
static_assert(meet_bytes <= 232448, "more than the shared memory of a block");

/* The warpgroup and the piece's slot are made anew where they are needed: no register is left to keep them in. */
static __device__ __forceinline__ void meet_finish(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                   const mla_piece &piece, int turn, const mla_half_layout &tile,
                                                   const mla_quarters_state &state)
{
    const int warpgroup = mla_warpgroup_again();
    const bool whole = piece.first == 0 && piece.last == mla_blocks(piece.length);
    const int slot = 2 * (int)blockIdx.y + (piece.first == 0);
    float factor[2], lse[2], out[mla_half / 2];
    mla_half_total(shared, turn, warpgroup, state.rows, factor, lse);
#pragma unroll
    for (int i = 0; i < mla_half / 2; i++)
        out[i] = state.out[i / 64][i % 64];
    if (whole) {
        mla_half_whole_lse(arguments.problem, piece.request, tile, warpgroup, lse);
        mla_store_direct(arguments.problem, out, factor, warpgroup, piece.request, tile.row0);
    } else {
        mla_half_store(arguments, tile, slot, warpgroup, out, factor, lse);
        mla_meet_announce(arguments, shared.base + meet_kept, slot % 2);
    }
}

static __device__ __forceinline__ void meet_consume(const mla_tile_arguments &arguments, const mla_quarters &shared)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    const mla_half_layout tile = {row0, mla_rows_of(arguments.problem) - row0};
    uint32_t q_parity = 0, parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        mla_quarters_state state;
        mla_meeting_keep(shared.base + meet_kept, piece);
        mla_quarters_begin(arguments.problem, piece, row0, state);
        mbarrier_wait(shared.q_full(), q_parity);
        mla_keep_last_q(shared, state.q);
        if (mla_warpgroup_again() == 0)
            mla_quarters_left(shared, state, piece, parity);
        else
            mla_quarters_right(shared, state, piece, parity);
        mla_release(shared.q_last_empty());
        meet_finish(arguments, shared, piece, (int)q_parity, tile, state);
        q_parity ^= 1;
    });
    mla_meet_kept(arguments, tile, shared.base + meet_kept, shared.keys(0));
}

/* One of four warps: its fourth of q, and half of every other block, that which is needed first with the last tile. */
template <bool evict_first>
static __device__ __forceinline__ void meet_produce(const mla_tile_arguments &arguments, const mla_quarters &shared,
                                                    int warp)
{
    const mla_problem &problem = arguments.problem;
    const int block = warp / 2, half = warp % 2;
    uint32_t q_parity = 0, parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        mla_pages pages = {-32, 0};
        mla_meet_load_q(arguments, shared, piece.request, warp, q_parity);
        q_parity ^= 1;
#pragma unroll 1
        for (int index = piece.first + block; index < piece.last; index += 2, parity ^= 1) {
            const int page = mla_page_of_block(problem, pages, piece.request, index, piece.last);
            const int row = page * problem.page_size + index * mla_block_keys % problem.page_size;
            if (threadIdx.x % 32 == 0)
                mla_quarters_load<evict_first>(arguments, shared, block, half, row, parity);
            __syncwarp();
        }
    });
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    meet_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const mla_quarters shared = {{shared_address(memory)}};
    if (threadIdx.x / 32 == 9)
        mla_prefetch_share(arguments.problem, arguments.split.parts);
    if (threadIdx.x == 0) {
        mla_quarters_init(shared);
        mla_meetings_init(shared.base + meet_kept);
    }
    mla_turn_prefetch(arguments);
    __syncthreads();
    if (__shfl_sync(~0u, threadIdx.x / 128, 0) == 2) {
        registers_give<mla_producer_registers>();
        const int warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
        if (arguments.evict_first)
            meet_produce<true>(arguments, shared, warp);
        else
            meet_produce<false>(arguments, shared, warp);
    } else {
        registers_take<mla_consumer_registers>();
        meet_consume(arguments, shared);
    }
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    const int parts = mla_tile_parts(dim, device);
    return mla_part_elements<mla_half_layout>(dim, parts) * sizeof(uint4) + (size_t)(2 * parts * 2 * dim[1] * dim[3]) * sizeof(float2);
}

static int setup(struct ridge_call *call, void **state)
{
    const int parts = mla_tile_parts(call->dim, call->device);
    if (mla_meet_setup(call, (const void *)meet_kernel, meet_bytes, mla_tile_rows, parts, state))
        return 1;
    mla_tile_arguments *arguments = (mla_tile_arguments *)*state;
    arguments->split.part_lse = (float *)((uint4 *)call->workspace + mla_part_elements<mla_half_layout>(call->dim, parts));
    arguments->evict_first = mla_meet_evict_first(call);
    return 0;
}

static int launch(const struct ridge_call *call)
{
    return mla_meet_launch(call, meet_kernel, meet_bytes, mla_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_15_quarters_meet = {
    .idea = "14 with parts that meet, as in 12: the schedule of long contexts with the ends of short ones",
    .source = "",
    .changes = "against 14: no second kernel, q by four warps, partial results in FP16 with a scale a row, keys of a "
               "short cache leave L2 first",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = mla_tile_unsupported,
    .issued = mla_meet_issued,
    .workspace_bytes = workspace_bytes,
    .setup = setup,
    .teardown = mla_meet_teardown,
    .launch = launch,
    .kernel = (const void *)meet_kernel,
};
