/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As mla_decode_meet.cuh, for parts of which each takes a share of one request alone: one that goes on behind a cut
 * request counts there, and neither waits nor adds up, so that nobody meets twice in a row. Its other parts share what
 * it leaves; how many they are follows from the lengths, as everything else.
 */
#ifndef RIDGE_MLA_DECODE_MEET_ONCE_CUH
#define RIDGE_MLA_DECODE_MEET_ONCE_CUH

#include "kernels/mla_decode/mla_decode_meet.cuh"

/* The first `sharers` of the meeting's parts add up; departures count to parts + sharers, which wraps to 0. */
struct mla_meeting_once {
    mla_meeting of;
    int sharers;
};

/* Before the piece, whose registers may all be in use later. beyond: its request's last part goes on behind it. */
static __device__ __forceinline__ void mla_once_keep(uint32_t kept, const mla_piece &piece, bool beyond)
{
    const unsigned parts = piece.parts.last - piece.parts.first + 1;
    if (threadIdx.x > 0 || piece.whole)
        return;
    st_shared_v4(kept + piece.slot % 2 * 16,
                 make_uint4((unsigned)piece.request, (unsigned)piece.parts.first, parts, parts - beyond));
}

static __device__ __forceinline__ mla_meeting_once mla_once_kept(const mla_tile_arguments &arguments, uint32_t kept,
                                                                 int i)
{
    const uint4 word = ld_shared_volatile_v4(kept + i * 16);
    return {mla_meeting_of(arguments, (int)word.x, (int)word.y, (int)word.z), (int)word.w};
}

/* of_piece(piece, whether the last part that has blocks of its request goes on behind it), as mla_each_piece. */
template <typename function>
static __device__ __forceinline__ void mla_once_each_piece(const mla_tile_arguments &arguments,
                                                           const function &of_piece)
{
    const mla_problem &problem = arguments.problem;
    const int part = (int)blockIdx.y;
    mla_range range = mla_range_of(problem, arguments.split.parts, part);
    if (range.request >= problem.b)
        return;
    do {
        const mla_piece piece = mla_piece_of(problem, range, part);
        const int share = part ? range.first / part : range.last;
        const int end = range.start + mla_blocks(piece.length) + MLA_OVERHEAD;
        const bool beyond = range.request + 1 < problem.b && (piece.parts.last + 1) * share > end;
        if (piece.mine)
            of_piece(piece, beyond);
    } while (mla_advance(problem, range));
}

/* By all consumers when the piece is stored that meeting `i` was kept of. */
static __device__ __forceinline__ void mla_once_announce(const mla_tile_arguments &arguments, uint32_t kept, int i)
{
    named_sync(mla_meet_barrier, mla_meet_threads);
    if (thread_again() == 0) {
        const mla_meeting_once meeting = mla_once_kept(arguments, kept, i);
        signal_count(meeting.of.counter, meeting.of.parts + meeting.sharers - 1);
    }
}

static __device__ __forceinline__ void mla_once_wait(const mla_meeting_once &meeting, int thread)
{
    if (thread == 0) {
        while (signal_counted(meeting.of.counter) < (unsigned)meeting.of.parts)
            ;
        signal_count_relaxed(meeting.of.counter, meeting.of.parts + meeting.sharers - 1);
    }
    named_sync(mla_meet_barrier, mla_meet_threads);
}

/* This part's share, when all parts have counted. Shared memory: 32 bytes a thread. `batch`: parts that a thread has
 * under way; 16 requests over 132 parts have nine or ten. */
static __device__ __forceinline__ void mla_once(const mla_tile_arguments &arguments, const mla_meet_rows &rows,
                                                const mla_meeting_once &meeting, uint32_t shared)
{
    constexpr int batch = 11;
    constexpr mla_meet_sums none = {{0, 0, 0, 0}, {-INFINITY, -INFINITY}, {0, 0}};
    const int thread = (int)thread_again();
    const mla_meet_share share = mla_meet_share_of(rows, meeting.of, meeting.sharers);
    mla_once_wait(meeting, thread);
    if (meeting.of.parts <= mla_meet_few && share.sharers == 1) {
#pragma unroll 2 /* elements under way together */
        for (int i = thread; i < share.count; i += mla_meet_threads) {
            mla_meet_sums sums = none;
            mla_meet_load<mla_meet_few>(arguments, rows, meeting.of, share.first + i, 0, 1, sums);
            mla_meet_store(arguments.problem, rows, meeting.of.request, share.first + i, sums);
        }
        return;
    }
#pragma unroll 1
    for (int begin = 0; begin < share.count; begin += share.across) {
        const int i = begin + thread % share.across, element = share.first + min(i, share.count - 1);
        mla_meet_sums sums = none;
#pragma unroll 1
        for (int part = thread / share.across; part < meeting.of.parts; part += share.sharers * batch)
            mla_meet_load<batch>(arguments, rows, meeting.of, element, part, share.sharers, sums);
        if (share.sharers > 1)
            mla_meet_exchange(sums, share.across, shared);
        if (thread < share.across && i < share.count)
            mla_meet_store(arguments.problem, rows, meeting.of.request, element, sums);
    }
}

/* When all pieces of the part are done, for those that were kept and announced. */
static __device__ __forceinline__ void mla_once_all(const mla_tile_arguments &arguments, const mla_meet_rows &rows,
                                                    uint32_t kept, uint32_t shared)
{
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
        const mla_meeting_once meeting = mla_once_kept(arguments, kept, i);
        if (meeting.of.mine < meeting.sharers)
            mla_once(arguments, rows, meeting, shared);
    }
}

#endif
