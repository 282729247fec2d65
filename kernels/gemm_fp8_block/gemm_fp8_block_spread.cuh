/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of gemm_fp8_block_direct.cuh whose end is spread: the stores of a tile stand between the WGMMAs of the last
 * block of k and of the next tile's first, one or two behind each, and not all behind the WGMMAs of a set. In every
 * other block the four WGMMAs of a set follow each other at once, and what a consumer loads for their promotion comes
 * behind them. A consumer finds its tile's corner in the tile's first stage and divides nothing.
 */
#ifndef RIDGE_GEMM_FP8_BLOCK_SPREAD_CUH
#define RIDGE_GEMM_FP8_BLOCK_SPREAD_CUH

#include "kernels/gemm_fp8_block/gemm_fp8_block_direct.cuh"
#include "kernels/ptx/global_if.cuh"

#include <type_traits>

template <int value> using gemm_fp8_block_number = std::integral_constant<int, value>;

/* Where a thread stores a tile: its first columns of its first row, and how many rows and columns from there on D has.
 */
struct gemm_fp8_block_target {
    bf16 *d;
    int rows, columns;
};

/* What a consumer carries from block to block and from tile to tile. */
struct gemm_fp8_block_spread_carry {
    gemm_fp8_block_operands first, operands; /* in stage 0 and of the block at hand */
    uint32_t scales_b;                       /* in stage 0; the corner of the tile lies behind them */
    gemm_fp8_corner corner;
    gemm_fp8_block_target target;
};

template <typename tile>
static __device__ __forceinline__ gemm_fp8_block_target gemm_fp8_block_target_of(const gemm_fp8_arguments &gemm,
                                                                                 const gemm_fp8_corner &corner,
                                                                                 int warpgroup)
{
    const int thread = (int)thread_again(), lane = thread % 32;
    const int row = corner.row + warpgroup * tile::sets * 64 + thread / 32 % 4 * 16 + lane / 4;
    const int column = corner.column + lane % 4 * (tile::group / 4);
    return {gemm.out.d + row * gemm.out.n + column, (int)gemm.out.m - row,
            gemm.tensor_store ? (int)gemm.out.n - column : 0};
}

/* Stores [first, last) of a set: of two groups of columns, which share a line, the upper row and then the lower one. */
template <typename tile, int set, int first, int last>
static __device__ __forceinline__ void gemm_fp8_block_store_some(const gemm_fp8_block_target &target, int64_t n,
                                                                 const float (&total)[tile::columns / 2])
{
    constexpr int group = tile::group, groups = tile::columns / group % 2 == 0 ? 2 : 1;
#pragma unroll
    for (int i = first; i < last; i++) {
        const int column = (i / (2 * groups) * groups + i % groups) * group, lower = i / groups % 2;
        const int row = 64 * set + 8 * lower;
        uint32_t words[group / 8];
#pragma unroll
        for (int j = 0; j < group / 8; j++) {
            const int at = column / 2 + 4 * j + 2 * lower;
            words[j] = cvt_bf16x2_f32(total[at], total[at + 1]);
        }
        bf16 *d = target.d + row * n + column;
        const bool stored = row < target.rows && column < target.columns;
        if constexpr (group == 32)
            st_global_v4_if(stored, d, words);
        else
            st_global_v2_if(stored, d, words);
    }
}

/* Part `part` of `parts` of all stores of a tile. */
template <typename tile, int part, int parts>
static __device__ __forceinline__ void gemm_fp8_block_store_part(const gemm_fp8_block_target &target, int64_t n,
                                                                 const gemm_fp8_block_totals<tile> &total)
{
    static_assert(tile::sets == 2, "the first set is stored under the WGMMAs of the second");
    constexpr int each = 2 * (tile::columns / tile::group), first = 2 * each * part / parts;
    constexpr int last = 2 * each * (part + 1) / parts;
    gemm_fp8_block_store_some<tile, 0, (first < each ? first : each), (last < each ? last : each)>(target, n, total[0]);
    gemm_fp8_block_store_some<tile, 1, (first < each ? 0 : first - each), (last < each ? 0 : last - each)>(target, n,
                                                                                                           total[1]);
}

/* behind(slice): runs behind a WGMMA. */
template <typename tile, typename function>
static __device__ __forceinline__ void gemm_fp8_block_issue_spread(float (&sum)[tile::columns / 2],
                                                                   const gemm_fp8_block_operands &operands, int set,
                                                                   const function &behind)
{
    const uint64_t high = wgmma_descriptor_128(0) >> 32 << 32;
    const auto product = [&](auto slice) {
        wgmma_e4m3_ss(sum, high | (operands.a + set * (64 * 128 / 16) + slice * 2), high | (operands.b + slice * 2),
                      slice > 0);
    };
    wgmma_fence();
    product(gemm_fp8_block_number<0>());
    behind(gemm_fp8_block_number<0>());
    product(gemm_fp8_block_number<1>());
    behind(gemm_fp8_block_number<1>());
    product(gemm_fp8_block_number<2>());
    behind(gemm_fp8_block_number<2>());
    product(gemm_fp8_block_number<3>());
    wgmma_commit();
    behind(gemm_fp8_block_number<3>());
}

/* One block of k, whose stage is full; on return that of the next one is, if there is `more`. Block 0 `opens` a tile:
 * it overwrites total. behind(set, slice) runs behind every WGMMA. __syncwarp: the compiler moves neither stores nor
 * loads across it, and so none between WGMMAs. */
