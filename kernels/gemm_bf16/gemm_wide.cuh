/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two consumers share a tile of 256 rows: each has two sets of 64 rows, which end one after the other. The products of
 * a tile's last stage are queued for the first set and then for the second, and so are those of the next tile's first
 * stage; a set is rounded to BF16 under the products of the other one. Its `words` are stored a box at a time, the
 * first set's under the second's last products, the second's in the first stages of the next tile.
 *
 * Tensor maps, boxes of D and `format` are those of gemm_ping_pong.cuh.
 */
#ifndef RIDGE_GEMM_WIDE_CUH
#define RIDGE_GEMM_WIDE_CUH

#include "kernels/gemm_bf16/gemm_ping_pong.cuh"

/* The slab of a warp has places for its 16 rows of a set. */
template <int width> struct gemm_wide_tile {
    static constexpr int sets = 2, consumers = 2, rows = 64 * sets * consumers, columns = width;
    static constexpr int a_bytes = rows * 128, b_bytes = columns * 128, stage_bytes = a_bytes + b_bytes;
    static constexpr int places = 2;
    static constexpr int threads = 384, producer_registers = 24, consumer_registers = 240;
};

enum { GEMM_WIDE_BLOCKS = 4 }; /* stages of a tile, at least */

template <typename tile> using gemm_wide_words = uint32_t[tile::columns / 4];

/* A consumer: the stage it is at, the barrier of the one before, which it still holds, and who writes into stages. */
struct gemm_wide_reader {
    ring_place at;
    uint32_t used, ctas;
    int consumer;
};

/* A warp's slab, and the corner in D of its 16 rows of a set. */
struct gemm_wide_corner {
    uint32_t slab;
    int row, column;
};

/* The product of slice `slice` of the stage at `data` for a set. */
template <typename format, typename tile, int set>
static __device__ __forceinline__ void gemm_wide_slice(gemm_turn_sums<tile> &sum, uint32_t data, int consumer,
                                                       int slice, int keep)
{
    const uint64_t a = wgmma_descriptor_128(data), b = wgmma_descriptor_128(data + tile::a_bytes);
    const uint32_t rows = (consumer * tile::sets + set) * 64 * 128;
    format::multiply(sum[set], wgmma_descriptor_advance(a, rows + slice * 32), wgmma_descriptor_advance(b, slice * 32),
                     keep);
}

/* All products of the stage at `data` for a set, a group; without `keep` they overwrite the sums. */
template <typename format, typename tile, int set>
static __device__ __forceinline__ void gemm_wide_set(gemm_turn_sums<tile> &sum, uint32_t data, int consumer, int keep)
{
    wgmma_fence();
#pragma unroll
    for (int slice = 0; slice < 4; slice++)
        gemm_wide_slice<format, tile, set>(sum, data, consumer, slice, slice > 0 ? 1 : keep);
    wgmma_commit();
}

/* The products of slice `slice` of the stage at `data` for both sets. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_wide_both(gemm_turn_sums<tile> &sum, uint32_t data, int consumer, int slice)
{
    gemm_wide_slice<format, tile, 0>(sum, data, consumer, slice, 1);
    gemm_wide_slice<format, tile, 1>(sum, data, consumer, slice, 1);
}

static __device__ __forceinline__ void gemm_wide_next(const ring &ring, gemm_wide_reader &reader)
{
    reader.used = ring_empty(ring, reader.at);
    ring_next(ring, reader.at);
}

template <typename tile>
static __device__ __forceinline__ uint32_t gemm_wide_stage(const ring &ring, const gemm_wide_reader &reader)
{
    return ring.data + reader.at.stage * tile::stage_bytes;
}

/* A set whose products are done, in half as many registers. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_wide_round(const gemm_turn_arguments &arguments,
                                                       gemm_wide_words<tile> &words, float (&sum)[tile::columns / 2])
{
    const float scale = format::scaled ? *arguments.scale_a * *arguments.scale_b : 1; /* no register is left for it */
    wgmma_settle(sum);
#pragma unroll
    for (int i = 0; i < tile::columns / 4; i++) {
        words[i] = gemm_turn_round<format>(sum[2 * i], sum[2 * i + 1], scale);
        asm volatile("" : "+r"(words[i])); /* here, and not where it is used: the sums are soon overwritten */
    }
}

/* Half of box `box` of the words, which is 8 rows; the second half sends it to D. A piece lies between two products: a
 * warp has few of them in the queue. */
