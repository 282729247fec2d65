/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a tile in gemm_few_rows.cuh: sums of parts of k meet, and a warp's fragment of D^T goes to D. */
#ifndef RIDGE_GEMM_FEW_ROWS_STORE_CUH
#define RIDGE_GEMM_FEW_ROWS_STORE_CUH

#include "kernels/gemm_bf16/gemm_few_rows_plan.h"
#include "kernels/gemm_bf16/gemm_store.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/mma.cuh"
#include "kernels/ptx/shared.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/support/ring.cuh"

/* Eight neighbours in a row of D. */
static __device__ __forceinline__ void few_rows_store_unit(const gemm_output &out, int64_t row, int64_t column,
                                                           const uint4 &unit)
{
    bf16 *d = out.d + row * out.n + column;
    if (out.n % 8 == 0) {
        st_global_v4(d, unit);
        return;
    }
    const uint64_t low = (uint64_t)unit.y << 32 | unit.x, high = (uint64_t)unit.w << 32 | unit.z;
    const int count = (int)min(out.n - column, (int64_t)8);
#pragma unroll 1
    for (int i = 0; i < count; i++)
        ((uint16_t *)d)[i] = (uint16_t)((i < 4 ? low : high) >> i % 4 * 16);
}

/* Where unit `unit` (8 rows of B) of a row of A lies in a warp's staging place of 32 rows of A x 16 rows of B. */
static __device__ __forceinline__ uint32_t few_rows_staged(uint32_t place, int row, int unit)
{
    return place + row * 32 + (unit ^ row / 4 % 2) * 16;
}

/* A group of 8 rows of A, of four in the staging place: a thread's sums of two columns of D and, 8 later, two more. */
static __device__ __forceinline__ void few_rows_stage(uint32_t place, int group, float x, float y, float z, float w)
{
    const int lane = threadIdx.x % 32;
    stmatrix_trans_x2(few_rows_staged(place, group * 8 + lane % 8, lane / 8 % 2), cvt_bf16x2_f32(x, y),
                      cvt_bf16x2_f32(z, w));
}

/* A warp's block of D: 16 columns, 64 or 128 rows, and where it is staged. */
struct few_rows_block_d {
    int64_t row, column, end; /* end: of the tile's rows */
    bool stored;              /* its columns are the tile's */
    uint32_t place;
};

/* Of the tile with corner (row_a, row_b); the plan's shared memory begins at `data`. */
static __device__ __forceinline__ few_rows_block_d few_rows_block_d_of(const few_rows_plan &plan,
                                                                       const gemm_output &out, int row_a, int row_b,
                                                                       uint32_t data)
{
    const int warp = threadIdx.x / 32, wide = plan.width / plan.columns - 1,
              local = (warp / 4 >> wide) * 64 + warp % 4 * 16;
    return {row_a + (warp / 4 & wide) * 64, (int64_t)row_b + local, min(out.m, (int64_t)row_a + plan.taken),
            local < plan.rows, data + plan.staging + warp * FEW_ROWS_STAGING};
}

/* What is staged, `rows` rows of the block from `first` on. */
static __device__ __forceinline__ void few_rows_store(const gemm_output &out, const few_rows_block_d &d, int first,
                                                      int rows)
{
    const int lane = threadIdx.x % 32, unit = lane % 2;
    const int64_t column = d.column + unit * 8;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int staged = i * 16 + lane / 2;
        const int64_t row = d.row + first + staged;
        if (staged < rows && d.stored && row < d.end && column < out.n)
            few_rows_store_unit(out, row, column, ld_shared_v4(few_rows_staged(d.place, staged, unit)));
    }
    __syncwarp();
}

/* The whole k was here. */
template <int groups>
static __device__ __forceinline__ void few_rows_store_all(const gemm_output &out, const few_rows_block_d &d,
                                                          const float (&total)[4 * groups])
{
#pragma unroll
    for (int first = 0; first < groups; first += 4) {
#pragma unroll
        for (int group = 0; group < 4; group++) {
            const float *sum = total + 4 * (first + group);
            few_rows_stage(d.place, group, sum[0], sum[1], sum[2], sum[3]);
        }
        few_rows_store(out, d, 8 * first, 32);
    }
}

