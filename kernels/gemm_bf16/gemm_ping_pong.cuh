/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two consumers with a tile of D each, which take turns (ping-pong): while one multiplies, the other rounds its sums
 * and stores them. The producer fills the ring in the order of the tiles, so that every stage has one reader a CTA.
 *
 * A turn is passed when the last products of a tile are queued: the tensor cores have a stage of work left while the
 * other consumer starts. The slabs, through which results leave, are passed on too, since there is room for one set.
 *
 * `format` is of the operands: format::depth elements of k in the 128 bytes of a stage's row, format::scaled (results
 * are multiplied by *scale_a x *scale_b), format::multiply(sum, a, b, keep) a wgmma.
 */
#ifndef RIDGE_GEMM_PING_PONG_CUH
#define RIDGE_GEMM_PING_PONG_CUH

#include "kernels/gemm_bf16/gemm_schedule.cuh"
#include "kernels/gemm_bf16/gemm_start.cuh"

/* Two sets of 64 rows; `places` for boxes in the slab of a warp. */
template <int width, int box_places> struct gemm_turn_tile {
    static constexpr int sets = 2, rows = 64 * sets, columns = width;
    static constexpr int a_bytes = rows * 128, b_bytes = columns * 128, stage_bytes = a_bytes + b_bytes;
    static constexpr int places = box_places;
    static constexpr int threads = 384, producer_registers = 40, consumer_registers = 232;
};

/* A box of D: whole sectors of 32 bytes where it can be, since half a sector costs a read. 64 columns are a swizzled
 * line of 128 bytes; of other widths a box is whole rows, of which at most two meet in a bank. */
template <typename tile> struct gemm_turn_box {
    static constexpr bool swizzled = tile::columns % 64 == 0;
    static constexpr int columns = swizzled ? 64 : tile::columns, rows = swizzled ? 16 : 8;
    static constexpr int bytes = rows * columns * 2, slab_bytes = tile::places * bytes;
    static constexpr int count = 16 / rows * (tile::columns / columns); /* in a warp's part of a set */
    static_assert(tile::columns % 8 == 0, "rows of a box are whole units of 16 bytes");
};

template <typename tile> using gemm_turn_sums = float[tile::sets][tile::columns / 2];

struct gemm_turn_arguments {
    gemm_maps maps;
    CUtensorMap d; /* boxes of a slab */
    gemm_output out;
    const float *scale_a, *scale_b;
    int blocks, stages; /* blocks: stages of a tile */
    bool tensor_store;  /* rows of D start at multiples of 16 bytes */
    gemm_cluster cluster;
    tile_order order;
};

/* Named barriers of consumer 0 and 1, at which each waits and the other arrives. */
enum { GEMM_TURN = 1, GEMM_SLABS = 3 };

enum { GEMM_APART = 3 }; /* stages that the last tile of a CTA ends with, set after set */

static __device__ __forceinline__ void gemm_wait_for(int what, int consumer)
{
    named_sync(what + consumer, 256);
}

static __device__ __forceinline__ void gemm_pass(int what, int consumer)
{
    named_arrive(what + (consumer ^ 1), 256);
}

/* A set's product of slice `slice`, of four of 32 bytes, of the stage at `data`. */
template <typename format, typename tile, int set>
static __device__ __forceinline__ void gemm_turn_slice(gemm_turn_sums<tile> &sum, uint32_t data, int slice, int keep)
{
    const uint64_t a = wgmma_descriptor_128(data), b = wgmma_descriptor_128(data + tile::a_bytes);
    format::multiply(sum[set], wgmma_descriptor_advance(a, set * 64 * 128 + slice * 32),
                     wgmma_descriptor_advance(b, slice * 32), keep);
}

