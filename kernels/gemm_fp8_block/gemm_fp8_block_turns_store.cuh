/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a tile in gemm_fp8_block_turns.cuh: totals of two warpgroups, and of parts of k, meet, and D leaves in
 * whole lines of 128 bytes. */
#ifndef RIDGE_GEMM_FP8_BLOCK_TURNS_STORE_CUH
#define RIDGE_GEMM_FP8_BLOCK_TURNS_STORE_CUH

#include "kernels/gemm_bf16/gemm_few_rows_store.cuh"

/* Half of the totals go to the other warpgroup, the other half stay. */
template <int count>
static __device__ __forceinline__ void turns_merge(const few_rows_plan &plan, uint32_t merge, int turn,
                                                   const float (&total)[2 * count], float (&kept)[count])
{
    const uint32_t mine = merge + threadIdx.x * 16, others = merge + (threadIdx.x ^ 128) * 16;
    named_sync(3, plan.consumers);
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float *give = total + i;
        st_shared_v4(mine + i * 1024, make_uint4(__float_as_uint(turn ? give[0] : give[count]),
                                                 __float_as_uint(turn ? give[1] : give[count + 1]),
                                                 __float_as_uint(turn ? give[2] : give[count + 2]),
                                                 __float_as_uint(turn ? give[3] : give[count + 3])));
    }
    named_sync(3, plan.consumers);
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const uint4 given = ld_shared_v4(others + i * 1024);
        kept[i] = (turn ? total[count + i] : total[i]) + __uint_as_float(given.x);
        kept[i + 1] = (turn ? total[count + i + 1] : total[i + 1]) + __uint_as_float(given.y);
        kept[i + 2] = (turn ? total[count + i + 2] : total[i + 2]) + __uint_as_float(given.z);
        kept[i + 3] = (turn ? total[count + i + 3] : total[i + 3]) + __uint_as_float(given.w);
    }
}

/* A warpgroup's block of D: up to 64 columns, `units` of 8, and 64 or 128 rows, 64 of which are staged at a time. */
struct turns_block_d {
    int64_t row, column, end; /* end: of the tile's rows */
    int units;
    uint32_t place;
};

/* A group of 8 rows of A: a thread's sums of two columns of D and, 8 later, two more. */
static __device__ __forceinline__ void turns_stage(uint32_t place, int group, float x, float y, float z, float w)
{
    const int lane = threadIdx.x % 32;
    stmatrix_trans_x2(gemm_staged(place, group * 8 + lane % 8, threadIdx.x % 128 / 32 * 2 + lane / 8 % 2),
                      cvt_bf16x2_f32(x, y), cvt_bf16x2_f32(z, w));
}

/* What the warpgroup has staged, `rows` rows of the block from `first` on, in whole lines. */
static __device__ __forceinline__ void turns_store(const gemm_output &out, const turns_block_d &d, int first, int rows)
{
    const int thread = threadIdx.x % 128, unit = thread % 8;
    const int64_t column = d.column + unit * 8;
    named_sync(5 + threadIdx.x / 128, 128);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int staged = i * 16 + thread / 8;
        const int64_t row = d.row + first + staged;
        if (staged < rows && unit < d.units && row < d.end && column < out.n)
            few_rows_store_unit(out, row, column, ld_shared_v4(gemm_staged(d.place, staged, unit)));
    }
    named_sync(5 + threadIdx.x / 128, 128);
}

/* The whole k was here. */
template <int groups>
static __device__ __forceinline__ void turns_store_all(const gemm_output &out, const turns_block_d &d,
                                                       const float (&total)[4 * groups])
{
    constexpr int staged = groups < 8 ? groups : 8;
#pragma unroll
    for (int first = 0; first < groups; first += staged) {
#pragma unroll
        for (int group = 0; group < staged; group++) {
            const float *sum = total + 4 * (first + group);
            turns_stage(d.place, group, sum[0], sum[1], sum[2], sum[3]);
        }
        turns_store(out, d, 8 * first, 8 * staged);
    }
}

/* The sums of a part of k, from registers: to the split that owns them, or where this one adds them up, which is behind
 * what the warpgroups still read. */
template <int groups>
static __device__ __forceinline__ void turns_send(const few_rows_exchange &at, const few_rows_plan &plan, int split,
                                                  const float (&total)[4 * groups])
{
    int owner = 0, slot = 0;
#pragma unroll
    for (int group = 0; group < groups; group++) {
        const float *sum = total + 4 * group;
        const uint4 unit = make_uint4(__float_as_uint(sum[0]), __float_as_uint(sum[1]), __float_as_uint(sum[2]),
                                      __float_as_uint(sum[3]));
        const int place = (split - (split > owner)) * plan.owned + slot;
        if (owner == split)
            st_shared_v4(at.own + slot * at.stride, unit);
        else
            st_async_v4(cluster_map(at.others + place * at.stride, owner), unit, cluster_map(at.barrier, owner));
        if (++slot == plan.owned) {
            slot = 0;
            owner++;
        }
    }
}

/* The sums of a part of k meet those of the others, and what this split owns is stored. */
template <int groups>
static __device__ __forceinline__ void turns_meet(const few_rows_plan &plan, const ring &ring, int split,
                                                  const gemm_output &out, const turns_block_d &d,
                                                  const float (&total)[4 * groups])
{
    const few_rows_exchange at = {ring.data + plan.staging + 2 * FEW_ROWS_LINES + threadIdx.x * 16,
                                  ring.data + plan.sums + threadIdx.x * 16, (uint32_t)plan.consumers * 16,
                                  ring.barriers + ring_barrier_bytes(plan.stages)};
    const int first = split * plan.owned, owned = min(plan.owned, groups - first);
    cluster_wait();
    turns_send<groups>(at, plan, split, total);
    mbarrier_wait(at.barrier, 0);
#pragma unroll 1
    for (int slot = 0; slot < owned; slot++) {
        const float4 sum = few_rows_sum(at, plan, at.own + slot * at.stride, slot);
        turns_stage(d.place, slot, sum.x, sum.y, sum.z, sum.w);
    }
    if (owned > 0)
        turns_store(out, d, 8 * first, 8 * owned);
}

#endif
