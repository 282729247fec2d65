/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts that meet (mla_decode_meet_f16.cuh) without a counter that all wait for: each part announces its partial result
 * by itself, and the producing warps, which have nothing left to send, fetch from each part, as soon as it is
 * announced, what this part adds up of it, by bulk copies to the memory of the keys. Loads of the consumers took five
 * times as long. What follows the last keys runs once, and its instructions come from L2 or memory: the consumers' are
 * few, and what the producers work out about a meeting they leave in shared memory.
 *
 * A part's flag counts its announcement and each part that has seen it, after which it is 0.
 */
#ifndef RIDGE_MLA_DECODE_FETCH_CUH
#define RIDGE_MLA_DECODE_FETCH_CUH

#include "kernels/mla_decode/mla_decode_meet_f16.cuh"
#include "kernels/mla_decode/mla_decode_quarters.cuh"
#include "kernels/ptx/bulk.cuh"

constexpr int fetch_warps = 4;
constexpr int fetch_chunk_rows = 16;                  /* of the elements of a warp of the layout */
constexpr int fetch_tile_rows = 8 * fetch_chunk_rows; /* log-sums and scales of a slot, chunk by chunk */

/* Behind the memory of 14: meetings kept; a barrier a warp, whose parts have come; the results of a meeting have been
 * read; all keys have been read; what is fetched, 32 bytes a meeting. */
constexpr int fetch_kept_at = (mla_quarters_bytes + 15) / 16 * 16, fetch_full_at = fetch_kept_at + mla_meetings_bytes;
constexpr int fetch_empty_at = fetch_full_at + fetch_warps * 8, fetch_go_at = fetch_empty_at + 8;
constexpr int fetch_share_at = fetch_go_at + 8, fetch_bytes = fetch_share_at + 2 * 32;
static_assert(fetch_share_at % 16 == 0 && fetch_bytes <= 232448, "more than the shared memory of a block");

static __device__ __forceinline__ uint32_t fetch_full(const mla_shared &shared, int warp)
{
    return shared.base + fetch_full_at + warp * 8;
}

/* One thread; mla_quarters_init follows. */
static __device__ __forceinline__ void fetch_init(const mla_shared &shared)
{
    for (int i = 0; i < fetch_warps; i++)
        mbarrier_init(fetch_full(shared, i), 32);
    mbarrier_init(shared.base + fetch_empty_at, 8);
    mbarrier_init(shared.base + fetch_go_at, 1);
    mla_meetings_init(shared.base + fetch_kept_at);
}

/* What one part adds up of all parts of a request: elements that lie side by side, and the rows of their chunks. */
struct fetch_share {
    int first, count, across, each; /* each: parts that one of the threads that share an element adds up */
    int bytes, row_bytes;           /* of one part */
    int a_warp;                     /* parts that a warp fetches */
    int parts;
};

static __device__ __forceinline__ fetch_share fetch_share_of(const mla_half_layout &of, const mla_meeting &meeting)
{
    const mla_meet_share share = mla_meet_share_of(of, meeting, meeting.parts);
    const int chunks = (share.first + share.count - 1) / of.of_warp - share.first / of.of_warp + 1;
    return {share.first,
            share.count,
            share.across,
            (meeting.parts + share.sharers - 1) / share.sharers,
            share.count * 16,
            chunks * fetch_chunk_rows * (int)sizeof(float2),
            (meeting.parts + fetch_warps - 1) / fetch_warps,
            meeting.parts};
}

static __device__ __forceinline__ unsigned *fetch_flag(const mla_tile_arguments &arguments, int slot)
{
    return arguments.split.meeting + blockIdx.x * 2 * arguments.split.parts + slot;
}

static __device__ __forceinline__ float2 *fetch_rows(const mla_tile_arguments &arguments, int slot)
{
    return (float2 *)arguments.split.part_lse + ((int64_t)slot * gridDim.x + blockIdx.x) * fetch_tile_rows;
}

/* By all consumers. */
static __device__ __forceinline__ void fetch_store(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                   const mla_half_layout &of, int slot, int warpgroup,
                                                   const float (&out)[mla_half / 2], float (&factor)[2],
                                                   const float (&lse)[2])
{
    float scale[2];
    mla_half_scale(out, factor, scale);
    const int thread = (int)thread_again(), lane = thread % 32;
    const int warp = thread / 32 % 4 * 2 + warpgroup;
    mla_half_store_values(arguments, of, slot, warp, lane, out, factor);
    if (lane % 4 == 0)
        for (int half = 0; half < 2; half++)
            __stcg(fetch_rows(arguments, slot) + warp * fetch_chunk_rows + lane / 4 + 8 * half,
                   make_float2(lse[half], scale[half]));
    named_sync(mla_meet_barrier, mla_meet_threads);
    if (thread_again() == 0)
        signal_count(fetch_flag(arguments, slot),
                     mla_meeting_kept(arguments, shared.base + fetch_kept_at, slot % 2).parts);
}

