/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies and the barriers they complete on. Sections of PTX ISA 9.0. Shared addresses come from
 * shared_address() of shared.cuh. */
#ifndef RIDGE_PTX_ASYNC_CUH
#define RIDGE_PTX_ASYNC_CUH

#include <stdint.h>

#include "kernels/ptx/shared.cuh"

/* 9.7.9.25.3.1 (cp.async), sm_80: 16 bytes to shared memory past L1; both addresses 16-byte aligned. */
static __device__ __forceinline__ void cp_async_16(uint32_t shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}

/* The same with the tail zero-filled: copies `bytes` (0 to 16) and writes zeros to the rest. */
static __device__ __forceinline__ void cp_async_16_zfill(uint32_t shared, const void *global, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

/* 9.7.9.25.3.2 (cp.async.commit_group). */
static __device__ __forceinline__ void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* 9.7.9.25.3.3 (cp.async.wait_group): at most `pending` of this thread's latest groups are unfinished. */
template <int pending> static __device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/* 9.7.13.15.9 (mbarrier.init). One thread; mbarrier_init_fence() and a barrier follow. */
static __device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* 9.7.13.4 (fence.mbarrier_init): makes the initialisation visible to the async proxy and the cluster. */
static __device__ __forceinline__ void mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* 9.7.13.15.13 (mbarrier.arrive). */
static __device__ __forceinline__ void mbarrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* The same, and the phase also waits for `bytes` of asynchronous copies. */
static __device__ __forceinline__ void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/* 9.7.13.15.16 (mbarrier.try_wait): returns when the phase of parity `parity` has completed. A fresh barrier is in
 * phase 0, so waiting for parity 1 returns at once. */
static __device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* 9.7.9.25.4.1 (cp.async.bulk), sm_90: `bytes` (a multiple of 16) to shared memory; completes on `barrier`. */
static __device__ __forceinline__ void bulk_load(uint32_t shared, const void *global, uint32_t bytes, uint32_t barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(global), "r"(bytes), "r"(barrier)
        : "memory");
}

/* The way back; completes in the bulk group of this thread. */
static __device__ __forceinline__ void bulk_store(void *global, uint32_t shared, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared), "r"(bytes)
                 : "memory");
}

/* 9.7.9.25.4.3 (cp.async.bulk.commit_group). */
static __device__ __forceinline__ void bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* 9.7.9.25.4.4 (cp.async.bulk.wait_group.read): shared memory of all but the latest `pending` groups may be reused. */
template <int pending> static __device__ __forceinline__ void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/* 9.7.9.25.4.4 (cp.async.bulk.wait_group): all but the latest `pending` groups are complete. */
template <int pending> static __device__ __forceinline__ void bulk_wait()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

#endif
