/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_tensor/gemm_fp8_tile.cuh"

using tile = gemm_fp8_tile<2, 256>;

enum { STAGES = 4, BAND = 16, BARRIERS = STAGES * tile::stage_bytes + gemm_slab<tile>::bytes_all };
enum { SHARED_BYTES = BARRIERS + 16 * STAGES };

static __device__ __forceinline__ void produce(const gemm_fp8_arguments &arguments, const ring &ring)
{
    ring_place at = {};
    for (int index = blockIdx.x; index < tile_count(arguments.order); index += gridDim.x) {
        const tile_place place = tile_at(arguments.order, index);
#pragma unroll 1
        for (int i = 0; i < arguments.blocks; i++, ring_next(ring, at)) {
            const uint32_t data = ring.data + at.stage * tile::stage_bytes, full = ring_full(ring, at);
            mbarrier_wait(ring_empty(ring, at), at.parity ^ 1);
            mbarrier_arrive_expect(full, tile::stage_bytes);
            tma_load(data, &arguments.maps.a, i * gemm_fp8_depth, place.row * tile::rows, full);
            tma_load(data + tile::a_bytes, &arguments.maps.b, i * gemm_fp8_depth, place.column * tile::columns, full);
        }
    }
}

/* sum = the product over all stages. A stage is released, and the barrier of the next one asked for, while wgmmas are
 * queued: the first slice of a stage is a group of its own. */
static __device__ __forceinline__ void accumulate(float (&sum)[tile::columns / 2], const ring &ring, ring_place &at,
                                                  int blocks, int warpgroup)
{
    uint32_t used = 0;
    for (int i = 0; i < blocks; i++) {
        const uint32_t data = ring.data + at.stage * tile::stage_bytes;
        mbarrier_wait(ring_full(ring, at), at.parity);
        wgmma_fence();
        gemm_fp8_multiply<tile, 0, 1>(sum, data, warpgroup, i > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (i > 0)
            gemm_release(used);
        gemm_fp8_multiply<tile, 1, 4>(sum, data, warpgroup, 1);
        wgmma_commit();
        used = ring_empty(ring, at);
        ring_next(ring, at);
    }
    wgmma_wait<0>();
    gemm_release(used);
}

static __device__ __forceinline__ void consume(const gemm_fp8_arguments &arguments, const ring &ring, uint32_t slabs,
                                               float scale, int warpgroup)
{
    const uint32_t slab = slabs + threadIdx.x / 32 * gemm_slab<tile>::bytes;
    float sum[tile::columns / 2];
    ring_place at = {};
    for (int index = blockIdx.x; index < tile_count(arguments.order); index += gridDim.x) {
        const tile_place place = tile_at(arguments.order, index);
        accumulate(sum, ring, at, arguments.blocks, warpgroup);
        wgmma_settle(sum);
#pragma unroll
        for (int i = 0; i < tile::columns / 2; i++)
            sum[i] *= scale;
        gemm_fp8_store<tile>(arguments, slab, place.row * tile::rows, place.column * tile::columns, sum);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait<0>();
}

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_tensor_persistent(const __grid_constant__ gemm_fp8_arguments arguments, const float *scale_a,
                               const float *scale_b)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory);
    const ring ring = {data, data + BARRIERS, STAGES};
    const int warpgroup = gemm_warpgroup();

    if (threadIdx.x == 0)
        ring_init(ring, 4 * tile::consumers);
    __syncthreads();
    if (warpgroup == tile::consumers) {
        registers_give<tile::producer_registers>();
        if (threadIdx.x % 128 == 0)
            produce(arguments, ring);
    } else {
        registers_take<tile::consumer_registers>();
        consume(arguments, ring, data + STAGES * tile::stage_bytes, *scale_a * *scale_b, warpgroup);
    }
}

static int setup(struct ridge_call *call, void **state)
{
    RIDGE_CUDA(call, cudaFuncSetAttribute(gemm_fp8_tensor_persistent, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          SHARED_BYTES));
    struct gemm_fp8_arguments *arguments = (struct gemm_fp8_arguments *)gemm_plan_new(call, sizeof *arguments);
    if (arguments && gemm_fp8_plan<tile>(call, BAND, arguments)) {
        free(arguments);
        arguments = NULL;
    }
    *state = arguments;
    return arguments ? 0 : 1;
}

static int launch(const struct ridge_call *call)
{
    const struct gemm_fp8_arguments *arguments = (const struct gemm_fp8_arguments *)call->state;
    gemm_fp8_tensor_persistent<<<gemm_fp8_grid(call, arguments->order), tile::threads, SHARED_BYTES,
                                 ridge_stream(call)>>>(*arguments, (const float *)call->buffer[2],
                                                       (const float *)call->buffer[3]);
    return RIDGE_LAUNCHED(call);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    gemm_fp8_issue<tile>(dim, work);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_tensor_02_persistent = {
    .idea =
        "one block an SM: a TMA producer, a ring of four stages, two WGMMA consumers of 64 x 256, TMA stores; never "
        "promotes",
    .source = "PTX ISA 9.0, 9.7.15.5.2 (wgmma.mma_async)",
    .changes = "tensor cores, with the schedule that the ladder of gemm_bf16 arrives at",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)gemm_fp8_tensor_persistent,
};
