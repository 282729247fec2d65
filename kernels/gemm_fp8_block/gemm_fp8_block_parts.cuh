/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At most 256 rows of A in one tile, which asks L2 for the fewest bytes a product, of 128 rows of B; so few tiles that
 * k is in parts, the CTAs of a cluster. Two warpgroups have one or two sets of 64 rows each and promote a set at a time
 * as gemm_fp8_block_direct.cuh does. When the cluster has read all of its stages, totals meet in their place: every
 * part adds up a share of the tile's columns and stores it.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_PARTS_CUH
#define RIDGE_GEMM_FP8_BLOCK_PARTS_CUH

#include "kernels/gemm_bf16/gemm_few_rows_store.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block_direct.cuh"
#include "kernels/gemm_fp8_block/gemm_fp8_block_parts_plan.h"

enum {
    PARTS_CONSUMERS = 256, /* threads */
    PARTS_LOADERS = 64,    /* a warp for B and one for A and its scales */
    PARTS_THREADS = 384,
};

struct parts_arguments {
    CUtensorMap b, a, scale_a; /* boxes of a tile's rows of B, all rows of A, their scales; 128 of k */
    struct parts_plan plan;
    gemm_output out;
    const float *scale_b;
};

/* A CTA's place: blocks [first, first + blocks) of k of a tile. */
struct parts_place {
    int part, tile, first, blocks;
};

static __device__ __forceinline__ parts_place parts_place_of(const parts_plan &plan)
{
    const int part = (int)blockIdx.x % plan.parts;
    return {part, (int)blockIdx.x / plan.parts, part * plan.blocks_part + min(part, plan.blocks_rest),
            plan.blocks_part + (part < plan.blocks_rest)};
}

/* Where totals meet, behind the ring's. */
static __device__ __forceinline__ uint32_t parts_barrier(const ring &ring)
{
    return ring.barriers + ring_barrier_bytes(ring.stages);
}

/* Of a warpgroup's units this part's share. */
static __device__ __forceinline__ int parts_share(const parts_plan &plan, int part, int warpgroup)
{
    const int owned = plan.owned[warpgroup];
    return max(min(plan.sets[warpgroup] * PARTS_UNITS - part * owned, owned), 0);
}

static __device__ __forceinline__ void parts_init(const parts_plan &plan, const ring &ring, int part)
{
    ring_init(ring, PARTS_CONSUMERS / 32);
    mbarrier_init(parts_barrier(ring), 1);
    mbarrier_arrive_expect(parts_barrier(ring), (plan.parts - 1) * PARTS_UNIT_BYTES *
                                                    (parts_share(plan, part, 0) + parts_share(plan, part, 1)));
    mbarrier_init_fence();
}

/* One thread of either loading warp. */
static __device__ __forceinline__ void parts_load(const parts_arguments &arguments, const ring &ring,
                                                  const parts_place &place, bool a)
{
    const parts_plan &plan = arguments.plan;
    const uint64_t once = l2_evict_first();
    ring_place at = {};
#pragma unroll 1
    for (int block = place.first; block < place.first + place.blocks; block++, ring_next(ring, at)) {
        const uint32_t full = ring_full(ring, at), data = ring.data + at.stage * plan.stage_bytes;
        mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
        if (a) {
            tma_load(data + PARTS_B_BYTES, &arguments.a, block * 128, 0, full);
            tma_load(ring.data + plan.scales + at.stage * plan.scale_bytes, &arguments.scale_a, 0, block, full);
        } else {
            mbarrier_arrive_expect(full, plan.copied);
            tma_load_hint(data, &arguments.b, block * 128, place.tile * PARTS_COLUMNS, full, once);
        }
    }
}

/* Warp 0 (B), which initialises the barriers, or 1 (A). */
static __device__ __forceinline__ void parts_supply(const parts_arguments &arguments, const ring &ring,
                                                    const parts_place &place, int warp)
{
    if (warp == 0) {
        if (elect())
            parts_init(arguments.plan, ring, place.part);
        __syncwarp();
        named_arrive(2, PARTS_LOADERS);
        named_arrive(1, PARTS_CONSUMERS + 32);
    } else {
        named_sync(2, PARTS_LOADERS);
    }
    if (elect())
        parts_load(arguments, ring, place, warp == 1);
    __syncwarp();
}

/* Where a consumer reads a block: its operands, the scale of its upper row, the barrier that gives the stage back. */
struct parts_block {
    gemm_fp8_block_operands operands;
    uint32_t scales, empty;
};

struct parts_reader {
    ring stages;
    ring_place at;
    parts_block first, now;     /* in stage 0 and at hand */
    uint32_t step, scale_bytes; /* from stage to stage: of descriptors, of scales */
};

