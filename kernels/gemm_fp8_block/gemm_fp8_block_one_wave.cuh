/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few rows of A against so many of B that every SM has a tile of its own: at most 128 rows of A, which are the rows of
 * the wgmmas, and as many of B as make one wave of CTAs. Where a CTA's rows of B are several pieces, A is kept and only
 * B goes through the ring: a piece of D is stored while the next one's operands arrive, its first columns while the
 * last products run. A warp's rows of D leave in whole lines, through a place of its own.
 *
 * Two warpgroups have 64 rows of A each, or up to 64 rows are both's and each has half of a piece's columns.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_CUH
#define RIDGE_GEMM_FP8_BLOCK_ONE_WAVE_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_one_wave_load.cuh"
#include "kernels/ptx/global_if.cuh"
#include "kernels/ptx/mma.cuh"

/* What a consumer reads: its operands in stage or place 0, and the scale of its upper row. */
struct one_wave_reader {
    ring stages;
    uint32_t a, b, scales;
    ring_place at;
};

/* Scales of B: lane i of a warp has those of the i-th block to come, for the warpgroup's first columns and for its last
 * ones. The first `split` groups of columns are of the first. */
struct one_wave_scales {
    float first, last;
};

template <typename tile>
static __device__ __forceinline__ one_wave_scales one_wave_scales_of(const one_wave_arguments &arguments, int column,
                                                                     int i)
{
    const int blocks = arguments.plan.blocks, block = min(i + (int)(threadIdx.x % 32), blocks - 1);
    const int first = min(column / 128, arguments.last_block_b);
    const int last = min((column + tile::own - 1) / 128, arguments.last_block_b);
    const float scale = __ldg(arguments.scale_b + (int64_t)first * blocks + block);
    return {scale, tile::groups > 1 ? __ldg(arguments.scale_b + (int64_t)last * blocks + block) : scale};
}

/* A block of k: its operands, the barrier that gives its stage back, the scales of its upper row, of the columns' rows
 * of scale_b, and which groups of columns are of the first. */
struct one_wave_block {
    uint64_t a, b;
    uint32_t empty, scales;
    float first, last;
    int split;
};

/* The next one, once it is there; `i` of the piece. */
template <typename tile>
static __device__ __forceinline__ one_wave_block one_wave_next(const one_wave_arguments &arguments,
                                                               one_wave_reader &reader, const one_wave_scales &now,
                                                               int i, int split)
{
    const ring &ring = reader.stages;
    const int place = arguments.plan.pieces > 1 ? i : reader.at.stage;
    const one_wave_block block = {wgmma_descriptor_128(reader.a + place * tile::a_bytes),
                                  wgmma_descriptor_128(reader.b + reader.at.stage * tile::b_bytes),
                                  ring_empty(ring, reader.at),
                                  reader.scales + place * tile::scale_bytes,
                                  __shfl_sync(~0u, now.first, i % 32),
                                  tile::groups > 1 ? __shfl_sync(~0u, now.last, i % 32) : 0,
                                  split};
    mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
    ring_next(ring, reader.at);
    return block;
}

/* Columns from `column` of the warpgroup's on. */
template <int columns>
static __device__ __forceinline__ void one_wave_start(float (&sum)[columns / 2], const one_wave_block &block,
                                                      int column)
{
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        wgmma_e4m3_ss(sum, wgmma_descriptor_advance(block.a, slice * 32),
                      wgmma_descriptor_advance(block.b, column * 128 + slice * 32), slice > 0);
    wgmma_commit();
}

/* Products of scales of the thread's rows with those of B, for every group of columns. */
template <typename tile> struct one_wave_factors {
    float upper[tile::groups], lower[tile::groups];
};

template <typename tile>
static __device__ __forceinline__ one_wave_factors<tile> one_wave_factors_of(const one_wave_block &block)
{
    const float upper = ld_shared_f32(block.scales), lower = ld_shared_f32(block.scales + 32);
    one_wave_factors<tile> factors;
#pragma unroll
    for (int group = 0; group < tile::groups; group++) {
        const float scale = tile::groups == 1 || group < block.split ? block.first : block.last;
        factors.upper[group] = upper * scale;
        factors.lower[group] = lower * scale;
    }
    __syncwarp(); /* all lanes have read the scales: one gives the stage back */
    return factors;
}

