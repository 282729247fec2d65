/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_few_rows.cuh where its consumers are what binds: two warpgroups that have a part each of a tile's sums wait for
 * the same stages, promote at the same time and leave the tensor cores idle. Here they take pairs of blocks of k in
 * turn, each with all sums of 64 rows of B: one waits, issues and promotes while the tensor cores are the other's, and
 * operands are read from shared memory once. At the end of a tile each adds up half of both their totals. Two warps
 * load, one B and one A, since a copy takes a warp some 100 clocks to issue.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_TURNS_CUH
#define RIDGE_GEMM_FP8_BLOCK_TURNS_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_few_rows.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block_turns_store.cuh"

static __device__ __forceinline__ int turns_block_of(const few_rows_plan &plan, const few_rows_part &part, int i)
{
    return i < part.blocks ? part.first + i : plan.blocks;
}

/* Rows of B of a stage, whose bytes are announced. */
template <typename product>
static __device__ __forceinline__ void turns_load_b(const few_rows_arguments &arguments, const ring &ring,
                                                    const few_rows_part &part, const few_rows_cursor &at, uint64_t once)
{
    const few_rows_plan &plan = arguments.plan;
    const uint32_t full = ring_full(ring, at.at);
    mbarrier_arrive_expect(full, plan.copied);
    tma_load_hint(ring.data + at.at.stage * plan.stage_bytes, &arguments.b,
                  turns_block_of(plan, part, at.block) * product::depth, at.index * plan.rows, full, once);
}

/* Rows of A and their scales. */
template <typename product>
static __device__ __forceinline__ void turns_load_a(const few_rows_arguments &arguments, const ring &ring,
                                                    const few_rows_part &part, const few_rows_cursor &at)
{
    const few_rows_plan &plan = arguments.plan;
    const uint32_t full = ring_full(ring, at.at), data = ring.data + at.at.stage * plan.stage_bytes;
    const int block = turns_block_of(plan, part, at.block);
    tma_load(data + plan.rows * 128, &arguments.a, block * product::depth, part.row_a, full);
    tma_load(ring.data + plan.scales + at.at.stage * plan.scale_bytes, &arguments.scale_a, part.row_a, block, full);
}

static __device__ __forceinline__ void turns_advance(const few_rows_plan &plan, const few_rows_part &part, int &index,
                                                     int &block)
{
    const int blocks = plan.splits > 1 ? part.blocks : (part.blocks + 1) / 2 * 2;
    if (++block >= blocks) {
        block = 0;
        index += plan.clusters;
    }
}

/* One thread of either producing warp: B or A, in all rounds or only the first, for which it need not wait. */
template <typename product>
static __device__ __forceinline__ void turns_produce(const few_rows_arguments &arguments, const ring &ring,
                                                     const few_rows_part &part, few_rows_cursor &next, bool again,
                                                     bool a)
{
    const few_rows_plan &plan = arguments.plan;
    const uint64_t once = l2_evict_first();
#pragma unroll 1
    for (int n = 0; (again || n < plan.stages) && plan.tiles_b > next.index; n++) {
        if (again)
            mbarrier_wait(ring_empty(ring, next.at), next.at.parity ^ 1);
        if (a)
            turns_load_a<product>(arguments, ring, part, next);
        else
            turns_load_b<product>(arguments, ring, part, next, once);
        ring_next(ring, next.at);
        turns_advance(plan, part, next.index, next.block);
    }
}

/* The producers: a warp for B, which initialises the barriers, and one for A. */
template <typename product, bool parts>
static __device__ __forceinline__ void turns_supply(const few_rows_arguments &arguments, const ring &ring,
                                                    const few_rows_part &part, bool a)
{
    const few_rows_plan &plan = arguments.plan;
    few_rows_cursor next = {{}, (int)blockIdx.y, 0};
    if (!a) {
        if (elect()) {
#pragma unroll 1
            for (int stage = 0; stage < plan.stages; stage++)
                mbarrier_init(ring.barriers + 8 * stage, 1);
            mbarrier_init_fence();
        }
        __syncwarp();
        named_arrive(4, 64);
        named_arrive(1, plan.consumers + 32);
    } else {
        named_sync(4, 64);
    }
    if (elect())
        turns_produce<product>(arguments, ring, part, next, false, a);
    __syncwarp();
    if (parts)
        cluster_arrive_relaxed();
    named_sync(2, 96);
    if (elect())
        turns_produce<product>(arguments, ring, part, next, true, a);
    __syncwarp();
    if (parts)
        cluster_wait();
}

/* One or two blocks of k, whose scales of B are `lane` and lane + 1 of `now`. A stage is one block here, given back as
 * soon as it is promoted. */
template <int width, int count>
static __device__ __forceinline__ void turns_multiply(float (&total)[width / 2], few_rows_reader &reader,
                                                      const typename few_rows_fp8_block<width>::scales &now, int lane)
{
    using product = few_rows_fp8_block<width>;
    float even[width / 2], odd[width / 2];
    const float scale_even = __shfl_sync(~0u, now.lane, lane), scale_odd = __shfl_sync(~0u, now.lane, lane + 1);
    const uint32_t scale_a = reader.scales + reader.at.stage * reader.scale_bytes;
    const uint32_t empty = ring_empty(reader.stages, reader.at);
    mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
    product::start(even, reader, 0);
    ring_next(reader.stages, reader.at);
    if constexpr (count > 1) {
        mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
        product::start(odd, reader, 0);
    }
    product::template promote<count - 1>(total, even, scale_a, scale_even);
    __syncwarp();
    few_rows_release(empty);
    if constexpr (count > 1) {
        product::template promote<0>(total, odd, reader.scales + reader.at.stage * reader.scale_bytes, scale_odd);
        __syncwarp();
        few_rows_release(ring_empty(reader.stages, reader.at));
        ring_next(reader.stages, reader.at);
    }
}