template <typename tile, int box, int half>
static __device__ __forceinline__ void gemm_wide_piece(const gemm_turn_arguments &arguments,
                                                       const gemm_wide_corner &corner,
                                                       const gemm_wide_words<tile> &words)
{
    constexpr int units = tile::columns / 8, middle = units / 8 * 4;
    const uint32_t data = corner.slab + box * gemm_turn_box<tile>::bytes;
    const uint32_t address = data + threadIdx.x % 8 * tile::columns * 2 + threadIdx.x % 32 / 8 * 16;
    if (half == 0 && elect())
        bulk_wait_read<1>();
    __syncwarp();
#pragma unroll
    for (int unit = half ? middle : 0; unit < (half ? units : middle); unit += 4) {
        const int at = unit * 2 + box;
        if (unit + 4 <= units)
            stmatrix_x4(address + unit * 16, words[at], words[at + 2], words[at + 4], words[at + 6]);
        else /* the last two units, of which the first may be there already */
            stmatrix_x2(address + (units - 2) * 16, words[2 * units - 4 + box], words[2 * units - 2 + box]);
    }
    if (half == 0)
        return;
    fence_proxy_async();
    __syncwarp();
    if (!arguments.tensor_store) {
        gemm_turn_copy<tile>(arguments.out, data, corner.row + 8 * box, corner.column);
    } else if (elect()) {
        tma_store(&arguments.d, corner.column, corner.row + 8 * box, data);
        bulk_commit();
    }
}

template <typename tile>
static __device__ __forceinline__ void gemm_wide_store(const gemm_turn_arguments &arguments,
                                                       const gemm_wide_corner &corner,
                                                       const gemm_wide_words<tile> &words)
{
    gemm_wide_piece<tile, 0, 0>(arguments, corner, words);
    gemm_wide_piece<tile, 0, 1>(arguments, corner, words);
    gemm_wide_piece<tile, 1, 0>(arguments, corner, words);
    gemm_wide_piece<tile, 1, 1>(arguments, corner, words);
}

/* A stage between a tile's first and its last: see gemm_accumulate. Box `box`, if not negative, of the words of the
 * tile before, if `pending`, is stored meanwhile. */
template <typename format, typename tile, int box>
static __device__ __forceinline__ void gemm_wide_step(const gemm_turn_arguments &arguments, const ring &ring,
                                                      gemm_turn_sums<tile> &sum, gemm_wide_reader &reader, bool pending,
                                                      const gemm_wide_corner &corner,
                                                      const gemm_wide_words<tile> &words)
{
    const uint32_t data = gemm_wide_stage<tile>(ring, reader);
    mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
    wgmma_fence();
    gemm_wide_both<format, tile>(sum, data, reader.consumer, 0);
    wgmma_commit();
    wgmma_wait<1>();
    gemm_release(reader.used, reader.ctas);
    gemm_wide_both<format, tile>(sum, data, reader.consumer, 1);
    if constexpr (box >= 0) {
        if (pending)
            gemm_wide_piece<tile, box, 0>(arguments, corner, words);
        wgmma_fence();
    }
    gemm_wide_both<format, tile>(sum, data, reader.consumer, 2);
    if constexpr (box >= 0) {
        if (pending)
            gemm_wide_piece<tile, box, 1>(arguments, corner, words);
        wgmma_fence();
    }
    gemm_wide_both<format, tile>(sum, data, reader.consumer, 3);
    wgmma_commit();
    gemm_wide_next(ring, reader);
}

/* The stages of a tile between its first and its last. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_wide_between(const gemm_turn_arguments &arguments, const ring &ring,
                                                         gemm_turn_sums<tile> &sum, gemm_wide_reader &reader,
                                                         bool pending, const gemm_wide_corner &corner,
                                                         const gemm_wide_words<tile> &words)
{
    gemm_wide_step<format, tile, 0>(arguments, ring, sum, reader, pending, corner, words);
    gemm_wide_step<format, tile, 1>(arguments, ring, sum, reader, pending, corner, words);
#pragma unroll 1
    for (int step = GEMM_WIDE_BLOCKS; step < arguments.blocks; step++)
        gemm_wide_step<format, tile, -1>(arguments, ring, sum, reader, false, corner, words);
}

/* The products of a tile's first stage, at `data`, for the first set, and between them the words of the first set of
 * the tile before. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_wide_first(const gemm_turn_arguments &arguments, gemm_turn_sums<tile> &sum,
                                                       uint32_t data, int consumer, const gemm_wide_corner &corner,
                                                       const gemm_wide_words<tile> &words)
{
    wgmma_fence();
    gemm_wide_slice<format, tile, 0>(sum, data, consumer, 0, 0);
    gemm_wide_piece<tile, 0, 0>(arguments, corner, words);
    wgmma_fence();
    gemm_wide_slice<format, tile, 0>(sum, data, consumer, 1, 1);
    gemm_wide_piece<tile, 0, 1>(arguments, corner, words);
    wgmma_fence();
    gemm_wide_slice<format, tile, 0>(sum, data, consumer, 2, 1);
    gemm_wide_piece<tile, 1, 0>(arguments, corner, words);
    wgmma_fence();
    gemm_wide_slice<format, tile, 0>(sum, data, consumer, 3, 1);
    wgmma_commit();
    gemm_wide_piece<tile, 1, 1>(arguments, corner, words);
}

template <typename tile>
static __device__ __forceinline__ gemm_wide_corner gemm_wide_corner_of(const gemm_turn_arguments &arguments,
                                                                       const gemm_part &part, uint32_t slab, int index)
{
    const tile_place place = tile_at(arguments.order, index);
    const int warp = threadIdx.x / 32;
    return {slab, (place.row * arguments.cluster.rows + part.row) * tile::rows + warp / 4 * 128 + warp % 4 * 16,
            (place.column * arguments.cluster.columns + part.column) * tile::columns};
}

/* There are four stages a tile at least. The next tile's first stage is waited for before the last products are queued:
 * ptxas follows what is in flight only while no loop lies between. */