static __device__ __forceinline__ void one_wave_release(const one_wave_block &block)
{
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(block.empty);
}

/* total[first ..] += sum times the factors. */
template <typename tile, int first, int count>
static __device__ __forceinline__ void one_wave_promote(float (&total)[tile::own / 2], const float (&sum)[count],
                                                        const one_wave_factors<tile> &factors)
{
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int group = 2 * (first + i) / tile::group_columns;
        total[first + i] += (i / 2 % 2 ? factors.lower[group] : factors.upper[group]) * sum[i];
    }
}

/* All blocks of a piece, at column `column` for this warpgroup, but the last; `now` becomes the scales of B that the
 * last one needs. No choice between them and the next ones in the inner loop: it would wait for the load of the latter.
 */
template <typename tile>
static __device__ __forceinline__ void one_wave_accumulate(float (&total)[tile::own / 2],
                                                           const one_wave_arguments &arguments, one_wave_reader &reader,
                                                           int column, int split, one_wave_scales &now)
{
    const int last = arguments.plan.blocks - 1;
#pragma unroll 1
    for (int first = 0; first <= last; first += 32) {
        one_wave_scales next = now;
        if (first + 32 <= last)
            next = one_wave_scales_of<tile>(arguments, column, first + 32);
        const int end = min(last, first + 32);
#pragma unroll 1
        for (int i = first; i < end; i++) {
            const one_wave_block block = one_wave_next<tile>(arguments, reader, now, i, split);
            float sum[tile::own / 2];
            one_wave_start<tile::own>(sum, block, 0);
            const one_wave_factors<tile> factors = one_wave_factors_of<tile>(block);
            wgmma_wait<0>();
            wgmma_settle(sum);
            one_wave_release(block);
            one_wave_promote<tile, 0>(total, sum, factors);
        }
        now = next;
    }
}

/* Where a warp stores its 16 rows: through `place`, 16 rows of 128 bytes (gemm_staged). */
struct one_wave_target {
    bf16 *d;           /* its corner */
    int rows, columns; /* that D has from there on */
    uint32_t place;
};

static __device__ __forceinline__ one_wave_target one_wave_target_of(const gemm_output &out, int row, int column,
                                                                     uint32_t staging)
{
    const int warp = threadIdx.x / 32;
    row += warp % 4 * 16;
    return {out.d + row * out.n + column, (int)out.m - row, (int)out.n - column,
            staging + warp * (ONE_WAVE_STAGING / 8)};
}

/* Columns [first, first + count), in whole lines if they are 64. */
template <typename tile, int first, int count>
static __device__ __forceinline__ void one_wave_store(const one_wave_target &target, int64_t n,
                                                      const float (&total)[tile::own / 2])
{
    constexpr int units = count / 8, rows = 32 / units;
    const int lane = threadIdx.x % 32, unit = lane % units;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < units; j += 2) {
        const float *sum = total + first / 2 + 4 * j;
        stmatrix_x4(gemm_staged(target.place, lane % 16, j + lane / 16), cvt_bf16x2_f32(sum[0], sum[1]),
                    cvt_bf16x2_f32(sum[2], sum[3]), cvt_bf16x2_f32(sum[4], sum[5]), cvt_bf16x2_f32(sum[6], sum[7]));
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 16; i += rows) {
        const int row = i + lane / units;
        const uint4 words = ld_shared_v4(gemm_staged(target.place, row, unit));
        const uint32_t stored[] = {words.x, words.y, words.z, words.w};
        st_global_v4_if(row < target.rows && first + unit * 8 < target.columns, target.d + row * n + first + unit * 8,
                        stored);
    }
}

/* Part `part` of the last block, of which sums are `sum`: waits for it, and stores it. */
template <typename tile, int part>
static __device__ __forceinline__ void
one_wave_end(float (&total)[tile::own / 2], float (&sum)[tile::parts][tile::part / 2],
             const one_wave_factors<tile> &factors, const one_wave_target &target, int64_t n)
{
    wgmma_wait<tile::parts - 1 - part>();
    wgmma_settle(sum[part]);
    one_wave_promote<tile, part * tile::part / 2>(total, sum[part], factors);
    one_wave_store<tile, part * tile::part, tile::part>(target, n, total);
    __syncwarp(); /* the compiler moves no store across it, and so none behind the next wait */
    if constexpr (part + 1 < tile::parts)
        one_wave_end<tile, part + 1>(total, sum, factors, target, n);
}

