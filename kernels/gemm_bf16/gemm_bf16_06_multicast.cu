/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_cluster.cuh"

using tile = gemm_tile<2, 256>;

enum { STAGES = 4, SHARED_BYTES = STAGES * tile::stage_bytes + 16 * STAGES, BAND = 8, CLUSTER = 2 };

static __device__ __forceinline__ void consume(const gemm_output &out, const ring &ring, const tile_order &order,
                                               int blocks, int warpgroup, const gemm_part &part)
{
    float sum[tile::columns / 2];
    ring_place at = {};
    for (int index = part.cluster; index < tile_count(order); index += part.clusters) {
        const tile_place place = tile_at(order, index);
        const int row0 = (place.row * CLUSTER + part.row) * tile::rows + 64 * warpgroup;
        gemm_accumulate<tile>(sum, ring, at, blocks, warpgroup, (uint32_t)(part.a_ctas | part.b_ctas));
        gemm_store_registers(out, row0, place.column * tile::columns, sum);
    }
}

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_bf16_multicast(const __grid_constant__ gemm_maps maps, gemm_output out, int k, tile_order order)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const ring ring = {data, data + STAGES * tile::stage_bytes, STAGES};
    const gemm_cluster cluster = {CLUSTER, 1};
    const gemm_part part = gemm_part_of(cluster);
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0)
        ring_init(ring, gemm_readers(cluster, tile::consumers));
    cluster_sync();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            gemm_produce<tile>(maps, ring, order, gemm_blocks(k), cluster, part);
        __syncwarp();
    } else {
        registers_take<tile::consumer_registers>();
        consume(out, ring, order, gemm_blocks(k), warpgroup, part);
    }
    cluster_sync(); /* shared memory lives until the other CTA has written and arrived for the last time */
}

static int setup(struct ridge_call *call, void **state)
{
    return gemm_setup_maps<tile, tile::rows, tile::columns / CLUSTER>(call, (const void *)gemm_bf16_multicast,
                                                                      SHARED_BYTES, state);
}

static int launch(const struct ridge_call *call)
{
    const tile_order order = gemm_order<tile>(call->dim, CLUSTER, 1, BAND);
    const int places = call->device->sms / CLUSTER, clusters = tile_count(order) < places ? tile_count(order) : places;
    return gemm_launch_clusters(call, gemm_bf16_multicast, clusters, CLUSTER, tile::threads, SHARED_BYTES,
                                *(const struct gemm_maps *)call->state, gemm_output_of(call), (int)call->dim[2], order);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_06_multicast = {
    .idea = "clusters of two tiles one above the other; each CTA loads half of their B tile for both",
    .source = "PTX ISA 9.0, 9.7.9.25.5.2 (.multicast::cluster)",
    .changes = "a tile pair reads 64 KiB a stage from L2 instead of 96",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = gemm_issued<tile, CLUSTER>,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)gemm_bf16_multicast,
};
