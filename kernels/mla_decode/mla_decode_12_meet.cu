/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 11 without a second kernel: parts meet (mla_decode_meet.cuh). Partial results are stored as wgmma leaves them: four
 * accumulators of a thread, of rows r and r + 8 of its warp, are one element of 16 bytes, and follow those of the lane
 * before, so that whole lines are stored and nothing is exchanged for it. All four producing warps send a part of q:
 * one would take longer for nine copies than their bytes do.
 */
#include "kernels/mla_decode/mla_decode_in_turn.cuh"
#include "kernels/mla_decode/mla_decode_meet.cuh"
#include "kernels/mla_decode/mla_decode_meet_launch.cuh"

constexpr int meet_kept = (mla_shared_bytes + 15) / 16 * 16, meet_bytes = meet_kept + mla_meetings_bytes;
static_assert(meet_bytes <= 232448, "more than the shared memory of a block");

/* Element 32 (32 (2 w + g) + i) + l: accumulators 4 i to 4 i + 3 of lane l of warp w of warpgroup g. */
struct meet_layout {
    using sums = mla_meet_sums;
    static constexpr int batch = 17, of_warp = mla_half / 8 * 32, of_tile = 8 * of_warp;
    int row0, rows;

    __device__ int elements() const
    {
        return min((rows + 15) / 16, 4) * 2 * of_warp;
    }
    __device__ int64_t begin(const mla_tile_arguments &, int slot) const
    {
        return ((int64_t)slot * gridDim.x + blockIdx.x) * of_tile;
    }
    __device__ int row(int element, int half) const
    {
        return element / (2 * of_warp) * 16 + element % 32 / 4 + half * 8;
    }
    __device__ int column(int element, int) const
    {
        return element / of_warp % 2 * mla_half + element % of_warp / 32 * 8 + element % 4 * 2;
    }
};

static __device__ __forceinline__ void meet_store(const mla_tile_arguments &arguments, int64_t begin,
                                                  const float (&out)[mla_half / 2], const float (&factor)[2])
{
    const int warp = threadIdx.x / 32 % 4 * 2 + threadIdx.x / 128;
    float4 *to = (float4 *)arguments.split.part_out + begin + warp * meet_layout::of_warp + threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < mla_half / 2; i += 4)
        __stcg(to + i * 8,
               make_float4(out[i] * factor[0], out[i + 1] * factor[0], out[i + 2] * factor[1], out[i + 3] * factor[1]));
}

/* The warpgroup and the piece's slot are made anew where they are needed: no register is left to keep them in. */
static __device__ __forceinline__ void meet_consume(const mla_tile_arguments &arguments, const mla_shared &shared)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    const meet_layout tile = {row0, mla_rows_of(arguments.problem) - row0};
    const uint32_t kept = shared.base + meet_kept;
    uint32_t q_parity = 0, parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        mla_turn_state state;
        float factor[2];
        mla_meeting_keep(kept, piece);
        mla_begin_rows(arguments.problem, piece, row0, state.out, state.rows);
        mbarrier_wait(shared.q_full(), q_parity);
        mla_keep_last_q(shared, state.q);
        if (mla_warpgroup_again() == 0)
            mla_turn_left<true>(shared, state, piece, parity);
        else
            mla_turn_right<true>(shared, state, piece, parity);
        mla_release(shared.q_last_empty());
        mla_piece done = piece;
        done.whole = piece.first == 0 && piece.last == mla_blocks(piece.length);
        done.slot = 2 * (int)blockIdx.y + (piece.first == 0);
        const int warpgroup = mla_warpgroup_again();
        mla_total(arguments, shared, done, (int)q_parity, row0, warpgroup, state.rows, factor);
        if (done.whole)
            mla_store_direct(arguments.problem, state.out, factor, warpgroup, piece.request, row0);
        else {
            meet_store(arguments, tile.begin(arguments, done.slot), state.out, factor);
            mla_meet_announce(arguments, kept, done.slot % 2);
        }
        q_parity ^= 1;
    });
    mla_meet_kept(arguments, tile, kept, shared.keys(0));
}

/* One of four warps: its fourth of q, and half of every other block, that which is needed first with the last tile. */
static __device__ __forceinline__ void meet_produce(const mla_tile_arguments &arguments, const mla_shared &shared,
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
            if (threadIdx.x % 32 == 0) {
                if (half == block)
                    mla_load_last(arguments, shared, block, mla_last_part, row, parity);
                mla_load_half(arguments, shared, block, half, row, parity);
            }
            __syncwarp();
        }
    });
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    meet_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const mla_shared shared = {shared_address(memory)};
    if (threadIdx.x / 32 == 9)
        mla_prefetch_share(arguments.problem, arguments.split.parts);
    if (threadIdx.x == 0) {
        mla_init_barriers(shared);
        mla_meetings_init(shared.base + meet_kept);
    }
    mla_turn_prefetch(arguments);
    __syncthreads();
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        meet_produce(arguments, shared, __shfl_sync(~0u, threadIdx.x / 32 % 4, 0));
    } else {
        registers_take<mla_consumer_registers>();
        meet_consume(arguments, shared);
    }
}

/* Partial results are whole tiles. */
static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    const int64_t padded[] = {dim[0], 1, dim[2], mla_row_tiles(dim) * mla_tile_rows};
    return mla_split_bytes(padded, mla_tile_parts(dim, device));
}

static int setup(struct ridge_call *call, void **state)
{
    const int parts = mla_tile_parts(call->dim, call->device);
    if (mla_meet_setup(call, (const void *)meet_kernel, meet_bytes, mla_tile_rows, parts, state))
        return 1;
    mla_split *split = &((mla_tile_arguments *)*state)->split;
    split->part_lse = split->part_out + (int64_t)2 * parts * mla_row_tiles(call->dim) * mla_tile_rows * mla_d_v;
    return 0;
}

static int launch(const struct ridge_call *call)
{
    return mla_meet_launch(call, meet_kernel, meet_bytes, mla_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_12_meet = {
    .idea = "11 where the CTAs that made a cut request's partial results meet and add them up",
    .source = "",
    .changes = "no second kernel: each part adds up a share when all have counted; partial results in the order of "
               "accumulators",
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