/* Slices [first, last) of both sets; without `keep` the first overwrites the sums. */
template <typename format, typename tile, int first, int last>
static __device__ __forceinline__ void gemm_turn_multiply(gemm_turn_sums<tile> &sum, uint32_t data, int keep)
{
#pragma unroll
    for (int slice = first; slice < last; slice++) {
        gemm_turn_slice<format, tile, 0>(sum, data, slice, slice > 0 ? 1 : keep);
        gemm_turn_slice<format, tile, 1>(sum, data, slice, slice > 0 ? 1 : keep);
    }
}

/* The products of `blocks` stages, queued but for the wait for the last one, `used`: see gemm_accumulate. The turn is
 * passed a stage before the end, so that the other consumer's first products are queued when the last ones of this one
 * end; it may wait for a stage of the ring no earlier, since a barrier tells only two phases apart. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_turn_accumulate(gemm_turn_sums<tile> &sum, const ring &ring, ring_place &at,
                                                            uint32_t &used, int blocks, uint32_t ctas, int consumer,
                                                            bool last)
{
#pragma unroll 1
    for (int i = 0; i < blocks; i++) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes;
        mbarrier_wait(ring_full(ring, at), at.parity);
        if (i == blocks - 1 && !last)
            gemm_pass(GEMM_TURN, consumer);
        wgmma_fence();
        gemm_turn_multiply<format, tile, 0, 1>(sum, data, i > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (i > 0)
            gemm_release(used, ctas);
        gemm_turn_multiply<format, tile, 1, 4>(sum, data, 1);
        wgmma_commit();
        used = ring_empty(ring, at);
        ring_next(ring, at);
    }
}

/* The last stages of a CTA's last tile, of which nothing follows to hide the end: all products of the first set are
 * queued before those of the second, under which it is stored. A group a set. */
template <typename format, typename tile, int set>
static __device__ __forceinline__ void gemm_turn_set(gemm_turn_sums<tile> &sum, const ring &ring, ring_place at)
{
#pragma unroll
    for (int i = 0; i < GEMM_APART; i++) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes;
        mbarrier_wait(ring_full(ring, at), at.parity);
        wgmma_fence();
#pragma unroll
        for (int slice = 0; slice < 4; slice++)
            gemm_turn_slice<format, tile, set>(sum, data, slice, 1);
        ring_next(ring, at);
    }
    wgmma_commit();
}

template <typename format> static __device__ __forceinline__ uint32_t gemm_turn_round(float x, float y, float scale)
{
    return format::scaled ? cvt_bf16x2_f32(x * scale, y * scale) : cvt_bf16x2_f32(x, y);
}

/* Box `i` of a set, by rows of a half of the fragments. */
template <typename format, typename tile, int i>
static __device__ __forceinline__ void gemm_turn_fill(uint32_t data, const float (&sum)[tile::columns / 2], float scale)
{
    using box = gemm_turn_box<tile>;
    constexpr int first = box::swizzled ? i * 8 : 0, halves = box::rows / 8;
    const int lane = threadIdx.x % 32, row = lane % 8;
#pragma unroll
    for (int half = 0; half < halves; half++) {
#pragma unroll
        for (int unit = 0; unit < box::columns / 8; unit += 4) {
            const int at = (first + unit) * 4 + 2 * (box::swizzled ? half : i), mine = unit + lane / 8;
            const uint32_t address =
                data + (8 * half + row) * box::columns * 2 + (box::swizzled ? mine ^ row : mine) * 16;
            const uint32_t word0 = gemm_turn_round<format>(sum[at], sum[at + 1], scale);
            const uint32_t word1 = gemm_turn_round<format>(sum[at + 4], sum[at + 5], scale);
            if (unit + 4 <= box::columns / 8)
                stmatrix_x4(address, word0, word1, gemm_turn_round<format>(sum[at + 8], sum[at + 9], scale),
                            gemm_turn_round<format>(sum[at + 12], sum[at + 13], scale));
            else
                stmatrix_x2(address, word0, word1);
        }
    }
}

