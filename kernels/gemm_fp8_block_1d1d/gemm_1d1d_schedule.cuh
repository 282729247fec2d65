/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel: a persistent grid of clusters, one producer thread a CTA, consumers that promote. Which tiles there are
 * is the business of a `walk`:
 *
 *   walk::arguments                    of the kernel
 *   walk(arguments, part)              at the first tile of this CTA
 *   next<tile>(work, cluster, part)    false: no more tiles
 *   walk::maps(arguments, scratch)     of the producer's warp; scratch: walk::scratch_bytes of shared memory
 *   maps.enter(work, a, b)             the tensor maps of A and B for a tile, by the whole warp
 */
#ifndef RIDGE_GEMM_1D1D_SCHEDULE_CUH
#define RIDGE_GEMM_1D1D_SCHEDULE_CUH

#include "kernels/gemm_fp8_block_1d1d/gemm_1d1d_tile.cuh"

/* Maps of A, B and their scales: boxes of a CTA's slice. */
template <typename walk> struct gemm_1d1d_arguments {
    CUtensorMap a, b, scale_a, scale_b, d;
    gemm_1d1d_output out;
    gemm_cluster cluster;
    int stages;
    typename walk::arguments tiles;
};

/* One product: tiles in their order, all with the same blocks of k. */
struct gemm_1d1d_dense {
    struct arguments {
        tile_order order;
        int blocks;
    };
    static constexpr int scratch_bytes = 0;

    const arguments &tiles;
    int index;

    __device__ gemm_1d1d_dense(const arguments &tiles, const gemm_part &part) : tiles(tiles), index(part.cluster) {}

    template <typename tile>
    __device__ __forceinline__ bool next(gemm_1d1d_work &work, const gemm_cluster &cluster, const gemm_part &part)
    {
        if (index >= tile_count(tiles.order))
            return false;
        const tile_place place = tile_at(tiles.order, index);
        work = {(place.row * cluster.rows + part.row) * tile::rows,
                (place.column * cluster.columns + part.column) * tile::columns, 0, tiles.blocks, 0};
        index += part.clusters;
        return true;
    }

    struct maps {
        const CUtensorMap *a, *b;

        __device__ maps(const gemm_1d1d_arguments<gemm_1d1d_dense> &arguments, uint32_t)
            : a(&arguments.a), b(&arguments.b)
        {
        }
        __device__ void enter(const gemm_1d1d_work &) {}
    };
};

/* By one warp, of which one lane loads. */
template <typename tile, typename walk>
static __device__ __forceinline__ void gemm_1d1d_produce(const gemm_1d1d_arguments<walk> &arguments, const ring &ring,
                                                         uint32_t scales, uint32_t scratch, const gemm_part &part)
{
    const gemm_cluster &cluster = arguments.cluster;
    const int slice_a = tile::rows / cluster.columns, slice_b = tile::columns / cluster.rows;
    const uint32_t a = ring.data + part.column * slice_a * 128;
    const uint32_t b = ring.data + tile::a_bytes + part.row * slice_b * 128;
    const uint32_t scale_a = scales + 4 * part.column * slice_a,
                   scale_b = scales + 4 * (tile::rows + part.row * slice_b);
    walk tiles(arguments.tiles, part);
    typename walk::maps maps(arguments, scratch);
    gemm_1d1d_work work;
    ring_place at = {};
    while (tiles.template next<tile>(work, cluster, part)) {
        const int row_a = work.row + part.column * slice_a, row_b = work.column + part.row * slice_b;
        maps.enter(work);
        if (threadIdx.x % 32 == 0) {
#pragma unroll 1
            for (int i = 0; i < work.blocks; i++, ring_next(ring, at)) {
                const uint32_t data = at.stage * tile::stage_bytes, scale = at.stage * tile::scale_bytes;
                const uint32_t full = ring_full(ring, at);
                mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
                mbarrier_arrive_expect(full, tile::stage_bytes + tile::scale_bytes);
                gemm_fp8_load_slice(a + data, *maps.a, i * 128, row_a, full, cluster.columns, part.a_ctas);
                gemm_fp8_load_slice(b + data, *maps.b, i * 128, row_b, full, cluster.rows, part.b_ctas);
                gemm_fp8_load_slice(scale_a + scale, arguments.scale_a, row_a, work.first + i, full, cluster.columns,
                                    part.a_ctas);
                gemm_fp8_load_slice(scale_b + scale, arguments.scale_b, row_b, work.first + i, full, cluster.rows,
                                    part.b_ctas);
            }
        }
        __syncwarp();
    }
}