template <typename tile, bool opens, typename function>
static __device__ __forceinline__ void
gemm_fp8_block_multiply_spread(gemm_fp8_block_totals<tile> &total, float (&sum)[tile::columns / 2],
                               gemm_fp8_block_reader &reader, gemm_fp8_block_spread_carry &carry, bool more,
                               const function &behind)
{
    const ring &ring = reader.stages;
    const uint32_t scales = reader.scales + reader.at.stage * tile::scale_bytes;
    const uint32_t scales_b = carry.scales_b + reader.at.stage * tile::scale_bytes;
    constexpr int splits = tile::groups == 1 ? 1 : 128 / tile::group_columns;
    float2 b;
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        gemm_fp8_block_issue_spread<tile>(sum, carry.operands, set, [&](auto slice) { behind(set, slice); });
        __syncwarp();
        if (opens && set == 0) {
            const uint4 staged = ld_shared_v4(scales_b);
            b = {__uint_as_float(staged.x), __uint_as_float(staged.y)};
            carry.corner = {(int)staged.z, (int)staged.w};
        } else if (set == 0) {
            b = ld_shared_v2_f32(scales_b);
        }
        const float upper = ld_shared_f32(scales + 256 * set), lower = ld_shared_f32(scales + 256 * set + 32);
        const gemm_fp8_block_products products = {{upper * b.x, lower * b.x}, {upper * b.y, lower * b.y}};
        const uint32_t empty = ring_empty(ring, reader.at);
        if (set == tile::sets - 1) {
            ring_next(ring, reader.at);
            carry.operands = gemm_fp8_block_operands_at<tile>(carry.first, reader.at.stage);
            if (more)
                mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
            __syncwarp(); /* all lanes have read the scales: one gives the stage back */
        }
        wgmma_wait<0>();
        wgmma_settle(sum);
        if (set == tile::sets - 1)
            gemm_release(empty, reader.ctas);
        const int split = (128 - carry.corner.column % 128) / tile::group_columns;
        gemm_fp8_block_add_split<tile, opens, 1, splits>(total[set], sum, products, split);
    }
}

template <typename tile>
static __device__ __forceinline__ void gemm_fp8_block_consume_spread(const gemm_fp8_block_cluster_arguments &arguments,
                                                                     gemm_fp8_block_reader &reader,
                                                                     const gemm_part &part, int warpgroup)
{
    const gemm_fp8_arguments &gemm = arguments.cluster.gemm;
    const gemm_fp8_block_operands first = gemm_fp8_block_operands_of<tile>(reader.stages, 0, warpgroup);
    const uint32_t scales_b = reader.stages.data + reader.stages.stages * tile::stage_bytes + tile::scale_a_bytes;
    gemm_fp8_block_spread_carry carry = {first, first, scales_b, {}, {gemm.out.d, 0, 0}};
    gemm_fp8_block_totals<tile> total = {};
    float sum[tile::columns / 2];

    const auto store = [&](auto twelfth) {
        gemm_fp8_block_store_part<tile, twelfth, 12>(carry.target, gemm.out.n, total);
        __syncwarp();
    };
    const auto under_first = [&](int set, auto slice) {
        if (set == 0)
            store(gemm_fp8_block_number<4 + slice>());
        else
            store(gemm_fp8_block_number<8 + slice>());
    };
    const auto under_last = [&](int set, auto slice) {
        if (set == 0 && slice == 3)
            carry.target = gemm_fp8_block_target_of<tile>(gemm, carry.corner, warpgroup);
        if (set == 1)
            store(slice);
    };
    const auto nothing = [](int, auto) {};
    const int tiles = tile_count(gemm.order);
    mbarrier_wait(ring_full(reader.stages, reader.at), reader.at.parity);
    for (int index = __shfl_sync(~0u, part.cluster, 0); index < tiles; index += part.clusters) {
        const bool last = index + part.clusters >= tiles;
        gemm_fp8_block_multiply_spread<tile, true>(total, sum, reader, carry, !last || gemm.blocks > 1, under_first);
#pragma unroll 1
        for (int i = 1; i + 1 < gemm.blocks; i++)
            gemm_fp8_block_multiply_spread<tile, false>(total, sum, reader, carry, true, nothing);
        if (gemm.blocks > 1) {
            gemm_fp8_block_multiply_spread<tile, false>(total, sum, reader, carry, !last, under_last);
        } else {
            carry.target = gemm_fp8_block_target_of<tile>(gemm, carry.corner, warpgroup);
            gemm_fp8_block_store_part<tile, 0, 1>(carry.target, gemm.out.n, total);
            carry.target.columns = 0;
        }
        if (!gemm.tensor_store)
#pragma unroll
            for (int set = 0; set < tile::sets; set++)
                gemm_fp8_block_store_words<tile>(gemm, carry.corner.row + (warpgroup * tile::sets + set) * 64,
                                                 carry.corner.column, total[set]);
    }
    gemm_fp8_block_store_part<tile, 0, 1>(carry.target, gemm.out.n, total);
}

template <typename tile>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_block_spread(const __grid_constant__ gemm_fp8_block_cluster_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    gemm_fp8_block_run_direct<tile, gemm_fp8_block_consume_spread<tile>>(arguments, shared_address(memory));
}

/* What a variant's file needs of a kernel. */
template <typename tile> static struct gemm_fp8_compiled gemm_fp8_block_spread_compiled()
{
    return gemm_fp8_block_compiled_as<tile>((const void *)gemm_fp8_block_spread<tile>);
}

template <typename tile>
static int gemm_fp8_block_spread_start(const struct ridge_call *call, const struct gemm_fp8_block_plan *plan)
{
    return gemm_fp8_block_launch_cluster(call, plan, tile::threads, gemm_fp8_block_spread<tile>);
}

#endif
