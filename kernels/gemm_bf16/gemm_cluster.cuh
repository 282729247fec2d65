/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters of neighbouring tiles, `rows` x `columns` CTAs. The CTAs of a cluster row need the same A tile, those of a
 * cluster column the same B tile: each loads a slice of either and multicasts it, so L2 is read once for all of them.
 *
 * A CTA writes into the stages of all CTAs in its cluster row and column, therefore its `empty` barriers collect
 * arrivals from the readers of all of these, and a reader arrives in all of them. A `full` barrier counts the bytes of
 * the slices from everywhere; it may see bytes before its own producer's arrival, which only then completes the phase.
 */
#ifndef RIDGE_GEMM_CLUSTER_CUH
#define RIDGE_GEMM_CLUSTER_CUH

#include "kernels/gemm_bf16/gemm_plan.cuh"

struct gemm_cluster {
    int rows, columns;
};

/* One CTA's part. Bit r of a mask is the CTA of rank r. */
struct gemm_part {
    int row, column;         /* in the cluster */
    uint16_t a_ctas, b_ctas; /* who needs my slice of A, of B */
    int cluster, clusters;   /* which of how many */
};

static __device__ __forceinline__ gemm_part gemm_part_of(const gemm_cluster &cluster)
{
    const int rank = (int)cluster_rank(), size = cluster.rows * cluster.columns;
    gemm_part part = {rank / cluster.columns, rank % cluster.columns, 0, 0,
                      (int)blockIdx.x / size, (int)gridDim.x / size};
    part.a_ctas = (uint16_t)(((1 << cluster.columns) - 1) << part.row * cluster.columns);
#pragma unroll 1
    for (int row = 0; row < cluster.rows; row++)
        part.b_ctas |= (uint16_t)(1 << (row * cluster.columns + part.column));
    return part;
}

/* Warps that read what a CTA writes. */
static __host__ __device__ __forceinline__ int gemm_readers(const gemm_cluster &cluster, int consumers)
{
    return 4 * consumers * (cluster.rows + cluster.columns - 1);
}

static __device__ __forceinline__ void gemm_load_slice(uint32_t shared, const CUtensorMap &map, int column, int row,
                                                       uint32_t full, int slices, uint16_t ctas)
{
    if (slices == 1)
        tma_load(shared, &map, column, row, full);
    else
        tma_load_multicast(shared, &map, column, row, full, ctas);
}

/* The producer: this CTA's slices of all stages of all its tiles. */
template <typename tile>
static __device__ __forceinline__ void gemm_produce(const gemm_maps &maps, const ring &ring, const tile_order &order,
                                                    int blocks, const gemm_cluster &cluster, const gemm_part &part)
{
    const int slice_a = tile::rows / cluster.columns, slice_b = tile::columns / cluster.rows;
    ring_place at = {};
    for (int index = part.cluster; index < tile_count(order); index += part.clusters) {
        const tile_place place = tile_at(order, index);
        const int row_a = (place.row * cluster.rows + part.row) * tile::rows + part.column * slice_a;
        const int row_b = (place.column * cluster.columns + part.column) * tile::columns + part.row * slice_b;
#pragma unroll 1 /* unrolled, it needs more than a producer's registers */
        for (int i = 0; i < blocks; i++, ring_next(ring, at)) {
            const uint32_t a = ring.data + at.stage * tile::stage_bytes + part.column * slice_a * 128;
            const uint32_t b = ring.data + at.stage * tile::stage_bytes + tile::a_bytes + part.row * slice_b * 128;
            const uint32_t full = ring_full(ring, at);
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            mbarrier_arrive_expect(full, tile::stage_bytes);
            gemm_load_slice(a, maps.a, i * gemm_depth, row_a, full, cluster.columns, part.a_ctas);
            gemm_load_slice(b, maps.b, i * gemm_depth, row_b, full, cluster.rows, part.b_ctas);
        }
    }
}

static inline cudaLaunchConfig_t gemm_cluster_config(const struct ridge_call *call, int clusters, int size, int threads,
                                                     int shared_bytes, cudaLaunchAttribute *attribute)
{
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = (unsigned)size;
    attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(clusters * size));
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)shared_bytes;
    config.stream = ridge_stream(call);
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

/* *clusters is lowered to what the chip holds at one time: a GPC with an odd number of CTAs free leaves one unused. */
static inline int gemm_limit_clusters(const struct ridge_call *call, const void *kernel, int *clusters, int size,
                                      int threads, int shared_bytes)
{
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = gemm_cluster_config(call, *clusters, size, threads, shared_bytes, &attribute);
    int resident = 0;
    RIDGE_CUDA(call, cudaOccupancyMaxActiveClusters(&resident, kernel, &config));
    if (resident > 0 && resident < *clusters)
        *clusters = resident;
    return 0;
}

template <typename... parameters, typename... arguments>
static int gemm_launch_clusters(const struct ridge_call *call, void (*kernel)(parameters...), int clusters, int size,
                                int threads, int shared_bytes, arguments... values)
{
    cudaLaunchAttribute attribute = {};
    const cudaLaunchConfig_t config = gemm_cluster_config(call, clusters, size, threads, shared_bytes, &attribute);
    return ridge_cuda_status(call, cudaLaunchKernelEx(&config, kernel, values...), __FILE__, __LINE__, "launch");
}

#endif
