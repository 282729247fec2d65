/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/gemm_bf16/gemm_plan.cuh"

using tile = gemm_tile<2, 256>;

enum { STAGES = 4, SHARED_BYTES = STAGES * tile::stage_bytes + 16 * STAGES, BAND = 16 };

static __device__ __forceinline__ void produce(const gemm_maps &maps, const ring &ring, const tile_order &order,
                                               int blocks)
{
    ring_place at = {};
    for (int index = blockIdx.x; index < tile_count(order); index += gridDim.x) {
        const tile_place place = tile_at(order, index);
        for (int i = 0; i < blocks; i++, ring_next(ring, at)) {
            const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            mbarrier_arrive_expect(full, tile::stage_bytes);
            tma_load(data, &maps.a, i * gemm_depth, place.row * tile::rows, full);
            tma_load(data + tile::a_bytes, &maps.b, i * gemm_depth, place.column * tile::columns, full);
        }
    }
}

static __device__ __forceinline__ void consume(const gemm_output &out, const ring &ring, const tile_order &order,
                                               int blocks, int warpgroup)
{
    float sum[tile::columns / 2];
    ring_place at = {};
    for (int index = blockIdx.x; index < tile_count(order); index += gridDim.x) {
        const tile_place place = tile_at(order, index);
        gemm_accumulate<tile>(sum, ring, at, blocks, warpgroup);
        gemm_store_registers(out, place.row * tile::rows + 64 * warpgroup, place.column * tile::columns, sum);
    }
}

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_bf16_persistent(const __grid_constant__ gemm_maps maps, gemm_output out, int k, tile_order order)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const ring ring = {data, data + STAGES * tile::stage_bytes, STAGES};
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0)
        ring_init(ring, 4 * tile::consumers);
    emulate_begin();
    __syncthreads();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            produce(maps, ring, order, gemm_blocks(k));
    } else {
        registers_take<tile::consumer_registers>();
        consume(out, ring, order, gemm_blocks(k), warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    return gemm_setup_maps<tile>(call, (const void *)gemm_bf16_persistent, SHARED_BYTES, state);
}

static int launch(const struct ridge_call *call)
{
    const tile_order order = gemm_order<tile>(call->dim, 1, 1, BAND);
    const int blocks = tile_count(order) < call->device->sms ? tile_count(order) : call->device->sms;
    gemm_bf16_persistent<<<blocks, tile::threads, SHARED_BYTES, ridge_stream(call)>>>(
        *(const struct gemm_maps *)call->state, gemm_output_of(call), (int)call->dim[2], order);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_05_persistent = {
    .idea = "one block an SM walks the tiles in bands of 16 tile rows",
    .source = "",
    .changes =
        "the ring fills for the next tile while this one is stored; tiles in flight share rows and columns in L2",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = gemm_issued<tile>,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)gemm_bf16_persistent,
};