/* A box to D at (row, column) without the copy engine: any n. */
template <typename tile>
static __device__ __forceinline__ void gemm_turn_copy(const gemm_output &out, uint32_t data, int row, int column)
{
    using box = gemm_turn_box<tile>;
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < box::rows * box::columns; i += 32) {
        const int r = i / box::columns, c = i % box::columns, unit = box::swizzled ? c / 8 ^ r % 8 : c / 8;
        const uint16_t element = ld_shared_u16(data + r * box::columns * 2 + unit * 16 + c % 8 * 2);
        if (row + r < out.m && column + c < out.n)
            ((uint16_t *)out.d)[(row + r) * out.n + column + c] = element;
    }
    __syncwarp();
}

/* The warp's 16 rows of a set through its slab, which is free before the first set; (row, column) is their corner in D.
 */
template <typename format, typename tile, int set, int i = 0>
static __device__ __forceinline__ void gemm_turn_store(const gemm_turn_arguments &arguments, uint32_t slab, int row,
                                                       int column, const gemm_turn_sums<tile> &sum, float scale)
{
    using box = gemm_turn_box<tile>;
    if constexpr (i < box::count) {
        constexpr int place = set * box::count + i;
        const int box_row = row + (box::swizzled ? 0 : 8 * i), box_column = column + (box::swizzled ? 64 * i : 0);
        const uint32_t data = slab + place % tile::places * box::bytes;
        if (threadIdx.x % 32 == 0 && place >= tile::places)
            bulk_wait_read<tile::places - 1>();
        __syncwarp();
        gemm_turn_fill<format, tile, i>(data, sum[set], scale);
        fence_proxy_async();
        __syncwarp();
        if (!arguments.tensor_store) {
            gemm_turn_copy<tile>(arguments.out, data, box_row, box_column);
        } else if (threadIdx.x % 32 == 0) {
            tma_store(&arguments.d, box_column, box_row, data);
            bulk_commit();
        }
        gemm_turn_store<format, tile, set, i + 1>(arguments, slab, row, column, sum, scale);
    }
}

template <typename format, typename tile>
static __device__ __forceinline__ void gemm_turn_consume(const gemm_turn_arguments &arguments, const ring &ring,
                                                         uint32_t slabs, const gemm_part &part, int consumer)
{
    const int warp = threadIdx.x / 32 % 4, blocks = arguments.blocks;
    const uint32_t slab = slabs + warp * gemm_turn_box<tile>::slab_bytes;
    const uint32_t ctas = part.a_ctas | part.b_ctas;
    const int tiles = tile_count(arguments.order);
    const float scale = format::scaled ? *arguments.scale_a * *arguments.scale_b : 1;
    float sum[tile::sets][tile::columns / 2];
    int turn = consumer;
    for (int index = part.cluster + consumer * part.clusters; index < tiles; index += 2 * part.clusters, turn += 2) {
        const bool last = index + part.clusters >= tiles;
        const bool apart = last && blocks > GEMM_APART && ring.stages > GEMM_APART;
        const tile_place place = tile_at(arguments.order, index);
        const int row = (place.row * arguments.cluster.rows + part.row) * tile::rows + warp * 16;
        const int column = (place.column * arguments.cluster.columns + part.column) * tile::columns;
        ring_place at = ring_place_of(ring, turn * blocks);
        uint32_t used = 0;
        if (turn > 0)
            gemm_wait_for(GEMM_TURN, consumer);
        gemm_turn_accumulate<format, tile>(sum, ring, at, used, apart ? blocks - GEMM_APART : blocks, ctas, consumer,
                                           last);
        if (apart) {
            gemm_turn_set<format, tile, 0>(sum, ring, at);
            gemm_turn_set<format, tile, 1>(sum, ring, at);
            if (turn > 0)
                gemm_wait_for(GEMM_SLABS, consumer);
            wgmma_wait<1>();
            wgmma_settle(sum[0]);
            gemm_turn_store<format, tile, 0>(arguments, slab, row, column, sum, scale);
            wgmma_wait<0>();
            wgmma_settle(sum[1]);
            gemm_release(used, ctas);
            for (int i = 0; i < GEMM_APART; i++, ring_next(ring, at))
                gemm_release(ring_empty(ring, at), ctas);
        } else {
            wgmma_wait<0>();
            gemm_release(used, ctas);
            if (turn > 0)
                gemm_wait_for(GEMM_SLABS, consumer);
            wgmma_settle(sum[0]);
            wgmma_settle(sum[1]);
            gemm_turn_store<format, tile, 0>(arguments, slab, row, column, sum, scale);
        }
        gemm_turn_store<format, tile, 1>(arguments, slab, row + 64, column, sum, scale);
        if (threadIdx.x % 32 == 0)
            bulk_wait_read<0>();
        __syncwarp();
        if (!last)
            gemm_pass(GEMM_SLABS, consumer);
    }
}

