/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16 whose warpgroups share the last block of a piece (mla_decode_joint.cuh), and who loads begins without the others:
 * one warp for keys, one for q. Parts leave sums, and what a part loads when they meet is worked out before it waits
 * (mla_decode_joint_meet.cuh).
 */
#include "kernels/mla_decode/mla_decode_joint_meet.cuh"

constexpr int joint_begin_barrier = 4, joint_senders_barrier = 5;

/* One warp for all keys, tile by tile. */
static __device__ __forceinline__ void joint_send_keys(const mla_tile_arguments &arguments, uint32_t base)
{
    using memory = mla_transposed<ends_rows>;
    const int blocks_a_page = arguments.problem.page_size / mla_block_keys;
    uint32_t q_parity = 0, parity[2] = {0, 0};
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        mla_pages pages = {-32, 0};
        int within = piece.first % blocks_a_page; /* of the page: no division between two copies */
        if (threadIdx.x % 32 == 0)
            mbarrier_wait(base + memory::q_empty, q_parity ^ 1);
        __syncwarp();
        q_parity ^= 1;
#pragma unroll 1
        for (int block = piece.first; block < piece.last; block++) {
            const int slot = block - piece.first & 1;
            const int page = mla_page_of_block(arguments.problem, pages, piece.request, block, piece.last);
            const int row = __shfl_sync(~0u, (page * blocks_a_page + within) * mla_block_keys, 0);
            within = within + 1 == blocks_a_page ? 0 : within + 1;
            if (threadIdx.x % 32 == 0) {
                const uint32_t full = base + memory::full + slot * mla_tiles * 8, keys = base + slot * mla_block_bytes;
                mbarrier_wait(base + memory::empty + slot * 8, (slot ? parity[1] : parity[0]) ^ 1);
#pragma unroll
                for (int tile = 0; tile < mla_tiles; tile++) {
                    mbarrier_arrive_expect(full + tile * 8, mla_tile_bytes);
                    if (arguments.evict_first)
                        tma_load_hint(keys + tile * mla_tile_bytes, &arguments.kv, tile * 64, row, full + tile * 8,
                                      l2_evict_first());
                    else
                        tma_load(keys + tile * mla_tile_bytes, &arguments.kv, tile * 64, row, full + tile * 8);
                }
            }
            __syncwarp();
            parity[0] ^= !slot;
            parity[1] ^= slot;
        }
    });
}

static __device__ __forceinline__ void joint_send_q(const mla_tile_arguments &arguments, uint32_t base)
{
    using memory = mla_transposed<ends_rows>;
    uint32_t parity = 0;
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        if (threadIdx.x % 32 == 0) {
            const int row = piece.request * mla_rows_of(arguments.problem) + (int)blockIdx.x * ends_rows;
            mbarrier_wait(base + memory::q_empty, parity ^ 1);
            mbarrier_arrive_expect(base + memory::q_full, memory::q_bytes);
            for (int tile = 0; tile < mla_tiles; tile++)
                tma_load(base + memory::q + tile * memory::q_tile_bytes, &arguments.q, tile * 64, row,
                         base + memory::q_full);
        }
        __syncwarp();
        parity ^= 1;
    });
}

/* The warp that sends keys makes the barriers and waits for nobody. */
static __device__ __forceinline__ void joint_send(const mla_tile_arguments &arguments, uint32_t base)
{
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0) - 8;
    if (warp == 0) {
        if (threadIdx.x % 32 == 0)
            mla_transposed_init<ends_rows>(base, 4, 8);
        __syncwarp();
        named_arrive(joint_senders_barrier, 64);
        named_arrive(joint_begin_barrier, 256 + 32);
        joint_send_keys(arguments, base);
    } else if (warp == 1) {
        mla_prefetch_share(arguments.problem, arguments.split.parts);
        __syncwarp();
        named_sync(joint_senders_barrier, 64);
        joint_send_q(arguments, base);
    } else if (threadIdx.x % 32 == 0)
        tma_prefetch_map(warp == 2 ? &arguments.kv : &arguments.q);
}

