/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule of gemm_schedule.cuh with the end of a tile made short: a consumer only rounds its sums to BF16, which
 * takes half the registers, and stores these `words` a part at a time in the first stages of its next tile, while the
 * tensor cores have a stage of products queued.
 *
 * `store` is how: store::parts, store::bytes (of shared memory a warp), store::any_n (it needs no tensor_store),
 * store::part(arguments, words, part, slab, row, column) for the warp's 16 rows at (row, column) of D, words[i] =
 * (sum[2 i], sum[2 i + 1]); and store::load_b.
 */
#ifndef RIDGE_GEMM_DEFERRED_CUH
#define RIDGE_GEMM_DEFERRED_CUH

#include "kernels/gemm_bf16/gemm_schedule.cuh"
#include "kernels/gemm_bf16/gemm_start.cuh"

/* A stage's products, queued. `used` is the stage before, of the same tile if `keep`: see gemm_accumulate; here narrow
 * tiles keep two slices in the queue, about 150 clocks, while that stage is released. */
template <typename tile>
static __device__ __forceinline__ void gemm_step(float (&sum)[tile::columns / 2], const ring &ring, ring_place &at,
                                                 uint32_t &used, int keep, int warpgroup, uint32_t ctas)
{
    constexpr int ahead = tile::columns > 192 ? 1 : 2;
    const uint32_t data = ring.data + at.stage * tile::stage_bytes;
    mbarrier_wait(ring_full(ring, at), at.parity);
    wgmma_fence();
    gemm_multiply<tile, 0, ahead>(sum, data, warpgroup, keep);
    wgmma_commit();
    wgmma_wait<1>();
    if (keep)
        gemm_release(used, ctas);
    gemm_multiply<tile, ahead, 4>(sum, data, warpgroup, 1);
    wgmma_commit();
    used = ring_empty(ring, at);
    ring_next(ring, at);
}

template <int count>
static __device__ __forceinline__ void gemm_round(uint32_t (&words)[count / 2], float (&sum)[count])
{
    wgmma_settle(sum);
#pragma unroll
    for (int i = 0; i < count / 2; i++) {
        words[i] = cvt_bf16x2_f32(sum[2 * i], sum[2 * i + 1]);
        asm volatile("" : "+r"(words[i])); /* here, and not where it is used: the sums are soon overwritten */
    }
}

/* Consumer 1 begins a tile when consumer 0 has queued its second stage: the tensor cores then have work of one while
 * the other is between tiles. With fewer blocks than stages consumer 0 could be a whole tile ahead and arrive twice. */
static __device__ __forceinline__ bool gemm_takes_turns(const gemm_arguments &arguments)
{
    const int blocks = gemm_blocks(arguments.k);
    return arguments.stagger_ns > 0 && blocks >= 2 && blocks >= arguments.stages;
}

enum { GEMM_LAST = 3 };  /* stages that the consumers end a CTA's last tile with, one consumer after the other */
enum { GEMM_AFTER = 2 }; /* named barrier at which consumer 1 waits for consumer 0; the next one is of consumer 2 */

