/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_plan.cuh"

using tile = gemm_tile<2, 256>;

enum { STAGES = 4, SHARED_BYTES = STAGES * tile::stage_bytes + 16 * STAGES };

/* One thread fills the ring with the stages of a tile. */
static __device__ __forceinline__ void produce(const gemm_maps &maps, const ring &ring, int row0, int column0,
                                               int blocks)
{
    ring_place at = {};
    for (int i = 0; i < blocks; i++, ring_next(ring, at)) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
        mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
        mbarrier_arrive_expect(full, tile::stage_bytes);
        tma_load(data, &maps.a, i * gemm_depth, row0, full);
        tma_load(data + tile::a_bytes, &maps.b, i * gemm_depth, column0, full);
    }
}

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_bf16_producer_ring(const __grid_constant__ gemm_maps maps, gemm_output out, int k, int blocks_n)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const ring ring = {data, data + STAGES * tile::stage_bytes, STAGES};
    const int warpgroup = gemm_warpgroup();
    const int row0 = blockIdx.x / blocks_n * tile::rows, column0 = blockIdx.x % blocks_n * tile::columns;

    if (threadIdx.x == 0)
        ring_init(ring, 4 * tile::consumers);
    __syncthreads();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            produce(maps, ring, row0, column0, gemm_blocks(k));
    } else {
        registers_take<tile::consumer_registers>();
        float sum[tile::columns / 2];
        ring_place at = {};
        gemm_accumulate<tile>(sum, ring, at, gemm_blocks(k), warpgroup);
        gemm_store_registers(out, row0 + 64 * warpgroup, column0, sum);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    return gemm_setup_maps<tile>(call, (const void *)gemm_bf16_producer_ring, SHARED_BYTES, state);
}

static int launch(const struct ridge_call *call)
{
    const int64_t blocks_m = ridge_ceil_div(call->dim[0], tile::rows);
    const int64_t blocks_n = ridge_ceil_div(call->dim[1], tile::columns);
    gemm_bf16_producer_ring<<<(unsigned)(blocks_m * blocks_n), tile::threads, SHARED_BYTES, ridge_stream(call)>>>(
        *(const struct gemm_maps *)call->state, gemm_output_of(call), (int)call->dim[2], (int)blocks_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_04_producer_ring = {
    .idea = "a producer warpgroup of 40 registers fills a ring of four stages for two consumers of 232 registers",
    .source = "PTX ISA 9.0, 9.7.19.5 (setmaxnreg)",
    .changes = "copies run up to three stages ahead of the products; consumers only multiply",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = gemm_issued<tile>,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)gemm_bf16_producer_ring,
};