/* Every second pair of blocks, from the tile's first or second on. `mine` says which, and is carried on to the next
 * tile. An odd number of blocks has one of zeros behind it, but not where k is in `parts`: no tile follows. */
template <int width, bool parts>
static __device__ __forceinline__ void turns_accumulate(float (&total)[width / 2], const few_rows_arguments &arguments,
                                                        few_rows_reader &reader, const few_rows_part &part, int &mine,
                                                        int row, typename few_rows_fp8_block<width>::scales now)
{
#pragma unroll 1
    for (int i = 0; i < part.blocks; i += 32) {
        typename few_rows_fp8_block<width>::scales next = {};
        if (i + 32 < part.blocks)
            next = few_rows_fp8_block<width>::load_scales(arguments, part, row, i + 32);
        const int count = min(part.blocks - i, 32);
        int lane = 2 * mine;
#pragma unroll 1
        for (; lane < (parts ? count - 1 : count); lane += 4) {
            turns_multiply<width, 2>(total, reader, now, lane);
            ring_next(reader.stages, reader.at);
            ring_next(reader.stages, reader.at);
        }
        if (parts && lane < count)
            turns_multiply<width, 1>(total, reader, now, lane);
        now = next;
    }
    mine ^= (part.blocks + 1) / 2 % 2;
}

template <int width, bool parts>
static __device__ __forceinline__ void turns_consume(const few_rows_arguments &arguments, const ring &ring,
                                                     const few_rows_part &part)
{
    const few_rows_plan &plan = arguments.plan;
    const int turn = __shfl_sync(~0u, threadIdx.x / 128, 0);
    few_rows_reader reader = {ring,
                              {},
                              plan.stage_bytes,
                              plan.scale_bytes,
                              0,
                              (uint32_t)plan.rows * 128,
                              0,
                              0,
                              ring.data + plan.scales + threadIdx.x % 4 * 8,
                              0};
    int mine = turn;
    if (turn) {
        ring_next(ring, reader.at);
        ring_next(ring, reader.at);
    }
    auto scales = few_rows_fp8_block<width>::load_scales(arguments, part, (int)blockIdx.y * plan.rows, 0);
    named_sync(1, plan.consumers + 32);
#pragma unroll 1
    for (int index = (int)blockIdx.y; index < plan.tiles_b; index += plan.clusters) {
        float total[width / 2] = {}, kept[width / 4];
        turns_accumulate<width, parts>(total, arguments, reader, part, mine, index * plan.rows, scales);
        scales = few_rows_fp8_block<width>::load_scales(arguments, part, (index + plan.clusters) * plan.rows, 0);
        turns_merge<width / 4>(plan, ring.data + plan.merge, turn, total, kept);
        const turns_block_d d = {part.row_a + turn * (width / 2), (int64_t)index * plan.rows,
                                 min(arguments.out.m, (int64_t)part.row_a + plan.taken), 8,
                                 ring.data + plan.staging + turn * FEW_ROWS_LINES};
        if constexpr (parts) {
            turns_meet<width / 16>(plan, ring, part.split, arguments.out, d, kept);
            return;
        }
        turns_store_all<width / 16>(arguments.out, d, kept);
    }
}

/* The consumers take the registers of a producing warpgroup, of which two warps work. `parts`: k is split. */
template <int width, bool parts>
static __global__ void __launch_bounds__(384, 1)
    gemm_fp8_block_turns(const __grid_constant__ few_rows_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const few_rows_plan &plan = arguments.plan;
    const ring ring = {data, data + plan.barriers, plan.stages};
    const few_rows_part part = few_rows_part_of(plan);
    if (threadIdx.x >= plan.consumers) {
        registers_give<24>();
        if (threadIdx.x < plan.consumers + 64)
            turns_supply<few_rows_fp8_block<width>, parts>(arguments, ring, part,
                                                           __shfl_sync(~0u, threadIdx.x, 0) > plan.consumers);
    } else {
        registers_take<240>();
        if (threadIdx.x / 32 == 1 && elect()) {
            tma_prefetch_map(&arguments.b);
            tma_prefetch_map(&arguments.a);
        }
        if (threadIdx.x < 32)
            few_rows_init(plan, ring, part, plan.readers, 96);
        if (parts)
            cluster_arrive_relaxed();
        turns_consume<width, parts>(arguments, ring, part);
    }
}

/* For gemm_few_rows_host.cuh. */
template <int columns> struct turns_fp8_block : few_rows_fp8_block<columns> {
    static constexpr few_rows_product traits = {128, true, false, true};

    static const void *kernel(const few_rows_plan &plan)
    {
        if (plan.splits > 1)
            return plan.width > 64 ? (const void *)gemm_fp8_block_turns<128, true>
                                   : (const void *)gemm_fp8_block_turns<64, true>;
        return plan.width > 64 ? (const void *)gemm_fp8_block_turns<128, false>
                               : (const void *)gemm_fp8_block_turns<64, false>;
    }
};

#endif
