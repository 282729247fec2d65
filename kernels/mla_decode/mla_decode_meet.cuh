/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial results added up by the CTAs that made them: there is no second kernel to launch, to find its cut, and to run
 * for nothing in an even batch. The parts of a cut request meet at a counter in memory of the state. It is 0 between
 * launches: arrivals count it to `parts`, departures on to 2 parts, which wraps to 0. CTAs that wait for each other
 * have to be resident, all of them, which a cooperative launch promises. Each part then adds up an equal share of the
 * elements of all parts, in an order that depends on the parts alone: all that a thread adds is on its way before the
 * first of it is used, and the thread weighs it by itself, so that behind the counter there are one trip to L2 and one
 * exchange.
 */
#ifndef RIDGE_MLA_DECODE_MEET_CUH
#define RIDGE_MLA_DECODE_MEET_CUH

#include "kernels/mla_decode/mla_decode_pieces.cuh"
#include "kernels/ptx/signal.cuh"

constexpr int mla_meet_threads = 256, mla_meet_barrier = 6;
constexpr int mla_meet_few = 5; /* parts of a request that is cut rarely */

/* Made anew where it is needed. */
static __device__ __forceinline__ int mla_warpgroup_again()
{
    return __shfl_sync(~0u, (int)thread_again() / 128, 0);
}

/* A request that was cut: which parts have blocks of it, and which of them this one is; no parts: none. */
struct mla_meeting {
    int request, first, parts, mine;
    unsigned *counter;
};

static __device__ __forceinline__ mla_meeting mla_meeting_of(const mla_tile_arguments &arguments, int request,
                                                             int first, int parts)
{
    return {request, first, parts, (int)blockIdx.y - first, arguments.split.meeting + first * gridDim.x + blockIdx.x};
}

/* One thread, which comes behind a barrier of those whose stores it announces. */
static __device__ __forceinline__ void mla_meet_count(const mla_meeting &meeting)
{
    signal_count(meeting.counter, 2 * meeting.parts - 1);
}

static __device__ __forceinline__ void mla_meet_wait(const mla_meeting &meeting)
{
    if (thread_again() == 0) {
        while (signal_counted(meeting.counter) < (unsigned)meeting.parts)
            ;
        signal_count_relaxed(meeting.counter, 2 * meeting.parts - 1);
    }
    named_sync(mla_meet_barrier, mla_meet_threads);
}

/* A part's meetings until its end, in shared memory: for the request that it continues and for the one that it begins,
 * 16 bytes each. */
constexpr int mla_meetings_bytes = 32;

static __device__ __forceinline__ void mla_meetings_init(uint32_t kept)
{
    for (int i = 0; i < 2; i++)
        st_shared_v4(kept + i * 16, make_uint4(0, 0, 0, 0));
}

/* Before the piece, whose registers may all be in use later. */
static __device__ __forceinline__ void mla_meeting_keep(uint32_t kept, const mla_piece &piece)
{
    const mla_parts &parts = piece.parts;
    if (threadIdx.x > 0 || piece.whole)
        return;
    st_shared_v4(kept + piece.slot % 2 * 16, make_uint4((unsigned)piece.request, (unsigned)parts.first,
                                                        (unsigned)(parts.last - parts.first + 1), 0));
}

static __device__ __forceinline__ mla_meeting mla_meeting_kept(const mla_tile_arguments &arguments, uint32_t kept,
                                                               int i)
{
    const uint4 word = ld_shared_volatile_v4(kept + i * 16);
    return mla_meeting_of(arguments, (int)word.x, (int)word.y, (int)word.z);
}