/* This CTA's slices of all stages of all its tiles but the first stage, which is on its way. It ends as
 * gemm_produce_deferred does. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_turn_produce(const gemm_turn_arguments &arguments, const ring &ring,
                                                         const gemm_part &part)
{
    const gemm_cluster &cluster = arguments.cluster;
    const int slice_a = tile::rows / cluster.columns, slice_b = tile::columns / cluster.rows;
    ring_place at = {};
    ring_next(ring, at);
    for (int index = part.cluster; index < tile_count(arguments.order); index += part.clusters) {
        const tile_place place = tile_at(arguments.order, index);
        const int row_a = (place.row * cluster.rows + part.row) * tile::rows + part.column * slice_a;
        const int row_b = (place.column * cluster.columns + part.column) * tile::columns + part.row * slice_b;
#pragma unroll 1
        for (int i = index == part.cluster; i < arguments.blocks; i++, ring_next(ring, at)) {
            const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            mbarrier_arrive_expect(full, tile::stage_bytes);
            gemm_load_slice(data + part.column * slice_a * 128, arguments.maps.a, i * format::depth, row_a, full,
                            cluster.columns, part.a_ctas);
            gemm_load_slice(data + tile::a_bytes + part.row * slice_b * 128, arguments.maps.b, i * format::depth, row_b,
                            full, cluster.rows, part.b_ctas);
        }
    }
    ring_drain(ring, at);
}

/* The producer warpgroup, of which one thread works. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_turn_load(const gemm_turn_arguments &arguments, const ring &ring,
                                                      const gemm_part &part)
{
    const bool loads = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0) == 0;
    if (loads && elect())
        gemm_start_producer<tile>(
            arguments.maps, ring, arguments.order, arguments.cluster, part,
            [&](uint32_t shared, int row, uint32_t full) { tma_load(shared, &arguments.maps.b, 0, row, full); });
    __syncwarp();
    cluster_arrive_relaxed();
    cluster_wait();
    if (loads && elect())
        gemm_turn_produce<format, tile>(arguments, ring, part);
}

template <typename format, typename tile>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_ping_pong(const __grid_constant__ gemm_turn_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory), slabs = data + arguments.stages * tile::stage_bytes;
    const ring ring = {data, slabs + 4 * gemm_turn_box<tile>::slab_bytes, arguments.stages};
    const gemm_part part = gemm_part_of(arguments.cluster);
    const int warpgroup = gemm_warpgroup();

    if (warpgroup == 2) {
        registers_give<tile::producer_registers>();
        gemm_turn_load<format, tile>(arguments, ring, part);
    } else {
        registers_take<tile::consumer_registers>();
        gemm_start_consumers(arguments.maps, arguments.d, ring, gemm_readers(arguments.cluster, 1));
        gemm_turn_consume<format, tile>(arguments, ring, slabs, part, warpgroup);
    }
}

#endif
