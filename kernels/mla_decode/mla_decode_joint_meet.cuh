/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a cut request that mla_decode_joint.cuh left are added up, as in mla_decode_meet_once.cuh: what a thread
 * loads is worked out before the parts have met. */
#ifndef RIDGE_MLA_DECODE_JOINT_MEET_CUH
#define RIDGE_MLA_DECODE_JOINT_MEET_CUH

#include "kernels/mla_decode/mla_decode_joint.cuh"

/* Parts part, part + step, ...: `batch` of them, when wait() has come back. What is behind the last part counts for
 * nothing. */
template <int batch, typename function>
static __device__ __forceinline__ void joint_meet_load(const mla_tile_arguments &arguments, const mla_meeting &meeting,
                                                       int element, int part, int step, mla_meet_sums &sums,
                                                       const function &wait)
{
    const float4 *values = joint_part(arguments, 0) + element;
    const float4 *rows = (const float4 *)joint_part_sums(arguments, 0) + element / 128 % 2 * 4 + element % 4;
    mla_meet_sums more[batch];
    int line[batch];
#pragma unroll
    for (int i = 0; i < batch; i++) {
        line[i] = mla_slot(meeting.first + min(part + i * step, meeting.parts - 1), meeting.first) * (int)gridDim.x;
        asm volatile("" : "+r"(line[i])); /* before the wait */
    }
    wait();
#pragma unroll
    for (int i = 0; i < batch; i++) {
        more[i].value = __ldcg(values + (int64_t)line[i] * joint_elements);
        const float4 of = __ldcg(rows + (int64_t)line[i] * (ends_rows / 2));
        more[i].max = {of.x, of.z};
        more[i].sum = {of.y, of.w};
    }
#pragma unroll
    for (int i = 0; i < batch; i++)
        if (part + i * step >= meeting.parts)
            more[i].max = {-INFINITY, -INFINITY};
    mla_meet_add(sums, more);
}

static __device__ __forceinline__ void joint_meet_store(const mla_problem &problem, int request, int element,
                                                        const mla_meet_sums &sums)
{
    const int rows = mla_rows_of(problem), column = element / 256 * 64 + element % 128 / 32 * 16 + element % 32 / 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = (int)blockIdx.x * ends_rows + element / 128 % 2 * 8 + element % 4 * 2 + half;
        const float sum = half ? sums.sum.y : sums.sum.x, max = half ? sums.max.y : sums.max.x;
        const float inverse = sum == 0 ? 0 : __fdividef(1, sum);
        if (row >= rows)
            continue;
        mla_element *out = problem.out + ((int64_t)request * rows + row) * mla_d_v + column;
        out[0] = mla_from_float((half ? sums.value.z : sums.value.x) * inverse);
        out[8] = mla_from_float((half ? sums.value.w : sums.value.y) * inverse);
        if (column == 0)
            problem.lse[mla_lse_at(problem, request, row)] = sum == 0 ? INFINITY : (max + log2f(sum)) * mla_ln2;
    }
}

/* sums of the first `across` threads, a power of two, become those of all whose number is the same modulo `across`. */
static __device__ __forceinline__ void joint_meet_exchange(mla_meet_sums &sums, int across, uint32_t shared)
{
#pragma unroll 1
    for (; across < 32; across *= 2) {
        const auto other = [&](float value) { return __shfl_xor_sync(~0u, value, across); };
        const mla_meet_sums more[1] = {
            {{other(sums.value.x), other(sums.value.y), other(sums.value.z), other(sums.value.w)},
             {other(sums.max.x), other(sums.max.y)},
             {other(sums.sum.x), other(sums.sum.y)}}};
        mla_meet_add(sums, more);
    }
    mla_meet_exchange(sums, across, shared);
}

/* A share that takes more than one element a thread has no other sharers and few parts, or is of few of them. */
template <int batch, typename function>
static __device__ __forceinline__ void joint_meet_share(const mla_tile_arguments &arguments, const mla_meeting &meeting,
                                                        const mla_meet_share &share, int thread, uint32_t shared,
                                                        const function &wait)
{
    constexpr mla_meet_sums none = {{0, 0, 0, 0}, {-INFINITY, -INFINITY}, {0, 0}};
    const int i = thread & share.across - 1, sharer = thread / share.across;
    bool waited = false;
#pragma unroll 1
    for (int begin = 0; begin < share.count; begin += share.across) {
        const int element = share.first + min(begin + i, share.count - 1);
        mla_meet_sums sums = none;
#pragma unroll 1
        for (int part = sharer; part < meeting.parts; part += share.sharers * batch)
            joint_meet_load<batch>(arguments, meeting, element, part, share.sharers, sums, [&] {
                if (!waited)
                    wait();
                waited = true;
            });
        if (share.sharers > 1)
            joint_meet_exchange(sums, share.across, shared);
        if (thread < share.across && begin + i < share.count)
            joint_meet_store(arguments.problem, meeting.request, element, sums);
    }
    if (!waited)
        wait();
}

/* As mla_once. */
static __device__ __forceinline__ void joint_meet(const mla_tile_arguments &arguments, const joint_rows &rows,
                                                  const mla_meeting_once &meeting, uint32_t base)
{
    const int thread = (int)thread_again();
    const mla_meet_share share = mla_meet_share_of(rows, meeting.of, meeting.sharers);
    const auto wait = [&] { mla_once_wait(meeting, thread); };
    if (meeting.of.parts <= mla_meet_few && share.sharers == 1) {
        constexpr mla_meet_sums none = {{0, 0, 0, 0}, {-INFINITY, -INFINITY}, {0, 0}};
        wait();
#pragma unroll 2 /* elements under way together */
        for (int i = thread; i < share.count; i += mla_meet_threads) {
            mla_meet_sums sums = none;
            joint_meet_load<mla_meet_few>(arguments, meeting.of, share.first + i, 0, 1, sums, [] {});
            joint_meet_store(arguments.problem, meeting.of.request, share.first + i, sums);
        }
    } else if (meeting.of.parts <= 9 * share.sharers)
        joint_meet_share<9>(arguments, meeting.of, share, thread, base, wait);
    else
        joint_meet_share<11>(arguments, meeting.of, share, thread, base, wait);
}

#endif
