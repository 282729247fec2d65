// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/support.h"

namespace {

__device__ uint64_t global_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void stamp_kernel(struct support_stamp *stamp)
{
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    // The global timer ticks coarsely: reading it at its edge gives both clocks at one instant.
    uint64_t before = global_ns(), now = before;
    while (now == before)
        now = global_ns();
    stamp->sm_cycles = (uint64_t)clock64();
    stamp->global_ns = now;
    stamp->sm = sm;
    __threadfence_system();
}

__global__ void block_kernel(const volatile uint32_t *release, uint64_t timeout_ns)
{
    uint64_t start = global_ns();
    while (*release == 0 && global_ns() - start < timeout_ns)
        __nanosleep(100);
}

__global__ void empty_kernel()
{
}

} // namespace

extern "C" int support_stamp(struct support_stamp *stamp, void *stream)
{
    stamp_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(stamp);
    return cudaGetLastError();
}

extern "C" int support_block(const volatile uint32_t *release, uint64_t timeout_ns, void *stream)
{
    block_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(release, timeout_ns);
    return cudaGetLastError();
}

extern "C" int support_empty(void *stream)
{
    empty_kernel<<<1, 1, 0, (cudaStream_t)stream>>>();
    return cudaGetLastError();
}
