/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ceiling_smem_read/smem_read.h"
#include "kernels/support/launch.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/ptx/shared.cuh"

/* One CTA an SM. Eight lanes read 128 contiguous bytes, so there are no bank conflicts. */
static __global__ void __launch_bounds__(SMEM_THREADS)
    smem_read(const uint4 *__restrict__ src, uint32_t *__restrict__ sum, long long passes)
{
    extern __shared__ uint4 table[];
    for (int i = threadIdx.x; i < SMEM_TABLE_BYTES / 16; i += SMEM_THREADS)
        table[i] = src[i];
    __syncthreads();

    uint32_t row = shared_address(table) + threadIdx.x * 16;
    uint32_t word = 0;
    long long own = blockIdx.x < passes ? (passes - 1 - blockIdx.x) / gridDim.x + 1 : 0;
#pragma unroll 4
    for (unsigned pass = 0; pass < (unsigned)own; pass++) {
#pragma unroll
        for (int i = 0; i < SMEM_TABLE_BYTES / 16 / SMEM_THREADS; i++) {
            uint4 v = ld_shared_volatile_v4(row + i * SMEM_THREADS * 16);
            word += v.x + v.y + v.z + v.w;
        }
    }
    add_to_sum(sum, word);
}

static int launch(const struct ridge_call *call)
{
    cudaStream_t stream = ridge_stream(call);
    RIDGE_CUDA(call, cudaFuncSetAttribute(smem_read, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_TABLE_BYTES));
    RIDGE_CUDA(call, cudaMemsetAsync(call->buffer[1], 0, 4, stream));
    smem_read<<<call->device->sms, SMEM_THREADS, SMEM_TABLE_BYTES, stream>>>((const uint4 *)call->buffer[0],
                                                                             (uint32_t *)call->buffer[1], call->dim[0]);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_ceiling_smem_read_01_ld128 = {
    .idea = "1024 threads an SM, 16-byte loads without bank conflicts",
    .source = "",
    .changes = "",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .launch = launch,
    .kernel = (const void *)smem_read,
};