/* By all consumers when the piece is stored that meeting `i` was kept of. */
static __device__ __forceinline__ void mla_meet_announce(const mla_tile_arguments &arguments, uint32_t kept, int i)
{
    named_sync(mla_meet_barrier, mla_meet_threads);
    if (thread_again() == 0)
        mla_meet_count(mla_meeting_kept(arguments, kept, i));
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

/* A fourth of q, by each of four warps; its last tile waits for the probabilities that lie there. */
static __device__ __forceinline__ void mla_meet_load_q(const mla_tile_arguments &arguments, const mla_shared &shared,
                                                       int request, int warp, uint32_t parity)
{
    if (threadIdx.x % 32 == 0) {
        const int row = request * mla_rows_of(arguments.problem) + (int)blockIdx.x * mla_tile_rows;
        mbarrier_wait(shared.q_empty(), parity ^ 1);
        if (warp == 0)
            mbarrier_arrive_expect(shared.q_full(), mla_block_bytes);
        for (int tile = 2 * warp; tile < 2 * warp + 2; tile++)
            tma_load(shared.q() + tile * mla_tile_bytes, &arguments.q, tile * 64, row, shared.q_full());
        if (warp == 3) {
            mbarrier_wait(shared.q_last_empty(), parity ^ 1);
            tma_load(shared.q() + 8 * mla_tile_bytes, &arguments.q, mla_d_v, row, shared.q_full());
        }
    }
    __syncwarp();
}

constexpr int mla_row_elements = mla_d_v / 4;

/* Sums of an element over some parts, under the maxima of its rows' log-sums. */
struct mla_meet_sums {
    float4 value;
    float2 max, sum;
};

/* Partial results in the order of the result. A layout says where elements of 16 bytes are, each some columns of
 * each of two rows of the tile, what sums of an element are, and how many of them a thread has under way. */
struct mla_meet_rows {
    using sums = mla_meet_sums;
    static constexpr int batch = 9;
    int row0, rows; /* of the tile, and its number */

    __device__ int elements() const
    {
        return rows * mla_row_elements;
    }
    __device__ int64_t begin(const mla_tile_arguments &arguments, int slot) const
    {
        return ((int64_t)slot * mla_rows_of(arguments.problem) + row0) * mla_row_elements;
    }
    __device__ int row(int element, int) const
    {
        return element / mla_row_elements;
    }
    __device__ int column(int element, int half) const
    {
        return element % mla_row_elements * 4 + half * 2;
    }
};

static __device__ __forceinline__ float mla_meet_weight(float lse, float max)
{
    return ex2(lse - (max == -INFINITY ? 0 : max));
}

static __device__ __forceinline__ void mla_meet_add(mla_meet_sums &to, const mla_meet_sums &from)
{
    const float2 weight = {mla_meet_weight(from.max.x, to.max.x), mla_meet_weight(from.max.y, to.max.y)};
    to.value = {fmaf(from.value.x, weight.x, to.value.x), fmaf(from.value.y, weight.x, to.value.y),
                fmaf(from.value.z, weight.y, to.value.z), fmaf(from.value.w, weight.y, to.value.w)};
    to.sum = {fmaf(from.sum.x, weight.x, to.sum.x), fmaf(from.sum.y, weight.y, to.sum.y)};
}

template <int count>
static __device__ __forceinline__ void mla_meet_add(mla_meet_sums &sums, const mla_meet_sums (&more)[count])
{
    mla_meet_sums total = {{0, 0, 0, 0}, sums.max, {0, 0}};
#pragma unroll
    for (int i = 0; i < count; i++)
        total.max = {fmaxf(total.max.x, more[i].max.x), fmaxf(total.max.y, more[i].max.y)};
    mla_meet_add(total, sums);
#pragma unroll
    for (int i = 0; i < count; i++)
        mla_meet_add(total, more[i]);
    sums = total;
}

/* Parts part, part + step, ...: `batch` of them. What is behind the last part counts for nothing, and rows behind the
 * last get what that gets. */
template <int batch, typename layout>
static __device__ __forceinline__ void mla_meet_load(const mla_tile_arguments &arguments, const layout &of,
                                                     const mla_meeting &meeting, int element, int part, int step,
                                                     mla_meet_sums &sums)
{
    const int rows = mla_rows_of(arguments.problem);
    const int upper = min(of.row0 + of.row(element, 0), rows - 1), lower = min(of.row0 + of.row(element, 1), rows - 1);
    mla_meet_sums more[batch];
#pragma unroll
    for (int i = 0; i < batch; i++) {
        const int slot = mla_slot(meeting.first + min(part + i * step, meeting.parts - 1), meeting.first);
        const float *lse = arguments.split.part_lse + (int64_t)slot * rows;
        more[i].value = __ldcg((const float4 *)arguments.split.part_out + of.begin(arguments, slot) + element);
        more[i].max.x = __ldcg(lse + upper);
        more[i].max.y = lower == upper ? more[i].max.x : __ldcg(lse + lower);
        more[i].sum = {1, 1};
        if (part + i * step >= meeting.parts)
            more[i].max = {-INFINITY, -INFINITY};
    }
    mla_meet_add(sums, more);
}

template <typename layout>
static __device__ __forceinline__ void mla_meet_store(const mla_problem &problem, const layout &of, int request,
                                                      int element, const mla_meet_sums &sums)
{
    const int rows = mla_rows_of(problem);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = of.row0 + of.row(element, half), column = of.column(element, half);
        const float sum = half ? sums.sum.y : sums.sum.x, max = half ? sums.max.y : sums.max.x;
        const float inverse = sum == 0 ? 0 : 1 / sum;
        if (row >= rows)
            continue;
        *(uint32_t *)(problem.out + ((int64_t)request * rows + row) * mla_d_v + column) =
            half ? mla_pack(sums.value.z * inverse, sums.value.w * inverse)
                 : mla_pack(sums.value.x * inverse, sums.value.y * inverse);
        if (column == 0)
            problem.lse[mla_lse_at(problem, request, row)] = sum == 0 ? INFINITY : (max + log2f(sum)) * mla_ln2;
    }
}

