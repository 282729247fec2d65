/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RIDGE_DSMEM_READ_CUH
#define RIDGE_DSMEM_READ_CUH

#include "kernels/ceiling_dsmem_read/dsmem_read.h"
#include "kernels/support/launch.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/ptx/shared.cuh"

/* CTAs of even rank hold table 1, those of odd rank table 0, and every CTA reads ranks of the other parity only: so CTA
 * c, which takes passes c, c + gridDim.x, ..., always finds table c mod 2. The grid is a multiple of the (even)
 * cluster. With more than two CTAs a cluster, passes alternate between the neighbour above and the one below. `step` is
 * 0; the compiler must not know, or it loads only once. */
template <int cluster>
static __global__ void __launch_bounds__(DSMEM_THREADS)
    dsmem_read(const uint4 *__restrict__ src, uint32_t *__restrict__ sum, long long passes, uint32_t step)
{
    extern __shared__ uint4 table[];
    uint32_t rank = cluster_rank();
    constexpr int vectors = DSMEM_TABLE_BYTES / 16;
    for (int i = threadIdx.x; i < vectors; i += DSMEM_THREADS)
        table[i] = src[(rank % 2 ? 0 : vectors) + i];
    cluster_sync();

    uint32_t own_row = shared_address(table) + threadIdx.x * 16;
    uint32_t row[2] = {cluster_map(own_row, (rank + 1) % cluster),
                       cluster_map(own_row, (rank + cluster - 1) % cluster)};
    uint32_t word = 0;
    unsigned own = blockIdx.x < passes ? (unsigned)((passes - 1 - blockIdx.x) / gridDim.x + 1) : 0;
#pragma unroll 4
    for (unsigned pass = 0; pass < own; pass++) {
        uint32_t from = row[pass % 2];
        row[pass % 2] += step;
#pragma unroll
        for (int i = 0; i < vectors / DSMEM_THREADS; i++) {
            uint4 v = ld_cluster_v4(from + i * DSMEM_THREADS * 16);
            word += v.x + v.y + v.z + v.w;
        }
    }
    add_to_sum(sum, word);
    /* Nobody leaves while others may still read here. */
    cluster_sync();
}

/* More than half of an SM's shared memory, so that an SM holds one CTA. */
constexpr int dsmem_shared_bytes = 120 << 10;

template <int cluster>
static void dsmem_config(const struct ridge_call *call, int ctas, cudaLaunchConfig_t *config,
                         cudaLaunchAttribute *attribute)
{
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim = {cluster, 1, 1};
    *config = {};
    config->gridDim = (unsigned)ctas;
    config->blockDim = DSMEM_THREADS;
    config->dynamicSmemBytes = dsmem_shared_bytes;
    config->stream = ridge_stream(call);
    config->attrs = attribute;
    config->numAttrs = 1;
}

/* Stores the number of CTAs that are resident at once in *state: a GPC whose number of SMs is no multiple of the
 * cluster leaves some idle. */
template <int cluster> static int dsmem_setup(struct ridge_call *call, void **state)
{
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;
    int clusters = 0;
    dsmem_config<cluster>(call, call->device->sms / cluster * cluster, &config, &attribute);
    RIDGE_CUDA(call, cudaFuncSetAttribute(dsmem_read<cluster>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          dsmem_shared_bytes));
    RIDGE_CUDA(call, cudaOccupancyMaxActiveClusters(&clusters, dsmem_read<cluster>, &config));
    *state = (void *)(intptr_t)(clusters * cluster);
    return 0;
}

template <int cluster> static int dsmem_launch(const struct ridge_call *call)
{
    cudaLaunchConfig_t config;
    cudaLaunchAttribute attribute;
    dsmem_config<cluster>(call, (int)(intptr_t)call->state, &config, &attribute);
    RIDGE_CUDA(call, cudaMemsetAsync(call->buffer[1], 0, 4, config.stream));
    RIDGE_CUDA(call, cudaLaunchKernelEx(&config, dsmem_read<cluster>, (const uint4 *)call->buffer[0],
                                        (uint32_t *)call->buffer[1], (long long)call->dim[0], 0u));
    return 0;
}

#endif
