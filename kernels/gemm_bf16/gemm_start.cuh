/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of a launch, of which the tensor cores have nothing. A stage of the first tile is on its way before the
 * cluster has met: the producer initialises `full` and loads all of stage 0 for its own CTA; a consumer initialises
 * `empty` meanwhile. All threads meet their cluster (cluster_arrive_relaxed, cluster_wait) behind it.
 */
#ifndef RIDGE_GEMM_START_CUH
#define RIDGE_GEMM_START_CUH

#include "kernels/gemm_bf16/gemm_cluster.cuh"

static __device__ __forceinline__ void gemm_start_barriers(uint32_t first, int stages, int arrivals)
{
#pragma unroll 1
    for (int stage = 0; stage < stages; stage++)
        mbarrier_init(first + 8 * stage, arrivals);
    mbarrier_init_fence();
}

/* One thread of the producer. load_b(shared, row, full) loads a slice of B at the start of k. */
template <typename tile, typename loader>
static __device__ __forceinline__ void gemm_start_producer(const gemm_maps &maps, const ring &ring,
                                                           const tile_order &order, const gemm_cluster &cluster,
                                                           const gemm_part &part, loader load_b)
{
    const uint32_t full = ring_full(ring, {});
    gemm_start_barriers(ring.barriers, ring.stages, 1);
    const tile_place place = tile_at(order, part.cluster);
    const int row_a = (place.row * cluster.rows + part.row) * tile::rows;
    const int row_b = (place.column * cluster.columns + part.column) * tile::columns;
    mbarrier_arrive_expect(full, tile::stage_bytes);
#pragma unroll 1
    for (int row = 0; row < tile::rows; row += tile::rows / cluster.columns)
        tma_load(ring.data + row * 128, &maps.a, 0, row_a + row, full);
#pragma unroll 1
    for (int row = 0; row < tile::columns; row += tile::columns / cluster.rows)
        load_b(ring.data + tile::a_bytes + row * 128, row_b + row, full);
}

/* The consumers, `readers` of whose warps arrive at an `empty` barrier. */
static __device__ __forceinline__ void gemm_start_consumers(const gemm_maps &maps, const CUtensorMap &d,
                                                            const ring &ring, int readers)
{
    if (threadIdx.x == 0) {
        gemm_start_barriers(ring.barriers + 8 * ring.stages, ring.stages, readers);
    } else if (threadIdx.x == 32) {
        tma_prefetch_map(&maps.a);
        tma_prefetch_map(&maps.b);
        tma_prefetch_map(&d);
    }
    __syncwarp();
    cluster_arrive_relaxed();
    cluster_wait();
}

#endif