/* In its last tile a consumer lets the one before it queue all products first, and is stored under the next one's. */
template <typename tile, typename store>
static __device__ __forceinline__ void gemm_consume_deferred(const gemm_arguments &arguments, const ring &ring,
                                                             uint32_t slabs, const gemm_part &part, int warpgroup)
{
    const uint32_t slab = slabs + threadIdx.x / 32 * store::bytes, ctas = part.a_ctas | part.b_ctas;
    const int blocks = gemm_blocks(arguments.k);
    float sum[tile::columns / 2];
    uint32_t words[tile::columns / 4];
    int row = 0, column = 0;
    const bool turns = tile::consumers == 2 && gemm_takes_turns(arguments);
    bool pending = false; /* words are the tile's at (row, column) */
    ring_place at = {};
    for (int index = part.cluster; index < tile_count(arguments.order); index += part.clusters) {
        uint32_t used = 0;
        const bool apart = index + part.clusters >= tile_count(arguments.order) && blocks >= store::parts + GEMM_LAST &&
                           ring.stages > GEMM_LAST;
        const int after = apart && warpgroup > 0 ? blocks - GEMM_LAST : -1;
#pragma unroll
        for (int i = 0; i < store::parts; i++) {
            if (i == 0 && turns && warpgroup == 1)
                named_sync(1, 256);
            if (i < blocks)
                gemm_step<tile>(sum, ring, at, used, i > 0, warpgroup, ctas);
            if (i == 1 && turns && warpgroup == 0)
                named_arrive(1, 256);
            if (pending)
                store::part(arguments, words, i, slab, row, column);
        }
#pragma unroll 1
        for (int i = store::parts; i < blocks; i++) {
            if (i == after)
                named_sync(GEMM_AFTER + warpgroup - 1, 256);
            gemm_step<tile>(sum, ring, at, used, 1, warpgroup, ctas);
        }
        if (apart && warpgroup < tile::consumers - 1)
            named_arrive(GEMM_AFTER + warpgroup, 256);
        const tile_place place = tile_at(arguments.order, index);
        row = (place.row * arguments.cluster.rows + part.row) * tile::rows + threadIdx.x / 32 * 16;
        column = (place.column * arguments.cluster.columns + part.column) * tile::columns;
        pending = store::any_n || arguments.tensor_store;
        wgmma_wait<0>();
        gemm_release(used, ctas);
        gemm_round(words, sum);
        if constexpr (!store::any_n)
            if (!pending)
                gemm_store_registers(arguments.out, row - threadIdx.x % 128 / 32 * 16, column, sum);
    }
    if (pending) {
#pragma unroll
        for (int i = 0; i < store::parts; i++)
            store::part(arguments, words, i, slab, row, column);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait_read<0>();
}

/* gemm_produce with the store's order of rows of B, behind the first stage, which is on its way. The other CTAs' copies
 * into this one are over when its consumers are, their arrivals when the ring has drained: no barrier of the cluster,
 * which would wait for the stores to D. */
template <typename tile, typename store>
static __device__ __forceinline__ void gemm_produce_deferred(const gemm_arguments &arguments, const ring &ring,
                                                             const gemm_part &part)
{
    const gemm_cluster &cluster = arguments.cluster;
    const int blocks = gemm_blocks(arguments.k);
    const int slice_a = tile::rows / cluster.columns, slice_b = tile::columns / cluster.rows;
    ring_place at = {};
    ring_next(ring, at);
    for (int index = part.cluster; index < tile_count(arguments.order); index += part.clusters) {
        const tile_place place = tile_at(arguments.order, index);
        const int row_a = (place.row * cluster.rows + part.row) * tile::rows + part.column * slice_a;
        const int row_b = (place.column * cluster.columns + part.column) * tile::columns + part.row * slice_b;
#pragma unroll 1
        for (int i = index == part.cluster; i < blocks; i++, ring_next(ring, at)) {
            const uint32_t a = ring.data + at.stage * tile::stage_bytes + part.column * slice_a * 128;
            const uint32_t b = ring.data + at.stage * tile::stage_bytes + tile::a_bytes + part.row * slice_b * 128;
            const uint32_t full = ring_full(ring, at);
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            mbarrier_arrive_expect(full, tile::stage_bytes);
            gemm_load_slice(a, arguments.maps.a, i * gemm_depth, row_a, full, cluster.columns, part.a_ctas);
            store::load_b(b, arguments.maps.b, i, row_b, full, cluster.rows, part.b_ctas);
        }
    }
    ring_drain(ring, at);
}

/* The producer warpgroup, of which one thread works. */
template <typename tile, typename store>
static __device__ __forceinline__ void gemm_load_deferred(const gemm_arguments &arguments, const ring &ring,
                                                          const gemm_part &part)
{
    const bool loads = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0) == 0;
    if (loads && elect())
        gemm_start_producer<tile>(arguments.maps, ring, arguments.order, arguments.cluster, part,
                                  [&](uint32_t shared, int row, uint32_t full) {
                                      store::load_b(shared, arguments.maps.b, 0, row, full, 1, 0);
                                  });
    __syncwarp();
    cluster_arrive_relaxed();
    cluster_wait();
    if (loads && elect())
        gemm_produce_deferred<tile, store>(arguments, ring, part);
}

template <typename tile, typename store>
static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_deferred(const __grid_constant__ gemm_arguments arguments)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory), slabs = data + arguments.stages * tile::stage_bytes;
    const ring ring = {data, slabs + 4 * tile::consumers * store::bytes, arguments.stages};
    const gemm_part part = gemm_part_of(arguments.cluster);
    const int warpgroup = gemm_warpgroup();

    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        gemm_load_deferred<tile, store>(arguments, ring, part);
    } else {
        registers_take<tile::consumer_registers>();
        gemm_start_consumers(arguments.maps, arguments.d, ring, gemm_readers(arguments.cluster, tile::consumers));
        gemm_consume_deferred<tile, store>(arguments, ring, slabs, part, warpgroup);
    }
}

#endif
