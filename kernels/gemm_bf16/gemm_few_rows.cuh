/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few rows of A against many of B: the time is that of reading B. The operands change places, so that rows of B, which
 * are many, fill the 64 rows of a wgmma, and 64 or 128 rows of A are its columns. A tile has any multiple of 16 rows of
 * B, which fits the work to the SMs, and only those rows of A that there are: past them a wgmma multiplies whatever
 * lies in shared memory, which is not stored. k may be split over the CTAs of a cluster, which then send each other
 * their sums.
 *
 * Such a kernel is its latencies. Nothing precedes the first loads but the initialisation of the barriers that they
 * complete on; a stage is two blocks of 128 bytes along k, so that there are few barriers and DRAM is asked for
 * neighbours; CTAs of a cluster meet first when they have sums to send.
 */
#ifndef RIDGE_GEMM_FEW_ROWS_CUH
#define RIDGE_GEMM_FEW_ROWS_CUH

#include "kernels/gemm_bf16/gemm_few_rows_store.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"
#include "kernels/support/ring.cuh"

#include <cuda.h>

struct few_rows_arguments {
    CUtensorMap b, a, scale_a; /* boxes of 128 bytes of a tile's rows of B and of A; of two rows of scales */
    struct few_rows_plan plan;
    gemm_output out;
    const float *scale_b;
    int last_block_b; /* of the rows of scale_b */
};

/* The grid is (splits, clusters, tiles of A); a cluster is a row of it. */
struct few_rows_part {
    int split, first, blocks; /* blocks [first, first + blocks) of k */
    int row_a;
};

static __device__ __forceinline__ few_rows_part few_rows_part_of(const few_rows_plan &plan)
{
    const int split = (int)blockIdx.x;
    return {split, split * plan.blocks_split + min(split, plan.blocks_rest),
            plan.blocks_split + (split < plan.blocks_rest), (int)blockIdx.z * plan.taken};
}

/* The producer's place: a stage of a tile. Where a part of k has an odd number of blocks, the last stage's second is
 * loaded from past the end of k, which reads zeros. */
struct few_rows_cursor {
    ring_place at;
    int index, block;
};

template <typename product>
static __device__ __forceinline__ void few_rows_load(const few_rows_arguments &arguments, const ring &ring,
                                                     const few_rows_part &part, few_rows_cursor &next, uint64_t once)
{
    const few_rows_plan &plan = arguments.plan;
    const int b_bytes = plan.rows * 128, a_bytes = plan.width * 128, row_b = next.index * plan.rows;
    const uint32_t full = ring_full(ring, next.at), data = ring.data + next.at.stage * plan.stage_bytes;
    const int block = part.first + next.block, second = next.block + 1 < part.blocks ? block + 1 : plan.blocks;
    mbarrier_arrive_expect(full, plan.copied);
    tma_load_hint(data, &arguments.b, block * product::depth, row_b, full, once);
    tma_load_hint(data + b_bytes, &arguments.b, second * product::depth, row_b, full, once);
    tma_load(data + 2 * b_bytes, &arguments.a, block * product::depth, part.row_a, full);
    tma_load(data + 2 * b_bytes + a_bytes, &arguments.a, second * product::depth, part.row_a, full);
    if (product::traits.scaled)
        tma_load(ring.data + plan.scales + next.at.stage * plan.scale_bytes, &arguments.scale_a, part.row_a, block,
                 full);
    ring_next(ring, next.at);
    next.block += 2;
    if (next.block >= part.blocks) {
        next.block = 0;
        next.index += plan.clusters;
    }
}

/* One thread. The barriers `empty` are the consumers' to initialise, and not needed before the second round. */
template <typename product>
static __device__ __forceinline__ void few_rows_produce(const few_rows_arguments &arguments, const ring &ring,
                                                        const few_rows_part &part, few_rows_cursor &next, bool again)
{
    const few_rows_plan &plan = arguments.plan;
    const uint64_t once = l2_evict_first();
#pragma unroll 1
    for (int n = 0; (again || n < plan.stages) && plan.tiles_b > next.index; n++) {
        if (again)
            mbarrier_wait(ring_empty(ring, next.at), next.at.parity ^ 1);
        few_rows_load<product>(arguments, ring, part, next, once);
    }
}

