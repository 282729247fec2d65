/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building blocks of the block-scaled kernels. Beside A and B a stage has the scales of the tile's rows of A for its
 * block of k, copied by TMA from the same columns of scale_a. The scale of B is one number for 128 columns and the
 * block of k: every consumer thread loads it one block ahead. A consumer adds each block's WGMMA sums, times the
 * product of scales, to FP32 totals of its own.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_TILE_CUH
#define RIDGE_GEMM_FP8_BLOCK_TILE_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block.h"
#include "kernels/gemm_fp8_tensor/gemm_fp8_tile.cuh"

struct gemm_fp8_block_arguments {
    gemm_fp8_arguments gemm;
    CUtensorMap scale_a; /* boxes of a tile's rows */
    const float *scale_b;
};

/* Shared memory: stages, slabs, scales of A, barriers. */
template <typename tile, int count> struct gemm_fp8_block_memory {
    static constexpr int stages = count, scale_bytes = 4 * tile::rows;
    static constexpr int slabs = stages * tile::stage_bytes, scales = slabs + gemm_slab<tile>::bytes_all;
    static constexpr int barriers = scales + stages * scale_bytes, bytes = barriers + 16 * stages;
    static_assert(bytes <= 232448, "more than the shared memory of a block");
};

/* A consumer's view of the ring. */
template <typename memory> struct gemm_fp8_block_ring {
    ring stages;
    uint32_t scales; /* of the thread's upper row in stage 0 */
    ring_place at;
};

/* Groups of a tile's columns with a scale of B of their own: one for a tile of 128, else 64 columns each. */
template <typename tile> constexpr int gemm_fp8_block_groups = tile::columns == 128 ? 1 : tile::columns / 64;

/* Where a tile's scales of B are: rows of scale_b for the 128 columns that hold its first and its last column. */
struct gemm_fp8_block_scales {
    const float *first, *last;
    bool middle_is_last; /* of three groups */
};

template <typename tile>
static __device__ __forceinline__ gemm_fp8_block_scales
gemm_fp8_block_scales_of(const gemm_fp8_block_arguments &arguments, int column0)
{
    static_assert(tile::columns == 128 || tile::columns == 192, "at most two blocks of B");
    const int end =
        column0 + tile::columns < arguments.gemm.out.n ? column0 + tile::columns : (int)arguments.gemm.out.n;
    const int64_t blocks = arguments.gemm.blocks;
    return {arguments.scale_b + column0 / 128 * blocks, arguments.scale_b + (end - 1) / 128 * blocks,
            column0 % 128 != 0};
}

/* Of block i of k. */
template <int groups>
static __device__ __forceinline__ void gemm_fp8_block_load(float (&scale)[groups], const gemm_fp8_block_scales &scales,
                                                           int i)
{
    scale[0] = __ldg(scales.first + i);
    if constexpr (groups == 3) {
        scale[2] = __ldg(scales.last + i);
        scale[1] = scales.middle_is_last ? scale[2] : scale[0];
    }
}

/* One block of k of a consumer: products of scales for its two rows, and the barrier that gives the stage back. */
template <typename tile> struct gemm_fp8_block_step {
    float upper[gemm_fp8_block_groups<tile>], lower[gemm_fp8_block_groups<tile>];
    uint32_t empty;
};

template <typename tile, typename memory>
static __device__ __forceinline__ void gemm_fp8_block_produce(const gemm_fp8_block_arguments &arguments,
                                                              const ring &ring, uint32_t scales)
{
    const gemm_fp8_arguments &gemm = arguments.gemm;
    ring_place at = {};
    for (int index = blockIdx.x; index < tile_count(gemm.order); index += gridDim.x) {
        const tile_place place = tile_at(gemm.order, index);
        const int row0 = place.row * tile::rows, column0 = place.column * tile::columns;
#pragma unroll 1
        for (int i = 0; i < gemm.blocks; i++, ring_next(ring, at)) {
            const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            mbarrier_arrive_expect(full, tile::stage_bytes + memory::scale_bytes);
            tma_load(data, &gemm.maps.a, i * gemm_fp8_depth, row0, full);
            tma_load(data + tile::a_bytes, &gemm.maps.b, i * gemm_fp8_depth, column0, full);
            tma_load(scales + at.stage * memory::scale_bytes, &arguments.scale_a, row0, i, full);
        }
    }
}

/* Starts the products of the next stage into `sum` as a group of their own. */
template <typename tile, typename memory>
static __device__ __forceinline__ gemm_fp8_block_step<tile>
gemm_fp8_block_start(float (&sum)[tile::columns / 2], gemm_fp8_block_ring<memory> &ring,
                     const float (&scale_b)[gemm_fp8_block_groups<tile>], int warpgroup)
{
    const uint32_t scale = ring.scales + ring.at.stage * memory::scale_bytes;
    mbarrier_wait(ring_full(ring.stages, ring.at), ring.at.parity);
    wgmma_fence();
    gemm_fp8_multiply<tile, 0, 4>(sum, ring.stages.data + ring.at.stage * tile::stage_bytes, warpgroup, 0);
    wgmma_commit();
    const float upper = ld_shared_f32(scale), lower = ld_shared_f32(scale + 32);
    gemm_fp8_block_step<tile> step;
#pragma unroll
    for (int group = 0; group < gemm_fp8_block_groups<tile>; group++) {
        step.upper[group] = upper * scale_b[group];
        step.lower[group] = lower * scale_b[group];
    }
    step.empty = ring_empty(ring.stages, ring.at);
    ring_next(ring.stages, ring.at);
    return step;
}