/* Where a thread of a CTA that has a part of k keeps its sums, four in each group of 8 rows of A, and where it gets
 * those of the others for the groups that its split owns. */
struct few_rows_exchange {
    uint32_t own, others, stride, barrier;
};

/* Sends each split the sums that it owns. */
static __device__ __forceinline__ void few_rows_send(const few_rows_exchange &at, const few_rows_plan &plan, int split)
{
#pragma unroll 1
    for (int owner = 0; owner < plan.splits; owner++) {
        const int first = owner * plan.owned, groups = min(plan.owned, plan.columns / 8 - first);
        const uint32_t source = (uint32_t)(split - (split > owner)) * plan.owned * at.stride;
        const uint32_t to = cluster_map(at.others + source, owner), barrier = cluster_map(at.barrier, owner);
        if (owner == split)
            continue;
#pragma unroll 2
        for (int slot = 0; slot < groups; slot++)
            st_async_v4(to + slot * at.stride, ld_shared_v4(at.own + (first + slot) * 512), barrier);
    }
}

/* Four sums of the slot-th group that this split owns: its own, which are at `mine`, then the others' in their order.
 */
static __device__ __forceinline__ float4 few_rows_sum(const few_rows_exchange &at, const few_rows_plan &plan,
                                                      uint32_t mine, int slot)
{
    const uint4 own = ld_shared_v4(mine);
    float x = __uint_as_float(own.x), y = __uint_as_float(own.y);
    float z = __uint_as_float(own.z), w = __uint_as_float(own.w);
#pragma unroll 4
    for (int source = 0; source < plan.splits - 1; source++) {
        const uint4 other = ld_shared_v4(at.others + (source * plan.owned + slot) * at.stride);
        x += __uint_as_float(other.x);
        y += __uint_as_float(other.y);
        z += __uint_as_float(other.z);
        w += __uint_as_float(other.w);
    }
    return make_float4(x, y, z, w);
}

/* Adds up the groups that this split owns and stores them. */
static __device__ __forceinline__ void few_rows_receive(const few_rows_exchange &at, const few_rows_plan &plan,
                                                        int split, const gemm_output &out, const few_rows_block_d &d)
{
    const int first = split * plan.owned, groups = min(plan.owned, plan.columns / 8 - first);
    mbarrier_wait(at.barrier, 0);
#pragma unroll 1
    for (int slot = 0; slot < groups; slot++) {
        const float4 sum = few_rows_sum(at, plan, at.own + (first + slot) * 512, slot);
        few_rows_stage(d.place, slot % 4, sum.x, sum.y, sum.z, sum.w);
        if (slot % 4 == 3 || slot + 1 == groups)
            few_rows_store(out, d, 8 * (first + slot / 4 * 4), 8 * (slot % 4 + 1));
    }
}

/* The sums of a part of k: all of the CTA's take the place of the ring, which has been read. */
template <int groups>
static __device__ __forceinline__ void few_rows_meet(const few_rows_plan &plan, const ring &ring, int split,
                                                     const gemm_output &out, const few_rows_block_d &d,
                                                     const float (&total)[4 * groups])
{
    const int consumers = plan.consumers;
    const few_rows_exchange at = {ring.data + (threadIdx.x / 32 * groups * 32 + threadIdx.x % 32) * 16,
                                  ring.data + plan.sums + threadIdx.x * 16, (uint32_t)consumers * 16,
                                  ring.barriers + ring_barrier_bytes(plan.stages)};
    named_sync(3, consumers);
#pragma unroll
    for (int group = 0; group < groups; group++) {
        const float *sum = total + 4 * group;
        st_shared_v4(at.own + group * 512, make_uint4(__float_as_uint(sum[0]), __float_as_uint(sum[1]),
                                                      __float_as_uint(sum[2]), __float_as_uint(sum[3])));
    }
    cluster_wait();
    few_rows_send(at, plan, split);
    few_rows_receive(at, plan, split, out, d);
}

#endif
