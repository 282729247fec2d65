/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_fp8_block/gemm_fp8_block_tile.cuh"

using tile = gemm_fp8_tile<2, 128>;
using memory = gemm_fp8_block_memory<tile, 5>;

enum { BAND = 16 };

static __global__ void __launch_bounds__(tile::threads, 1)
    gemm_fp8_block_wait_then_promote(const __grid_constant__ gemm_fp8_block_arguments arguments)
{
    extern __shared__ __align__(1024) char shared[];
    gemm_fp8_block_run<tile, memory, gemm_fp8_block_wait_promote<tile, memory>>(arguments, shared_address(shared));
}

static int setup(struct ridge_call *call, void **state)
{
    return gemm_fp8_block_setup<tile, memory>(call, (const void *)gemm_fp8_block_wait_then_promote, BAND, state);
}

static int launch(const struct ridge_call *call)
{
    return gemm_fp8_block_launch<tile, memory>(call, gemm_fp8_block_wait_then_promote);
}

static void issued(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work)
{
    (void)device;
    gemm_fp8_block_issue<tile>(dim, work);
}

extern "C" const struct ridge_variant ridge_variant_gemm_fp8_block_02_wait_then_promote = {
    .idea = "persistent 128 x 128 tiles; a consumer waits for a block's four WGMMAs, then adds them to its FP32 totals",
    .source = "DeepSeek-V3 technical report (arXiv 2412.19437), 3.3.2; DeepGEMM, sm90_fp8_gemm_1d2d",
    .changes = "tensor cores, with promotion every 128 of k; the other consumer's WGMMAs run under a promotion",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_fp8_unsupported,
    .issued = issued,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)gemm_fp8_block_wait_then_promote,
};