/* total += sum times the scales, once at most `pending` later groups are unfinished; gives the stage back. */
template <typename tile, int pending>
static __device__ __forceinline__ void gemm_fp8_block_promote(float (&total)[tile::columns / 2],
                                                              float (&sum)[tile::columns / 2],
                                                              const gemm_fp8_block_step<tile> &step)
{
    wgmma_wait<pending>();
    wgmma_settle(sum);
    __syncwarp();
    gemm_release(step.empty);
#pragma unroll
    for (int i = 0; i < tile::columns / 2; i++) {
        const int group = gemm_fp8_block_groups<tile> == 1 ? 0 : i / 32;
        total[i] += (i / 2 % 2 ? step.lower[group] : step.upper[group]) * sum[i];
    }
}

/* All tiles of a consumer. accumulate(total, ring, scales, blocks, warpgroup) computes one; total arrives
 * zeroed. */
template <typename tile, typename memory, auto accumulate>
static __device__ __forceinline__ void gemm_fp8_block_consume(const gemm_fp8_block_arguments &arguments,
                                                              const ring &stages, uint32_t data, int warpgroup)
{
    const gemm_fp8_arguments &gemm = arguments.gemm;
    const uint32_t slab = data + memory::slabs + threadIdx.x / 32 * gemm_slab<tile>::bytes;
    const int upper_row = warpgroup * 64 + wgmma_row(threadIdx.x, 0);
    gemm_fp8_block_ring<memory> ring = {stages, data + memory::scales + 4 * upper_row, {}};
    for (int index = blockIdx.x; index < tile_count(gemm.order); index += gridDim.x) {
        const tile_place place = tile_at(gemm.order, index);
        const int column0 = place.column * tile::columns;
        float total[tile::columns / 2] = {};
        accumulate(total, ring, gemm_fp8_block_scales_of<tile>(arguments, column0), gemm.blocks, warpgroup);
        gemm_fp8_store<tile>(gemm, slab, place.row * tile::rows, column0, total);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

/* One block of k at a time: its WGMMAs, then its promotion. */
template <typename tile, typename memory>
static __device__ __forceinline__ void
gemm_fp8_block_wait_promote(float (&total)[tile::columns / 2], gemm_fp8_block_ring<memory> &ring,
                            const gemm_fp8_block_scales &scales, int blocks, int warpgroup)
{
    float sum[tile::columns / 2], next[gemm_fp8_block_groups<tile>];
    gemm_fp8_block_load(next, scales, 0);
    for (int i = 0; i < blocks; i++) {
        const gemm_fp8_block_step<tile> step = gemm_fp8_block_start<tile>(sum, ring, next, warpgroup);
        gemm_fp8_block_load(next, scales, i + 1 < blocks ? i + 1 : i);
        gemm_fp8_block_promote<tile, 0>(total, sum, step);
    }
}

/* The body of a kernel. */
template <typename tile, typename memory, auto accumulate>
static __device__ __forceinline__ void gemm_fp8_block_run(const gemm_fp8_block_arguments &arguments, uint32_t data)
{
    const ring ring = {data, data + memory::barriers, memory::stages};
    const int warpgroup = gemm_warpgroup();
    if (threadIdx.x == 0)
        ring_init(ring, 4 * tile::consumers);
    __syncthreads();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            gemm_fp8_block_produce<tile, memory>(arguments, ring, data + memory::scales);
    } else {
        registers_take<tile::consumer_registers>();
        gemm_fp8_block_consume<tile, memory, accumulate>(arguments, ring, data, warpgroup);
    }
}

/* setup; the state is a gemm_fp8_block_arguments. */
template <typename tile, typename memory>
static int gemm_fp8_block_setup(struct ridge_call *call, const void *kernel, int band, void **state)
{
    const int64_t m = call->dim[0], blocks = gemm_fp8_block_count(call->dim[2]);
    const struct tensor_map_matrix scale_a = {RIDGE_F32, call->buffer[2], blocks, m,        gemm_fp8_block_pitch_a(m),
                                              1,         tile::rows,      0,      "scale_a"};
    *state = NULL;
    if (gemm_fp8_block_scales_refused(call))
        return 1;
    RIDGE_CUDA(call, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, memory::bytes));
    struct gemm_fp8_block_arguments *arguments =
        (struct gemm_fp8_block_arguments *)gemm_plan_new(call, sizeof *arguments);
    if (!arguments)
        return 1;
    arguments->scale_b = (const float *)call->buffer[3];
    if (gemm_fp8_plan<tile>(call, band, &arguments->gemm) || tensor_map_encode(call, &scale_a, &arguments->scale_a)) {
        free(arguments);
        return 1;
    }
    *state = arguments;
    return 0;
}

template <typename tile, typename memory>
static int gemm_fp8_block_launch(const struct ridge_call *call, void (*kernel)(gemm_fp8_block_arguments))
{
    const struct gemm_fp8_block_arguments *arguments = (const struct gemm_fp8_block_arguments *)call->state;
    kernel<<<gemm_fp8_grid(call, arguments->gemm.order), tile::threads, memory::bytes, ridge_stream(call)>>>(
        *arguments);
    return RIDGE_LAUNCHED(call);
}

template <typename tile> static void gemm_fp8_block_issue(const int64_t *dim, struct ridge_work *work)
{
    gemm_fp8_issue<tile>(dim, work);
    work->flop_fp32 = 2 * work->tiles * tile::rows * tile::columns * (double)gemm_fp8_block_count(dim[2]);
    work->bytes_l2 += work->tiles * (double)gemm_fp8_block_count(dim[2]) * 4 * tile::rows;
}

#endif
