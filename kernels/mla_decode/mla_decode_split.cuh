/* SPDX-License-Identifier: Apache-2.0 */
/* Each CTA finds its share of the keys (mla_decode_share.h) from the lengths alone, so that no table can be stale when
 * a graph is replayed with other lengths. A request that is cut leaves a partial result a part, which the combine adds
 * up, or parts that meet (mla_decode_meet.cuh). */
#ifndef RIDGE_MLA_DECODE_SPLIT_CUH
#define RIDGE_MLA_DECODE_SPLIT_CUH

#include "kernels/mla_decode/mla_decode_gpu.cuh"
#include "kernels/mla_decode/mla_decode_share.h"

#include <math.h>

constexpr int mla_block_keys = MLA_BLOCK_KEYS;

struct mla_range;

struct mla_split {
    int parts;
    float *part_out; /* [2 parts][rows][512]: averages, weighted by probability */
    float *part_lse; /* [2 parts][rows], base 2 */
    /* Of variants that load their share from a table (family mla_metadata), NULL otherwise. */
    const mla_range *table; /* a row a part */
    const int *made_for;    /* lengths that the table holds for */
    int *stale;             /* becomes 1 + a request that has another length now */
    unsigned *meeting;      /* counters of variants whose parts meet (mla_decode_meet.cuh), NULL otherwise */
};

/* Units of a request. */
static __device__ __forceinline__ int mla_units(const mla_problem &problem, int request)
{
    return request < problem.b ? mla_blocks(mla_length(problem, request)) + MLA_OVERHEAD : 0;
}

static __device__ __forceinline__ int mla_warp_sum(int value)
{
    for (int apart = 16; apart > 0; apart /= 2)
        value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

/* Units before `request` and of all; a whole warp calls. */
static __device__ __forceinline__ void mla_count_units(const mla_problem &problem, int request, int &before, int &total)
{
    int mine_before = 0, mine = 0;
#pragma unroll 4 /* loads under way together */
    for (int i = threadIdx.x % 32; i < problem.b; i += 32) {
        const int units = mla_units(problem, i);
        mine += units;
        mine_before += i < request ? units : 0;
    }
    before = mla_warp_sum(mine_before);
    total = mla_warp_sum(mine);
}

/* A part's place on the line: its units, and the request where they begin, which begins at `start`. */
struct mla_range {
    int first, last, request, start;
};

/* A whole warp calls; uniform results. */
static __device__ __forceinline__ mla_range mla_range_of(const mla_problem &problem, int parts, int part)
{
    const int lane = threadIdx.x % 32;
    int ignored, total;
    mla_count_units(problem, 0, ignored, total);
    const int share = mla_share(total, problem.b, parts);
    mla_range range = {part * share, min((part + 1) * share, total), problem.b, 0};
    int start = 0;
    for (int chunk = 0; chunk < problem.b && range.request == problem.b; chunk += 32) {
        int end = mla_units(problem, chunk + lane);
        for (int apart = 1; apart < 32; apart *= 2) {
            const int other = __shfl_up_sync(~0u, end, apart);
            end += lane >= apart ? other : 0;
        }
        const unsigned reached = __ballot_sync(~0u, start + end > range.first && chunk + lane < problem.b);
        if (reached) {
            const int at = __ffs((int)reached) - 1;
            range.request = chunk + at;
            range.start = start + (at ? __shfl_sync(~0u, end, at - 1) : 0);
        }
        start += __shfl_sync(~0u, end, 31);
    }
    return range;
}

/* What a part has of one request, and which parts have blocks of it. */
struct mla_piece {
    int request, length, first, last, slot;
    bool whole, mine;
    mla_parts parts;
};

static __device__ __forceinline__ mla_piece mla_piece_of(const mla_problem &problem, const mla_range &range, int part)
{
    const int length = mla_length(problem, range.request);
    const mla_bounds bounds = mla_bounds_of(range.first, range.last, range.start, mla_blocks(length), part);
    const int share = part ? range.first / part : range.last; /* the last part's range may be shorter */
    const int first = __shfl_sync(~0u, bounds.first, 0);      /* uniform, for the compiler too */
    const int last = __shfl_sync(~0u, bounds.last, 0), mine = __shfl_sync(~0u, bounds.mine, 0);
    return {range.request, length,       first,     last,
            bounds.slot,   bounds.whole, mine != 0, mla_parts_of(range.start, mla_blocks(length), share)};
}

/* To the next request; false at the end of the part. */
static __device__ __forceinline__ bool mla_advance(const mla_problem &problem, mla_range &range)
{
    range.start += mla_units(problem, range.request);
    range.request++;
    return __shfl_sync(~0u, range.start < range.last && range.request < problem.b, 0);
}

/* The result of one row and 4 columns of it. */
static __device__ __forceinline__ void mla_store_four(const mla_problem &problem, int request, int row, int column,
                                                      float4 value)
{
    const uint2 words = make_uint2(mla_pack(value.x, value.y), mla_pack(value.z, value.w));
    *(uint2 *)(problem.out + ((int64_t)request * mla_rows_of(problem) + row) * mla_d_v + column) = words;
}

static inline size_t mla_split_bytes(const int64_t *dim, int parts)
{
    return (size_t)(2 * parts * dim[1] * dim[3]) * (mla_d_v + 1) * sizeof(float);
}

static inline mla_split mla_split_of(const struct ridge_call *call, int parts)
{
    const int64_t rows = call->dim[1] * call->dim[3];
    float *out = (float *)call->workspace;
    return {parts, out, out + 2 * parts * rows * mla_d_v};
}

#endif
