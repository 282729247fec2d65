/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of D += A B^T with a scale for every row and 128 of k of both operands. A stage holds 128 of k: A, B, and apart
 * from them the scales of the tile's rows of A and of B. A consumer owns `sets` times 64 rows. The WGMMA sums of a
 * stage are multiplied by the product of their row's and their column's scale and added to FP32 totals: a multiply and
 * a multiply-add an element, where the product does not depend on the sums. `made`: products are made while the tensor
 * cores work. They take as many registers as sums; where these are short, the scales of `held` columns are loaded
 * meanwhile, for all sets, and the others afterwards.
 *
 * Totals leave through slabs of shared memory, from which the copy engine adds them to D.
 */
#ifndef RIDGE_GEMM_1D1D_TILE_CUH
#define RIDGE_GEMM_1D1D_TILE_CUH

#include "kernels/gemm_fp8_tensor/gemm_fp8_cluster.cuh"

template <int warpgroups, int row_sets, int width, int held_columns, int slab_boxes> struct gemm_1d1d_tile {
    static constexpr int consumers = warpgroups, sets = row_sets, rows = 64 * consumers * sets, columns = width;
    static constexpr bool made = held_columns == 0;
    static constexpr int held = made ? width : held_columns, boxes = slab_boxes; /* boxes: of a warp's slab */
    static constexpr int a_bytes = rows * gemm_fp8_depth, b_bytes = columns * gemm_fp8_depth;
    static constexpr int stage_bytes = a_bytes + b_bytes, scale_bytes = 4 * (rows + columns);
    static constexpr int threads = 128 * (consumers + 1);
    static constexpr int producer_registers = consumers == 3 ? 32 : 40;
    static constexpr int consumer_registers = consumers == 3 ? 160 : 232;
    static constexpr int box_bytes = 16 * 128, slab_bytes = boxes * box_bytes;
    static constexpr int slabs_bytes = 4 * consumers * slab_bytes;
    static_assert(columns % 64 == 0 && rows % 64 == 0, "slices of scales start at multiples of 128 bytes");
    static_assert(held <= columns && held % 8 == 0 && boxes <= sets * columns / 32 && (!made || sets == 1),
                  "parts of a tile");
};

/* D, a stack of matrices [m,n]. */
struct gemm_1d1d_output {
    float *d;
    int64_t m, n;
    bool tensor_store; /* rows of D start at multiples of 16 bytes */
};

/* A tile of D: corner, matrix, and its blocks of k, `first` in the scales. */
struct gemm_1d1d_work {
    int row, column, matrix, blocks, first;
};

/* A consumer's place in the ring and what it needs of a stage. */
struct gemm_1d1d_reader {
    ring stages;
    uint32_t scales_a, scales_b; /* in stage 0: of the thread's first row, of its first two columns */
    uint32_t ctas;               /* who writes into the stages */
    ring_place at;
};

template <typename tile> using gemm_1d1d_totals = float[tile::sets][tile::columns / 2];

/* What is in registers before the sums are there: scales of the thread's two rows of a set, and for every eight columns
 * those of its two columns, or the four products. */
template <typename tile> struct gemm_1d1d_scales {
    float upper, lower, column[tile::held / (tile::made ? 2 : 4)];
};

template <typename tile>
static __device__ __forceinline__ void gemm_1d1d_load_rows(gemm_1d1d_scales<tile> &scales, uint32_t scales_a)
{
    scales.upper = ld_shared_f32(scales_a);
    scales.lower = ld_shared_f32(scales_a + 32);
}

template <typename tile>
static __device__ __forceinline__ void gemm_1d1d_load_columns(gemm_1d1d_scales<tile> &scales, uint32_t scales_b)
{
#pragma unroll
    for (int eight = 0; eight < tile::held / 8; eight++) {
        const float2 b = ld_shared_v2_f32(scales_b + 32 * eight);
        if constexpr (tile::made) {
            scales.column[4 * eight] = scales.upper * b.x;
            scales.column[4 * eight + 1] = scales.upper * b.y;
            scales.column[4 * eight + 2] = scales.lower * b.x;
            scales.column[4 * eight + 3] = scales.lower * b.y;
        } else {
            scales.column[2 * eight] = b.x;
            scales.column[2 * eight + 1] = b.y;
        }
    }
    wgmma_settle(scales.column); /* now, not where they are used */
}

/* total (+)= sum times the products of scales. */
template <typename tile, bool opens>
static __device__ __forceinline__ void gemm_1d1d_add(float (&total)[tile::columns / 2],
                                                     const float (&sum)[tile::columns / 2],
                                                     const gemm_1d1d_scales<tile> &scales, uint32_t scales_b)
{
#pragma unroll
    for (int i = 0; i < tile::columns / 2; i += 4) {
        const bool held = 2 * i < tile::held;
        const float2 late = held ? float2{} : ld_shared_v2_f32(scales_b + 8 * i);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float row = e < 2 ? scales.upper : scales.lower, column = e % 2 ? late.y : late.x;
            const float product = tile::made ? scales.column[i + e]
                                  : held     ? row * scales.column[i / 2 + e % 2]
                                             : row * column;
            total[i + e] = opens ? product * sum[i + e] : total[i + e] + product * sum[i + e];
        }
    }
}

