/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial results added up by the CTAs that made them: there is no second kernel to launch, to find its cut, and to run
 * for nothing in an even batch. The parts of a cut request meet at a counter in memory of the state. It is 0 between
 * launches: arrivals count it to `parts`, departures on to 2 parts, which wraps to 0. CTAs that wait for each other
 * have to be resident, all of them, which a cooperative launch promises. Each part then adds up an equal share of the
 * columns of all rows, in an order that depends on the parts alone.
 */
#ifndef RIDGE_MLA_DECODE_MEET_CUH
#define RIDGE_MLA_DECODE_MEET_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"
#include "kernels/ptx/grid.cuh"

constexpr int mla_meet_threads = 256, mla_meet_barrier = 6;

/* A request that was cut: which parts have blocks of it, and which of them this one is. */
struct mla_meeting {
    int request, first, parts, mine;
    unsigned *counter;
};

static __device__ __forceinline__ mla_meeting mla_meeting_of(const mla_tile_arguments &arguments,
                                                             const mla_piece &piece)
{
    const mla_parts &parts = piece.parts;
    return {piece.request, parts.first, parts.last - parts.first + 1, (int)blockIdx.y - parts.first,
            arguments.split.meeting + parts.first * gridDim.x + blockIdx.x};
}

/* One thread, which comes behind a barrier of those whose stores it announces. */
static __device__ __forceinline__ void mla_meet_count(const mla_meeting &meeting)
{
    __threadfence();
    atomicInc(meeting.counter, 2 * meeting.parts - 1);
}

static __device__ __forceinline__ void mla_meet_wait(const mla_meeting &meeting)
{
    if (threadIdx.x == 0) {
        while (*(volatile unsigned *)meeting.counter < (unsigned)meeting.parts)
            ;
        mla_meet_count(meeting);
    }
    named_sync(mla_meet_barrier, mla_meet_threads);
}

/* By one warp, before its lengths are there: the lengths, and the page of the part's first block if every request has
 * s_k keys. Nothing is lost where they have not. */
static __device__ __forceinline__ void mla_prefetch_share(const mla_problem &problem, int parts)
{
    const int lane = threadIdx.x % 32;
    if (lane * 32 < problem.b)
        prefetch_global_l1(problem.length + lane * 32);
    const int units = mla_blocks(problem.s_k) + MLA_OVERHEAD;
    const int first = blockIdx.y * mla_share(units * problem.b, problem.b, parts);
    const int request = first / units, block = max(first - request * units - MLA_OVERHEAD, 0);
    if (lane == 0 && request < problem.b)
        prefetch_global_l1(problem.block_table + (int64_t)request * problem.table_columns +
                           block * mla_block_keys / problem.page_size);
}

/* Four columns each: elements [first, first + count) of the tile's rows are this part's, `across` side by side, and of
 * each `sharers` threads add every sharers-th part. Shared memory: the parts' elements, a weight for each part and row,
 * four sums a thread; a tile of 64 rows needs 140 KB, one of 16 rows 40. */
struct mla_meet_share {
    int first, count, across, sharers, row0, rows; /* of the rows that these elements lie in */
    uint32_t values, weights, sums;
};

constexpr int mla_row_elements = mla_d_v / 4;

static __device__ __forceinline__ mla_meet_share mla_meet_share_of(const mla_meeting &meeting, int rows,
                                                                   uint32_t shared)
{
    const int elements = rows * mla_row_elements, first = elements * meeting.mine / meeting.parts;
    const int count = elements * (meeting.mine + 1) / meeting.parts - first, row0 = first / mla_row_elements;
    mla_meet_share share = {first, count, mla_meet_threads, 1, row0, (first + count - 1) / mla_row_elements - row0 + 1};
    while (2 * share.sharers <= meeting.parts && count <= share.across / 2) {
        share.across /= 2;
        share.sharers *= 2;
    }
    share.values = shared;
    share.weights = shared + meeting.parts * count * 16;
    share.sums = share.weights + (meeting.parts * share.rows * 4 + 15) / 16 * 16;
    return share;
}

/* All parts' elements and log-sums, under way together. */
static __device__ __forceinline__ void mla_meet_fetch(const mla_tile_arguments &arguments, const mla_meeting &meeting,
                                                      const mla_meet_share &share, int row0)
{
    const mla_split &split = arguments.split;
    const int64_t rows = mla_rows_of(arguments.problem);
    const int parts = mla_meet_threads / share.count, elements = mla_meet_threads % share.count;
    int part = threadIdx.x / share.count, element = threadIdx.x % share.count;
#pragma unroll 1
    while (part < meeting.parts) {
        const int64_t slot = mla_slot(meeting.first + part, meeting.first);
        cp_async_16(share.values + (part * share.count + element) * 16,
                    split.part_out + (slot * rows + row0) * mla_d_v + (share.first + element) * 4);
        const bool wrap = element + elements >= share.count;
        element += elements - (wrap ? share.count : 0);
        part += parts + wrap;
    }
    cp_async_commit();
#pragma unroll 1
    for (int i = threadIdx.x; i < share.rows * meeting.parts; i += mla_meet_threads) {
        const int64_t slot = mla_slot(meeting.first + i % meeting.parts, meeting.first);
        st_shared_f32(share.weights + i * 4,
                      __ldcg(split.part_lse + slot * rows + row0 + share.row0 + i / meeting.parts));
    }
    cp_async_wait<0>();
    named_sync(mla_meet_barrier, mla_meet_threads);
}

