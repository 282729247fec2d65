/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm_bf16/gemm_plan.cuh"

using tile = gemm_tile<2, 256>;

enum { THREADS = 128 * tile::consumers, SHARED_BYTES = tile::stage_bytes + 8 };

static __global__ void __launch_bounds__(THREADS, 1)
    gemm_bf16_tma_wgmma(const __grid_constant__ gemm_maps maps, gemm_output out, int k, int blocks_n)
{
    extern __shared__ __align__(1024) char memory[];
    const uint32_t data = shared_address(memory), full = data + tile::stage_bytes;
    const int warpgroup = gemm_warpgroup();
    const int row0 = blockIdx.x / blocks_n * tile::rows, column0 = blockIdx.x % blocks_n * tile::columns;
    float sum[tile::columns / 2];

    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    for (int i = 0; i < gemm_blocks(k); i++) {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect(full, tile::stage_bytes);
            tma_load(data, &maps.a, i * gemm_depth, row0, full);
            tma_load(data + tile::a_bytes, &maps.b, i * gemm_depth, column0, full);
        }
        mbarrier_wait(full, i % 2);
        wgmma_fence();
        gemm_multiply<tile, 0, 4>(sum, data, warpgroup, i > 0);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
    }
    gemm_store_registers(out, row0 + 64 * warpgroup, column0, sum);
}

static int setup(struct ridge_call *call, void **state)
{
    return gemm_setup_maps<tile>(call, (const void *)gemm_bf16_tma_wgmma, SHARED_BYTES, state);
}

static int launch(const struct ridge_call *call)
{
    const int64_t blocks_m = ridge_ceil_div(call->dim[0], tile::rows);
    const int64_t blocks_n = ridge_ceil_div(call->dim[1], tile::columns);
    gemm_bf16_tma_wgmma<<<(unsigned)(blocks_m * blocks_n), THREADS, SHARED_BYTES, ridge_stream(call)>>>(
        *(const struct gemm_maps *)call->state, gemm_output_of(call), (int)call->dim[2], (int)blocks_n);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_gemm_bf16_03_tma_wgmma = {
    .idea = "128 x 256 tile, copied by TMA onto an mbarrier, multiplied by two warpgroups with wgmma m64n256k16",
    .source = "PTX ISA 9.0, 9.7.9.25.5 and 9.7.15",
    .changes = "the copy engine fills shared memory and the tensor cores read it: neither passes through registers",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .unsupported = gemm_unsupported,
    .issued = gemm_issued<tile>,
    .setup = setup,
    .teardown = free,
    .launch = launch,
    .kernel = (const void *)gemm_bf16_tma_wgmma,
};
