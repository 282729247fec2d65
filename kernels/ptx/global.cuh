/* SPDX-License-Identifier: Apache-2.0 */
/* 16-byte accesses to global memory by cache policy. PTX ISA 9.0, sections 9.7.9.8 (ld), 9.7.9.9 (ld.global.nc),
 * 9.7.9.11 (st), cache operators in 9.7.9.1. All addresses are 16-byte aligned. */
#ifndef RIDGE_PTX_GLOBAL_CUH
#define RIDGE_PTX_GLOBAL_CUH

#include <stdint.h>

#define PTX_LOAD(name, text)                                                                                           \
    static __device__ __forceinline__ uint4 name(const void *pointer)                                                  \
    {                                                                                                                  \
        uint4 v;                                                                                                       \
        asm volatile(text " {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(pointer));     \
        return v;                                                                                                      \
    }
#define PTX_STORE(name, text)                                                                                          \
    static __device__ __forceinline__ void name(void *pointer, uint4 v)                                                \
    {                                                                                                                  \
        asm volatile(text " [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)            \
                     : "memory");                                                                                      \
    }

/* Default policy: L1 and L2. */
PTX_LOAD(ld_global_v4, "ld.global.v4.u32")
/* Read-only data that is used once: the read-only path, no line kept in L1. */
PTX_LOAD(ld_global_stream_v4, "ld.global.nc.L1::no_allocate.v4.u32")
/* .cg: L2 only, never L1. */
PTX_LOAD(ld_global_l2_v4, "ld.global.cg.v4.u32")

/* Default policy: write-back in L2. */
PTX_STORE(st_global_v4, "st.global.v4.u32")
/* .cs: streaming, likely not used again. */
PTX_STORE(st_global_stream_v4, "st.global.cs.v4.u32")
/* .wt: write through L2 to memory. */
PTX_STORE(st_global_through_v4, "st.global.wt.v4.u32")

#undef PTX_LOAD
#undef PTX_STORE

/* 8 bytes, 8-byte aligned. */
static __device__ __forceinline__ uint2 ld_global_v2(const void *pointer)
{
    uint2 v;
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(pointer));
    return v;
}

static __device__ __forceinline__ void st_global_v2(void *pointer, uint2 v)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(pointer), "r"(v.x), "r"(v.y) : "memory");
}

/* 9.7.9.15 (prefetch): the line of the address into L1. */
static __device__ __forceinline__ void prefetch_global_l1(const void *pointer)
{
    asm volatile("prefetch.global.L1 [%0];" ::"l"(pointer));
}

#endif
