/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the partial results of requests that were cut. */
#ifndef RIDGE_MLA_DECODE_COMBINE_CUH
#define RIDGE_MLA_DECODE_COMBINE_CUH

#include "kernels/mla_decode/mla_decode_split.cuh"
#include "kernels/ptx/grid.cuh"

constexpr int mla_combine_threads = 256, mla_combine_warps = mla_combine_threads / 32;
constexpr int mla_combine_batch = 9;

/* Which partial results a request has: of parts first .. last; one part: none. */
struct mla_cut {
    int request, first, last;
};

/* blockIdx.x is a request, or, where there are more requests than cuts, the cut between part blockIdx.x and the next.
 * Of several cuts through one request only the first has it. A whole warp calls. */
static __device__ __forceinline__ mla_cut mla_cut_of(const mla_problem &problem, int parts)
{
    int request = blockIdx.x, before, total;
    bool mine = true;
    if (problem.b >= parts) {
        const mla_range range = mla_range_of(problem, parts, blockIdx.x + 1);
        request = min(range.request, problem.b - 1);
        mine = range.request < problem.b;
    }
    mla_count_units(problem, request, before, total);
    const mla_parts of =
        mla_parts_of(before, mla_blocks(mla_length(problem, request)), mla_share(total, problem.b, parts));
    mine = mine && (problem.b < parts || of.first == (int)blockIdx.x);
    return {request, of.first, mine ? of.last : of.first};
}

/* Adds parts first, first + step, ...: all loads are under way before the first is used. */
static __device__ __forceinline__ void mla_combine_some(const mla_problem &problem, const mla_split &split,
                                                        const mla_cut &cut, int first, int step, int row, int column,
                                                        float &max, float &sum, float4 &total)
{
    const int rows = mla_rows_of(problem);
    float lse[mla_combine_batch], high = max;
    float4 value[mla_combine_batch];
#pragma unroll
    for (int i = 0; i < mla_combine_batch; i++) {
        const int part = first + i * step;
        const int64_t slot = (int64_t)mla_slot(part, cut.first) * rows + row;
        lse[i] = part <= cut.last ? __ldcg(split.part_lse + slot) : -INFINITY;
        value[i] = part <= cut.last ? __ldcg((const float4 *)(split.part_out + slot * mla_d_v + column)) : float4{};
    }
#pragma unroll
    for (int i = 0; i < mla_combine_batch; i++)
        high = fmaxf(high, lse[i]);
    const float old = max == -INFINITY ? 0 : exp2f(max - high);
    max = high;
    sum *= old;
    total = {total.x * old, total.y * old, total.z * old, total.w * old};
#pragma unroll
    for (int i = 0; i < mla_combine_batch; i++) {
        const float factor = lse[i] == -INFINITY ? 0 : exp2f(lse[i] - high);
        sum += factor;
        total = {total.x + value[i].x * factor, total.y + value[i].y * factor, total.z + value[i].z * factor,
                 total.w + value[i].w * factor};
    }
}

/* 128 columns, the column-th, of `rows_a_block` rows; the warps of a row share its parts. All threads call. */
static __device__ __forceinline__ void mla_combine_rows(const mla_problem &problem, const mla_split &split,
                                                        const mla_cut &cut, int rows_a_block, int row0, int column0)
{
    __shared__ float4 value[mla_combine_warps][32];
    __shared__ float2 max_sum[mla_combine_warps];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rows = mla_rows_of(problem);
    const int sharers = mla_combine_warps / rows_a_block, sharer = warp % sharers;
    const int row = row0 + warp / sharers, column = column0 + lane * 4;
    float max = -INFINITY, sum = 0;
    float4 total = {};
#pragma unroll 1
    for (int part = cut.first + sharer; part <= cut.last && row < rows; part += sharers * mla_combine_batch)
        mla_combine_some(problem, split, cut, part, sharers, row, column, max, sum, total);
    value[warp][lane] = total;
    if (lane == 0)
        max_sum[warp] = make_float2(max, sum);
    __syncthreads();
    if (sharer > 0 || row >= rows)
        return;
    float high = -INFINITY, all = 0; /* a sum of 0 has no keys; one of NaN may have no maximum */
    for (int w = warp; w < warp + sharers; w++)
        high = fmaxf(high, max_sum[w].x);
    for (int w = warp; w < warp + sharers; w++)
        all += max_sum[w].y == 0 ? 0 : max_sum[w].y * exp2f(max_sum[w].x - high);
    total = {};
    for (int w = warp; w < warp + sharers; w++) {
        const float factor = max_sum[w].y == 0 ? 0 : exp2f(max_sum[w].x - high) / all;
        const float4 other = value[w][lane];
        total = {total.x + factor * other.x, total.y + factor * other.y, total.z + factor * other.z,
                 total.w + factor * other.w};
    }
    mla_store_four(problem, cut.request, row, column, total);
    if (lane == 0 && column0 == 0)
        problem.lse[mla_lse_at(problem, cut.request, row)] = all == 0 ? INFINITY : (high + log2f(all)) * mla_ln2;
}

/* blockIdx.y: every gridDim.y-th group of rows and 128 columns. Where no request was cut, as in an even batch, the
 * blocks are there for nothing, so that they are few. */
static __global__ void __launch_bounds__(mla_combine_threads, 2)
    mla_combine(mla_problem problem, mla_split split, int rows_a_block)
{
    constexpr int quarters = mla_d_v / 128;
    const mla_cut cut = mla_cut_of(problem, split.parts);
    const int groups = (mla_rows_of(problem) + rows_a_block - 1) / rows_a_block * quarters;
    if (cut.first == cut.last)
        return;
    grid_wait();
    for (int group = blockIdx.y; group < groups; group += gridDim.y) {
        mla_combine_rows(problem, split, cut, rows_a_block, group / quarters * rows_a_block, group % quarters * 128);
        __syncthreads();
    }
}

/* With `early` the blocks are in place before the kernel in front has ended, and wait for it in grid_wait(). */
static inline int mla_launch_combine(const struct ridge_call *call, const mla_problem &problem, const mla_split &split,
                                     bool early)
{
    if (split.parts == 1)
        return 0;
    const int rows = mla_rows_of(problem), requests = problem.b < split.parts ? problem.b : split.parts - 1;
    int rows_a_block = mla_combine_warps;
    while (rows_a_block > 1 && (int64_t)requests * rows / rows_a_block < 2 * call->device->sms)
        rows_a_block /= 2;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    const int64_t groups = ridge_ceil_div(rows, rows_a_block) * (mla_d_v / 128);
    const int64_t share = ridge_ceil_div(4 * call->device->sms, requests);
    config.gridDim = dim3((unsigned)requests, (unsigned)(groups < share ? groups : share));
    config.blockDim = dim3(mla_combine_threads);
    config.stream = ridge_stream(call);
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return ridge_cuda_status(call, cudaLaunchKernelEx(&config, mla_combine, problem, split, rows_a_block), __FILE__,
                             __LINE__, "launch of the combine");
}

#endif