/* A warp a row: log-sums become what each part's average is worth in the whole. */
static __device__ __forceinline__ void mla_meet_weigh(const mla_tile_arguments &arguments, const mla_meeting &meeting,
                                                      const mla_meet_share &share, int row0)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int row = threadIdx.x / 32; row < share.rows; row += mla_meet_threads / 32) {
        const uint32_t weights = share.weights + row * meeting.parts * 4;
        float max = -INFINITY, sum = 0;
#pragma unroll 1
        for (int part = lane; part < meeting.parts; part += 32)
            max = fmaxf(max, ld_shared_f32(weights + part * 4));
        for (int apart = 16; apart > 0; apart /= 2)
            max = fmaxf(max, __shfl_xor_sync(~0u, max, apart));
        const float base = max == -INFINITY ? 0 : max;
#pragma unroll 1
        for (int part = lane; part < meeting.parts; part += 32)
            sum += ex2(ld_shared_f32(weights + part * 4) - base);
        for (int apart = 16; apart > 0; apart /= 2)
            sum += __shfl_xor_sync(~0u, sum, apart);
        const float inverse = sum == 0 ? 0 : 1 / sum;
#pragma unroll 1
        for (int part = lane; part < meeting.parts; part += 32)
            st_shared_f32(weights + part * 4, ex2(ld_shared_f32(weights + part * 4) - base) * inverse);
        if (lane == 0 && (share.row0 + row) * mla_row_elements >= share.first)
            arguments.problem.lse[mla_lse_at(arguments.problem, meeting.request, row0 + share.row0 + row)] =
                sum == 0 ? INFINITY : (max + log2f(sum)) * mla_ln2;
    }
    named_sync(mla_meet_barrier, mla_meet_threads);
}

static __device__ __forceinline__ float4 mla_shared_four(uint32_t at)
{
    const uint4 word = ld_shared_volatile_v4(at);
    return {__uint_as_float(word.x), __uint_as_float(word.y), __uint_as_float(word.z), __uint_as_float(word.w)};
}

static __device__ __forceinline__ void mla_add_four(float4 &total, float4 value, float weight)
{
    total = {fmaf(value.x, weight, total.x), fmaf(value.y, weight, total.y), fmaf(value.z, weight, total.z),
             fmaf(value.w, weight, total.w)};
}

static __device__ __forceinline__ void mla_meet_store(const mla_problem &problem, const mla_meeting &meeting, int row0,
                                                      int element, float4 value)
{
    mla_store_four(problem, meeting.request, row0 + element / mla_row_elements, element % mla_row_elements * 4, value);
}

static __device__ __forceinline__ void mla_meet_add(const mla_tile_arguments &arguments, const mla_meeting &meeting,
                                                    const mla_meet_share &share, int row0)
{
    const int sharer = threadIdx.x / share.across;
    float4 total = {};
#pragma unroll 1
    for (int element = threadIdx.x % share.across; element < share.count; element += share.across) {
        const uint32_t weights =
            share.weights + ((share.first + element) / mla_row_elements - share.row0) * meeting.parts * 4;
        total = {};
#pragma unroll 4
        for (int part = sharer; part < meeting.parts; part += share.sharers)
            mla_add_four(total, mla_shared_four(share.values + (part * share.count + element) * 16),
                         ld_shared_f32(weights + part * 4));
        if (share.sharers == 1)
            mla_meet_store(arguments.problem, meeting, row0, share.first + element, total);
    }
    if (share.sharers == 1)
        return;
    st_shared_v4(share.sums + threadIdx.x * 16, make_uint4(__float_as_uint(total.x), __float_as_uint(total.y),
                                                           __float_as_uint(total.z), __float_as_uint(total.w)));
    named_sync(mla_meet_barrier, mla_meet_threads);
    if ((int)threadIdx.x >= share.count)
        return;
#pragma unroll 1
    for (int other = 1; other < share.sharers; other++)
        mla_add_four(total, mla_shared_four(share.sums + (threadIdx.x + other * share.across) * 16), 1);
    mla_meet_store(arguments.problem, meeting, row0, share.first + threadIdx.x, total);
}

/* This part's share of the request: rows row0 .. of at most tile_rows. */
static __device__ __forceinline__ void mla_meet_combine(const mla_tile_arguments &arguments, const mla_meeting &meeting,
                                                        int row0, int tile_rows, uint32_t shared)
{
    const mla_meet_share share =
        mla_meet_share_of(meeting, min(tile_rows, mla_rows_of(arguments.problem) - row0), shared);
    mla_meet_wait(meeting);
    if (share.count == 0)
        return;
    mla_meet_fetch(arguments, meeting, share, row0);
    mla_meet_weigh(arguments, meeting, share, row0);
    mla_meet_add(arguments, meeting, share, row0);
}

/* When all pieces of the part are done and stored: the first and the last may have been cut. */
static __device__ __forceinline__ void mla_meet_all(const mla_tile_arguments &arguments, int row0, int tile_rows,
                                                    uint32_t shared)
{
    named_sync(mla_meet_barrier, mla_meet_threads);
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        if (!piece.whole && threadIdx.x == 0)
            mla_meet_count(mla_meeting_of(arguments, piece));
    });
    mla_each_piece<false>(arguments, [&](const mla_piece &piece) {
        if (!piece.whole)
            mla_meet_combine(arguments, mla_meeting_of(arguments, piece), row0, tile_rows, shared);
    });
}

#endif