static __device__ __forceinline__ float4 mla_shared_four(uint32_t at)
{
    const uint4 word = ld_shared_volatile_v4(at);
    return {__uint_as_float(word.x), __uint_as_float(word.y), __uint_as_float(word.z), __uint_as_float(word.w)};
}

/* sums of the first `across` threads become those of all threads whose number is the same modulo `across`. */
static __device__ __forceinline__ void mla_meet_exchange(mla_meet_sums &sums, int across, uint32_t shared)
{
    constexpr int batch = 8, rest = mla_meet_threads * 16;
    const uint32_t mine = shared + threadIdx.x * 16;
    st_shared_v4(mine, make_uint4(__float_as_uint(sums.value.x), __float_as_uint(sums.value.y),
                                  __float_as_uint(sums.value.z), __float_as_uint(sums.value.w)));
    st_shared_v4(mine + rest, make_uint4(__float_as_uint(sums.max.x), __float_as_uint(sums.max.y),
                                         __float_as_uint(sums.sum.x), __float_as_uint(sums.sum.y)));
    named_sync(mla_meet_barrier, mla_meet_threads);
    if ((int)threadIdx.x < across)
#pragma unroll 1
        for (int other = threadIdx.x + across; other < mla_meet_threads; other += batch * across) {
            mla_meet_sums more[batch];
#pragma unroll
            for (int i = 0; i < batch; i++) {
                const bool there = other + i * across < mla_meet_threads;
                const uint32_t at = there ? shared + (other + i * across) * 16 : mine;
                const float4 word = mla_shared_four(at + rest);
                more[i] = {mla_shared_four(at), {word.x, word.y}, {word.z, word.w}};
                if (!there)
                    more[i].max = {-INFINITY, -INFINITY};
            }
            mla_meet_add(sums, more);
        }
    named_sync(mla_meet_barrier, mla_meet_threads);
}

/* Elements [first, first + count), one of `across` a thread, whose parts `sharers` threads share. */
struct mla_meet_share {
    int first, count, across, sharers;
};

/* Of parts that meet, the first `adding` add up. */
template <typename layout>
static __device__ __forceinline__ mla_meet_share mla_meet_share_of(const layout &of, const mla_meeting &meeting,
                                                                   int adding)
{
    const int first = of.elements() * meeting.mine / adding;
    const int count = of.elements() * (meeting.mine + 1) / adding - first;
    int across = mla_meet_threads;
    while (2 * mla_meet_threads / across <= meeting.parts && count <= across / 2)
        across /= 2;
    return {first, count, across, mla_meet_threads / across};
}

/* This part's share of a request, when all parts have counted. Shared memory: sizeof(layout::sums) a thread. For other
 * sums than mla_meet_sums there are other mla_meet_load, mla_meet_store and mla_meet_exchange. */
template <typename layout>
static __device__ __forceinline__ void mla_meet(const mla_tile_arguments &arguments, const layout &of,
                                                const mla_meeting &meeting, uint32_t shared)
{
    const int thread = (int)thread_again();
    using sums_type = typename layout::sums;
    constexpr sums_type none = {{}, {-INFINITY, -INFINITY}, {}};
    const mla_meet_share share = mla_meet_share_of(of, meeting, meeting.parts);
    mla_meet_wait(meeting);
    if (meeting.parts <= mla_meet_few && share.sharers == 1) {
#pragma unroll 2 /* elements under way together */
        for (int i = thread; i < share.count; i += mla_meet_threads) {
            sums_type sums = none;
            mla_meet_load<mla_meet_few>(arguments, of, meeting, share.first + i, 0, 1, sums);
            mla_meet_store(arguments.problem, of, meeting.request, share.first + i, sums);
        }
        return;
    }
#pragma unroll 1
    for (int begin = 0; begin < share.count; begin += share.across) {
        const int i = begin + thread % share.across, element = share.first + min(i, share.count - 1);
        sums_type sums = none;
#pragma unroll 1
        for (int part = thread / share.across; part < meeting.parts; part += share.sharers * layout::batch)
            mla_meet_load<layout::batch>(arguments, of, meeting, element, part, share.sharers, sums);
        if (share.sharers > 1)
            mla_meet_exchange(sums, share.across, shared);
        if (thread < share.across && i < share.count)
            mla_meet_store(arguments.problem, of, meeting.request, element, sums);
    }
}

/* When all pieces of the part are done, for those that were kept and announced. */
template <typename layout>
static __device__ __forceinline__ void mla_meet_kept(const mla_tile_arguments &arguments, const layout &of,
                                                     uint32_t kept, uint32_t shared)
{
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
        const mla_meeting meeting = mla_meeting_kept(arguments, kept, i);
        if (meeting.parts > 0)
            mla_meet(arguments, of, meeting, shared);
    }
}

#endif
