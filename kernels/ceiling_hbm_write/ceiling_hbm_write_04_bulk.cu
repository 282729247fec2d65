/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_hbm_write/hbm_write.cuh"
#include "kernels/ptx/async.cuh"

constexpr int STAGES = 4;

/* A resident CTA an SM fills a ring of 32 KiB stages and hands each to the copy engine. */
static __global__ void __launch_bounds__(512) hbm_write_bulk(char *dst, long long blocks)
{
    extern __shared__ __align__(128) char ring[];
    int slot = 0;
    for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
        if (threadIdx.x == 0)
            bulk_wait_read<STAGES - 1>();
        __syncthreads();
        uint32_t stage = shared_address(ring + slot * HBM_BLOCK_BYTES);
        for (int i = threadIdx.x; i < HBM_BLOCK_BYTES / 16; i += 512) {
            uint32_t element = (uint32_t)(block * (HBM_BLOCK_BYTES / 4)) + i * 4;
            st_shared_v4(stage + i * 16, make_uint4(hbm_write_bits(element), hbm_write_bits(element + 1),
                                                    hbm_write_bits(element + 2), hbm_write_bits(element + 3)));
        }
        fence_proxy_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(dst + block * HBM_BLOCK_BYTES, stage, HBM_BLOCK_BYTES);
            bulk_commit();
        }
        slot = (slot + 1) % STAGES;
    }
    if (threadIdx.x == 0)
        bulk_wait<0>();
}

static int launch(const struct ridge_call *call)
{
    RIDGE_CUDA(call, cudaFuncSetAttribute(hbm_write_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          STAGES * HBM_BLOCK_BYTES));
    hbm_write_bulk<<<call->device->sms, 512, STAGES * HBM_BLOCK_BYTES, ridge_stream(call)>>>(
        (char *)call->buffer[0], call->dim[0] / HBM_BLOCK_BYTES);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_hbm_write_04_bulk = {
    .idea = "the copy engine (cp.async.bulk) writes 32 KiB stages from shared memory",
    .source = "PTX ISA 9.0, 9.7.9.25.4.1",
    .changes = "whole 32 KiB writes from one instruction, a resident grid",
    .kind = RIDGE_CUDA,
    .min_cc = 90,
    .launch = launch,
    .kernel = (const void *)hbm_write_bulk,
};