template <typename format, typename tile>
static __device__ __forceinline__ void gemm_wide_consume(const gemm_turn_arguments &arguments, const ring &ring,
                                                         uint32_t slab, const gemm_part &part, int consumer)
{
    const int tiles = tile_count(arguments.order);
    gemm_wide_reader reader = {{}, 0, (uint32_t)part.a_ctas | part.b_ctas, consumer};
    gemm_wide_corner corner = {};
    float sum[tile::sets][tile::columns / 2];
    uint32_t words[tile::columns / 4];
    int index = part.cluster;
    mbarrier_wait(ring_full(ring, reader.at), 0);
    gemm_wide_set<format, tile, 0>(sum, ring.data, consumer, 0);
    gemm_wide_set<format, tile, 1>(sum, ring.data, consumer, 0);
    gemm_wide_next(ring, reader);
    for (; index + part.clusters < tiles; index += part.clusters) {
        gemm_wide_between<format, tile>(arguments, ring, sum, reader, index > part.cluster, corner, words);
        uint32_t data = gemm_wide_stage<tile>(ring, reader);
        mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
        gemm_wide_set<format, tile, 0>(sum, data, consumer, 1);
        wgmma_wait<1>();
        gemm_release(reader.used, reader.ctas);
        gemm_wide_next(ring, reader);
        mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
        gemm_wide_set<format, tile, 1>(sum, data, consumer, 1);
        data = gemm_wide_stage<tile>(ring, reader);
        corner = gemm_wide_corner_of<tile>(arguments, part, slab, index);
        wgmma_wait<1>();
        gemm_wide_round<format, tile>(arguments, words, sum[0]);
        gemm_wide_first<format, tile>(arguments, sum, data, consumer, corner, words);
        corner.row += 64;
        wgmma_wait<1>();
        gemm_release(reader.used, reader.ctas);
        gemm_wide_round<format, tile>(arguments, words, sum[1]);
        gemm_wide_set<format, tile, 1>(sum, data, consumer, 0);
        gemm_wide_next(ring, reader);
    }
    gemm_wide_between<format, tile>(arguments, ring, sum, reader, index > part.cluster, corner, words);
    const uint32_t data = gemm_wide_stage<tile>(ring, reader);
    mbarrier_wait(ring_full(ring, reader.at), reader.at.parity);
    gemm_wide_set<format, tile, 0>(sum, data, consumer, 1);
    wgmma_wait<1>();
    gemm_release(reader.used, reader.ctas);
    gemm_wide_next(ring, reader);
    gemm_wide_set<format, tile, 1>(sum, data, consumer, 1);
    corner = gemm_wide_corner_of<tile>(arguments, part, slab, index);
    wgmma_wait<1>();
    gemm_wide_round<format, tile>(arguments, words, sum[0]);
    gemm_wide_store<tile>(arguments, corner, words);
    corner.row += 64;
    wgmma_wait<0>();
    gemm_release(reader.used, reader.ctas);
    gemm_wide_round<format, tile>(arguments, words, sum[1]);
    gemm_wide_store<tile>(arguments, corner, words);
    if (elect())
        bulk_wait_read<0>();
}

template <typename format, typename tile>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_wide(const __grid_constant__ gemm_turn_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory), slabs = data + arguments.stages * tile::stage_bytes;
    const uint32_t slab_bytes = gemm_turn_box<tile>::slab_bytes;
    const ring ring = {data, slabs + 4 * tile::consumers * slab_bytes, arguments.stages};
    const gemm_part part = gemm_part_of(arguments.cluster);
    const int warpgroup = gemm_warpgroup();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        gemm_turn_load<format, tile>(arguments, ring, part);
    } else {
        registers_take<tile::consumer_registers>();
        gemm_start_consumers(arguments.maps, arguments.d, ring, gemm_readers(arguments.cluster, tile::consumers));
        gemm_wide_consume<format, tile>(arguments, ring, slabs + threadIdx.x / 32 * slab_bytes, part, warpgroup);
    }
}

#endif
