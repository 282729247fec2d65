/* SPDX-License-Identifier: Apache-2.0 */
/* Non-bulk copies (cp_async_16 of async.cuh) that complete on an mbarrier. Sections of PTX ISA 9.0. */
#ifndef RIDGE_PTX_CP_ASYNC_BARRIER_CUH
#define RIDGE_PTX_CP_ASYNC_BARRIER_CUH

#include <stdint.h>

/* 9.7.13.15.15 (cp.async.mbarrier.arrive): one of the barrier's arrivals, made when all copies that this thread has
 * begun are complete. The thread does not wait. */
static __device__ __forceinline__ void cp_async_arrive(uint32_t barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

#endif