static __device__ __forceinline__ parts_reader parts_reader_of(const parts_plan &plan, const ring &ring, int row)
{
    const parts_block first = {{(uint32_t)wgmma_descriptor_128(ring.data + PARTS_B_BYTES + row * 128),
                                (uint32_t)wgmma_descriptor_128(ring.data)},
                               ring.data + plan.scales + 4 * (row + wgmma_row(threadIdx.x, 0)),
                               ring_empty(ring, {})};
    return {ring, {}, first, first, (uint32_t)plan.stage_bytes / 16, (uint32_t)plan.scale_bytes};
}

static __device__ __forceinline__ void parts_step(parts_reader &reader)
{
    const parts_block &first = reader.first;
    ring_next(reader.stages, reader.at);
    const uint32_t stage = reader.at.stage, step = reader.step * stage;
    reader.now = {{first.operands.a + step, first.operands.b + step},
                  first.scales + stage * reader.scale_bytes,
                  first.empty + 8 * stage};
}

template <int sets> using parts_tile = gemm_fp8_block_direct_shape<sets, PARTS_COLUMNS>;

/* One block of k, whose stage is full; on return that of the next one is, if there is `more`. The scale of B is lane
 * `lane`'s of `scales_b`. */
template <int sets>
static __device__ __forceinline__ void parts_multiply(gemm_fp8_block_totals<parts_tile<sets>> &total,
                                                      parts_reader &reader, float scales_b, int lane, bool more)
{
    const uint32_t scales = reader.now.scales, empty = reader.now.empty;
    float b, sum[PARTS_COLUMNS / 2];
#pragma unroll
    for (int set = 0; set < sets; set++) {
        gemm_fp8_block_issue<parts_tile<sets>>(sum, reader.now.operands, set);
        __syncwarp(); /* the compiler moves no loads across it, and so none between WGMMAs */
        if (set == 0)
            b = __shfl_sync(~0u, scales_b, lane);
        const float upper = ld_shared_f32(scales + 256 * set), lower = ld_shared_f32(scales + 256 * set + 32);
        const gemm_fp8_block_products products = {{upper * b, lower * b}, {0, 0}};
        if (set == sets - 1) {
            parts_step(reader);
            if (more)
                mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
            __syncwarp(); /* all lanes have read the scales: one gives the stage back */
        }
        wgmma_wait<0>();
        wgmma_settle(sum);
        if (set == sets - 1 && threadIdx.x % 32 == 0)
            mbarrier_arrive(empty);
        gemm_fp8_block_add_split<parts_tile<sets>, false, 1, 1>(total[set], sum, products, 1);
    }
}

/* The lane's scale of B is that of block i + lane of the part. */
static __device__ __forceinline__ float parts_scales_b(const parts_arguments &arguments, const parts_place &place,
                                                       int i)
{
    const int block = place.first + min(i + (int)(threadIdx.x % 32), place.blocks - 1);
    return __ldg(arguments.scale_b + (int64_t)place.tile * arguments.plan.blocks + block);
}

template <int sets>
static __device__ __forceinline__ void parts_accumulate(gemm_fp8_block_totals<parts_tile<sets>> &total,
                                                        const parts_arguments &arguments, parts_reader &reader,
                                                        const parts_place &place, float scales_b)
{
    mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
#pragma unroll 1
    for (int first = 0; first < place.blocks; first += 32) {
        float next = 0;
        if (first + 32 < place.blocks)
            next = parts_scales_b(arguments, place, first + 32);
        const int count = min(place.blocks - first, 32);
#pragma unroll 1
        for (int i = 0; i < count; i++)
            parts_multiply<sets>(total, reader, scales_b, i, first + i + 1 < place.blocks);
        scales_b = next;
    }
}

/* A warp's totals in the shared memory of the part that adds them up: units of 512 bytes, in which four lanes have 8
 * columns of an upper and a lower row, changing places so that no bank is met twice when one lane reads all four. */
static __device__ __forceinline__ uint32_t parts_quarter(int quad, int lane)
{
    return quad * 64 + (lane ^ quad / 2) * 16;
}

struct parts_meeting {
    uint32_t at; /* of the warp, of slot 0 from part 0 */
    int owned;   /* slots of a part */
};

static __device__ __forceinline__ uint32_t parts_slot(const parts_meeting &meeting, int source, int slot)
{
    return meeting.at + (source * meeting.owned + slot) * PARTS_UNIT_BYTES;
}

template <int sets>
static __device__ __forceinline__ void parts_send(const parts_meeting &meeting, uint32_t barrier, int part,
                                                  const gemm_fp8_block_totals<parts_tile<sets>> &total)
{
    const uint32_t at = parts_slot(meeting, part, 0) + parts_quarter(threadIdx.x % 32 / 4, threadIdx.x % 4);
    int owner = 0, slot = 0;
#pragma unroll
    for (int unit = 0; unit < sets * PARTS_UNITS; unit++) {
        const float *sum = total[unit / PARTS_UNITS] + 4 * (unit % PARTS_UNITS);
        const uint4 four = make_uint4(__float_as_uint(sum[0]), __float_as_uint(sum[1]), __float_as_uint(sum[2]),
                                      __float_as_uint(sum[3]));
        const uint32_t to = at + slot * PARTS_UNIT_BYTES;
        if (owner == part)
            st_shared_v4(to, four);
        else
            st_async_v4(cluster_map(to, owner), four, cluster_map(barrier, owner));
        if (++slot == meeting.owned) {
            slot = 0;
            owner++;
        }
    }
}

