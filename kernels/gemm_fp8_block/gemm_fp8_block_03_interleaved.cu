/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_tile.cuh"

using tile = gemm_fp8_tile<2, 128>;
using memory = gemm_fp8_block_memory<tile, 5>;
using step = gemm_fp8_block_step<tile>;

enum { BAND = 16 };

/* Blocks alternate between two sets of sums: one is promoted while the WGMMAs of the next block fill the other. */
static __device__ __forceinline__ void accumulate(float (&total)[tile::columns / 2], gemm_fp8_block_ring<memory> &ring,
                                                  const gemm_fp8_block_scales &scales, int blocks, int warpgroup)
{
    float even[tile::columns / 2], odd[tile::columns / 2];
    float next[gemm_fp8_block_groups<tile>];
    int loaded = 0;
    gemm_fp8_block_load(next, scales, 0);
    const auto start = [&](float(&sum)[tile::columns / 2]) {
        const step started = gemm_fp8_block_start<tile>(sum, ring, next, warpgroup);
        loaded += loaded + 1 < blocks;
        gemm_fp8_block_load(next, scales, loaded);
        return started;
    };
    step even_step = start(even);
    int i = 1;
    for (; i + 1 < blocks; i += 2) {
        const step odd_step = start(odd);
        gemm_fp8_block_promote<tile, 1>(total, even, even_step);
        even_step = start(even);
        gemm_fp8_block_promote<tile, 1>(total, odd, odd_step);
    }
    if (i < blocks) {
        const step odd_step = start(odd);
        gemm_fp8_block_promote<tile, 1>(total, even, even_step);
        gemm_fp8_block_promote<tile, 0>(total, odd, odd_step);
    } else {
        gemm_fp8_block_promote<tile, 0>(total, even, even_step);
    }
}

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_block_interleaved(const __grid_constant__ gemm_fp8_block_arguments arguments)
{
    extern __shared__ __align__(1024) char shared[];
    gemm_fp8_block_run<tile, memory, accumulate>(arguments, shared_address(shared));
}

static int setup(struct ridge_call *call, void **state)
{
    return gemm_fp8_block_setup<tile, memory>(call, (const void *)gemm_fp8_block_interleaved, BAND, state);
}

static int launch(const struct ridge_call *call)
{
    return gemm_fp8_block_launch<tile, memory>(call, gemm_fp8_block_interleaved);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    gemm_fp8_block_issue<tile>(dim, work);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_03_interleaved = {
    .idea = "two sets of WGMMA sums a consumer: a block is promoted while the next one's WGMMAs run",
    .source = "",
    .changes = "a consumer's own WGMMAs cover its promotion; 192 accumulator registers instead of 128",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)gemm_fp8_block_interleaved,
};