/* One stage, for all sets. Block 0 `opens` a tile: it overwrites total, and under_first() runs before that, under the
 * first WGMMAs. */
template <typename tile, bool opens, typename function>
static __device__ __forceinline__ void gemm_1d1d_multiply(gemm_1d1d_totals<tile> &total,
                                                          float (&sum)[tile::columns / 2], gemm_1d1d_reader &reader,
                                                          int warpgroup, const function &under_first)
{
    const ring &ring = reader.stages;
    const uint32_t data = ring.data + reader.at.stage * tile::stage_bytes, empty = ring_empty(ring, reader.at);
    const uint32_t scales_a = reader.scales_a + reader.at.stage * tile::scale_bytes;
    const uint32_t scales_b = reader.scales_b + reader.at.stage * tile::scale_bytes;
    gemm_1d1d_scales<tile> scales;
    mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
#pragma unroll
    for (int set = 0; set < tile::sets; set++) {
        const bool last = set == tile::sets - 1, all_held = tile::held == tile::columns;
        wgmma_fence();
        gemm_fp8_multiply<tile, 0, 4>(sum, data, warpgroup * tile::sets + set, 0);
        wgmma_commit();
        __syncwarp(); /* or the loads of scales, and the wait for them, move between the WGMMAs */
        if (opens && set == 0)
            under_first();
        gemm_1d1d_load_rows(scales, scales_a + 256 * set);
        if (set == 0)
            gemm_1d1d_load_columns(scales, scales_b);
        wgmma_wait<0>();
        wgmma_settle(sum);
        if (last && all_held) {
            __syncwarp();
            gemm_release(empty, reader.ctas);
        }
        gemm_1d1d_add<tile, opens>(total[set], sum, scales, scales_b);
        if (last && !all_held) {
            __syncwarp();
            gemm_release(empty, reader.ctas);
        }
    }
    ring_next(ring, reader.at);
}

/* 16 rows x 32 columns of totals (16 of the thread's, from `first` on) to a box of rows of 128 bytes under the 128-byte
 * swizzle. A store of eight columns by all lanes would meet in banks in pairs of rows, so odd rows take columns 16
 * away.
 */
template <int first, int count>
static __device__ __forceinline__ void gemm_1d1d_fill_box(uint32_t box, const float (&total)[count])
{
    const uint32_t lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4;
    const bool odd = row % 2;
#pragma unroll
    for (int eight = 0; eight < 4; eight++) {
        const uint32_t column = 8 * (odd ? eight ^ 2 : eight) + 2 * pair;
        const uint32_t address = box + swizzle_128(row, 4 * column);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int even_at = first + 4 * eight + 2 * half, odd_at = first + 4 * (eight ^ 2) + 2 * half;
            st_shared_v2_f32(address + half * 8 * 128, odd ? total[odd_at] : total[even_at],
                             odd ? total[odd_at + 1] : total[even_at + 1]);
        }
    }
}

/* A warp's 16 rows of every set through its slab; (row, column) is the corner in matrix `matrix` of D. Returns while
 * the copies are under way. */
template <typename tile, int number = 0>
static __device__ __forceinline__ void gemm_1d1d_store_slab(const CUtensorMap &map, uint32_t slab, int row, int column,
                                                            int matrix, const gemm_1d1d_totals<tile> &total)
{
    constexpr int across = tile::columns / 32, set = number / across, box = number % across;
    if constexpr (set < tile::sets) {
        const uint32_t data = slab + number % tile::boxes * tile::box_bytes;
        if (threadIdx.x % 32 == 0 && number == 0)
            bulk_wait_read<0>();
        if (threadIdx.x % 32 == 0 && number >= tile::boxes)
            bulk_wait_read<tile::boxes - 1>();
        __syncwarp();
        gemm_1d1d_fill_box<16 * box>(data, total[set]);
        fence_proxy_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            tma_reduce_add(&map, column + 32 * box, row + 64 * set, matrix, data);
            bulk_commit();
        }
        gemm_1d1d_store_slab<tile, number + 1>(map, slab, row, column, matrix, total);
    }
}

/* From the registers; (row, column) is the corner of the warpgroup's 64 rows. */
template <int count>
static __device__ __forceinline__ void gemm_1d1d_store_registers(const gemm_1d1d_output &out, int row, int column,
                                                                 int matrix, const float (&total)[count])
{
    float *d = out.d + matrix * out.m * out.n;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int64_t r = row + wgmma_row(threadIdx.x, i), c = column + wgmma_column(threadIdx.x, i);
        if (r < out.m && c < out.n)
            d[r * out.n + c] += total[i];
    }
}

template <typename tile>
static __device__ __forceinline__ void gemm_1d1d_store(const CUtensorMap &map, const gemm_1d1d_output &out,
                                                       uint32_t slab, const gemm_1d1d_work &work, int warpgroup,
                                                       const gemm_1d1d_totals<tile> &total)
{
    const int row = work.row + warpgroup * tile::sets * 64;
    if (out.tensor_store) {
        gemm_1d1d_store_slab<tile>(map, slab, row + threadIdx.x / 32 % 4 * 16, work.column, work.matrix, total);
        return;
    }
#pragma unroll
    for (int set = 0; set < tile::sets; set++)
        gemm_1d1d_store_registers(out, row + 64 * set, work.column, work.matrix, total[set]);
}

#endif
