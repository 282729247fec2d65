/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole schedule, for any tile: a persistent grid of clusters, one producer thread a CTA, consumers of 64 rows
 * each. A consumer warp leaves its 16 rows of the result in a slab of shared memory of its own, and the copy engine
 * writes them to D while the consumer is in its next tile. Stages, cluster and order are arguments.
 */
#ifndef RIDGE_GEMM_SCHEDULE_CUH
#define RIDGE_GEMM_SCHEDULE_CUH

#include "kernels/gemm_bf16/gemm_cluster.cuh"
#include "kernels/ptx/mma.cuh"

/* A slab holds `buffers` boxes of 16 rows x `columns` of D. 64 columns are 128 bytes a row, swizzled. Other widths are
 * an odd number of 16-byte units a row: eight rows then lie in eight different units of the 128 bytes of all banks. */
template <typename tile> struct gemm_slab {
    static constexpr bool swizzled = tile::columns % 64 == 0;
    static constexpr int columns = swizzled ? 64 : tile::columns / 2, buffers = swizzled ? 2 : 1;
    static constexpr int box_bytes = 16 * columns * 2, bytes = buffers * box_bytes;
    static constexpr int bytes_all = 4 * tile::consumers * bytes;
    static_assert(columns % 8 == 0 && (swizzled || columns / 8 % 2), "rows of a box meet in banks");
};

struct gemm_arguments {
    gemm_maps maps;
    CUtensorMap d; /* boxes of a slab */
    gemm_output out;
    int k, stages, stagger_ns;
    bool tensor_store; /* rows of D start at multiples of 16 bytes */
    gemm_cluster cluster;
    tile_order order;
};

/* `box` of the columns from `first` on; sum as wgmma leaves it. */
template <typename tile, int first>
static __device__ __forceinline__ void gemm_fill_box(uint32_t box, const float (&sum)[tile::columns / 2])
{
    using slab = gemm_slab<tile>;
    const int lane = threadIdx.x % 32, row = lane / 8 % 2 * 8 + lane % 8;
    const uint32_t shared_row = box + row * slab::columns * 2;
#pragma unroll
    for (int unit = 0; unit < slab::columns / 8; unit += 2) {
        const int mine = unit + lane / 16, at = first / 2 + unit * 4;
        const uint32_t address = shared_row + (slab::swizzled ? mine ^ row % 8 : mine) * 16;
        const uint32_t low = cvt_bf16x2_f32(sum[at], sum[at + 1]), high = cvt_bf16x2_f32(sum[at + 2], sum[at + 3]);
        if (unit + 1 < slab::columns / 8)
            stmatrix_x4(address, low, high, cvt_bf16x2_f32(sum[at + 4], sum[at + 5]),
                        cvt_bf16x2_f32(sum[at + 6], sum[at + 7]));
        else
            stmatrix_x2(address, low, high);
    }
}

/* A warp's 16 rows through its slab; (row, column) is the corner in D. Returns while the copies are under way. */
template <typename tile, int box = 0>
static __device__ __forceinline__ void gemm_store_slab(const CUtensorMap &map, uint32_t slab_data, int row, int column,
                                                       const float (&sum)[tile::columns / 2])
{
    using slab = gemm_slab<tile>;
    if constexpr (box * slab::columns < tile::columns) {
        const uint32_t data = slab_data + box % slab::buffers * slab::box_bytes;
        if (threadIdx.x % 32 == 0 && box == 0)
            bulk_wait_read<0>();
        if (threadIdx.x % 32 == 0 && box >= slab::buffers)
            bulk_wait_read<slab::buffers - 1>();
        __syncwarp();
        gemm_fill_box<tile, box * slab::columns>(data, sum);
        fence_proxy_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            tma_store(&map, column + box * slab::columns, row, data);
            bulk_commit();
        }
        gemm_store_slab<tile, box + 1>(map, slab_data, row, column, sum);
    }
}

template <typename tile>
static __device__ __forceinline__ void gemm_consume(const gemm_arguments &arguments, const ring &ring, uint32_t slabs,
                                                    const gemm_part &part, int warpgroup)
{
    const uint32_t slab = slabs + threadIdx.x / 32 * gemm_slab<tile>::bytes;
    float sum[tile::columns / 2];
    ring_place at = {};
    if (warpgroup > 0 && arguments.stagger_ns > 0) {
        mbarrier_wait(ring_full(ring, at), at.parity);
        __nanosleep(arguments.stagger_ns * warpgroup);
    }
    for (int index = part.cluster; index < tile_count(arguments.order); index += part.clusters) {
        const tile_place place = tile_at(arguments.order, index);
        const int row0 = (place.row * arguments.cluster.rows + part.row) * tile::rows;
        const int column0 = (place.column * arguments.cluster.columns + part.column) * tile::columns;
        gemm_accumulate<tile>(sum, ring, at, gemm_blocks(arguments.k), warpgroup,
                              (uint32_t)(part.a_ctas | part.b_ctas));
        if (arguments.tensor_store)
            gemm_store_slab<tile>(arguments.d, slab, row0 + threadIdx.x / 32 * 16, column0, sum);
        else
            gemm_store_registers(arguments.out, row0 + 64 * warpgroup, column0, sum);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

template <typename tile>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_schedule(const __grid_constant__ gemm_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory), slabs = data + arguments.stages * tile::stage_bytes;
    const ring ring = {data, slabs + gemm_slab<tile>::bytes_all, arguments.stages};
    const gemm_part part = gemm_part_of(arguments.cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0) {
        tma_prefetch_map(&arguments.maps.a);
        tma_prefetch_map(&arguments.maps.b);
        tma_prefetch_map(&arguments.d);
        ring_init(ring, gemm_readers(arguments.cluster, tile::consumers));
    }
    cluster_sync();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            gemm_produce<tile>(arguments.maps, ring, arguments.order, gemm_blocks(arguments.k), arguments.cluster,
                               part);
        __syncwarp();
    } else {
        registers_take<tile::consumer_registers>();
        gemm_consume<tile>(arguments, ring, slabs, part, warpgroup);
        __syncwarp();
    }
    cluster_sync(); /* shared memory lives until the others have written and arrived for the last time */
}

#endif