/* Of a slot, sums of a lane's two rows over all parts in their order. */
static __device__ __forceinline__ void parts_sum(const parts_meeting &meeting, int parts, int slot, float (&sum)[16])
{
    const int quad = threadIdx.x % 8;
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum[i] = 0;
#pragma unroll 2
    for (int source = 0; source < parts; source++) {
        const uint32_t at = parts_slot(meeting, source, slot);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint4 four = ld_shared_v4(at + parts_quarter(quad, i));
            sum[4 * i] += __uint_as_float(four.x);
            sum[4 * i + 1] += __uint_as_float(four.y);
            sum[4 * i + 2] += __uint_as_float(four.z);
            sum[4 * i + 3] += __uint_as_float(four.w);
        }
    }
}

/* Adds up the slots of a share, a lane 8 columns of an upper and a lower row of the warp's, and stores them. */
static __device__ __forceinline__ void parts_receive(const parts_arguments &arguments, const parts_meeting &meeting,
                                                     const parts_place &place, int row, int share)
{
    const gemm_output &out = arguments.out;
#pragma unroll 1
    for (int slot = threadIdx.x % 32 / 8; slot < share; slot += 4) {
        const int unit = place.part * meeting.owned + slot;
        const int64_t upper = row + unit / PARTS_UNITS * 64 + threadIdx.x % 8;
        const int64_t column = (int64_t)place.tile * PARTS_COLUMNS + unit % PARTS_UNITS * 8;
        float sum[16];
        parts_sum(meeting, arguments.plan.parts, slot, sum);
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (upper + 8 * h < out.m && column < out.n)
                few_rows_store_unit(out, upper + 8 * h, column,
                                    make_uint4(cvt_bf16x2_f32(sum[2 * h], sum[2 * h + 1]),
                                               cvt_bf16x2_f32(sum[4 + 2 * h], sum[5 + 2 * h]),
                                               cvt_bf16x2_f32(sum[8 + 2 * h], sum[9 + 2 * h]),
                                               cvt_bf16x2_f32(sum[12 + 2 * h], sum[13 + 2 * h])));
    }
}

template <int sets>
static __device__ __forceinline__ void parts_consume(const parts_arguments &arguments, const ring &ring,
                                                     const parts_place &place, int warpgroup)
{
    const parts_plan &plan = arguments.plan;
    const int row = warpgroup * plan.sets[0] * 64, warp = threadIdx.x / 32 % 4;
    parts_reader reader = parts_reader_of(plan, ring, row);
    gemm_fp8_block_totals<parts_tile<sets>> total = {};
    const float scales_b = parts_scales_b(arguments, place, 0);
    named_sync(1, PARTS_CONSUMERS + 32);
    parts_accumulate<sets>(total, arguments, reader, place, scales_b);
    const parts_meeting meeting = {ring.data + warpgroup * plan.parts * plan.owned[0] * PARTS_UNIT_BYTES + warp * 512,
                                   plan.owned[warpgroup]};
    cluster_arrive_relaxed();
    cluster_wait();
    parts_send<sets>(meeting, parts_barrier(ring), place.part, total);
    __syncwarp();
    mbarrier_wait(parts_barrier(ring), 0);
    parts_receive(arguments, meeting, place, row + warp * 16, parts_share(plan, place.part, warpgroup));
}

/* Shared memory: stages, scales of A, barriers. The consumers take registers of a loading warpgroup, of which two warps
 * work. */
static __global__ void __launch_bounds__(PARTS_THREADS, 1)
    gemm_fp8_block_parts(const __grid_constant__ parts_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const parts_plan &plan = arguments.plan;
    const ring ring = {data, data + plan.barriers, plan.stages};
    const parts_place place = parts_place_of(plan);
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp >= PARTS_CONSUMERS / 32) {
        registers_give<24>();
        if (warp < (PARTS_CONSUMERS + PARTS_LOADERS) / 32)
            parts_supply(arguments, ring, place, warp - PARTS_CONSUMERS / 32);
        cluster_arrive_relaxed();
        cluster_wait();
    } else {
        registers_take<240>();
        if (warp == 1 && elect()) {
            tma_prefetch_map(&arguments.b);
            tma_prefetch_map(&arguments.a);
        }
        __syncwarp();
        if (plan.sets[warp / 4] == 2)
            parts_consume<2>(arguments, ring, place, warp / 4);
        else
            parts_consume<1>(arguments, ring, place, warp / 4);
    }
}

#endif
