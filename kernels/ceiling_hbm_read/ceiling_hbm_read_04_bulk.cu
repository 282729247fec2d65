/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ptx/emulate.cuh"

#include "kernels/ceiling_hbm_read/hbm_read.cuh"
#include "kernels/ptx/async.cuh"

constexpr int STAGES = 6, WARPS = 4, STAGE_BYTES = WARPS * HBM_PIECE_BYTES;

/* One CTA an SM. The copy engine fills a ring of 32 KiB stages; warp w folds piece w of every stage. */
static __global__ void __launch_bounds__(WARPS * 32)
    hbm_read_bulk(const char *__restrict__ src, uint32_t *__restrict__ sum, long long pieces)
{
    extern __shared__ __align__(128) char ring[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    long long stages = (pieces + WARPS - 1) / WARPS;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(shared_address(&full[i]), 1);
            mbarrier_init(shared_address(&empty[i]), WARPS);
        }
        mbarrier_init_fence();
    }
    __syncthreads();

    auto load = [&](long long stage, int slot) {
        long long left = pieces * HBM_PIECE_BYTES - stage * STAGE_BYTES;
        uint32_t bytes = left < STAGE_BYTES ? (uint32_t)left : STAGE_BYTES;
        mbarrier_arrive_expect(shared_address(&full[slot]), bytes);
        bulk_load(shared_address(ring + slot * STAGE_BYTES), src + stage * STAGE_BYTES, bytes,
                  shared_address(&full[slot]));
    };
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES && blockIdx.x + (long long)i * gridDim.x < stages; i++)
            load(blockIdx.x + (long long)i * gridDim.x, i);

    int slot = 0;
    uint32_t parity = 0;
    for (long long stage = blockIdx.x; stage < stages; stage += gridDim.x) {
        mbarrier_wait(shared_address(&full[slot]), parity);
        uint32_t from = shared_address(ring + slot * STAGE_BYTES + warp * HBM_PIECE_BYTES) + lane * 16;
        uint32_t word = 0;
#pragma unroll
        for (int i = 0; i < 16; i++)
            word ^= fold(ld_shared_v4(from + i * 512));
        word = fold_warp(word);
        if (lane == 0) {
            mbarrier_arrive(shared_address(&empty[slot]));
            if (stage * WARPS + warp < pieces)
                sum[stage * WARPS + warp] = word;
        }
        long long next = stage + (long long)STAGES * gridDim.x;
        if (threadIdx.x == 0 && next < stages) {
            mbarrier_wait(shared_address(&empty[slot]), parity);
            load(next, slot);
        }
        if (++slot == STAGES) {
            slot = 0;
            parity ^= 1;
        }
    }
}

static int launch(const struct ridge_call *call)
{
    RIDGE_CUDA(call,
               cudaFuncSetAttribute(hbm_read_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * STAGE_BYTES));
    hbm_read_bulk<<<call->device->sms, WARPS * 32, STAGES * STAGE_BYTES, ridge_stream(call)>>>(
        (const char *)call->buffer[0], (uint32_t *)call->buffer[1], call->dim[0] / HBM_PIECE_BYTES);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_read_04_bulk = {
    .idea = "the copy engine (cp.async.bulk) fills a ring of six 32 KiB stages, four warps fold it",
    .source = "PTX ISA 9.0, 9.7.9.25.4.1",
    .changes = "192 KiB in flight an SM from one thread, no registers in flight",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = launch,
    .kernel = (const void *)hbm_read_bulk,
};
