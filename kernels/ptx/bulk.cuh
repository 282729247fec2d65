/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk copies beside those of async.cuh: to another CTA's shared memory, and into L2; a fence. Sections of PTX ISA 9.0. */
#ifndef RIDGE_PTX_BULK_CUH
#define RIDGE_PTX_BULK_CUH

#include <stdint.h>

/* 9.7.9.25.4.1 (cp.async.bulk): `bytes`, a multiple of 16, of this CTA's shared memory, which the async proxy reads, to
 * another CTA's; completes on a barrier there. Both addresses there are mapped to that CTA. */
static __device__ __forceinline__ void bulk_send(uint32_t mapped, uint32_t shared, uint32_t bytes,
                                                 uint32_t mapped_barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     mapped),
                 "r"(shared), "r"(bytes), "r"(mapped_barrier)
                 : "memory");
}

/* 9.7.13.4 (membar / fence): bulk copies that follow read what this thread has seen of global memory, by an acquire of
 * what other CTAs wrote with ordinary stores. */
static __device__ __forceinline__ void fence_proxy_async_global()
{
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

/* 9.7.9.25.4.2 (cp.async.bulk.prefetch): `bytes`, a multiple of 16, into L2. */
static __device__ __forceinline__ void bulk_prefetch(const void *global, uint32_t bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
}

#endif