/* A consumer's place in the ring. */
struct few_rows_reader {
    ring stages;
    ring_place at;
    int stage_bytes, scale_bytes;
    uint32_t b, a, b_bytes,
        a_bytes;                 /* the warpgroup's rows of B and the rows of A in a stage, and their second blocks */
    uint32_t scales, scale_step; /* of stage 0; from a block of it to the next */
};

/* wgmma descriptors of a block (0 or 1) of the stage that the reader is at. */
static __device__ __forceinline__ uint64_t few_rows_b(const few_rows_reader &reader, int block)
{
    return wgmma_descriptor_128(reader.stages.data + reader.at.stage * reader.stage_bytes + reader.b +
                                block * reader.b_bytes);
}

static __device__ __forceinline__ uint64_t few_rows_a(const few_rows_reader &reader, int block)
{
    return wgmma_descriptor_128(reader.stages.data + reader.at.stage * reader.stage_bytes + reader.a +
                                block * reader.a_bytes);
}

/* A warp has read a stage. */
static __device__ __forceinline__ void few_rows_release(uint32_t empty)
{
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(empty);
}

/* BF16: sums stay in the tensor cores' accumulators. */
template <int columns> struct few_rows_bf16 {
    static constexpr int depth = 64, groups = columns / 8;
    static constexpr few_rows_product traits = {depth, false, false, false};
    struct scales {
    };

    static int encode_scales(const struct ridge_call *, few_rows_arguments *)
    {
        return 0;
    }

    static __device__ __forceinline__ scales load_scales(const few_rows_arguments &, const few_rows_part &, int, int)
    {
        return {};
    }

    static __device__ __forceinline__ void multiply(float (&total)[columns / 2], const few_rows_reader &reader,
                                                    int block, int keep)
    {
        const uint64_t b = few_rows_b(reader, block), a = few_rows_a(reader, block);
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            wgmma_bf16_ss(total, wgmma_descriptor_advance(b, slice * 32), wgmma_descriptor_advance(a, slice * 32),
                          slice > 0 ? 1 : keep);
    }

    static __device__ __forceinline__ void accumulate(float (&total)[columns / 2], const few_rows_arguments &,
                                                      few_rows_reader &reader, const few_rows_part &part, int,
                                                      const scales &)
    {
        uint32_t used = 0;
#pragma unroll 1
        for (int i = 0; i < part.blocks; i += 2) {
            mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
            wgmma_fence();
            multiply(total, reader, 0, i > 0);
            multiply(total, reader, 1, 1);
            wgmma_commit();
            wgmma_wait<1>();
            if (i > 0)
                few_rows_release(used);
            used = ring_empty(reader.stages, reader.at);
            ring_next(reader.stages, reader.at);
        }
        wgmma_wait<0>();
        wgmma_settle(total);
        few_rows_release(used);
    }
};

template <typename product>
static __device__ __forceinline__ void few_rows_consume(const few_rows_arguments &arguments, const ring &ring,
                                                        const few_rows_part &part)
{
    const few_rows_plan &plan = arguments.plan;
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0), wide = plan.width / plan.columns - 1;
    const int row = (warpgroup >> wide) * 64, row_a = (warpgroup & wide) * 64;
    few_rows_reader reader = {ring,
                              {},
                              plan.stage_bytes,
                              plan.scale_bytes,
                              (uint32_t)row * 128,
                              (uint32_t)(plan.rows * 2 + row_a) * 128,
                              (uint32_t)plan.rows * 128,
                              (uint32_t)plan.width * 128,
                              ring.data + plan.scales + row_a * 4 + threadIdx.x % 4 * 8,
                              (uint32_t)plan.taken * 4};
    typename product::scales scales = product::load_scales(arguments, part, (int)blockIdx.y * plan.rows + row, 0);
    named_sync(1, plan.consumers + 32);