/* The last block of a piece, its columns in parts. */
template <typename tile>
static __device__ __forceinline__ void
one_wave_finish(float (&total)[tile::own / 2], const one_wave_arguments &arguments, one_wave_reader &reader, int row,
                int column, int split, const one_wave_scales &now, uint32_t staging)
{
    const gemm_output &out = arguments.out;
    const one_wave_block block = one_wave_next<tile>(arguments, reader, now, arguments.plan.blocks - 1, split);
    float sum[tile::parts][tile::part / 2];
#pragma unroll
    for (int part = 0; part < tile::parts; part++)
        one_wave_start<tile::part>(sum[part], block, part * tile::part);
    const one_wave_factors<tile> factors = one_wave_factors_of<tile>(block);
    one_wave_target target = one_wave_target_of(out, row, column, staging);
    if (!arguments.whole)
        target.rows = 0;
    one_wave_end<tile, 0>(total, sum, factors, target, out.n);
    one_wave_release(block);
    if (!arguments.whole)
        gemm_store_registers(out, row, column, total);
}

template <typename tile>
static __device__ __forceinline__ void one_wave_consume(const one_wave_arguments &arguments, const ring &ring,
                                                        uint32_t data)
{
    const one_wave_plan &plan = arguments.plan;
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0), pieces = one_wave_pieces(arguments);
    const int row = tile::rows == 128 ? warpgroup * 64 : 0, first = tile::rows == 128 ? 0 : warpgroup * tile::own;
    int column = (int)blockIdx.x * plan.pieces * tile::columns + first;
    one_wave_reader reader = {ring,
                              data + row * 128,
                              ring.data + first * 128,
                              data + plan.scales + 4 * (row + wgmma_row(threadIdx.x, 0)),
                              {}};
    one_wave_scales now = one_wave_scales_of<tile>(arguments, column, 0);
    named_sync(1, ONE_WAVE_CONSUMERS + 32);
#pragma unroll 1
    for (int piece = 0; piece < pieces; piece++) {
        float total[tile::own / 2] = {};
        one_wave_scales next = {};
        if (piece + 1 < pieces)
            next = one_wave_scales_of<tile>(arguments, column + tile::columns, 0);
        const int split = (128 - column % 128) / tile::group_columns;
        one_wave_accumulate<tile>(total, arguments, reader, column, split, now);
        one_wave_finish<tile>(total, arguments, reader, row, column, split, now, data + plan.staging);
        column += tile::columns;
        now = next;
    }
}

/* Shared memory: A, stages of B, staging places, scales of A, barriers. The consumers take registers of a loading
 * warpgroup, of which three warps work. */
template <typename tile>
static __global__ void __launch_bounds__(ONE_WAVE_THREADS, 1)
    gemm_fp8_block_one_wave(const __grid_constant__ one_wave_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const one_wave_plan &plan = arguments.plan;
    const ring ring = {data + plan.stages_at, data + plan.barriers, plan.stages};
    const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp >= ONE_WAVE_CONSUMERS / 32) {
        registers_give<24>();
        if (warp < (ONE_WAVE_CONSUMERS + ONE_WAVE_LOADERS) / 32)
            one_wave_supply<tile>(arguments, ring, data, warp - ONE_WAVE_CONSUMERS / 32);
    } else {
        registers_take<240>();
        if (warp == 1 && elect()) {
            tma_prefetch_map(&arguments.b);
            tma_prefetch_map(&arguments.a);
        }
        if (warp == 0) {
            if (elect()) {
#pragma unroll 1
                for (int stage = 0; stage < plan.stages; stage++)
                    mbarrier_init(ring.barriers + 8 * (plan.stages + stage), ONE_WAVE_CONSUMERS / 32);
                mbarrier_init_fence();
            }
            __syncwarp();
            named_arrive(2, ONE_WAVE_LOADERS + 32);
        }
        one_wave_consume<tile>(arguments, ring, data);
    }
}

#endif