static __device__ __forceinline__ void joint_consume(const mla_tile_arguments &arguments, uint32_t base, int warpgroup)
{
    using memory = mla_transposed<ends_rows>;
    const int row0 = blockIdx.x * ends_rows;
    uint32_t parity = 0, done = 0; /* pieces: none, 1 an odd number, 2 an even one */
    if (threadIdx.x == 0)
        mla_meetings_init(base + joint_kept);
    named_sync(joint_begin_barrier, 256 + 32);
    mla_once_each_piece(arguments, [&](const mla_piece &piece, bool beyond) {
        const uint32_t q_parity = done & 1;
        if (piece.last == piece.first) {
            done = q_parity ? 2 : 1;
            joint_store_empty(arguments.problem, piece.request, row0);
            mbarrier_wait(base + memory::q_full, q_parity);
            mla_release(base + memory::q_empty);
            return;
        }
        ends_state state = {};
        const int seen = mla_visible(arguments.problem, piece.length, row0), late = piece.last - piece.first - 1 & 1;
        if (done) /* the other warpgroup has read what was left too */
            named_sync(3, 256);
        done = q_parity ? 2 : 1;
        mla_once_keep(base + joint_kept, piece, beyond);
#pragma unroll
        for (int j = 0; j < shorter_own; j++)
            state.max[j] = -INFINITY;
        mbarrier_wait(base + memory::q_full, q_parity);
#pragma unroll 1
        for (int block = piece.first + warpgroup; block < piece.last - 1; block += 2, parity ^= 1)
            shorter_block(state, base, warpgroup, parity, arguments.problem, piece.length, block * mla_block_keys,
                          seen);
        joint_leave(state, base, warpgroup);
        if (warpgroup == late) {
            joint_last_block(state, base, warpgroup, parity, arguments.problem, piece.length,
                             (piece.last - 1) * mla_block_keys, seen);
            parity ^= 1;
        } else {
            joint_leave_maximum(state, base, joint_early);
            joint_leave_sums(state, base);
        }
        named_sync(3, 256);
        joint_end(arguments, piece, row0, state, base, warpgroup, late);
        if (!piece.whole)
            mla_once_announce(arguments, base + joint_kept, piece.slot % 2);
    });
    const joint_rows rows = {min(ends_rows, mla_rows_of(arguments.problem) - row0)};
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
        const mla_meeting_once meeting = mla_once_kept(arguments, base + joint_kept, i);
        if (meeting.of.mine < meeting.sharers)
            joint_meet(arguments, rows, meeting, base);
    }
}

/* blockIdx: tile of rows, part. */
static __global__ void __launch_bounds__(mla_threads, 1)
    joint_kernel(const __grid_constant__ mla_tile_arguments arguments)
{
    extern __shared__ __align__(1024) char dynamic[];
    const uint32_t base = shared_address(dynamic);
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    if (warpgroup == 2) {
        registers_give<mla_producer_registers>();
        joint_send(arguments, base);
    } else {
        registers_take<mla_consumer_registers>();
        joint_consume(arguments, base, warpgroup);
    }
}

static size_t workspace_bytes(const int64_t *dim, const struct ridge_device *device)
{
    return (size_t)2 * ends_parts(dim, device) * ends_row_tiles(dim) * ends_rows * (mla_d_v + 2) * sizeof(float);
}

static int setup(struct ridge_call *call, void **state)
{
    if (mla_meet_setup(call, (const void *)joint_kernel, joint_bytes, ends_rows, ends_parts(call->dim, call->device),
                       state))
        return 1;
    ((mla_tile_arguments *)*state)->evict_first = mla_meet_evict_first(call);
    return 0;
}

static int launch(const struct ridge_call *call)
{
    return mla_meet_launch(call, joint_kernel, joint_bytes, ends_row_tiles(call->dim));
}

extern "C" const struct ridge_variant ridge_variant_mla_decode_17_joint_ends = {
    .idea = "16 whose warpgroups multiply the last block's values together and store from accumulators",
    .source = "",
    .changes =
        "against 16: a piece's last values by both warpgroups, half of the columns each; log-sums under them; parts "
        "leave sums as accumulators lie; keys are asked for before all threads have met, q by a warp of its own",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = ends_unsupported,
    .issued = ends_issued,
    .workspace_bytes = workspace_bytes,
    .setup = setup,
    .teardown = mla_meet_teardown,
    .launch = launch,
    .kernel = (const void *)joint_kernel,
};
