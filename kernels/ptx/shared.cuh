/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory: addresses, proxies, 16-byte accesses, clusters (distributed shared memory). Sections of PTX ISA 9.0.
 */
#ifndef RIDGE_PTX_SHARED_CUH
#define RIDGE_PTX_SHARED_CUH

#include <stdint.h>

/* The shared-window address that PTX operands in .shared take. */
static __device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* 9.7.13.4 (membar / fence): makes this thread's ordinary shared-memory stores visible to the async proxy, which wgmma
 * and bulk copies read through. A barrier with the reading threads follows. */
static __device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* 9.7.9.8 (ld). ptxas may merge equal loads with no store between them; the volatile form is loaded every time. */
static __device__ __forceinline__ uint4 ld_shared_v4(uint32_t address)
{
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address));
    return v;
}

static __device__ __forceinline__ float ld_shared_f32(uint32_t address)
{
    float v;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address));
    return v;
}

static __device__ __forceinline__ float2 ld_shared_v2_f32(uint32_t address)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address));
    return v;
}

static __device__ __forceinline__ uint16_t ld_shared_u16(uint32_t address)
{
    uint16_t v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(address));
    return v;
}

static __device__ __forceinline__ uint4 ld_shared_volatile_v4(uint32_t address)
{
    uint4 v;
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address));
    return v;
}

/* 9.7.9.11 (st). */
static __device__ __forceinline__ void st_shared_v4(uint32_t address, uint4 v)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

static __device__ __forceinline__ void st_shared_f32(uint32_t address, float v)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}

static __device__ __forceinline__ void st_shared_v2_f32(uint32_t address, float x, float y)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

static __device__ __forceinline__ void st_shared_u32(uint32_t address, uint32_t v)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}

/* 9.7.9.23 (mapa): the address, in the cluster's window, of `address` in the shared memory of CTA `rank`. */
static __device__ __forceinline__ uint32_t cluster_map(uint32_t address, uint32_t rank)
{
    uint32_t mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

/* 9.7.9.8 (ld) from the shared memory of any CTA of the cluster. */
static __device__ __forceinline__ uint4 ld_cluster_v4(uint32_t mapped)
{
    uint4 v;
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(mapped));
    return v;
}

/* 9.7.13.3 (barrier.cluster), release and acquire: all threads of all CTAs of the cluster. */
static __device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* The same without ordering what the threads wrote, whose release costs MEMBAR.ALL.GPU and a wait for all stores. After
 * mbarrier_init_fence() it makes barriers known to the cluster. */
static __device__ __forceinline__ void cluster_sync_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Its halves; between them a thread may do what the others need not wait for. All threads do both, in whole warps. */
static __device__ __forceinline__ void cluster_arrive_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

static __device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* 9.7.9.12 (st.async): 16 bytes to another CTA's shared memory, counted there on `barrier`, whose phase then shows them
 * to who waits for it. Both addresses are mapped to that CTA. */
static __device__ __forceinline__ void st_async_v4(uint32_t mapped, uint4 v, uint32_t mapped_barrier)
{
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(mapped),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(mapped_barrier)
        : "memory");
}

/* 10 (special registers). */
static __device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

#endif