#pragma unroll 1
    for (int index = (int)blockIdx.y; index < plan.tiles_b; index += plan.clusters) {
        float total[4 * product::groups] = {};
        product::accumulate(total, arguments, reader, part, index * plan.rows + row, scales);
        scales = product::load_scales(arguments, part, (index + plan.clusters) * plan.rows + row, 0);
        const few_rows_block_d d = few_rows_block_d_of(plan, arguments.out, part.row_a, index * plan.rows, ring.data);
        if (plan.splits > 1)
            few_rows_meet<product::groups>(plan, ring, part.split, arguments.out, d, total);
        else
            few_rows_store_all<product::groups>(arguments.out, d, total);
    }
}

/* By a consumer warp: what consumers, of whom `readers` warps give a stage back, and the other splits will arrive on.
 * `waiting`: threads that this warp and the producers are. */
static __device__ __forceinline__ void few_rows_init(const few_rows_plan &plan, const ring &ring,
                                                     const few_rows_part &part, int readers, int waiting)
{
    const int consumers = plan.consumers;
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int stage = 0; stage < plan.stages; stage++)
            mbarrier_init(ring.barriers + 8 * (plan.stages + stage), readers);
        if (plan.splits > 1) {
            const int rest = max(plan.columns / 8 - part.split * plan.owned, 0);
            const uint32_t barrier = ring.barriers + ring_barrier_bytes(plan.stages);
            mbarrier_init(barrier, 1);
            mbarrier_arrive_expect(barrier, (plan.splits - 1) * min(rest, plan.owned) * consumers * 16);
        }
        mbarrier_init_fence();
    }
    __syncwarp();
    named_arrive(2, waiting);
}

/* The producer: one warp. */
template <typename product>
static __device__ __forceinline__ void few_rows_supply(const few_rows_arguments &arguments, const ring &ring,
                                                       const few_rows_part &part)
{
    const few_rows_plan &plan = arguments.plan;
    few_rows_cursor next = {{}, (int)blockIdx.y, 0};
    if (elect()) {
#pragma unroll 1
        for (int stage = 0; stage < plan.stages; stage++)
            mbarrier_init(ring.barriers + 8 * stage, 1);
        mbarrier_init_fence();
    }
    __syncwarp();
    named_arrive(1, plan.consumers + 32);
    if (elect())
        few_rows_produce<product>(arguments, ring, part, next, false);
    __syncwarp();
    if (plan.splits > 1)
        cluster_arrive_relaxed();
    named_sync(2, 64);
    if (elect())
        few_rows_produce<product>(arguments, ring, part, next, true);
    __syncwarp();
    if (plan.splits > 1)
        cluster_wait();
}

/* A consumer of 128 rows of A takes the registers of a producing warpgroup, of which one warp works. */
template <typename product>
static __global__ void __launch_bounds__(128 * FEW_ROWS_WARPGROUPS + (product::groups > 8 ? 128 : 32), 1)
    gemm_few_rows(const __grid_constant__ few_rows_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const few_rows_plan &plan = arguments.plan;
    const ring ring = {data, data + plan.barriers, plan.stages};
    const few_rows_part part = few_rows_part_of(plan);
    if (threadIdx.x >= plan.consumers) {
        if (product::groups > 8)
            registers_give<24>();
        if (threadIdx.x < plan.consumers + 32)
            few_rows_supply<product>(arguments, ring, part);
    } else {
        if (product::groups > 8)
            registers_take<240>();
        if (threadIdx.x / 32 == 1 && elect()) {
            tma_prefetch_map(&arguments.b);
            tma_prefetch_map(&arguments.a);
        }
        if (threadIdx.x < 32)
            few_rows_init(plan, ring, part, plan.consumers / 32, 64);
        if (plan.splits > 1)
            cluster_arrive_relaxed();
        few_rows_consume<product>(arguments, ring, part);
    }
}

#endif