/* A tile is stored under the first WGMMAs of the next one, which need sums but no totals. */
template <typename tile, typename walk>
static __device__ __forceinline__ void gemm_1d1d_consume(const gemm_1d1d_arguments<walk> &arguments,
                                                         gemm_1d1d_reader &reader, uint32_t slabs,
                                                         const gemm_part &part, int warpgroup)
{
    const uint32_t slab = slabs + threadIdx.x / 32 * tile::slab_bytes;
    gemm_1d1d_totals<tile> total = {};
    float sum[tile::columns / 2];
    gemm_1d1d_work work, done = {-1, 0, 0, 0, 0};
    walk tiles(arguments.tiles, part);
    const auto nothing = [] {};
    const auto store_done = [&] {
        if (done.row >= 0)
            gemm_1d1d_store<tile>(arguments.d, arguments.out, slab, done, warpgroup, total);
    };
    while (tiles.template next<tile>(work, arguments.cluster, part)) {
        gemm_1d1d_multiply<tile, true>(total, sum, reader, warpgroup, store_done);
#pragma unroll 1
        for (int i = 1; i < work.blocks; i++)
            gemm_1d1d_multiply<tile, false>(total, sum, reader, warpgroup, nothing);
        done = work;
    }
    store_done();
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

/* Shared memory: stages, slabs, scales, the walk's scratch, barriers. */
template <typename tile, typename walk, auto consume>
static __device__ __forceinline__ void gemm_1d1d_run(const gemm_1d1d_arguments<walk> &arguments, uint32_t data)
{
    const uint32_t slabs = data + arguments.stages * tile::stage_bytes, scales = slabs + tile::slabs_bytes;
    const uint32_t scratch = scales + arguments.stages * tile::scale_bytes;
    const ring ring = {data, scratch + walk::scratch_bytes, arguments.stages};
    const gemm_part part = gemm_part_of(arguments.cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0) {
        tma_prefetch_map(&arguments.scale_a);
        tma_prefetch_map(&arguments.scale_b);
        tma_prefetch_map(&arguments.d);
        ring_init(ring, gemm_readers(arguments.cluster, tile::consumers));
    }
    cluster_sync();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 < 32)
            gemm_1d1d_produce<tile>(arguments, ring, scales, scratch, part);
    } else {
        registers_take<tile::consumer_registers>();
        const int row = warpgroup * tile::sets * 64 + wgmma_row(threadIdx.x, 0);
        gemm_1d1d_reader reader = {ring,
                                   scales + 4 * row,
                                   scales + 4 * (tile::rows + wgmma_column(threadIdx.x, 0)),
                                   (uint32_t)(part.a_ctas | part.b_ctas),
                                   {}};
        consume(arguments, reader, slabs, part, warpgroup);
        __syncwarp();
    }
    cluster_sync(); /* shared memory lives until the others have written and arrived for the last time */
}

template <typename tile, typename walk>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_1d1d_kernel(const __grid_constant__ gemm_1d1d_arguments<walk> arguments)
{
    extern __shared__ __align__(1024) char memory[];
    gemm_1d1d_run<tile, walk, gemm_1d1d_consume<tile, walk>>(arguments, shared_address(memory));
}

#endif
