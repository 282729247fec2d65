/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_copy/hbm_copy.h"
#include "kernels/ptx/async.cuh"
#include "kernels/support/launch.cuh"

constexpr int STAGES = 6, AHEAD = 4;

/* One thread an SM drives the copy engine both ways through a ring of six 32 KiB stages: up to four loads and two
 * stores are in flight. */
static __global__ void __launch_bounds__(32)
    hbm_copy_bulk(const char *__restrict__ src, char *__restrict__ dst, long long blocks)
{
    extern __shared__ __align__(128) char ring[];
    __shared__ uint64_t full[STAGES];
    if (threadIdx.x)
        return;
    for (int i = 0; i < STAGES; i++)
        mbarrier_init(shared_address(&full[i]), 1);
    mbarrier_init_fence();

    long long own = blockIdx.x < blocks ? (blocks - 1 - blockIdx.x) / gridDim.x + 1 : 0;
    auto load = [&](long long i) {
        uint32_t barrier = shared_address(&full[i % STAGES]);
        mbarrier_arrive_expect(barrier, HBM_COPY_BYTES);
        bulk_load(shared_address(ring + i % STAGES * HBM_COPY_BYTES),
                  src + (blockIdx.x + i * gridDim.x) * HBM_COPY_BYTES, HBM_COPY_BYTES, barrier);
    };
    for (long long i = 0; i < AHEAD && i < own; i++)
        load(i);
    for (long long i = 0; i < own; i++) {
        mbarrier_wait(shared_address(&full[i % STAGES]), i / STAGES & 1);
        bulk_store(dst + (blockIdx.x + i * gridDim.x) * HBM_COPY_BYTES,
                   shared_address(ring + i % STAGES * HBM_COPY_BYTES), HBM_COPY_BYTES);
        bulk_commit();
        /* Load i + AHEAD reuses the stage of store i - (STAGES - AHEAD). */
        bulk_wait_read<STAGES - AHEAD>();
        if (i + AHEAD < own)
            load(i + AHEAD);
    }
    bulk_wait<0>();
}

static int launch(const struct ridge_call *call)
{
    RIDGE_CUDA(call, cudaFuncSetAttribute(hbm_copy_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          STAGES * HBM_COPY_BYTES));
    hbm_copy_bulk<<<call->device->sms, 32, STAGES * HBM_COPY_BYTES, ridge_stream(call)>>>(
        (const char *)call->buffer[0], (char *)call->buffer[1], call->dim[0] / HBM_COPY_BYTES);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_copy_03_bulk = {
    .idea = "the copy engine (cp.async.bulk) both ways through six 32 KiB stages of shared memory, one thread an SM",
    .source = "PTX ISA 9.0, 9.7.9.25.4.1",
    .changes = "no data in registers; 128 KiB of loads and 64 KiB of stores in flight an SM",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = launch,
    .kernel = (const void *)hbm_copy_bulk,
};