/* A warp's parts, each when it is announced. */
static __device__ __forceinline__ void fetch_parts(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                   const mla_half_layout &of, int first, const fetch_share &share,
                                                   int warp)
{
    const int begin = warp * share.a_warp + (int)(threadIdx.x % 32), end = min((warp + 1) * share.a_warp, share.parts);
    const int row = share.first / of.of_warp * fetch_chunk_rows;
    const uint32_t full = fetch_full(shared, warp);
    mbarrier_arrive_expect(full, begin < end ? (end - begin + 31) / 32 * (share.bytes + share.row_bytes) : 0);
    for (int part = begin; __any_sync(~0u, part < end);) {
        const int slot = mla_slot(first + part, first);
        if (part >= end || signal_counted(fetch_flag(arguments, slot)) == 0)
            continue;
        fence_proxy_async_global();
        bulk_load(shared.keys(0) + part * share.bytes,
                  (const uint4 *)arguments.split.part_out + of.begin(slot) + share.first, share.bytes, full);
        bulk_load(shared.keys(1) + part * share.row_bytes, fetch_rows(arguments, slot) + row, share.row_bytes, full);
        part += 32;
    }
    for (int part = begin; part < end; part += 32)
        signal_count_relaxed(fetch_flag(arguments, mla_slot(first + part, first)), share.parts);
}

/* By four warps, when they have sent the copies of all pieces; q_parity: of the next piece, if there were one. */
static __device__ __forceinline__ void fetch_all(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                 int warp, uint32_t q_parity)
{
    const int row0 = blockIdx.x * mla_tile_rows;
    const mla_half_layout tile = {row0, mla_rows_of(arguments.problem) - row0};
    bool second = false;
    /* Consumers are through with the keys: the last of the warps, which waits so before each q, knows of which piece.
     */
    if (warp == fetch_warps - 1) {
        mbarrier_wait(shared.q_last_empty(), q_parity ^ 1);
        mla_release(shared.base + fetch_go_at);
    } else {
        mbarrier_wait(shared.base + fetch_go_at, 0);
    }
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
        const mla_meeting meeting = mla_meeting_kept(arguments, shared.base + fetch_kept_at, i);
        if (meeting.parts == 0)
            continue;
        const fetch_share share = fetch_share_of(tile, meeting);
        if (second)
            mbarrier_wait(shared.base + fetch_empty_at, 0);
        const uint32_t at = shared.base + fetch_share_at + i * 32;
        st_shared_v4(at, make_uint4(share.first, share.count, share.across, share.each));
        st_shared_v4(at + 16, make_uint4(share.bytes, share.row_bytes, share.a_warp, share.parts));
        fetch_parts(arguments, shared, tile, meeting.first, share, warp);
        second = true;
    }
}

/* Sums of an element over parts `begin` to end - 1. value, rows: addresses of the element and of its upper row in part
 * 0. */
static __device__ __forceinline__ mla_half_sums fetch_add(const fetch_share &share, uint32_t value, uint32_t rows,
                                                          int begin, int end)
{
    mla_half_sums sums = {{}, {-INFINITY, -INFINITY}, {}};
#pragma unroll 4
    for (int part = begin; part < end; part++)
        for (int half = 0; half < 2; half++)
            sums.max[half] = fmaxf(sums.max[half], ld_shared_f32(rows + part * share.row_bytes + half * 64));
#pragma unroll 4
    for (int part = begin; part < end; part++)
        mla_half_add(sums, ld_shared_v4(value + part * share.bytes), ld_shared_v2_f32(rows + part * share.row_bytes),
                     ld_shared_v2_f32(rows + part * share.row_bytes + 64));
    return sums;
}

/* Behind the rows of the parts, which are at most two chunks each where there are many. */
constexpr int fetch_stage_at = 40960;
static_assert(fetch_stage_at + 3 * 16 * mla_meet_threads <= mla_block_bytes, "the sums lie in the memory of a block");

/* By all consumers: one meeting. */
static __device__ __forceinline__ void fetch_meet(const mla_tile_arguments &arguments, const mla_half_layout &of,
                                                  const mla_shared &shared, int request, uint32_t at, uint32_t parity)
{
    for (int warp = 0; warp < fetch_warps; warp++)
        mbarrier_wait(fetch_full(shared, warp), parity);
    const uint4 low = ld_shared_volatile_v4(at), high = ld_shared_volatile_v4(at + 16);
    const fetch_share share = {(int)low.x,  (int)low.y,  (int)low.z,  (int)low.w,
                               (int)high.x, (int)high.y, (int)high.z, (int)high.w};
    const int thread = (int)thread_again(), from = thread / share.across * share.each;
#pragma unroll 1
    for (int begin = 0; begin < share.count; begin += share.across) {
        const int mine = begin + thread % share.across, i = min(mine, share.count - 1), element = share.first + i;
        const int chunk = element / of.of_warp - share.first / of.of_warp;
        mla_half_sums sums =
            fetch_add(share, shared.keys(0) + i * 16,
                      shared.keys(1) + (chunk * fetch_chunk_rows + element % 32 / 4) * (int)sizeof(float2), from,
                      min(from + share.each, share.parts));
        if (share.across < mla_meet_threads)
            mla_meet_exchange(sums, share.across, shared.keys(1) + fetch_stage_at);
        if (thread < share.across && mine < share.count)
            mla_meet_store(arguments.problem, of, request, element, sums);
    }
}

/* As mla_meet_kept, by all consumers. */
static __device__ __forceinline__ void fetch_meet_kept(const mla_tile_arguments &arguments, const mla_half_layout &of,
                                                       const mla_shared &shared)
{
    uint32_t parity = 0;
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
        const uint4 kept = ld_shared_volatile_v4(shared.base + fetch_kept_at + i * 16);
        if (kept.z == 0)
            continue;
        fetch_meet(arguments, of, shared, (int)kept.x, shared.base + fetch_share_at + i * 32, parity);
        mla_release(shared.base + fetch_empty_at);
        parity ^= 1;
    }
}

#endif
