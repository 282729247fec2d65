/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building blocks of the FP8 WGMMA kernels: one tile of D, computed by `warpgroups` consumers of 64 rows each. A stage
 * holds 128 elements of k: the A tile [rows, 128] and behind it the B tile [columns, 128], both rows of 128 bytes under
 * the 128-byte swizzle. The results leave through the slabs of gemm_schedule.cuh.
 */
#ifndef RIDGE_GEMM_FP8_TILE_CUH
#define RIDGE_GEMM_FP8_TILE_CUH

#include "kernels/gemm_bf16/gemm_schedule.cuh"
#include "kernels/support/launch.cuh"

constexpr int gemm_fp8_depth = 128;

template <int warpgroups, int width> struct gemm_fp8_tile {
    static constexpr int consumers = warpgroups, rows = 64 * warpgroups, columns = width;
    static constexpr int a_bytes = rows * gemm_fp8_depth, b_bytes = columns * gemm_fp8_depth;
    static constexpr int stage_bytes = a_bytes + b_bytes;
    static constexpr int threads = 128 * (warpgroups + 1);
    static constexpr int producer_registers = warpgroups == 3 ? 32 : 40;
    static constexpr int consumer_registers = warpgroups == 3 ? 160 : 232;
};

/* Tensor maps of the operands, in boxes of a stage, and of D, in boxes of a slab. */
struct gemm_fp8_maps {
    CUtensorMap a, b, d;
};

/* What every FP8 kernel is told; blocks: of 128 along k. */
struct gemm_fp8_arguments {
    gemm_fp8_maps maps;
    gemm_output out;
    tile_order order;
    int blocks;
    bool tensor_store; /* rows of D start at multiples of 16 bytes */
};

/* Slices [first, last) of the four of 32 elements in the stage at `data`; without `keep` the first overwrites sum. */
template <typename tile, int first, int last>
static __device__ __forceinline__ void gemm_fp8_multiply(float (&sum)[tile::columns / 2], uint32_t data, int warpgroup,
                                                         int keep)
{
    const uint64_t a = wgmma_descriptor_128(data + warpgroup * 64 * 128);
    const uint64_t b = wgmma_descriptor_128(data + tile::a_bytes);
#pragma unroll
    for (int slice = first; slice < last; slice++)
        wgmma_e4m3_ss(sum, wgmma_descriptor_advance(a, slice * 32), wgmma_descriptor_advance(b, slice * 32),
                      slice > 0 ? 1 : keep);
}

/* The warp's 16 rows; (row0, column0) is the corner of the CTA's tile, `slab` the warp's own. */
template <typename tile>
static __device__ __forceinline__ void gemm_fp8_store(const gemm_fp8_arguments &arguments, uint32_t slab, int row0,
                                                      int column0, const float (&sum)[tile::columns / 2])
{
    if (arguments.tensor_store)
        gemm_store_slab<tile>(arguments.maps.d, slab, row0 + threadIdx.x / 32 * 16, column0, sum);
    else
        gemm_store_registers(arguments.out, row0 + threadIdx.x / 128 * 64, column0, sum);
}

static inline const char *gemm_fp8_unsupported(const int64_t *dim, const struct ridge_device *)
{
    return dim[2] % 16 ? "k is not a multiple of 16: tensor copies need rows of A and B at multiples of 16 bytes"
                       : NULL;
}

/* Maps and order of a tile; buffers are a, b, scale_a, scale_b, d. */
template <typename tile>
static int gemm_fp8_plan(const struct ridge_call *call, int band, struct gemm_fp8_arguments *arguments)
{
    const int64_t m = call->dim[0], n = call->dim[1], k = call->dim[2];
    const int box = gemm_slab<tile>::columns;
    const struct tensor_map_matrix a = {RIDGE_E4M3, call->buffer[0], m, k, k, tile::rows, gemm_fp8_depth, 128, "a"};
    const struct tensor_map_matrix b = {RIDGE_E4M3, call->buffer[1], n, k, k, tile::columns, gemm_fp8_depth, 128, "b"};
    const struct tensor_map_matrix d = {RIDGE_BF16, call->buffer[4], m, n, n, 16, box, box == 64 ? 128 : 0, "d"};
    arguments->out = {(bf16 *)call->buffer[4], m, n};
    arguments->order = gemm_order<tile>(call->dim, 1, 1, band);
    arguments->blocks = (int)ridge_ceil_div(k, gemm_fp8_depth);
    arguments->tensor_store = n % 8 == 0;
    if (tensor_map_encode(call, &a, &arguments->maps.a) || tensor_map_encode(call, &b, &arguments->maps.b))
        return 1;
    return arguments->tensor_store ? tensor_map_encode(call, &d, &arguments->maps.d) : 0;
}

/* Blocks of a persistent grid: one an SM. */
static inline int gemm_fp8_grid(const struct ridge_call *call, const struct tile_order &order)
{
    return tile_count(order) < call->device->sms ? tile_count(order) : call->device->sms;
}

/* Whole tiles and whole blocks of k are multiplied. */
template <typename tile> static void gemm_fp8_issue(const int64_t *dim, struct ridge_work *work)
{
    const double blocks = (double)ridge_ceil_div(dim[2], gemm_fp8_depth);
    work->tiles = (double)ridge_ceil_div(dim[0], tile::rows) * (double)ridge_ceil_div(dim[1], tile::columns);
    work->flop_fp8 = 2 * work->tiles * tile::rows * tile::columns * blocks * gemm_fp8_depth;
    work->bytes_l2 = work->tiles * blocks * tile::stage_bytes;
    work->bytes_smem = work->tiles * blocks * gemm_fp8_depth * (tile::rows + tile::rows / 64.0 * tile::columns);
}

#endif
